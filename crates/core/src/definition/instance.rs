//! The definition of a family's surface: one member's, with the argument that names the member.

use std::collections::BTreeSet;

use serde_json::Value;

use super::fields::quoted;
use super::{Problem, ToolDefinition};
use crate::exact;

/// How many references of a schema are followed; each may lead as deep as a definition is.
const REFERENCES: usize = 16;

/// Why a schema cannot take one more argument.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// The tool has a parameter of that name.
    #[error("its own schema has a property `{0}`")]
    Taken(String),
    /// Its schema may refuse an argument that the tool does not know.
    #[error("its schema may refuse one more argument: {0}")]
    Closed(String),
}

impl From<Problem> for Unfit {
    fn from(problem: Problem) -> Self {
        Self::Closed(problem.what)
    }
}

impl ToolDefinition {
    /// This definition with one more required argument, a string that is one of `values`; all other bytes stay.
    ///
    /// # Errors
    /// [`Unfit`], when the tool has that argument already or its schema may refuse another.
    pub fn with_argument(&self, argument: &str, about: &str, values: &[&str]) -> Result<Self, Unfit> {
        let schema: Value =
            serde_json::from_str(&self.input_schema).map_err(|_too_deep| closed("it is nested too deeply"))?;
        let mut probe = Probe {
            document: &schema,
            argument,
            followed: BTreeSet::from([""]),
        };
        probe.look(&schema, Standing::Root)?;
        let edited = self.insert(argument, about, values)?;
        Ok(Self::parse(&edited)?)
    }

    /// The definition's text with the argument written in front of the others.
    fn insert(&self, argument: &str, about: &str, values: &[&str]) -> Result<String, Unfit> {
        let quoted_values: Vec<String> = values.iter().map(|value| quoted(value)).collect();
        let property = format!(
            r#"{}:{{"type":"string","description":{},"enum":[{}]}}"#,
            quoted(argument),
            quoted(about),
            quoted_values.join(",")
        );
        let required = quoted(argument);
        let schema_at = place_of(&self.raw, "inputSchema").ok_or_else(|| closed("it is not an object"))?;
        let inside = |name: &str| place_of(&self.input_schema, name).map(|at| schema_at + at + 1);
        // A schema is never empty, since it says its type: what is missing is followed by a member.
        let mut pieces = vec![
            match inside("properties") {
                Some(at) => (at, self.listed(at, b'}', &property)),
                None => (schema_at + 1, format!(r#""properties":{{{property}}},"#)),
            },
            match inside("required") {
                Some(at) => (at, self.listed(at, b']', &required)),
                None => (schema_at + 1, format!(r#""required":[{required}],"#)),
            },
        ];
        pieces.sort_by_key(|(at, _)| *at);
        let mut text = String::with_capacity(self.raw.len() + property.len() + required.len() + 32);
        let mut from = 0;
        for (at, piece) in pieces {
            text.push_str(self.raw.get(from..at).unwrap_or_default());
            text.push_str(&piece);
            from = at;
        }
        text.push_str(self.raw.get(from..).unwrap_or_default());
        Ok(text)
    }

    /// An element as the first of an object or array whose inside begins at a place.
    fn listed(&self, at: usize, closing: u8, element: &str) -> String {
        let rest = self.raw.get(at..).unwrap_or_default().trim_ascii_start();
        let comma = if rest.as_bytes().first() == Some(&closing) {
            ""
        } else {
            ","
        };
        format!("{element}{comma}")
    }
}

fn closed(what: &str) -> Unfit {
    Unfit::Closed(what.to_owned())
}

/// Where the value of a top-level member begins.
fn place_of(object: &str, name: &str) -> Option<usize> {
    let mut found = None;
    exact::walk(object, |seen| {
        if seen.depth == 1 && seen.key == name {
            found = Some(seen.at);
        }
    })
    .ok()?;
    found
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// The schema that gets the argument.
    Root,
    /// A schema that holds for the same object and does not get it.
    Beside,
}

/// Looks through the schemas that hold for the arguments as a whole.
struct Probe<'s> {
    document: &'s Value,
    argument: &'s str,
    followed: BTreeSet<&'s str>,
}

impl<'s> Probe<'s> {
    fn look(&mut self, schema: &'s Value, standing: Standing) -> Result<(), Unfit> {
        let Some(members) = schema.as_object() else {
            return Ok(());
        };
        for (keyword, value) in members {
            match keyword.as_str() {
                "properties" | "dependentRequired" | "dependencies" if value.get(self.argument).is_some() => {
                    return Err(self.taken());
                }
                "dependentSchemas" if value.get(self.argument).is_some() => return Err(self.taken()),
                "required" => self.required(value)?,
                "maxProperties" | "propertyNames" => return Err(self.narrow(keyword)),
                "patternProperties" if value.as_object().is_some_and(|patterns| !patterns.is_empty()) => {
                    return Err(self.narrow(keyword));
                }
                "additionalProperties" | "unevaluatedProperties"
                    if standing == Standing::Beside && *value != Value::Bool(true) =>
                {
                    return Err(self.narrow(keyword));
                }
                "allOf" | "anyOf" | "oneOf" => {
                    for branch in value.as_array().into_iter().flatten() {
                        self.look(branch, Standing::Beside)?;
                    }
                }
                "dependentSchemas" => {
                    for branch in value.as_object().into_iter().flat_map(|map| map.values()) {
                        self.look(branch, Standing::Beside)?;
                    }
                }
                "if" | "then" | "else" | "not" => self.look(value, Standing::Beside)?,
                "$ref" | "$dynamicRef" | "$recursiveRef" => self.follow(keyword, value)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn required(&self, value: &Value) -> Result<(), Unfit> {
        let Some(names) = value.as_array() else {
            return Err(closed("`required` is not a list"));
        };
        if names.iter().any(|name| name == self.argument) {
            return Err(self.taken());
        }
        Ok(())
    }

    fn follow(&mut self, keyword: &str, value: &'s Value) -> Result<(), Unfit> {
        let pointer = value.as_str().and_then(|reference| reference.strip_prefix('#'));
        let target = pointer.and_then(|pointer| Some((pointer, self.document.pointer(pointer)?)));
        let Some((pointer, target)) = target else {
            return Err(self.narrow(keyword));
        };
        // Going round in circles brings up nothing new.
        if !self.followed.insert(pointer) {
            return Ok(());
        }
        if self.followed.len() > REFERENCES {
            return Err(self.narrow(keyword));
        }
        self.look(target, Standing::Beside)
    }

    fn taken(&self) -> Unfit {
        Unfit::Taken(self.argument.to_owned())
    }

    fn narrow(&self, keyword: &str) -> Unfit {
        Unfit::Closed(format!("it says `{keyword}`"))
    }
}
