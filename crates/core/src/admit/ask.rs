//! What a caller asks for, in the caller's own names, and the road it came by.

use crate::exact::Exact;

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
}

/// The road by which a request came; every one leads through the same door.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A request of the protocol itself.
    Direct,
    /// A meta-tool such as `call_tool`.
    MetaTool,
}

impl Origin {
    /// The word used in the trail.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::MetaTool => "meta_tool",
        }
    }
}
