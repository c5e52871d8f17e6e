//! One file: the workflow's own keys and its arguments.

use std::collections::BTreeMap;
use std::sync::Arc;

use countersign_core::exact::Digest;
use countersign_core::workflow::{self, Argument, Draft, Kind, Place, Steps, WALL_CLOCK};

use super::steps::{self, Context};
use super::{owner, values};
use crate::fields::{Field, Numbers, Reader};
use crate::nearest;
use crate::tree::{Node, Value};

/// Reads a file that is called `stem`; the exposed name may have so many characters.
pub(super) fn read(reader: &mut Reader<'_>, node: &Node, (stem, longest): (&str, usize)) -> Option<Draft> {
    let mut fields = reader.root(node)?;
    let file: Arc<str> = format!("workflows/{stem}.yaml").into();
    let named = fields.take(reader, &["name"]);
    let (name, at) = match &named {
        Some(field) => (reader.text(field)?.to_owned(), reader.place(field, &file)),
        None => (stem.to_owned(), reader.start(&file)),
    };
    check_name(reader, &name, (named.as_ref(), &at), (stem, longest));
    fields.set_owner(owner(&name, None));
    let context = Context {
        workflow: &name,
        file: &file,
    };
    let description = fields
        .take(reader, &["description"])
        .and_then(|field| reader.text(&field));
    let labels = match fields.take(reader, &["labels"]) {
        Some(field) => labels(reader, &field),
        None => BTreeMap::new(),
    };
    let arguments = match fields.take(reader, &["args"]) {
        Some(field) => arguments(reader, &field),
        None => Vec::new(),
    };
    let timeout = fields.take(reader, &["timeout"]);
    let timeout = timeout.and_then(|field| reader.duration(&field, Numbers::Refused));
    let steps = match fields.take(reader, &["steps"]) {
        Some(field) => steps::read(reader, &field, context),
        None => {
            reader.missing(
                at.bytes,
                format!("{}`steps` is missing: it would do nothing", owner(&name, None)),
            );
            Steps::from([])
        }
    };
    let on_failure = match fields.take(reader, &["on_failure", "onFailure"]) {
        Some(field) => steps::read(reader, &field, context),
        None => Steps::from([]),
    };
    let output = fields.take(reader, &["output"]);
    let output = output.and_then(|field| values::shape(reader, &field, &file));
    fields.finish(reader);
    Some(Draft {
        name: name.as_str().into(),
        at,
        description: description.unwrap_or_default().trim().to_owned(),
        labels,
        arguments,
        steps,
        on_failure,
        output,
        timeout: timeout.unwrap_or(WALL_CLOCK),
        digest: Digest::of(reader.source_text().as_bytes()),
    })
}

fn check_name(
    reader: &mut Reader<'_>,
    name: &str,
    (field, at): (Option<&Field<'_>>, &Place),
    (stem, longest): (&str, usize),
) {
    let told = |what: &str| match field {
        Some(_) => format!("`name` {what}: `{name}`"),
        None => format!("the file's name, which stands for `name`, {what}: `{name}`"),
    };
    if let Err(why) = workflow::is_name(name) {
        reader.missing(at.bytes, told(why));
    } else if workflow::PREFIX.len() + name.len() > longest {
        let what = format!("makes its tool `workflow_{name}` longer than `limits.tool_name_length` ({longest})");
        reader.missing(at.bytes, told(&what));
    }
    if let Some(field) = field.filter(|_| name != stem) {
        reader.warn(field, &format!("is not the name of its file, `{stem}.yaml`"));
    }
}

fn labels(reader: &mut Reader<'_>, field: &Field<'_>) -> BTreeMap<String, String> {
    let entries = reader.entries(field).unwrap_or_default();
    let mut labels = BTreeMap::new();
    for (key, value) in entries {
        if let Some(text) = reader.text(&value) {
            labels.insert(key.to_owned(), text.to_owned());
        }
    }
    labels
}

fn arguments(reader: &mut Reader<'_>, field: &Field<'_>) -> Vec<Argument> {
    let entries = reader.entries(field).unwrap_or_default();
    let mut arguments = Vec::new();
    for (name, value) in entries {
        if !workflow::is_id(name) {
            reader.wrong_key(
                &value,
                "is no name for an argument",
                "begin with a letter and use letters, digits, `_` and `-`",
            );
        }
        // `name:` alone is an argument of which nothing is said.
        if matches!(value.node.value, Value::Null) {
            arguments.push(argument(name));
            continue;
        }
        let Some(mut fields) = reader.fields(&value) else {
            continue;
        };
        let mut found = argument(name);
        if let Some(kind) = fields.take(reader, &["type"]) {
            found.kind = self::kind(reader, &kind);
        }
        if let Some(required) = fields.take(reader, &["required"]) {
            found.required = reader.flag(&required).unwrap_or_default();
        }
        if let Some(description) = fields.take(reader, &["description"]) {
            found.description = reader.text(&description).map(str::to_owned);
        }
        if let Some(default) = fields.take(reader, &["default"])
            && let Some(given) = values::constant(reader, &default)
        {
            match found.kind.filter(|kind| !kind.fits(&given)) {
                Some(kind) => {
                    let what = format!("is {}, not of type {}", given.kind(), kind.word());
                    reader.wrong(&default, &what);
                }
                None => found.default = Some(given),
            }
            if found.required {
                reader.wrong_key(
                    &default,
                    "does not go with `required: true`: it would never be used",
                    "keep one of the two",
                );
            }
        }
        fields.finish(reader);
        arguments.push(found);
    }
    arguments
}

fn argument(name: &str) -> Argument {
    Argument {
        name: name.into(),
        kind: None,
        required: false,
        description: None,
        default: None,
    }
}

fn kind(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<Kind> {
    let word = reader.text(field)?;
    let kind = Kind::ALL.into_iter().find(|kind| kind.word() == word);
    if kind.is_none() {
        let words = Kind::ALL.map(Kind::word);
        let what = format!("must be one of {}, not `{word}`", words.join(", "));
        reader.wrong_with_help(field, &what, nearest::help(word, &words));
    }
    kind
}
