//! Scripts before and after a call: the stage `policies`.
//!
//! No script engine is built in yet. The stage stands where scripts will run, and says so.

use countersign_core::admit::Judged;
use countersign_core::stages::StageAnswer;

/// Which scripts run around a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scripts {
    /// None.
    None {
        /// Why not.
        because: &'static str,
    },
}

/// The scripts' word before a call: they may refuse or change arguments, never widen.
#[must_use]
pub fn pre(scripts: &Scripts, _judged: &Judged) -> StageAnswer {
    match scripts {
        Scripts::None { because } => StageAnswer {
            stage: "policies",
            answer: "none",
            because: (*because).into(),
        },
    }
}
