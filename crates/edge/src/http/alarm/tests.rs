//! Tests of `alarm`.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use tokio::time::Instant;

use super::Alarm;

const LONG: Duration = Duration::from_secs(600);
const SHORT: Duration = Duration::from_millis(5);

async fn polled_once(alarm: &Alarm, due: Instant) {
    poll_fn(|cx| {
        assert!(alarm.poll(due, cx).is_pending());
        Poll::Ready(())
    })
    .await;
}

#[tokio::test]
async fn a_wait_that_is_shorter_than_the_one_before_ends_when_it_is_due() {
    let alarm = Alarm::default();
    polled_once(&alarm, Instant::now() + LONG).await;
    let began = Instant::now();
    alarm.wait(SHORT).await;
    assert!(began.elapsed() >= SHORT);
}

#[tokio::test]
async fn a_wait_goes_on_when_the_timer_of_the_one_before_runs_out() {
    let alarm = Alarm::default();
    polled_once(&alarm, Instant::now() + SHORT).await;
    let began = Instant::now();
    alarm.wait(SHORT * 4).await;
    assert!(began.elapsed() >= SHORT * 4);
    alarm.wait(SHORT).await;
    assert!(began.elapsed() >= SHORT * 5);
}
