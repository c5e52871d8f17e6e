//! Denial as a value: a stable code, a sentence for the caller, and the way out.

use serde::Serialize;

/// A stable code; each has a page in `docs/codes/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// No tool of that name that this caller may know of.
    ToolNotFound,
    /// No prompt of that name that this caller may know of.
    PromptNotFound,
    /// No resource of that URI that this caller may know of.
    ResourceNotFound,
    /// Several servers publish that URI.
    ResourceAmbiguous,
    /// No task of that id that this caller began.
    TaskNotFound,
    /// The arguments are not a JSON object that has exactly one reading.
    BadArguments,
    /// A family's tool was called without the argument that names the member, or with one that is no name.
    InstanceRequired,
    /// No member of that name that this caller may know of runs the tool.
    InstanceNotAvailable,
    /// Whatever has that name belongs to a server that was stopped by hand.
    ServerStopped,
}

impl Code {
    /// Every code, for the test that compares them with their pages.
    pub const ALL: &[Self] = &[
        Self::ToolNotFound,
        Self::PromptNotFound,
        Self::ResourceNotFound,
        Self::ResourceAmbiguous,
        Self::TaskNotFound,
        Self::BadArguments,
        Self::InstanceRequired,
        Self::InstanceNotAvailable,
        Self::ServerStopped,
    ];

    /// The code as text.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::ToolNotFound => "tool_not_found",
            Self::PromptNotFound => "prompt_not_found",
            Self::ResourceNotFound => "resource_not_found",
            Self::ResourceAmbiguous => "resource_ambiguous",
            Self::TaskNotFound => "task_not_found",
            Self::BadArguments => "bad_arguments",
            Self::InstanceRequired => "instance_required",
            Self::InstanceNotAvailable => "instance_not_available",
            Self::ServerStopped => "server_stopped",
        }
    }
}

/// A refusal: it never holds more than its caller may know (I3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The stable code.
    pub code: Code,
    /// What is refused and why, in one sentence.
    pub sentence: String,
    /// Names the caller may see that are near what was asked for.
    pub nearest: Vec<String>,
}
