//! What a caller asks for, in the caller's own names, and the road it came by.

use crate::exact::Exact;
use crate::names::ServerName;

/// What a completion is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// An argument of a prompt, by exposed name.
    Prompt(String),
    /// A variable of a resource template, by URI template.
    Resource(String),
}

/// What a caller asks for, in the caller's own names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// Call a tool.
    Tool {
        /// Its exposed name.
        name: String,
        /// The arguments.
        arguments: Exact,
    },
    /// Read a resource.
    Resource {
        /// Its URI.
        uri: String,
        /// Its server, where the caller names one.
        server: Option<String>,
    },
    /// Get a prompt.
    Prompt {
        /// Its exposed name.
        name: String,
        /// The arguments.
        arguments: Exact,
    },
    /// Complete an argument.
    Complete {
        /// Of what.
        reference: Reference,
        /// `argument` of the request.
        argument: Exact,
        /// `context` of the request.
        context: Option<Exact>,
    },
    /// Be told when a resource changes.
    Subscribe {
        /// Its URI.
        uri: String,
    },
    /// No longer be told.
    Unsubscribe {
        /// Its URI.
        uri: String,
    },
    /// Do something with a task that a call of this caller began.
    Task {
        /// The server that runs it.
        server: ServerName,
        /// The server's own id of it.
        task: String,
        /// What.
        verb: TaskVerb,
    },
}

/// What is done with a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskVerb {
    /// `tasks/get`
    Get,
    /// `tasks/result` (2025-11-25)
    Result,
    /// `tasks/update` (2026-07-28)
    Update,
    /// `tasks/cancel`
    Cancel,
    /// To be told of its changes (2026-07-28, `subscriptions/listen`).
    Watch,
    /// No longer to be told.
    Unwatch,
}

impl TaskVerb {
    /// The method of the protocol.
    #[must_use]
    pub fn method(self) -> &'static str {
        match self {
            Self::Get => "tasks/get",
            Self::Result => "tasks/result",
            Self::Update => "tasks/update",
            Self::Cancel => "tasks/cancel",
            Self::Watch | Self::Unwatch => "subscriptions/listen",
        }
    }
}

/// The road by which a request came; every one leads through the same door.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A request of the protocol itself.
    Direct,
    /// A meta-tool such as `call_tool`.
    MetaTool,
    /// A step of a workflow.
    Workflow,
}

impl Origin {
    /// The word used in the trail.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::MetaTool => "meta_tool",
            Self::Workflow => "workflow",
        }
    }
}
