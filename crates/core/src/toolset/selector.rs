//! The inline grammar: `preset:`, `server:`, `workflow:` and `tool:` with exact names.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::Error;

/// How many selectors may stand inline; larger selections are presets.
pub const MOST: usize = 32;

/// The longest name in a selector, in bytes. Nothing in a catalogue or a configuration has a longer one.
const NAME: usize = 512;

/// How much of a selector an error repeats, in characters.
const REPEATED: usize = 256;

/// How many selectors an error repeats.
const REPEATED_SELECTORS: usize = 64;

/// One inline selector; `Display` gives it as it was declared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Selector {
    /// `preset:<name>`
    Preset(Arc<str>),
    /// `server:<name>`, of a server or a family.
    Server(Arc<str>),
    /// `workflow:<name>`
    Workflow(Arc<str>),
    /// `tool:<name>`, by exposed name.
    Tool(Arc<str>),
}

/// A toolset as it was declared: at least one selector, and no more than [`MOST`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Selectors(Arc<[Selector]>);

impl Selectors {
    /// Reads the value of the header: selectors between commas, blanks around each taken away. Several lines of
    /// the header count as one value, joined with commas in their order.
    ///
    /// # Errors
    /// [`Error`], with the text for the caller.
    pub fn parse_header<'l>(lines: impl IntoIterator<Item = &'l str>) -> Result<Self, Error> {
        let lines: Vec<&str> = lines.into_iter().collect();
        if lines.iter().all(|line| line.trim().is_empty()) {
            return Err(Error::Empty);
        }
        Self::parse(lines.iter().flat_map(|line| line.split(',')))
    }

    /// Reads a list of selectors, such as the argument of `filter_tools` or the toolset of a binding.
    ///
    /// # Errors
    /// [`Error`], with the text for the caller.
    pub fn parse_list<S: AsRef<str>>(list: &[S]) -> Result<Self, Error> {
        Self::parse(list.iter().map(AsRef::as_ref))
    }

    fn parse<'t>(texts: impl Iterator<Item = &'t str>) -> Result<Self, Error> {
        let texts: Vec<&str> = texts.map(str::trim).collect();
        if texts.is_empty() {
            return Err(Error::Empty);
        }
        if texts.len() > MOST {
            return Err(Error::TooMany {
                toolset: shown(&texts),
                count: texts.len(),
            });
        }
        // An empty element is named before any other that is wrong: the others may only look wrong because of it.
        if texts.contains(&"") {
            return Err(Error::Malformed {
                toolset: shown(&texts),
                selector: String::new(),
            });
        }
        let selectors: Result<Vec<Selector>, Error> = texts.iter().map(|text| one(text, &texts)).collect();
        Ok(Self(selectors?.into()))
    }

    /// The selectors, as declared and in that order.
    #[must_use]
    pub fn as_slice(&self) -> &[Selector] {
        &self.0
    }

    /// The names of presets among them, in order.
    pub fn presets(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|selector| match selector {
            Selector::Preset(name) => Some(&**name),
            Selector::Server(_) | Selector::Workflow(_) | Selector::Tool(_) => None,
        })
    }
}

fn one(text: &str, all: &[&str]) -> Result<Selector, Error> {
    let (toolset, selector) = (|| shown(all), || clipped(text));
    let malformed = || Error::Malformed {
        toolset: toolset(),
        selector: selector(),
    };
    let (kind, name) = text.split_once(':').ok_or_else(malformed)?;
    let make: fn(Arc<str>) -> Selector = match kind {
        "preset" => Selector::Preset,
        "server" => Selector::Server,
        "workflow" => Selector::Workflow,
        "tool" => Selector::Tool,
        "toolset" => {
            return Err(Error::Reserved {
                toolset: toolset(),
                selector: selector(),
            });
        }
        "label" => {
            return Err(Error::PresetsOnly {
                toolset: toolset(),
                selector: selector(),
            });
        }
        _ => return Err(malformed()),
    };
    if is_name(name) {
        Ok(make(name.into()))
    } else {
        Err(malformed())
    }
}

/// Whether a selector may name it.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= NAME && !name.contains(|c: char| c == ',' || c.is_whitespace())
}

/// A list as errors repeat it.
fn shown(texts: &[&str]) -> String {
    let mut shown: Vec<String> = texts
        .iter()
        .take(REPEATED_SELECTORS)
        .map(|text| clipped(text))
        .collect();
    if texts.len() > REPEATED_SELECTORS {
        shown.push("…".to_owned());
    }
    shown.join(",")
}

fn clipped(text: &str) -> String {
    let mut characters = text.chars();
    let mut clipped: String = characters.by_ref().take(REPEATED).collect();
    if characters.next().is_some() {
        clipped.push('…');
    }
    clipped
}

impl Selector {
    fn parts(&self) -> (&'static str, &str) {
        match self {
            Self::Preset(name) => ("preset", name),
            Self::Server(name) => ("server", name),
            Self::Workflow(name) => ("workflow", name),
            Self::Tool(name) => ("tool", name),
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, name) = self.parts();
        write!(f, "{kind}:{name}")
    }
}

/// The list as it stands between the brackets of messages.
impl fmt::Display for Selectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, selector) in self.0.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(f, "{comma}{selector}")?;
        }
        Ok(())
    }
}

impl Serialize for Selector {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Selectors {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter())
    }
}
