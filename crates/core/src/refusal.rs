//! Denial as a value: a stable code, a sentence for the caller, and the way out.

mod kind;

use serde::Serialize;

use crate::names::ServerName;
use crate::toolset::Selectors;

pub use kind::Kind;

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
    /// Whatever has that name is outside the toolset of the request.
    OutsideToolset,
    /// The toolset of the request cannot be used.
    BadToolset,
    /// Whatever may have that name belongs to a server that waits for the caller's sign-in.
    AuthRequired,
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
        Self::OutsideToolset,
        Self::BadToolset,
        Self::AuthRequired,
    ];

    /// The stage that refuses with it, in the word of [`StageAnswer::stage`](crate::stages::StageAnswer::stage).
    #[must_use]
    pub fn stage(self) -> &'static str {
        match self {
            Self::OutsideToolset | Self::BadToolset => "toolset",
            Self::ToolNotFound
            | Self::PromptNotFound
            | Self::ResourceNotFound
            | Self::ResourceAmbiguous
            | Self::TaskNotFound
            | Self::BadArguments
            | Self::InstanceRequired
            | Self::InstanceNotAvailable
            | Self::ServerStopped
            | Self::AuthRequired => "view",
        }
    }

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
            Self::OutsideToolset => "outside_toolset",
            Self::BadToolset => "bad_toolset",
            Self::AuthRequired => "auth_required",
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
    /// What its code says more about.
    pub detail: Detail,
}

/// What some refusals say more about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Detail {
    /// Nothing.
    None,
    /// Of [`Code::OutsideToolset`].
    Outside(Box<Outside>),
    /// Of [`Code::AuthRequired`]: the server to sign in to.
    SignIn(ServerName),
}

/// What is outside which toolset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outside {
    /// What kind of thing it is.
    pub kind: Kind,
    /// Its exposed name, or its URI.
    pub name: String,
    /// The member of a family, where the call names one that the toolset does not select.
    pub server: Option<ServerName>,
    /// The toolset that it is outside of.
    pub toolset: Selectors,
    /// Whether that toolset is bound to the caller, whatever the request declares.
    pub bound: bool,
}

impl Refusal {
    /// A refusal that names nothing near.
    #[must_use]
    pub fn new(code: Code, sentence: String) -> Self {
        Self {
            code,
            sentence,
            nearest: Vec::new(),
            detail: Detail::None,
        }
    }

    /// The same with names that are near, or that are to be chosen from.
    #[must_use]
    pub fn near(mut self, nearest: Vec<String>) -> Self {
        self.nearest = nearest;
        self
    }

    /// The refusal of what is outside a toolset.
    #[must_use]
    pub fn outside(outside: Outside) -> Self {
        let Outside {
            kind,
            name,
            server,
            toolset,
            bound,
        } = &outside;
        let member = server
            .as_ref()
            .map_or(String::new(), |server| format!(" on server \"{server}\""));
        let whose = if *bound { " bound to the session" } else { "" };
        let kind = kind.word();
        let sentence = format!("{kind} {name:?}{member} is outside the toolset [{toolset}]{whose}");
        let mut refusal = Self::new(Code::OutsideToolset, sentence);
        refusal.detail = Detail::Outside(Box::new(outside));
        refusal
    }

    /// The refusal of what may belong to a server that waits for the caller's sign-in.
    #[must_use]
    pub fn sign_in(server: ServerName) -> Self {
        let sentence = format!("auth_required: server {server} waits for your sign-in");
        let mut refusal = Self::new(Code::AuthRequired, sentence);
        refusal.detail = Detail::SignIn(server);
        refusal
    }
}
