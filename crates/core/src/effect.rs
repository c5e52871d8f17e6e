//! What a call may do to the world, and who says so (I7).

use serde::Serialize;

use crate::definition::Annotations;

/// What a call may do to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It changes nothing.
    ReadOnly,
    /// It may change something.
    Mutating,
    /// It starts runs whose inner calls cannot be guarded from here.
    Spawning,
    /// It is one of the gateway's own control calls.
    Control,
}

impl Effect {
    /// The word used in answers, the trail and metrics.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::Mutating => "mutating",
            Self::Spawning => "spawning",
            Self::Control => "control",
        }
    }
}

/// Who said what the effect is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The gateway's own declaration, for its core tools.
    Gateway,
    /// The protocol: reading a resource, getting a prompt, completing an argument.
    Protocol,
    /// The server's `readOnlyHint`, trusted because its entry says `trustAnnotations: true`.
    Annotation,
    /// What was derived of a workflow from the tools that it may call.
    Derived,
    /// Nobody: unclassified means mutating.
    Undeclared,
}

/// An effect and who said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Classified {
    /// The effect.
    pub effect: Effect,
    /// Who said so.
    pub source: Source,
}

/// Whether a server's hints are believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnnotationTrust {
    /// `trustAnnotations: true`.
    Trusted,
    /// The default: hints are shown, never used.
    Ignored,
}

/// Classifies a tool of an upstream server. Names never decide.
///
/// A read-only hint beside a destructive one is a contradiction, so it is mutating.
#[must_use]
pub fn classify_tool(annotations: Option<&Annotations>, trust: AnnotationTrust) -> Classified {
    let proven = matches!(trust, AnnotationTrust::Trusted)
        && annotations.is_some_and(|a| a.read_only == Some(true) && a.destructive != Some(true));
    if proven {
        Classified {
            effect: Effect::ReadOnly,
            source: Source::Annotation,
        }
    } else {
        Classified {
            effect: Effect::Mutating,
            source: Source::Undeclared,
        }
    }
}
