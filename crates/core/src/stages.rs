//! The stages of a decision whose rules are not in force, each as a variant that says why.
//!
//! A stage is never an `Option` that is `None`: "off" is a value with a reason, so that a
//! forgotten stage cannot look like one that allowed.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;

use crate::toolset::{Bounds, Error, Origin, Selectors};

/// What narrows a request to a part of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Toolset {
    /// The request is not narrowed.
    Unscoped {
        /// Why not.
        because: &'static str,
    },
    /// The request is narrowed to what toolsets select, each within the ones before it.
    Within(Arc<Bounds>),
    /// A toolset was declared that cannot be read: nothing of the catalogue is served.
    Bad(Arc<Error>),
}

impl Toolset {
    /// The same narrowed further by a toolset, or bad when that one cannot be read; what is bad stays bad.
    #[must_use]
    pub fn narrowed(self, origin: Origin, declared: Result<Selectors, Error>) -> Self {
        match (self, declared) {
            (Self::Bad(error), _) => Self::Bad(error),
            (Self::Unscoped { .. } | Self::Within(_), Err(error)) => Self::Bad(Arc::new(error)),
            (Self::Unscoped { .. }, Ok(selectors)) => Self::Within(Arc::new(Bounds::of(origin, selectors))),
            (Self::Within(bounds), Ok(selectors)) => Self::Within(Arc::new(bounds.within(origin, selectors))),
        }
    }
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
    /// The stage: `session`, `view`, `toolset`, `rights`, `pin`, `effect`, `gate`.
    pub stage: &'static str,
    /// What it answered, in one word.
    pub answer: &'static str,
    /// What decided.
    pub because: Cow<'static, str>,
}
