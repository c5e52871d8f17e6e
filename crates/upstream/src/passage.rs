//! What passes between one caller and one upstream while a call is under way.

use countersign_wire::object::{Object, quote};
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::way::Way;

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
    pub to_caller: Way,
    /// Cancelled when the caller takes the call back.
    pub cancel: CancellationToken,
}

impl Passage {
    /// The passage of a call that the gateway makes on behalf of this one: its messages go to `to_caller`, and it ends
    /// with `cancel`. What the caller sent beside its own call belongs to that call alone.
    #[must_use]
    pub fn inner(&self, to_caller: Way, cancel: CancellationToken) -> Self {
        let is_trace = |name: &str| matches!(name, "traceparent" | "tracestate");
        let mut abilities = self.abilities.clone();
        // The caller follows its own call, not those inside of it: tasks of servers are run to their end here.
        abilities.tasks = Tasks::Undeclared;
        Self {
            abilities,
            progress_token: self.progress_token.clone(),
            log_level: self.log_level.clone(),
            meta: self.meta.iter().filter(|(name, _)| is_trace(name)).cloned().collect(),
            extra: Vec::new(),
            to_caller,
            cancel,
        }
    }

    /// Progress of the gateway's own for the caller, when it wants progress.
    #[must_use]
    pub fn progress(&self, count: u64, message: &str) -> Option<ToCaller> {
        let token = self.progress_token.as_ref()?;
        let params = format!(
            r#"{{"progressToken":{},"progress":{count},"message":{}}}"#,
            token.get(),
            quote(message)
        );
        Some(ToCaller::Notification {
            method: PROGRESS.to_owned(),
            params: RawValue::from_string(params).ok()?,
        })
    }
}

const PROGRESS: &str = "notifications/progress";

impl ToCaller {
    /// What a progress notification says, when it is one that says something.
    #[must_use]
    pub fn progress_message(&self) -> Option<String> {
        match self {
            Self::Notification { method, params } if method == PROGRESS => {
                let params = Object::parse(params.get()).ok()?;
                Some(params.text("message").unwrap_or_default().into_owned())
            }
            Self::Notification { .. } | Self::Request { .. } => None,
        }
    }
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
