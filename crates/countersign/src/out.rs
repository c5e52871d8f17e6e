//! What the user sees: data on stdout, the rest on stderr, in the format that was asked for.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};

use countersign_wire::object::{Object, quote};
use serde_json::value::RawValue;

use crate::failure::Failure;

/// The format of what goes to stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Table,
    /// For programs; what a server said is printed byte for byte.
    Json,
    /// For people and programs.
    Yaml,
}

/// Prints data: `json` as it is for `json` and `yaml`, or `text` for people.
pub(crate) fn emit(format: Format, json: &str, text: impl FnOnce() -> String) -> Result<(), Failure> {
    match format {
        Format::Table => print(&text()),
        Format::Json => print(&line(json.to_owned())),
        Format::Yaml => print(&yaml(json)),
    }
}

/// Writes to stdout and flushes it.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}

/// Writes one line to stderr. Where that fails there is nobody left to tell.
pub(crate) fn say(text: &str) {
    if writeln!(io::stderr().lock(), "{text}").is_err() {
        tracing::debug!("stderr is closed");
    }
}

/// The text with a line feed at its end.
pub(crate) fn line(mut text: String) -> String {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// Text of a server as it may be shown on a terminal: escape sequences could move the cursor,
/// rename the window or hide what stands before them, so control characters are replaced.
pub(crate) fn harmless(text: &str) -> String {
    let harmful = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t')) || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if harmful(c) { '\u{fffd}' } else { c }).collect()
}

/// Lines without the blanks that an empty last column leaves at their ends.
pub(crate) fn trimmed(text: &str) -> String {
    text.lines().flat_map(|line| [line.trim_end(), "\n"]).collect()
}

/// Columns of equal width; the last one is not padded.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = head.iter().map(|cell| cell.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    let mut add = |cells: Vec<&str>| {
        let last = cells.len().saturating_sub(1);
        for (place, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            text.push_str(cell);
            if place < last {
                text.extend(std::iter::repeat_n(
                    ' ',
                    width.saturating_sub(cell.chars().count()).saturating_add(2),
                ));
            }
        }
        text.push('\n');
    };
    add(head.to_vec());
    for row in rows {
        add(row.iter().map(String::as_str).collect());
    }
    text
}

/// Whether people read stdout on a terminal that may show colour.
pub(crate) fn colour() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// JSON as YAML: order and number tokens stay as they are.
fn yaml(json: &str) -> String {
    let mut text = String::new();
    match serde_json::from_str::<&RawValue>(json) {
        Ok(value) => yaml_value(value.get(), 0, Place::Top, &mut text),
        // What is not JSON cannot be shown as YAML either; it is printed as it came.
        Err(_) => text.push_str(json),
    }
    line(text)
}

#[derive(Clone, Copy)]
enum Place {
    Top,
    Member,
    Item,
}

fn yaml_value(json: &str, depth: usize, place: Place, text: &mut String) {
    let lead = |first: bool, text: &mut String| match (place, first) {
        (Place::Top | Place::Item, true) => {}
        (Place::Top | Place::Member | Place::Item, _) => {
            text.push('\n');
            text.extend(std::iter::repeat_n("  ", depth));
        }
    };
    if let Ok(object) = Object::parse(json) {
        let mut first = true;
        for (name, value) in object.iter() {
            lead(first, text);
            first = false;
            text.push_str(&yaml_text(name));
            text.push(':');
            yaml_member(value.get(), depth, text);
        }
        if first {
            text.push_str("{}");
        }
    } else if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(json) {
        for (place, item) in items.iter().enumerate() {
            lead(place == 0, text);
            text.push_str("- ");
            yaml_value(item.get(), depth.saturating_add(1), Place::Item, text);
        }
        if items.is_empty() {
            text.push_str("[]");
        }
    } else if let Ok(string) = serde_json::from_str::<String>(json) {
        text.push_str(&yaml_text(&string));
    } else {
        text.push_str(json);
    }
}

fn yaml_member(json: &str, depth: usize, text: &mut String) {
    let nested = json.starts_with(['{', '[']) && !matches!(json, "{}" | "[]");
    if !nested {
        text.push(' ');
    }
    yaml_value(json, depth.saturating_add(1), Place::Member, text);
}

/// A string as a YAML scalar: plain where it can be read in one way only, else quoted as in JSON.
fn yaml_text(string: &str) -> String {
    let plain = string.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '/' | '$'))
        && string
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | '/' | '$' | '(' | ')'))
        && !string.ends_with(' ')
        && !matches!(
            string.to_ascii_lowercase().as_str(),
            "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n"
        );
    if plain { string.to_owned() } else { quote(string) }
}

/// A duration for people.
pub(crate) fn plural(count: usize, noun: &str) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    if write!(text, "{count} {noun}{}", if count == 1 { "" } else { "s" }).is_err() {
        text.clear();
    }
    text
}

#[cfg(test)]
mod tests;
