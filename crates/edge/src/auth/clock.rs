//! The time by which tokens are judged: the wall's clock, which may only be ahead of how long this run has lasted.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The clock of one run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    wall: i64,
    steady: Instant,
}

impl Clock {
    /// A clock that starts now.
    pub(super) fn start() -> Self {
        Self {
            wall: wall(),
            steady: Instant::now(),
        }
    }

    /// Now, in milliseconds since the Unix epoch. A clock that is set back does not bring back what has expired.
    pub(super) fn now(self) -> i64 {
        self.at(wall(), self.steady.elapsed())
    }

    fn at(self, wall: i64, elapsed: Duration) -> i64 {
        let lasted = i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX);
        wall.max(self.wall.saturating_add(lasted))
    }
}

fn wall() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b074_a_clock_that_is_set_back_does_not_bring_back_time() {
        let clock = Clock {
            wall: 1_000_000,
            steady: Instant::now(),
        };
        let minute = Duration::from_mins(1);
        assert_eq!(clock.at(1_060_000, minute), 1_060_000);
        assert_eq!(clock.at(1_060_000 - 3_600_000, minute), 1_060_000);
        assert_eq!(clock.at(1_060_000 + 3_600_000, minute), 4_660_000);
    }
}
