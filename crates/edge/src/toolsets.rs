//! What a request is narrowed to beside its headers: by its `_meta`, and by an argument (spec 3.1).

use countersign_core::admit::World;
use countersign_core::names::ServerName;
use countersign_core::principal::Caller;
use countersign_core::stages::Toolset;
use countersign_core::toolset::{Error, Narrowed, Origin, Selectors};
use countersign_engine::{Engine, Refused};
use serde_json::value::RawValue;

/// The key in `_meta` of a request that narrows it; it goes no further.
pub(crate) const KEY: &str = "countersign/toolset";

/// Within what stood before, also what `_meta` says: one text with commas, or an array of selectors.
pub(crate) fn within_meta(before: Toolset, value: &RawValue) -> Toolset {
    let text = value.get();
    let declared = if let Ok(list) = serde_json::from_str::<Vec<String>>(text) {
        Selectors::parse_list(&list)
    } else if let Ok(joined) = serde_json::from_str::<String>(text) {
        Selectors::parse_header([joined.as_str()])
    } else {
        let shown: String = text.chars().take(200).collect();
        Err(Error::Malformed {
            toolset: shown.clone(),
            selector: shown,
        })
    };
    before.narrowed(Origin::Header, declared)
}

/// What a caller is told whose toolset selects no tool (an empty list without a word looks like an empty gateway);
/// nothing when it selects some.
pub(crate) fn empty_note(narrowed: &Narrowed) -> Option<String> {
    if narrowed.count() > 0 {
        return None;
    }
    let toolset = narrowed.bounds().narrowest().map(|layer| layer.selectors.to_string());
    let mut note = format!("the toolset [{}] selects no tool", toolset.unwrap_or_default());
    let unmatched: Vec<String> = narrowed.unmatched().iter().map(ToString::to_string).collect();
    if !unmatched.is_empty() {
        note.push_str(&format!(
            "; nothing that you can reach matches {}",
            unmatched.join(", ")
        ));
    }
    let waiting: Vec<&str> = narrowed.requiring_auth().iter().map(ServerName::as_str).collect();
    if !waiting.is_empty() {
        note.push_str(&format!("; waiting for your sign-in: {}", waiting.join(", ")));
    }
    Some(note)
}

/// Puts it into the trail that a toolset selects no tool, unless that is what it says.
pub(crate) fn note_empty(engine: &Engine, caller: &Caller, world: &World, method: &str) {
    let Some(narrowed) = world.toolset().filter(|narrowed| !narrowed.unmatched().is_empty()) else {
        return;
    };
    if let Some(reason) = empty_note(narrowed) {
        engine.note(Refused {
            principal: caller.principal.key().to_string(),
            kind: "empty_toolset",
            method: method.to_owned(),
            subject: narrowed.bounds().to_string(),
            reason,
        });
    }
}

#[cfg(test)]
mod tests;
