//! The stages of a decision whose rules are not in force, each as a variant that says why.
//!
//! A stage is never an `Option` that is `None`: "off" is a value with a reason, so that a
//! forgotten stage cannot look like one that allowed.

use std::borrow::Cow;

use serde::Serialize;

/// What narrows a request to a part of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Toolset {
    /// The request is not narrowed.
    Unscoped {
        /// Why not.
        because: &'static str,
    },
}

/// Which rights a caller needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rights {
    /// Every caller that reaches the gateway may call what it can discover.
    Open {
        /// Why no rights are asked for.
        because: &'static str,
    },
}

/// Whether a tool must be one that a person has reviewed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pins {
    /// Definitions are served as published.
    Off {
        /// Why no review is asked for.
        because: &'static str,
    },
}

/// Whether a mutating call stops and asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteGate {
    /// Mutating calls run.
    Off {
        /// Why no call is parked.
        because: &'static str,
    },
}

/// One stage's answer, kept for the trail and for explanations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StageAnswer {
    /// The stage: `view`, `toolset`, `rights`, `pin`, `effect`, `gate`.
    pub stage: &'static str,
    /// What it answered, in one word.
    pub answer: &'static str,
    /// What decided.
    pub because: Cow<'static, str>,
}
