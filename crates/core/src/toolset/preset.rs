//! Presets: named selections of the configuration, and the three that are built in.

mod check;
mod said;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::effect::Effect;
use crate::glob::{self, Glob};

use super::{Error, Selectors};

pub use check::{Flaw, FlawKind, List, Place};

/// One rule of a preset. Every rule says exactly one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// `tool: <name>`: one tool by exposed name.
    Tool(Arc<str>),
    /// `pattern: <glob>`: tools whose exposed name matches.
    Pattern {
        /// The glob as written.
        text: Arc<str>,
        /// The glob.
        glob: Glob,
    },
    /// `server: <name>`: every tool of a server, or of a family's surface.
    Server(Arc<str>),
    /// `workflow: <name>`: the workflow's own tool.
    Workflow(Arc<str>),
    /// `readOnly: true`: tools with `readOnlyHint: true`, as published or as derived for a workflow.
    ReadOnly,
    /// `preset: <name>`: everything that another preset selects.
    Preset(Arc<str>),
    /// `label: <key>=<value>` or `label: <key>`: tools of servers that carry the label.
    Label {
        /// The label.
        key: Arc<str>,
        /// Its value; without one its presence counts.
        value: Option<Arc<str>>,
    },
    /// `access: <class>`: tools of an access class.
    Access(Arc<str>),
    /// `effect: read_only`: tools whose calls change nothing.
    Effect(Effects),
    /// `all: [rule, …]`: what every one of the rules selects.
    All(Vec<Rule>),
    /// The whole catalogue; only the built-in preset `full` says so.
    Everything,
}

/// The effects that a rule may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effects {
    /// `read_only`
    ReadOnly,
}

impl Effects {
    /// Whether a tool has the effect that is asked for.
    #[must_use]
    pub fn include(self, effect: Effect) -> bool {
        match self {
            Self::ReadOnly => effect == Effect::ReadOnly,
        }
    }
}

impl Rule {
    /// `pattern: <glob>`.
    ///
    /// # Errors
    /// [`glob::Error`] for every pattern that Go's `path.Match` calls bad.
    pub fn pattern(text: &str) -> Result<Self, glob::Error> {
        let glob = Glob::parse(text)?;
        let text = text.into();
        Ok(Self::Pattern { text, glob })
    }

    /// `label: <key>`, `label: <key>=<value>` or `label: <key>=`; nothing for a label without a key.
    #[must_use]
    pub fn label(text: &str) -> Option<Self> {
        let (key, value) = match text.split_once('=') {
            Some((key, value)) => (key, Some(value.into())),
            None => (text, None),
        };
        let key = Arc::from(Some(key).filter(|key| !key.is_empty())?);
        Some(Self::Label { key, value })
    }

    /// Whether it is, or holds, a composition with another preset.
    #[must_use]
    pub fn composes(&self) -> bool {
        match self {
            Self::Preset(_) => true,
            Self::All(rules) => rules.iter().any(Self::composes),
            Self::Tool(_)
            | Self::Pattern { .. }
            | Self::Server(_)
            | Self::Workflow(_)
            | Self::ReadOnly
            | Self::Label { .. }
            | Self::Access(_)
            | Self::Effect(_)
            | Self::Everything => false,
        }
    }

    /// The names of the presets that it composes.
    pub(super) fn compositions<'r>(&'r self, into: &mut Vec<&'r str>) {
        match self {
            Self::Preset(name) => into.push(name),
            Self::All(rules) => rules.iter().for_each(|rule| rule.compositions(into)),
            Self::Tool(_)
            | Self::Pattern { .. }
            | Self::Server(_)
            | Self::Workflow(_)
            | Self::ReadOnly
            | Self::Label { .. }
            | Self::Access(_)
            | Self::Effect(_)
            | Self::Everything => {}
        }
    }
}

/// A named selection: the union of its includes minus its excludes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preset {
    /// Its name.
    pub name: Arc<str>,
    /// What the operator says of it; may be empty.
    pub description: String,
    /// What it selects; the rules are a union.
    pub include: Vec<Rule>,
    /// What of that it leaves out.
    pub exclude: Vec<Rule>,
}

/// Every preset there is: the built-in ones and those of the configuration.
///
/// INVARIANT: compositions name presets that are there and never lead back; `build` sees to both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Presets {
    /// The built-in ones first, then the others by name.
    presets: Vec<Preset>,
    places: BTreeMap<Arc<str>, usize>,
    /// Every place, and before each the places that it composes.
    order: Vec<usize>,
}

/// The presets that nobody can redefine, in the order in which they are named.
const BUILT_IN: [&str; 3] = ["read-only", "none", "full"];

impl Default for Presets {
    /// The built-in ones alone.
    fn default() -> Self {
        Self {
            places: places(&built_in()),
            order: (0..BUILT_IN.len()).collect(),
            presets: built_in(),
        }
    }
}

fn built_in() -> Vec<Preset> {
    let [read_only, none, full] = BUILT_IN;
    let preset = |name: &str, description: &str, include| Preset {
        name: name.into(),
        description: description.to_owned(),
        include,
        exclude: Vec::new(),
    };
    vec![
        preset(
            read_only,
            "Every tool annotated as read-only, and every workflow whose steps are all read-only",
            vec![Rule::ReadOnly],
        ),
        preset(none, "Nothing", Vec::new()),
        preset(full, "The whole catalogue, core tools included", vec![Rule::Everything]),
    ]
}

fn places(presets: &[Preset]) -> BTreeMap<Arc<str>, usize> {
    presets
        .iter()
        .enumerate()
        .map(|(place, preset)| (Arc::clone(&preset.name), place))
        .collect()
}

impl Presets {
    /// The built-in presets and those of a configuration.
    ///
    /// # Errors
    /// Everything that is wrong with them, each with its place.
    pub fn build(configured: Vec<Preset>) -> Result<Self, Vec<Flaw>> {
        let order = check::check(&configured)?;
        let mut presets = built_in();
        let mut sorted: Vec<(usize, Preset)> = configured.into_iter().enumerate().collect();
        sorted.sort_by(|(_, left), (_, right)| left.name.cmp(&right.name));
        // Where each of the configured ones has gone.
        let gone: BTreeMap<usize, usize> = sorted
            .iter()
            .enumerate()
            .map(|(place, (from, _))| (*from, place.saturating_add(BUILT_IN.len())))
            .collect();
        presets.extend(sorted.into_iter().map(|(_, preset)| preset));
        let configured = order.iter().filter_map(|from| gone.get(from).copied());
        Ok(Self {
            places: places(&presets),
            order: (0..BUILT_IN.len()).chain(configured).collect(),
            presets,
        })
    }

    /// Every preset: the built-in ones first, then the others by name; whether each is built in.
    pub fn all(&self) -> impl Iterator<Item = (&Preset, bool)> {
        let built_in = |place: usize| place < BUILT_IN.len();
        self.presets
            .iter()
            .enumerate()
            .map(move |(place, preset)| (preset, built_in(place)))
    }

    /// The preset of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Preset> {
        self.at(self.place(name)?)
    }

    /// Whether every preset that a toolset names is there.
    ///
    /// # Errors
    /// [`Error::UnknownPreset`] for the first one that is not.
    pub fn check(&self, selectors: &Selectors) -> Result<(), Error> {
        match selectors.presets().find(|name| self.place(name).is_none()) {
            None => Ok(()),
            Some(unknown) => Err(Error::UnknownPreset {
                toolset: selectors.to_string(),
                preset: unknown.to_owned(),
                known: self.presets.iter().map(|preset| preset.name.to_string()).collect(),
            }),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.presets.len()
    }

    pub(super) fn at(&self, place: usize) -> Option<&Preset> {
        self.presets.get(place)
    }

    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    /// The presets of those names and all that they are composed of, each after what it composes.
    pub(super) fn needed<'n>(&self, names: impl Iterator<Item = &'n str>) -> Vec<usize> {
        let mut wanted: Vec<usize> = names.filter_map(|name| self.place(name)).collect();
        let mut needed = vec![false; self.presets.len()];
        while let Some(place) = wanted.pop() {
            let Some(is_needed) = needed.get_mut(place).filter(|needed| !**needed) else {
                continue;
            };
            *is_needed = true;
            let mut composed = Vec::new();
            if let Some(preset) = self.at(place) {
                preset.include.iter().for_each(|rule| rule.compositions(&mut composed));
            }
            wanted.extend(composed.into_iter().filter_map(|name| self.place(name)));
        }
        let is_needed = |place: &usize| needed.get(*place).copied().unwrap_or_default();
        self.order.iter().copied().filter(is_needed).collect()
    }
}
