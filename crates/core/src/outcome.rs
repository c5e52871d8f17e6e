//! What became of a call, said honestly (I5).

use serde::Serialize;

/// The fate of a call that was admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// The upstream never saw it.
    NotSent,
    /// The upstream answered with a result.
    Done,
    /// The upstream answered with an error.
    Failed,
    /// It was sent and the answer was lost: nobody knows, and it is not sent again.
    OutcomeUnknown,
}

impl Fate {
    /// The word used in answers, the trail and metrics.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::NotSent => "not_sent",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::OutcomeUnknown => "outcome_unknown",
        }
    }
}
