//! What passes between one caller and one upstream while a call is under way.

use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// What the caller's client can answer, as it declared.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "one flag per capability of the protocol")]
pub struct Abilities {
    /// `capabilities` as the client sent them.
    pub raw: Option<Box<RawValue>>,
    /// `sampling`
    pub sampling: bool,
    /// `elicitation` in form mode
    pub elicit_form: bool,
    /// `elicitation.url`
    pub elicit_url: bool,
    /// `roots`
    pub roots: bool,
    /// It shows apps (`io.modelcontextprotocol/ui`).
    pub apps: bool,
    /// What it knows of tasks.
    pub tasks: Tasks,
}

/// What a caller knows of tasks. What it cannot follow itself is run to its end for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tasks {
    /// A caller of 2026-07-28 that did not declare them: no server is told of them.
    #[default]
    Undeclared,
    /// A caller of 2026-07-28 that declared the extension.
    Extension,
    /// A caller of a session, which may ask for a task of 2025-11-25 by the parameter `task`.
    Parameter,
}

/// What a caller's request carries besides the judged call, and the way back to the caller.
#[derive(Debug)]
pub struct Passage {
    /// What the caller's client can answer.
    pub abilities: Abilities,
    /// The caller's progress token, as written, when it wants progress.
    pub progress_token: Option<Box<RawValue>>,
    /// The log level that the request or its session asked for.
    pub log_level: Option<String>,
    /// `_meta` without reserved keys and progress token: `traceparent`, vendor keys.
    pub meta: Vec<(String, Box<RawValue>)>,
    /// Members of `params` that the judged call does not cover (`inputResponses`, `requestState`,
    /// `task`, members of future versions), as written.
    pub extra: Vec<(String, Box<RawValue>)>,
    /// Where messages for the caller go while the call is under way; a full or closed channel
    /// drops notifications and fails requests.
    pub to_caller: mpsc::Sender<ToCaller>,
    /// Cancelled when the caller takes the call back.
    pub cancel: CancellationToken,
}

/// A message of an upstream for the caller of the call under way.
#[derive(Debug)]
pub enum ToCaller {
    /// A notification: progress with the caller's own token, a log message.
    Notification {
        /// `notifications/…`
        method: String,
        /// As sent, the progress token replaced.
        params: Box<RawValue>,
    },
    /// A request (sampling, elicitation, roots) that the caller's client answers.
    Request {
        /// `sampling/createMessage`, `elicitation/create`, `roots/list`
        method: String,
        /// As sent; an elicitation's message names the server.
        params: Option<Box<RawValue>>,
        /// Where the answer goes.
        reply: oneshot::Sender<Reply>,
    },
}

/// A client's answer to an upstream's request.
#[derive(Debug)]
pub enum Reply {
    /// `result`
    Result(Box<RawValue>),
    /// `error`
    Error(Box<RawValue>),
}
