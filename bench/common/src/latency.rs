//! Latency recording and its JSON summary.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

/// Nanosecond histogram: 3 significant digits, 1 ns to 10 minutes.
#[derive(Debug)]
pub struct Recorder(Histogram<u64>);

/// What is said of many latencies, in microseconds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Summary {
    /// How many there were.
    pub count: u64,
    /// The shortest.
    pub min_us: f64,
    /// The mean.
    pub mean_us: f64,
    /// Half were not longer.
    pub p50_us: f64,
    /// Nine of ten were not longer.
    pub p90_us: f64,
    /// All but one of a hundred were not longer.
    pub p99_us: f64,
    /// All but one of a thousand were not longer.
    pub p999_us: f64,
    /// The longest.
    pub max_us: f64,
}

impl Default for Recorder {
    fn default() -> Self {
        Self(Histogram::new_with_bounds(1, 600_000_000_000, 3).expect("constant bounds are valid"))
    }
}

impl Recorder {
    /// Adds one.
    pub fn record(&mut self, d: Duration) {
        self.0
            .saturating_record(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Adds all of another recorder.
    pub fn merge(&mut self, other: &Recorder) {
        self.0.add(&other.0).expect("all recorders share the same bounds");
    }

    /// What there is to say so far; zeroes of an empty recorder.
    pub fn summary(&self) -> Summary {
        if self.0.is_empty() {
            return Summary::default();
        }
        let us = |ns: u64| (ns as f64 / 10.0).round() / 100.0;
        Summary {
            count: self.0.len(),
            min_us: us(self.0.min()),
            mean_us: (self.0.mean() / 10.0).round() / 100.0,
            p50_us: us(self.0.value_at_quantile(0.50)),
            p90_us: us(self.0.value_at_quantile(0.90)),
            p99_us: us(self.0.value_at_quantile(0.99)),
            p999_us: us(self.0.value_at_quantile(0.999)),
            max_us: us(self.0.max()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_has_the_right_quantiles() {
        let mut r = Recorder::default();
        for us in 1..=1000 {
            r.record(Duration::from_micros(us));
        }
        let s = r.summary();
        assert_eq!(s.count, 1000);
        assert!((s.p50_us - 500.0).abs() < 1.0, "{}", s.p50_us);
        assert!((s.p99_us - 990.0).abs() < 2.0, "{}", s.p99_us);
        assert!((s.max_us - 1000.0).abs() < 1.0, "{}", s.max_us);
    }

    #[test]
    fn empty_recorder_gives_zeroes() {
        assert_eq!(Recorder::default().summary().count, 0);
    }
}
