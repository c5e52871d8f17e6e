//! The one reading of the wall clock.

use std::time::{SystemTime, UNIX_EPOCH};

use countersign_core::time::Millis;

/// Now. A clock before 1970 reads as 0.
pub(crate) fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
