//! Tests of `queue`.

use std::sync::Arc;
use std::time::Duration;

use super::{Haste, Limits, Queue};
use crate::Error;

fn queue(gather: Duration) -> Arc<Queue<u32>> {
    Arc::new(Queue::new(Limits {
        gather,
        group: 4,
        backlog: 6,
    }))
}

/// So long that no test sees its end.
const LONG: Duration = Duration::from_secs(3600);

#[test]
fn what_somebody_waits_for_takes_along_what_was_there() {
    let queue = queue(LONG);
    queue.push(1, Haste::Soon).unwrap();
    queue.push(2, Haste::Now).unwrap();
    assert_eq!(queue.take(), Some(vec![1, 2]));
}

#[test]
fn a_full_group_waits_for_nobody_and_keeps_the_order() {
    let queue = queue(LONG);
    for job in 0..6 {
        queue
            .push(job, if job == 5 { Haste::Now } else { Haste::Soon })
            .unwrap();
    }
    assert_eq!(queue.take(), Some(vec![0, 1, 2, 3]));
    // The haste of the last one is not forgotten with the first group.
    assert_eq!(queue.take(), Some(vec![4, 5]));
}

#[test]
fn the_writer_is_woken_for_a_first_job_and_for_haste() {
    let queue = queue(LONG);
    let writer = {
        let queue = Arc::clone(&queue);
        std::thread::spawn(move || queue.take())
    };
    queue.push(1, Haste::Soon).unwrap();
    queue.push(2, Haste::Soon).unwrap();
    queue.push(3, Haste::Now).unwrap();
    let first = writer.join().unwrap().unwrap();
    assert_eq!(first.first(), Some(&1));
    assert_eq!(first.len(), 3);
}

#[test]
fn jobs_that_nobody_waits_for_are_written_after_the_gathering() {
    let queue = queue(Duration::from_millis(1));
    queue.push(1, Haste::Soon).unwrap();
    assert_eq!(queue.take(), Some(vec![1]));
}

#[test]
fn what_is_being_written_counts_as_behind() {
    let queue = queue(LONG);
    for job in 0..6 {
        queue.push(job, Haste::Now).unwrap();
    }
    assert!(matches!(queue.push(6, Haste::Now), Err(Error::Behind(6))));
    assert_eq!(queue.take().map(|group| group.len()), Some(4));
    assert!(matches!(queue.push(6, Haste::Now), Err(Error::Behind(6))));
    assert_eq!(queue.take().map(|group| group.len()), Some(2));
    assert!(queue.push(6, Haste::Now).is_ok());
}

#[test]
fn a_closed_queue_gives_what_it_has_and_ends() {
    let queue = queue(LONG);
    queue.push(1, Haste::Soon).unwrap();
    queue.close();
    assert!(matches!(queue.push(2, Haste::Now), Err(Error::Closed)));
    assert_eq!(queue.take(), Some(vec![1]));
    assert_eq!(queue.take(), None);
}
