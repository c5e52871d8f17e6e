//! Points in time as values: the core never reads a clock.

use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch, as the shell's clock read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub i64);
