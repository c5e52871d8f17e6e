//! What the fixture can change while it runs, and how the open subscriptions hear of it.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::broadcast;

/// One change that listeners may have asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// A tool came or went.
    Tools,
    /// A prompt came or went.
    Prompts,
    /// `test://watched-resource` has new content.
    Watched,
}

/// The resource that `Change::Watched` is about.
pub(crate) const WATCHED: &str = "test://watched-resource";

/// The state of what changes.
#[derive(Debug)]
pub(crate) struct Changes {
    tool: AtomicBool,
    prompt: AtomicBool,
    heard: broadcast::Sender<Change>,
}

impl Changes {
    pub(crate) fn new() -> Self {
        Self {
            tool: AtomicBool::new(false),
            prompt: AtomicBool::new(false),
            heard: broadcast::channel(64).0,
        }
    }

    /// Makes the change true and tells the listeners.
    pub(crate) fn make(&self, change: Change) {
        match change {
            Change::Tools => drop(self.tool.fetch_xor(true, Ordering::SeqCst)),
            Change::Prompts => drop(self.prompt.fetch_xor(true, Ordering::SeqCst)),
            Change::Watched => {}
        }
        // Without a listener there is nobody to tell.
        drop(self.heard.send(change));
    }

    /// Is `test_changing_tool` listed?
    pub(crate) fn tool_listed(&self) -> bool {
        self.tool.load(Ordering::SeqCst)
    }

    /// Is `test_changing_prompt` listed?
    pub(crate) fn prompt_listed(&self) -> bool {
        self.prompt.load(Ordering::SeqCst)
    }

    /// The changes from now on.
    pub(crate) fn listen(&self) -> broadcast::Receiver<Change> {
        self.heard.subscribe()
    }
}
