//! Rules as the configuration says them, for messages and for the configuration that is shown.

use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::Rule;

/// The value of a rule's one key.
enum Said<'r> {
    Text(String),
    True,
    Rules(&'r [Rule]),
}

impl Rule {
    fn said(&self) -> (&'static str, Said<'_>) {
        let text = |text: &str| Said::Text(text.to_owned());
        match self {
            Self::Tool(name) => ("tool", text(name)),
            Self::Pattern { text: pattern, glob: _ } => ("pattern", text(pattern)),
            Self::Server(name) => ("server", text(name)),
            Self::Workflow(name) => ("workflow", text(name)),
            Self::ReadOnly => ("readOnly", Said::True),
            Self::Preset(name) => ("preset", text(name)),
            Self::Label { key, value: None } => ("label", text(key)),
            Self::Label {
                key,
                value: Some(value),
            } => ("label", Said::Text(format!("{key}={value}"))),
            Self::Access(class) => ("access", text(class)),
            Self::Effect(super::Effects::ReadOnly) => ("effect", text("read_only")),
            Self::All(rules) => ("all", Said::Rules(rules)),
            Self::Everything => ("pattern", text("*")),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key, said) = self.said();
        match said {
            Said::Text(text) => write!(f, "{key}: {text}"),
            Said::True => write!(f, "{key}: true"),
            Said::Rules(rules) => {
                let rules: Vec<String> = rules.iter().map(Self::to_string).collect();
                write!(f, "{key}: [{}]", rules.join(", "))
            }
        }
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (key, said) = self.said();
        let mut map = serializer.serialize_map(Some(1))?;
        match said {
            Said::Text(text) => map.serialize_entry(key, &text)?,
            Said::True => map.serialize_entry(key, &true)?,
            Said::Rules(rules) => map.serialize_entry(key, rules)?,
        }
        map.end()
    }
}
