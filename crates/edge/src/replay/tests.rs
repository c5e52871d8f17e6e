//! Streams of calls: what a reader gets, and what one gets who comes back.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::{Cursor, HANDED_OVER_BYTES, Kept, Priming, Stream, WAITING};

fn next(cursor: &mut Cursor) -> Poll<Option<String>> {
    let mut cx = Context::from_waker(Waker::noop());
    cursor
        .poll_next(&mut cx)
        .map(|bytes| bytes.map(|bytes| String::from_utf8(bytes.to_vec()).expect("text")))
}

/// All that can be read now, without what is not data.
fn all(cursor: &mut Cursor) -> Vec<String> {
    let mut found = Vec::new();
    while let Poll::Ready(Some(event)) = next(cursor) {
        let data = event.lines().find_map(|line| line.strip_prefix("data: "));
        found.extend(data.map(str::to_owned));
    }
    found
}

#[test]
fn b077_reading_on_gives_the_later_events_in_order_and_none_twice() {
    let stream = Stream::named("s".to_owned(), Priming::Yes);
    let mut first = stream.read(None);
    assert_eq!(
        next(&mut first),
        Poll::Ready(Some("id: s-0\nretry: 1000\ndata:\n\n".to_owned()))
    );
    for message in ["1", "2", "3", "4"] {
        stream.say(message);
    }
    assert_eq!(all(&mut first), ["1", "2", "3", "4"]);
    drop(first);
    assert!(!stream.is_read());
    stream.say("5");
    let after = stream.position("s-3").expect("it is kept");
    let mut second = stream.read(Some(after));
    assert_eq!(all(&mut second), ["4", "5"]);
    stream.say("6");
    assert_eq!(all(&mut second), ["6"]);
    // Who comes while another reads takes its place.
    let mut third = stream.read(stream.position("s-5"));
    assert_eq!(next(&mut second), Poll::Ready(None));
    drop(second);
    assert!(stream.is_read(), "the one who reads now is still there");
    assert!(stream.end().is_some());
    assert_eq!(all(&mut third), ["6"]);
    assert_eq!(next(&mut third), Poll::Ready(None));
}

#[test]
fn b078_ids_of_no_event_of_this_stream_lead_nowhere() {
    let stream = Stream::named("s".to_owned(), Priming::No);
    stream.say("1");
    for id in [
        "",
        "s",
        "s-",
        "s-2",
        "s--1",
        "t-1",
        "s-01x",
        "-1",
        "s-18446744073709551616",
        "1",
    ] {
        assert_eq!(stream.position(id), None, "{id}");
    }
    assert_eq!(stream.position("s-1"), Some(1));
    let nameless = Stream::once();
    nameless.say("1");
    assert_eq!((nameless.position("-0"), nameless.position("")), (None, None));
}

#[test]
fn memory_growth_what_nobody_reads_is_bounded() {
    let stream = Stream::named("s".to_owned(), Priming::Yes);
    let mut said = 0;
    while stream.has_room() {
        stream.say("x");
        said += 1;
    }
    assert_eq!(said, WAITING - 1);
    let mut reader = stream.read(None);
    all(&mut reader);
    let large = "x".repeat(100 * 1024);
    for _ in 0..50 {
        assert!(stream.has_room());
        stream.say(&large);
        all(&mut reader);
    }
    assert!(stream.state().bytes <= HANDED_OVER_BYTES + 2 * large.len());
    let left = all(&mut stream.read(Some(0))).len();
    assert!((1..50).contains(&left), "what is left of it: {left}");
}

#[test]
fn memory_growth_large_answers_are_not_kept_after_they_were_handed_over() {
    let stream = Stream::named("s".to_owned(), Priming::Yes);
    let large = "x".repeat(3 * 1024 * 1024);
    let mut reader = stream.read(None);
    stream.say(&large);
    assert!(stream.end().is_some());
    assert_eq!(all(&mut reader), [large.as_str()]);
    drop(reader);
    assert!(stream.state().bytes <= HANDED_OVER_BYTES);

    let unread = Stream::named("u".to_owned(), Priming::Yes);
    drop(unread.read(None));
    unread.say(&large);
    assert_eq!((unread.end(), unread.position("u-0")), (None, None));
    assert_eq!(unread.state().bytes, 0);
}

#[test]
fn memory_growth_the_oldest_ended_streams_are_forgotten_first() {
    let kept = Kept::default();
    let streams: Vec<Arc<Stream>> = (0..40)
        .map(|number| {
            let stream = Stream::named(format!("s{number}"), Priming::Yes);
            stream.say(&"x".repeat(900 * 1024));
            let bytes = stream.end().expect("it is small enough");
            kept.keep(&stream, bytes);
            stream
        })
        .collect();
    assert_eq!(streams[0].position("s0-0"), None);
    assert_eq!(streams[39].position("s39-0"), Some(0));
    let bytes: usize = streams.iter().map(|stream| stream.state().bytes).sum();
    assert!(bytes <= 16 * 1024 * 1024);
}
