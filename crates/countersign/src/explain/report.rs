//! What `explain` found out, as it is printed for programs.

use countersign_config::At;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::scene::{Layer, Whom};

/// What would become of one call.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    #[serde(rename = "as")]
    pub(crate) whom: Whom,
    pub(crate) tool: String,
    /// Whether the call would run.
    pub(crate) runs: bool,
    /// Every stage, in order.
    pub(crate) stages: Vec<Stage>,
    pub(crate) refusal: Option<Refused>,
    pub(crate) sends: Option<Sends>,
    pub(crate) notes: Vec<String>,
}

/// What one stage answers.
#[derive(Debug, Serialize)]
pub(crate) struct Stage {
    pub(crate) stage: &'static str,
    /// The answer in one word; of the stage that refuses, the code of the refusal.
    pub(crate) answer: String,
    pub(crate) because: String,
    pub(crate) from: Option<At>,
    /// Of the stage `toolset`: what each toolset says.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) toolsets: Vec<Layer>,
}

/// What the caller would be told.
#[derive(Debug, Serialize)]
pub(crate) struct Refused {
    pub(crate) code: &'static str,
    pub(crate) sentence: String,
    /// Names to choose from, or near what was asked for.
    pub(crate) nearest: Vec<String>,
}

/// What would be sent, and where.
#[derive(Debug, Serialize)]
pub(crate) struct Sends {
    /// The server; nothing of what the gateway does itself.
    pub(crate) server: Option<String>,
    /// The tool in the server's own words.
    pub(crate) tool: String,
    /// The arguments as they would be judged, recorded and sent, credentials masked.
    pub(crate) arguments: Box<RawValue>,
}

/// What a stage answers that is not asked, since one before it refuses.
pub(crate) const NOT_REACHED: &str = "not_reached";

impl Stage {
    /// A stage without more to say.
    pub(crate) fn of(stage: &'static str, answer: &str, because: impl Into<String>) -> Self {
        Self {
            stage,
            answer: answer.to_owned(),
            because: because.into(),
            from: None,
            toolsets: Vec::new(),
        }
    }

    /// The same with the place that decides.
    pub(crate) fn at(mut self, from: Option<At>) -> Self {
        self.from = from;
        self
    }
}
