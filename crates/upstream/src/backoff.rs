//! When a child process that ended may be started again, as a pure value.

use std::time::{Duration, Instant};

/// The first wait; each further one is twice as long.
const SHORTEST: Duration = Duration::from_millis(250);
/// No wait is longer.
const LONGEST: Duration = Duration::from_secs(30);
/// A child that was up this long is healthy: what came before is forgotten.
const HEALTHY: Duration = Duration::from_secs(60);
/// A child that ends sooner than this after its handshake, or before it, ended fast.
const FAST: Duration = Duration::from_secs(5);
/// So many fast ends in a row are permanent.
const FAST_ENDS: u32 = 5;

/// What is remembered of a child's ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Backoff {
    ends: u32,
    fast: u32,
    until: Option<Instant>,
}

/// Why no start is tried now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The next start is tried after so long.
    For(Duration),
    /// No start is tried until the entry changes or an operator starts it.
    Forever,
}

impl Backoff {
    /// A child ended at `at`, having been up for `up` after its handshake.
    pub(crate) fn ended(&mut self, at: Instant, up: Duration) {
        if up >= HEALTHY {
            *self = Self::default();
        }
        self.ends = self.ends.saturating_add(1);
        self.fast = if up < FAST { self.fast.saturating_add(1) } else { 0 };
        let doublings = self.ends.saturating_sub(1).min(16);
        let wait = SHORTEST.saturating_mul(2_u32.saturating_pow(doublings)).min(LONGEST);
        self.until = Some(at + wait);
    }

    /// A connection ended at `at`, having been up for `up`; however often that happens, it is never permanent.
    pub(crate) fn paused(&mut self, at: Instant, up: Duration) {
        self.ended(at, up.max(FAST));
    }

    /// A start failed at `at`, after `tried`; it never was up.
    pub(crate) fn failed(&mut self, at: Instant, tried: Duration) {
        self.ended(at, tried.min(FAST));
    }

    /// Whether a start may be tried.
    pub(crate) fn check(&self, now: Instant) -> Result<(), Wait> {
        if self.fast >= FAST_ENDS {
            return Err(Wait::Forever);
        }
        match self.until.and_then(|until| until.checked_duration_since(now)) {
            Some(rest) if !rest.is_zero() => Err(Wait::For(rest)),
            Some(_) | None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
