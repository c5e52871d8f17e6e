//! The one reading of the clocks.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use countersign_core::time::Millis;
use countersign_store::Reading;

/// Now. A clock before 1970 reads as 0.
pub(crate) fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Both clocks at one instant.
pub(crate) fn reading() -> Reading {
    Reading {
        wall: now(),
        steady: Instant::now(),
    }
}
