//! The few fields of a definition that the gateway reads, each checked and named when it is wrong.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{Annotations, Differences, Problem};
use crate::exact::{self, Digest, Exact};

/// The members that identify a tool's definition (spec 6.4), in canonical order.
const IDENTITY: [&str; 6] = [
    "annotations",
    "description",
    "inputSchema",
    "name",
    "outputSchema",
    "title",
];

/// How many characters of an upstream's own text a message repeats.
const MESSAGE_PART: usize = 128;

/// The top-level members of one definition.
pub(super) struct Fields<'t> {
    members: Vec<(String, &'t str, usize)>,
    /// What a problem is named by.
    claimed: String,
    /// A reference in a schema that leaves the document.
    foreign: Option<&'t str>,
}

impl<'t> Fields<'t> {
    /// Reads a definition; `naming` are the members that a problem may be named by.
    pub(super) fn read(raw: &'t str, naming: &[&str]) -> Result<Self, Problem> {
        let mut members = Vec::new();
        let (mut inner, mut foreign) = (None, None);
        let read = exact::walk(raw, |seen| {
            if seen.depth > 1 {
                if leaves(seen.key, seen.value) {
                    inner = Some(seen.value);
                }
                return;
            }
            // What stands inside a member is seen before the member itself.
            let inner = inner.take();
            if matches!(seen.key, "inputSchema" | "outputSchema") {
                foreign = foreign.or(inner);
            }
            members.push((seen.key.to_owned(), seen.value, seen.at));
        });
        let mut fields = Self {
            members,
            claimed: String::new(),
            foreign,
        };
        let claims = naming.iter().filter_map(|name| unquoted(fields.raw(name)?));
        fields.claimed = claims
            .map(|claim| cut(&claim))
            .find(|claim| !claim.is_empty())
            .unwrap_or_default();
        match read {
            Ok(()) => Ok(fields),
            Err(exact::Error::NotAnObject { found }) => {
                Err(fields.problem(format!("the definition is {found}, not an object")))
            }
            Err(error) => Err(fields.problem(format!("the definition has no single reading: {error}"))),
        }
    }

    pub(super) fn problem(&self, what: String) -> Problem {
        Problem {
            name: self.claimed.clone(),
            what,
        }
    }

    /// A member's value as written; `null` counts as absent.
    fn raw(&self, name: &str) -> Option<&'t str> {
        self.members
            .iter()
            .find(|(key, ..)| key == name)
            .map(|(_, value, _)| *value)
            .filter(|value| *value != "null")
    }

    /// The name, and where its value stands in the definition.
    pub(super) fn name(&self) -> Result<(String, Range<usize>), Problem> {
        let name = self
            .text("name")?
            .ok_or_else(|| self.problem("`name` is missing".to_owned()))?;
        let place = self
            .members
            .iter()
            .find(|(key, ..)| key == "name")
            .map(|(_, value, at)| *at..*at + value.len());
        Ok((name, place.unwrap_or_default()))
    }

    /// An optional string.
    pub(super) fn text(&self, name: &str) -> Result<Option<String>, Problem> {
        let raw = self.of_kind(name, "a string")?;
        Ok(raw.and_then(unquoted))
    }

    /// An optional member of one kind, as written.
    pub(super) fn of_kind(&self, name: &str, kind: &'static str) -> Result<Option<&'t str>, Problem> {
        let raw = self.raw(name);
        match raw.map(exact::kind).filter(|found| *found != kind) {
            None => Ok(raw),
            Some(found) => Err(self.problem(format!("`{name}` is {found}, not {kind}"))),
        }
    }

    /// The hints; whatever has another type than it should counts as absent.
    pub(super) fn annotations(&self) -> Option<Annotations> {
        let raw = self.raw("annotations").filter(|raw| exact::kind(raw) == "an object")?;
        let mut annotations = Annotations::default();
        let hint = |value: &str| match value {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        };
        exact::walk(raw, |seen| match (seen.depth, seen.key) {
            (1, "title") => annotations.title = unquoted(seen.value),
            (1, "readOnlyHint") => annotations.read_only = hint(seen.value),
            (1, "destructiveHint") => annotations.destructive = hint(seen.value),
            (1, "idempotentHint") => annotations.idempotent = hint(seen.value),
            (1, "openWorldHint") => annotations.open_world = hint(seen.value),
            _ => {}
        })
        .ok()?;
        Some(annotations)
    }

    /// The input schema, when it is one that every client accepts and that needs no fetching.
    pub(super) fn input_schema(&self) -> Result<&'t str, Problem> {
        let schema = self.of_kind("inputSchema", "an object")?;
        let schema = schema.ok_or_else(|| self.problem("`inputSchema` is missing".to_owned()))?;
        if let Some(reference) = self.foreign {
            return Err(self.problem(format!(
                "a schema refers to {}, which is outside the definition and is never fetched",
                cut(reference)
            )));
        }
        match member(schema, "type") {
            Some(r#""object""#) => Ok(schema),
            Some(other) => Err(self.problem(format!("`inputSchema.type` is {}, not exactly \"object\"", cut(other)))),
            None => Err(self.problem("`inputSchema.type` is missing; it must be \"object\"".to_owned())),
        }
    }

    /// Whether `execution.taskSupport` is `required`.
    pub(super) fn is_only_a_task(&self) -> bool {
        let execution = self.raw("execution");
        execution.and_then(|raw| member(raw, "taskSupport")) == Some(r#""required""#)
    }

    /// Whether `_meta.ui.visibility`, where it is a list of words, names `model`.
    pub(super) fn is_for_models(&self) -> bool {
        let ui = self.raw("_meta").and_then(|meta| member(meta, "ui"));
        let visibility = ui.and_then(|ui| member(ui, "visibility"));
        let seen_by = visibility.and_then(|raw| serde_json::from_str::<Vec<String>>(raw).ok());
        seen_by.is_none_or(|seen_by| seen_by.iter().any(|who| who == "model"))
    }

    /// `_meta.ui.resourceUri`, else `_meta["ui/resourceUri"]`, which older servers send.
    pub(super) fn ui_resource(&self) -> Option<String> {
        let meta = self.raw("_meta")?;
        let nested = member(meta, "ui").and_then(|ui| member(ui, "resourceUri"));
        nested.or_else(|| member(meta, "ui/resourceUri")).and_then(unquoted)
    }

    pub(super) fn output_schema(&self) -> Result<Option<&'t str>, Problem> {
        self.of_kind("outputSchema", "an object")
    }

    /// The names of the properties of the input schema, in order.
    pub(super) fn parameters(&self, input_schema: &str) -> Result<Vec<String>, Problem> {
        let Some(properties) = member(input_schema, "properties") else {
            return Ok(Vec::new());
        };
        let mut names = Vec::new();
        let read = exact::walk(properties, |seen| {
            if seen.depth == 1 {
                names.extend(unquoted(&format!("\"{}\"", seen.key)));
            }
        });
        match read {
            Ok(()) => Ok(names),
            Err(_) => {
                let found = exact::kind(properties);
                Err(self.problem(format!("`inputSchema.properties` is {found}, not an object")))
            }
        }
    }

    /// SHA-256 over the canonical JSON of the members that identify the definition.
    pub(super) fn digest(&self) -> Result<Digest, Problem> {
        let mut text = String::from("{");
        for name in IDENTITY {
            let Some((_, value, _)) = self.members.iter().find(|(key, ..)| key == name) else {
                continue;
            };
            let value = Exact::parse(value).map_err(|error| self.problem(format!("`{name}`: {error}")))?;
            let comma = if text.len() > 1 { "," } else { "" };
            text.push_str(&format!("{comma}\"{name}\":{}", value.as_str()));
        }
        text.push('}');
        Ok(Digest::of(text.as_bytes()))
    }
}

/// The members that two definitions do not agree on; both were read before.
pub(super) fn differences(left: &str, right: &str) -> Differences {
    let (left, right) = (members(left), members(right));
    let mut found = Differences::default();
    for name in left.keys().chain(right.keys().filter(|name| !left.contains_key(*name))) {
        if left.get(name) == right.get(name) {
            continue;
        }
        if IDENTITY.contains(&name.as_str()) {
            found.identity.push(name.clone());
        } else {
            found.others.push(name.clone());
        }
    }
    found.identity.sort();
    found.others.sort();
    found
}

/// The top-level members as canonical texts.
fn members(raw: &str) -> BTreeMap<String, String> {
    let mut members = BTreeMap::new();
    drop(exact::walk(raw, |seen| {
        if seen.depth == 1
            && let Ok(value) = Exact::parse(seen.value)
        {
            members.insert(cut(seen.key), value.as_str().to_owned());
        }
    }));
    members
}

/// The head of a text of an upstream, for a message.
fn cut(text: &str) -> String {
    let head: String = text.chars().take(MESSAGE_PART).collect();
    if head.len() < text.len() { head + "…" } else { head }
}

/// Whether a member is a schema reference that leaves its document. Also data that merely looks like
/// one sets the tool aside: telling them apart would need every dialect of JSON Schema.
fn leaves(key: &str, value: &str) -> bool {
    matches!(key, "$ref" | "$dynamicRef" | "$recursiveRef")
        && unquoted(value).is_some_and(|reference| !reference.starts_with('#'))
}

/// One top-level member of an object that was read before, as written.
fn member<'t>(object: &'t str, name: &str) -> Option<&'t str> {
    let mut found = None;
    exact::walk(object, |seen| {
        if seen.depth == 1 && seen.key == name {
            found = Some(seen.value);
        }
    })
    .ok()?;
    found
}

/// A JSON string's text; nothing for every other value.
fn unquoted(raw: &str) -> Option<String> {
    serde_json::from_str(raw).ok()
}

/// A text as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
