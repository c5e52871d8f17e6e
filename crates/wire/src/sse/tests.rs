//! Tests of `sse`.

use super::{Decoder, Error, Event, KEEP_ALIVE, encode, encode_priming};
use proptest::prelude::*;

fn decode(pieces: &[&[u8]], limit: usize) -> (Vec<Event>, Option<Error>) {
    let mut decoder = Decoder::new(limit);
    let mut events = Vec::new();
    for piece in pieces.iter().copied().chain([b"".as_slice()]) {
        match decoder.push(piece) {
            Ok(more) => events.extend(more),
            Err(error) => return (events, Some(error)),
        }
    }
    (events, None)
}

fn data(text: &str) -> Event {
    Event {
        data: text.to_owned(),
        ..Event::default()
    }
}

#[test]
fn events_are_read() {
    for (text, expected) in [
        ("data: {}\n\n", vec![data("{}")]),
        ("data:{}\r\rdata: x\r\n\r\n", vec![data("{}"), data("x")]),
        ("\u{FEFF}data: a\n\n", vec![data("a")]),
        ("data:  two blanks\n\n", vec![data(" two blanks")]),
        ("data: a\ndata\ndata: b\n\n", vec![data("a\n\nb")]),
        (": comment\n\n:\n\ndata: a\n:x\n\n", vec![data("a")]),
        ("event: ping\n\ndata: a\n\n", vec![data("a")]),
        (
            "event: endpoint\ndata: /m\n\n",
            vec![Event {
                event: Some("endpoint".to_owned()),
                ..data("/m")
            }],
        ),
        (
            "id: 7\nretry: 1000\ndata:\n\n",
            vec![Event {
                id: Some("7".to_owned()),
                retry: Some(1000),
                ..data("")
            }],
        ),
        ("id: a\0b\nretry: 1x\ndata: a\n\n", vec![data("a")]),
        (
            "retry: 99999999999999999999999\n\n",
            vec![Event {
                retry: Some(u64::MAX),
                ..data("")
            }],
        ),
        ("unknown: x\nDATA: y\n\n", vec![]),
        ("data: unfinished\n", vec![]),
        ("\n\n\n", vec![]),
    ] {
        assert_eq!(decode(&[text.as_bytes()], 1000), (expected, None), "{text:?}");
    }
}

#[test]
fn b023_a_character_may_be_split() {
    assert_eq!(decode(&[b"data: \xC3", b"\xA4\n", b"\n"], 100), (vec![data("ä")], None));
    assert_eq!(
        decode(&[b"\xEF", b"\xBB", b"\xBFdata: a\r", b"\n\r", b"\n"], 100),
        (vec![data("a")], None)
    );
}

#[test]
fn events_over_the_limit_and_bad_bytes_end_the_stream_for_good() {
    let long = "x".repeat(90);
    let (events, error) = decode(&[format!("data: ok\n\ndata: {long}\ndata: {long}\n\n").as_bytes()], 100);
    assert_eq!(
        (events, error),
        (vec![data("ok")], Some(Error::TooLarge { limit: 100 }))
    );
    assert_eq!(
        decode(&[":".repeat(101).as_bytes()], 100).1,
        Some(Error::TooLarge { limit: 100 })
    );
    assert_eq!(decode(&[b"data: \xFF\n\n"], 100).1, Some(Error::NotUtf8));
    let mut decoder = Decoder::new(4);
    assert!(decoder.push(b"data: x\n\n").is_err() && decoder.push(b"\n\n").is_err());
}

#[test]
fn many_comments_do_not_count_as_one_event() {
    let text = format!("{}data: a\n\n", ": keep\n".repeat(1000));
    assert_eq!(decode(&[text.as_bytes()], 50), (vec![data("a")], None));
}

#[test]
fn events_are_written() {
    assert_eq!(encode(None, "{}"), "data: {}\n\n");
    assert_eq!(encode(Some("a\nb"), "{\r\n}\n"), "id: ab\ndata: {\ndata: }\ndata: \n\n");
    assert_eq!(encode_priming("1", Some(5)), "id: 1\nretry: 5\ndata:\n\n");
    assert_eq!(decode(&[KEEP_ALIVE.as_bytes()], 10), (vec![], None));
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(texts in prop::collection::vec("[^\r\n]*", 0..5)) {
        let stream: String = texts.iter().map(|text| encode(Some("1"), text)).collect();
        let (events, error) = decode(&[stream.as_bytes()], 100_000);
        prop_assert_eq!(error, None);
        let read: Vec<String> = events.into_iter().map(|event| event.data).collect();
        prop_assert_eq!(read, texts);
    }

    #[test]
    fn line_ends_in_json_become_blanks_of_json(blank in "[ \r\n]{0,6}") {
        let json = format!("{{{blank}\"a\"{blank}:{blank}1}}");
        let (events, _) = decode(&[encode(None, &json).as_bytes()], 1000);
        let read: serde_json::Value = serde_json::from_str(&events[0].data).unwrap();
        prop_assert_eq!(read, serde_json::json!({"a": 1}));
    }

    #[test]
    fn every_split_reads_the_same(
        lines in prop::collection::vec(prop::sample::select(vec!["data: ä", "data", "data:x", "", "", "id: 1", "id: é", "retry: 3", ": c", "event: e", "\u{FEFF}data: b", "data: \u{10FFFF}long long long"]), 0..20),
        ends in prop::collection::vec(prop::sample::select(vec!["\n", "\r", "\r\n"]), 20),
        bad in prop::option::of(0_usize..200),
        cuts in prop::collection::vec(0_usize..300, 0..10),
        limit in prop::sample::select(vec![8_usize, 20, 1000]),
    ) {
        let mut stream: Vec<u8> = lines.iter().zip(&ends).flat_map(|(line, end)| [line.as_bytes(), end.as_bytes()].concat()).collect();
        if let Some(place) = bad.and_then(|at| stream.get_mut(at)) {
            *place = 0xFF;
        }
        let whole = decode(&[&stream], limit);
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut <= stream.len()).collect();
        cuts.extend([0, stream.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
        prop_assert_eq!(&decode(&pieces, limit), &whole);
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        prop_assert_eq!(decode(&bytes, limit), whole);
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        drop(decode(&[&bytes], 64));
    }
}

#[test]
fn b017_an_event_over_the_limit_is_passed_over_and_the_next_one_is_read() {
    use crate::cut::Whose;
    let long = "y".repeat(3000);
    let stream = [
        "data: {\"a\":1}\n\n".to_owned(),
        format!("event: message\ndata: {{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":\"{long}\"}}\r\n\r\n"),
        format!("data: {{\"result\":\ndata: \"{long}\"\ndata: ,\"id\":8}}\n\n"),
        "data: {\"b\":2}\n\n".to_owned(),
    ]
    .concat();
    for size in [1, 7, 1000, 100_000] {
        let mut decoder = Decoder::passing_over(1000);
        let mut data = Vec::new();
        let mut passed = Vec::new();
        for piece in stream.as_bytes().chunks(size) {
            data.extend(
                decoder
                    .push(piece)
                    .expect("readable")
                    .into_iter()
                    .map(|event| event.data),
            );
            passed.extend(decoder.take_passed().iter().map(crate::cut::Cut::whose));
        }
        assert_eq!(data, [r#"{"a":1}"#, r#"{"b":2}"#], "{size}");
        let wanted = ["7", "8"].map(|id| Whose::Answer(id.to_owned()));
        assert_eq!(passed, wanted, "{size}");
    }
}
