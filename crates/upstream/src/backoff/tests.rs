//! Tests of `backoff`.

use std::time::{Duration, Instant};

use super::{Backoff, Wait};

fn waits(ups: &[u64]) -> Vec<String> {
    let start = Instant::now();
    let mut backoff = Backoff::default();
    ups.iter()
        .map(|up| {
            backoff.ended(start, Duration::from_secs(*up));
            match backoff.check(start) {
                Ok(()) => "now".to_owned(),
                Err(Wait::For(wait)) => format!("{} ms", wait.as_millis()),
                Err(Wait::Forever) => "never".to_owned(),
            }
        })
        .collect()
}

#[test]
fn waits_double_up_to_thirty_seconds() {
    assert_eq!(
        waits(&[10; 9]),
        [
            "250 ms", "500 ms", "1000 ms", "2000 ms", "4000 ms", "8000 ms", "16000 ms", "30000 ms", "30000 ms"
        ]
    );
}

#[test]
fn a_minute_up_forgets_everything() {
    assert_eq!(waits(&[0, 0, 61, 0]), ["250 ms", "500 ms", "250 ms", "500 ms"]);
}

#[test]
fn five_fast_ends_are_permanent_and_a_slow_one_between_breaks_the_row() {
    assert_eq!(
        waits(&[0, 0, 0, 0, 0]),
        ["250 ms", "500 ms", "1000 ms", "2000 ms", "never"]
    );
    assert_eq!(
        waits(&[0, 0, 0, 0, 6, 0]),
        ["250 ms", "500 ms", "1000 ms", "2000 ms", "4000 ms", "8000 ms"]
    );
}

#[test]
fn the_wait_passes() {
    let start = Instant::now();
    let mut backoff = Backoff::default();
    backoff.ended(start, Duration::ZERO);
    assert_eq!(backoff.check(start + Duration::from_millis(250)), Ok(()));
}

#[test]
fn pauses_between_connections_to_a_server_elsewhere_grow_and_are_never_permanent() {
    let start = Instant::now();
    let mut backoff = Backoff::default();
    for _ in 0..20 {
        backoff.paused(start, Duration::ZERO);
    }
    assert_eq!(backoff.check(start), Err(Wait::For(Duration::from_secs(30))));
}
