//! A tree as canonical text.

use super::Json;
use crate::exact::escapes::push;

/// The canonical text of a tree.
pub(super) fn write(value: &Json) -> String {
    let mut out = String::new();
    add(&mut out, value);
    out
}

fn add(out: &mut String, value: &Json) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(true) => out.push_str("true"),
        Json::Bool(false) => out.push_str("false"),
        Json::Number(number) => out.push_str(number.as_str()),
        Json::Text(text) => quote(out, text),
        Json::List(items) => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                comma(out, place);
                add(out, item);
            }
            out.push(']');
        }
        Json::Map(members) => {
            out.push('{');
            for (place, (name, value)) in members.iter().enumerate() {
                comma(out, place);
                quote(out, name);
                out.push(':');
                add(out, value);
            }
            out.push('}');
        }
    }
}

fn comma(out: &mut String, place: usize) {
    if place > 0 {
        out.push(',');
    }
}

fn quote(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        push(out, character);
    }
    out.push('"');
}
