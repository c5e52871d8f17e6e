//! The calls under way on one session or pipe, so that `notifications/cancelled` finds its own.

use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

/// The calls under way. Ids are kept as their raw text: `1` and `"1"` are two ids.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    under_way: Mutex<UnderWay>,
}

#[derive(Debug, Default)]
struct UnderWay {
    next: u64,
    calls: Vec<(u64, Box<str>, CancellationToken)>,
}

impl Calls {
    /// Enters a call. It is under way until the ticket is dropped.
    pub(crate) fn enter(self: &Arc<Self>, id: &str, cancel: &CancellationToken) -> Ticket {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        let number = under_way.next;
        under_way.next += 1;
        under_way.calls.push((number, id.into(), cancel.clone()));
        Ticket {
            calls: Arc::clone(self),
            number,
        }
    }

    /// Takes back every call of that id.
    pub(crate) fn cancel(&self, id: &str) {
        let under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, _, cancel) in under_way.calls.iter().filter(|(_, entered, _)| &**entered == id) {
            cancel.cancel();
        }
    }

    /// Takes back everything.
    pub(crate) fn cancel_all(&self) {
        let under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, _, cancel) in &under_way.calls {
            cancel.cancel();
        }
    }

    /// Whether nothing is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .calls
            .is_empty()
    }
}

/// A call's place among those under way.
#[derive(Debug)]
pub(crate) struct Ticket {
    calls: Arc<Calls>,
    number: u64,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut under_way = self.calls.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.calls.retain(|(number, _, _)| *number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio_util::sync::CancellationToken;

    use super::Calls;

    #[test]
    fn b020_cancel_finds_its_own_call_only() {
        let calls = Arc::new(Calls::default());
        let (number, text) = (CancellationToken::new(), CancellationToken::new());
        let first = calls.enter("1", &number);
        let second = calls.enter("\"1\"", &text);
        calls.cancel("1");
        assert!(number.is_cancelled() && !text.is_cancelled());
        drop(first);
        assert!(!calls.is_idle());
        drop(second);
        assert!(calls.is_idle());
    }
}
