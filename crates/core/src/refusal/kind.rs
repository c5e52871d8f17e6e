//! What kinds of things a caller can ask for by name.

/// What kind of thing a caller asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A tool.
    Tool,
    /// A resource.
    Resource,
    /// A prompt.
    Prompt,
    /// A server.
    Server,
}

impl Kind {
    /// The word used in sentences.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Resource => "resource",
            Self::Prompt => "prompt",
            Self::Server => "server",
        }
    }
}
