//! The presets that toolsets may name, `toolsetPresets` of `countersign.yaml` (spec 3).

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use countersign_core::toolset::{Effects, Flaw, FlawKind, List, Place, Preset, Presets, Rule};

use crate::fields::{Field, Fields, Reader};
use crate::nearest;
use crate::tree::Value;

/// The keys of a rule; each rule sets exactly one.
const KEYS: [&str; 10] = [
    "tool", "pattern", "server", "workflow", "readOnly", "preset", "label", "access", "effect", "all",
];

/// What was read, and where each preset and rule stands, by the preset's number.
#[derive(Default)]
struct Read<'t> {
    presets: Vec<Preset>,
    fields: BTreeMap<(usize, Option<Place>), Field<'t>>,
}

/// Reads the presets. What is wrong is complained of in the reader, each time with the preset and the rule.
pub(crate) fn read(reader: &mut Reader<'_>, field: &Field<'_>) -> Arc<Presets> {
    if matches!(field.node.value, Value::Null) {
        return Arc::default();
    }
    let mut read = Read::default();
    for (name, field) in reader.entries(field).unwrap_or_default() {
        let preset = preset(reader, name, &field, &mut read);
        read.presets.push(preset);
    }
    let Read { presets, fields } = read;
    let names: Vec<String> = presets.iter().map(|preset| preset.name.to_string()).collect();
    match Presets::build(presets) {
        Ok(presets) => Arc::new(presets),
        Err(flaws) => {
            for flaw in flaws {
                report(reader, &flaw, &fields, &names);
            }
            Arc::default()
        }
    }
}

fn preset<'t>(reader: &mut Reader<'_>, name: &str, field: &Field<'t>, read: &mut Read<'t>) -> Preset {
    let number = read.presets.len();
    read.fields.insert((number, None), field.clone());
    let mut preset = Preset {
        name: name.into(),
        description: String::new(),
        include: Vec::new(),
        exclude: Vec::new(),
    };
    let Some(mut fields) = reader.fields(field) else {
        return preset;
    };
    if let Some(field) = fields.take(reader, &["description"]) {
        preset.description = reader.literal(&field).unwrap_or_default();
    }
    match fields.take(reader, &["include"]) {
        Some(field) => preset.include = rules(reader, &field, (number, List::Include), read),
        None => reader.wrong_with_help(
            field,
            "needs a list `include`",
            "write `include: [{server: NAME}]`, or remove the preset; `preset:none` selects nothing",
        ),
    }
    if let Some(field) = fields.take(reader, &["exclude"]) {
        preset.exclude = rules(reader, &field, (number, List::Exclude), read);
    }
    fields.finish(reader);
    preset
}

fn rules<'t>(
    reader: &mut Reader<'_>,
    field: &Field<'t>,
    (preset, list): (usize, List),
    read: &mut Read<'t>,
) -> Vec<Rule> {
    let place = Place { list, path: Vec::new() };
    numbered(reader, field, (preset, &place), read)
}

/// The rules of a list, each where its number says: what cannot be read leaves its place taken.
fn numbered<'t>(
    reader: &mut Reader<'_>,
    field: &Field<'t>,
    (preset, list): (usize, &Place),
    read: &mut Read<'t>,
) -> Vec<Rule> {
    let items = reader.list(field).unwrap_or_default();
    let mut rules = Vec::with_capacity(items.len());
    for (number, item) in items.into_iter().enumerate() {
        let mut place = list.clone();
        place.path.push(number);
        let rule = rule(reader, &item, (preset, &place), read);
        read.fields.insert((preset, Some(place)), item);
        rules.push(rule.unwrap_or(Rule::ReadOnly));
    }
    rules
}

fn rule<'t>(reader: &mut Reader<'_>, item: &Field<'t>, place: (usize, &Place), read: &mut Read<'t>) -> Option<Rule> {
    let Value::Map(_) = item.node.value else {
        let what = format!("must be a rule such as `server: NAME`, not {}", item.node.kind());
        reader.wrong_with_help(item, &what, one_key());
        return None;
    };
    let mut fields = reader.fields(item)?;
    let set: Vec<(&str, Field<'t>)> = KEYS
        .iter()
        .filter_map(|key| Some((*key, fields.take(reader, &[key])?)))
        .collect();
    let unknown = unknown_keys(reader, fields);
    match set.as_slice() {
        [(key, value)] => match *key {
            "all" => Some(Rule::All(numbered(reader, value, place, read))),
            key => simple(reader, key, value),
        },
        // The complaint about a key that nobody knows says it already.
        [] if unknown > 0 => None,
        [] => {
            reader.wrong_with_help(item, "sets no key", one_key());
            None
        }
        many => {
            let keys: Vec<String> = many.iter().map(|(key, _)| format!("`{key}`")).collect();
            let what = format!("sets more than one key: {}", keys.join(", "));
            let help = "write one rule for each, which is a union; `all: [rule, …]` is what every one of them selects";
            reader.wrong_with_help(item, &what, help);
            None
        }
    }
}

/// Complains of every key that nobody took; how many there are.
fn unknown_keys(reader: &mut Reader<'_>, fields: Fields<'_>) -> usize {
    let unknown = fields.rest().len();
    fields.finish(reader);
    unknown
}

fn one_key() -> String {
    let keys: Vec<String> = KEYS.iter().map(|key| format!("`{key}`")).collect();
    format!("a rule sets exactly one of {}", keys.join(", "))
}

/// A rule that holds no others.
fn simple(reader: &mut Reader<'_>, key: &str, value: &Field<'_>) -> Option<Rule> {
    if key == "readOnly" {
        return read_only(reader, value);
    }
    let text = reader.literal(value)?;
    if text.is_empty() {
        reader.wrong(value, "must not be empty: it would select nothing");
        return None;
    }
    match key {
        "pattern" => match Rule::pattern(&text) {
            Ok(rule) => Some(rule),
            Err(error) => {
                let help = "patterns are those of Go's `path.Match`, over the whole exposed name: `*`, `?`, `[a-z]`, `[^a]`, `\\`";
                reader.wrong_with_help(value, &format!("does not compile: {error}"), help);
                None
            }
        },
        "label" => {
            let rule = Rule::label(&text);
            if rule.is_none() {
                reader.wrong_with_help(value, "has no key", "write `<key>=<value>`, `<key>` or `<key>=`");
            }
            rule
        }
        "effect" => {
            if text == "read_only" {
                return Some(Rule::Effect(Effects::ReadOnly));
            }
            let help = "to leave tools out, write the rule that selects them under `exclude`";
            reader.wrong_with_help(value, &format!("must be `read_only`, not `{text}`"), help);
            None
        }
        name => named(reader, name, value, &text),
    }
}

fn named(reader: &mut Reader<'_>, key: &str, value: &Field<'_>, text: &str) -> Option<Rule> {
    if text.contains(|c: char| c.is_whitespace() || c == ',') {
        reader.wrong(value, "must be one name, without blanks and commas");
        return None;
    }
    let make: fn(Arc<str>) -> Rule = match key {
        "tool" => Rule::Tool,
        "server" => Rule::Server,
        "workflow" => Rule::Workflow,
        "preset" => Rule::Preset,
        _ => Rule::Access,
    };
    Some(make(text.into()))
}

fn read_only(reader: &mut Reader<'_>, value: &Field<'_>) -> Option<Rule> {
    if reader.flag(value)? {
        return Some(Rule::ReadOnly);
    }
    reader.wrong_with_help(
        value,
        "must be true: `readOnly: false` is not a rule",
        "to keep writing tools out, select the read-only ones, or write `all: [{server: NAME}, {readOnly: true}]`",
    );
    None
}

fn report(
    reader: &mut Reader<'_>,
    flaw: &Flaw,
    fields: &BTreeMap<(usize, Option<Place>), Field<'_>>,
    names: &[String],
) {
    let Some(field) = fields.get(&(flaw.preset, flaw.place.clone())) else {
        return;
    };
    let what = flaw.kind.to_string();
    match &flaw.kind {
        FlawKind::Redefined => reader.wrong_key(
            field,
            &what,
            "give it another name: `read-only`, `none` and `full` are built in",
        ),
        FlawKind::Twice => reader.wrong_key(field, &what, "remove one of the two"),
        FlawKind::Name => reader.wrong_key(field, &what, "a selector says it as `preset:<name>`"),
        FlawKind::Unknown(name) => {
            let built_in = Presets::default();
            let known = built_in.all().map(|(preset, _)| &*preset.name);
            let known: Vec<&str> = known.chain(names.iter().map(String::as_str)).collect();
            reader.wrong_with_help(field, &what, nearest::help(name, &known));
        }
        FlawKind::Composed => reader.wrong_with_help(
            field,
            &what,
            "write the rules of that preset here, or leave them out where it is included",
        ),
        FlawKind::Cycle(_) => reader.wrong_with_help(field, &what, "take one of the compositions out"),
        FlawKind::NothingInAll => reader.wrong_with_help(field, &what, "write `all: [rule, rule]`"),
    }
}
