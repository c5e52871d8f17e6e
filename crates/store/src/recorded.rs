//! The proof that an intent is in the ledger.

use countersign_core::admit::ExactCall;
use countersign_core::outcome::Fate;
use countersign_core::time::Millis;

use crate::Backend;

/// One admitted call whose intent is recorded. Only [`crate::Ledger::begin`] makes one, and the
/// upstream call takes it by value: one record, one call.
///
/// ```compile_fail,E0451
/// # fn forge(call: countersign_core::admit::ExactCall, receipt: countersign_store::Receipt) {
/// let forged = countersign_store::Recorded { call, receipt };
/// # }
/// ```
/// ```compile_fail,E0599
/// fn twice(recorded: countersign_store::Recorded) { drop(recorded.clone()); }
/// ```
/// ```compile_fail,E0382
/// fn spent(recorded: countersign_store::Recorded) { drop(recorded.into_parts()); drop(recorded); }
/// ```
#[derive(Debug)]
#[must_use = "a recorded call that is dropped leaves an intent without a fate"]
pub struct Recorded {
    call: ExactCall,
    receipt: Receipt,
}

/// What finishes a record. One that is dropped instead (its caller went away, a panic) writes
/// `outcome_unknown`: a call that may have run is never left without a fate.
///
/// ```compile_fail,E0451
/// # fn forge() {
/// let forged = countersign_store::Receipt { open: None };
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a receipt that is dropped reports its call as outcome_unknown"]
pub struct Receipt {
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    backend: Backend,
    id: i64,
    begun: Millis,
}

impl Recorded {
    pub(crate) fn mint(call: ExactCall, backend: Backend, id: i64, begun: Millis) -> Self {
        Self {
            call,
            receipt: Receipt {
                open: Some(Open { backend, id, begun }),
            },
        }
    }

    /// The one call that it stands for.
    #[must_use]
    pub fn call(&self) -> &ExactCall {
        &self.call
    }

    /// Spends the record: the call to make, and what finishes it.
    pub fn into_parts(self) -> (ExactCall, Receipt) {
        (self.call, self.receipt)
    }
}

impl Receipt {
    /// The call's number and when it began; the drop no longer writes.
    pub(crate) fn spend(mut self) -> Option<(i64, Millis)> {
        self.open.take().map(|open| (open.id, open.begun))
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        if let Some(Open { backend, id, .. }) = self.open.take()
            && let Err(error) = backend.end(id, Fate::OutcomeUnknown, None)
        {
            tracing::error!(%error, "the fate of a call cannot be recorded");
        }
    }
}
