//! What the ledger holds: one line per decision, and what is written about it.

use countersign_core::outcome::Fate;
use countersign_core::time::Millis;
use serde::Serialize;

/// One line of the trail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Its number; later entries have higher ones.
    pub seq: i64,
    /// When, in milliseconds since the Unix epoch.
    pub at: Millis,
    /// Who asked.
    pub principal: String,
    /// `call` for an admitted call, `refused`, or an event's own word.
    pub kind: String,
    /// The road by which the request came.
    pub origin: String,
    /// The method of the protocol.
    pub method: String,
    /// The server, `gateway` for its own tools, empty where nothing was resolved.
    pub server: String,
    /// The upstream's own tool or prompt name, or the URI; the caller's own words in a refusal.
    pub subject: String,
    /// What the call may do; empty in a refusal.
    pub effect: String,
    /// SHA-256 of the canonical arguments, hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args_sha256: Option<String>,
    /// Why: the stages' answers, or the refusal's sentence.
    pub reason: String,
    /// What became of it; `None` while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fate: Option<String>,
    /// How long the call took, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
}

/// A decision or an event that is no admitted call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// When.
    pub at: Millis,
    /// Who asked.
    pub principal: String,
    /// `refused`, `session_refused`, …
    pub kind: &'static str,
    /// The road by which the request came.
    pub origin: &'static str,
    /// The method of the protocol.
    pub method: String,
    /// What was asked for, in the caller's own words.
    pub subject: String,
    /// The sentence that says why.
    pub reason: String,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// What became of it.
    pub fate: Fate,
    /// When.
    pub at: Millis,
}

impl Entry {
    /// The line of a note; its number is given by the backend.
    pub(crate) fn note(note: Note) -> Self {
        Self {
            seq: 0,
            at: note.at,
            principal: note.principal,
            kind: note.kind.to_owned(),
            origin: note.origin.to_owned(),
            method: note.method,
            server: String::new(),
            subject: note.subject,
            effect: String::new(),
            args_sha256: None,
            reason: note.reason,
            fate: None,
            duration_ms: None,
        }
    }
}
