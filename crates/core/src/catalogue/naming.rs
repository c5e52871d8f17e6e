//! How exposed names are made (spec 2.3); they depend on one server and one tool, never on others.

use super::Naming;
use crate::exact::Digest;
use crate::names::ExposedName;
use crate::server::ServerEntry;

/// Hex digits of the digest in an alias.
const ALIAS_DIGITS: usize = 8;

/// The longest name that the protocol recommends.
const PROTOCOL_LENGTH: usize = 128;

/// Names of the gateway's own meta-tools, of all versions; no upstream tool may bear one.
pub(super) const RESERVED: [&str; 20] = [
    "call_status",
    "call_tool",
    "describe_prompt",
    "describe_resource",
    "describe_tool",
    "discover_tools",
    "execute_code",
    "filter_prompts",
    "filter_resources",
    "filter_tools",
    "get_prompt",
    "get_resource",
    "list_core_tools",
    "list_prompts",
    "list_resources",
    "list_tools",
    "propose_changes",
    "request_grant",
    "tell_me_my_rights",
    "withdraw_request",
];

/// Why an exposed name belongs to the gateway, when it does.
pub(super) fn reserved(name: &str) -> Option<&'static str> {
    let folded = name.to_ascii_lowercase();
    if RESERVED.contains(&folded.as_str()) {
        Some("is the name of a meta-tool")
    } else if folded.starts_with("core_") {
        Some("begins with `core_`, which is kept for the gateway's own tools")
    } else if folded.starts_with("workflow_") {
        Some("begins with `workflow_`, which is kept for workflows")
    } else {
        None
    }
}

/// The name that callers use for a tool or prompt, from the one that [`whole_of`] gives.
pub(super) fn exposed(naming: &Naming, owner: &str, original: &str, whole: &str) -> ExposedName {
    if is_plain(original) && is_plain(whole) && whole.len() <= naming.max_length {
        ExposedName::new(whole)
    } else {
        ExposedName::new(&alias(whole, owner, original, naming.max_length))
    }
}

/// What stands for a server in the names of its tools and prompts.
///
/// The names of a family are its surface's: a member whose `toolPrefix` says the family's name has its own.
pub(super) fn part_of(entry: &ServerEntry) -> &str {
    let taken = |prefix: &&str| {
        entry
            .family
            .as_ref()
            .is_none_or(|family| family.name.as_str() != *prefix)
    };
    let prefix = entry.tool_prefix.as_deref().filter(taken);
    prefix.unwrap_or(entry.name.as_str())
}

/// `<prefix>_<part>_<tool>`, whatever the length and the characters.
pub(super) fn whole_of(naming: &Naming, part: &str, original: &str) -> String {
    let prefix = &naming.prefix;
    if part.is_empty() {
        return original.to_owned();
    }
    let doubled = original.strip_prefix(part).is_some_and(|rest| rest.starts_with('_'));
    let head = if prefix.is_empty() {
        String::new()
    } else {
        format!("{prefix}_")
    };
    if doubled {
        format!("{head}{original}")
    } else {
        format!("{head}{part}_{original}")
    }
}

/// Whether the protocol's own rule for names accepts a text.
fn is_plain(name: &str) -> bool {
    (1..=PROTOCOL_LENGTH).contains(&name.len()) && name.chars().all(is_plain_character)
}

fn is_plain_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | '-')
}

/// A stable stand-in: the head of the name, and a digest of the whole origin.
fn alias(whole: &str, owner: &str, original: &str, max_length: usize) -> String {
    let digest = Digest::of(format!("{owner}\0{original}").as_bytes()).hex();
    let room = max_length.min(PROTOCOL_LENGTH).saturating_sub(ALIAS_DIGITS + 1);
    let head = whole
        .chars()
        .take(room)
        .map(|c| if is_plain_character(c) { c } else { '_' });
    let name: String = head.chain(['_']).chain(digest.chars().take(ALIAS_DIGITS)).collect();
    name.chars()
        .skip(name.len().saturating_sub(max_length.max(1)))
        .collect()
}

/// Whether a name holds letters of two scripts whose letters look alike, as in a Latin word with one
/// Cyrillic letter. Other scripts stand beside Latin in honest names.
pub(super) fn mixes_scripts(name: &str) -> bool {
    let mut first = None;
    name.chars()
        .filter_map(look_alike_script)
        .any(|script| *first.get_or_insert(script) != script)
}

fn look_alike_script(character: char) -> Option<&'static str> {
    match character {
        'A'..='Z' | 'a'..='z' | '\u{C0}'..='\u{24F}' | '\u{1E00}'..='\u{1EFF}' | '\u{FF21}'..='\u{FF5A}' => {
            character.is_alphabetic().then_some("Latin")
        }
        '\u{370}'..='\u{3FF}' | '\u{1F00}'..='\u{1FFF}' => character.is_alphabetic().then_some("Greek"),
        '\u{400}'..='\u{52F}' | '\u{1C80}'..='\u{1C8F}' | '\u{2DE0}'..='\u{2DFF}' | '\u{A640}'..='\u{A69F}' => {
            Some("Cyrillic")
        }
        '\u{530}'..='\u{58F}' => Some("Armenian"),
        '\u{13A0}'..='\u{13FF}' | '\u{AB70}'..='\u{ABBF}' => Some("Cherokee"),
        '\u{A4D0}'..='\u{A4FF}' => Some("Lisu"),
        _ => None,
    }
}
