//! Questions that the server asks in the middle of a call, and who waits for their answers.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use bytes::Bytes;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

/// The open questions of one server.
#[derive(Debug, Default)]
pub(crate) struct Questions(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    next: u64,
    waiting: HashMap<u64, oneshot::Sender<()>>,
}

/// The wait for one answer.
#[derive(Debug)]
pub(crate) struct Waiting(oneshot::Receiver<()>);

impl Questions {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new question as an event, and the wait for its answer.
    pub(crate) fn ask(&self) -> (Bytes, Waiting) {
        let (sender, receiver) = oneshot::channel();
        let mut open = self.open();
        open.next += 1;
        let id = open.next;
        open.waiting.insert(id, sender);
        let event = format!(
            concat!(
                "event: message\ndata: ",
                r#"{{"jsonrpc":"2.0","id":"ask-{}","method":"elicitation/create","params":{{"#,
                r#""message":"May this go on?","requestedSchema":{{"type":"object","properties":"#,
                r#"{{"yes":{{"type":"boolean"}}}},"required":["yes"]}}}}}}"#,
                "\n\n"
            ),
            id
        );
        (Bytes::from(event), Waiting(receiver))
    }

    /// Whether the id of an answer is that of an open question, which is closed then.
    pub(crate) fn answered(&self, id: &RawValue) -> bool {
        let id = id.get().strip_prefix("\"ask-").and_then(|rest| rest.strip_suffix('"'));
        let Some(id) = id.and_then(|id| id.parse().ok()) else {
            return false;
        };
        let sender = self.open().waiting.remove(&id);
        // Nobody waits any more when the caller went away: the question was open all the same.
        sender.map(|sender| sender.send(())).is_some()
    }
}

impl Waiting {
    /// Ready with the answer.
    pub(crate) fn poll_answered(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(cx).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_answered_once_and_only_by_its_id() {
        let questions = Questions::default();
        let (event, _waiting) = questions.ask();
        assert!(event.starts_with(b"event: message\ndata: {"));
        let id = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        assert!(!questions.answered(&id("1")));
        assert!(!questions.answered(&id("\"ask-2\"")));
        assert!(questions.answered(&id("\"ask-1\"")));
        assert!(!questions.answered(&id("\"ask-1\"")));
    }
}
