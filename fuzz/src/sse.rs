//! Event streams: the same events however the bytes arrive, as the letter of WHATWG HTML 9.2 has them.

use countersign_wire::sse::{self, Decoder, Error, Event};

/// The laws of one stream. The first byte chooses the limit, the second the pieces; the rest is the stream.
pub fn check(data: &[u8]) {
    let [limit, seed, stream @ ..] = data else { return };
    let limit = match limit % 4 {
        0 => 8,
        1 => 64,
        2 => 512,
        _ => usize::MAX,
    };
    let wanted = letter(stream, limit);
    assert_eq!(decoded(limit, [stream]), wanted, "whole");
    assert_eq!(decoded(limit, stream.chunks(1)), wanted, "byte by byte");
    assert_eq!(decoded(limit, pieces(stream, *seed)), wanted, "in pieces");
    for event in &wanted.0 {
        assert!(event.data.len() <= limit, "an event over the limit");
    }
    if let Ok(text) = std::str::from_utf8(stream) {
        what_is_written_is_read(text);
    }
}

/// The events, and what ended the stream.
type Answer = (Vec<Event>, Option<Error>);

fn decoded<'a>(limit: usize, pieces: impl IntoIterator<Item = &'a [u8]>) -> Answer {
    let mut decoder = Decoder::new(limit);
    let mut events = Vec::new();
    let mut first = None;
    for piece in pieces {
        match decoder.push(piece) {
            Ok(more) => {
                assert!(first.is_none() || more.is_empty(), "events after a fault");
                events.extend(more);
            }
            Err(error) => {
                let first = first.get_or_insert(error.clone());
                assert_eq!(*first, error, "a fault stays what it was");
            }
        }
    }
    (events, decoder.push(b"").err())
}

/// Pieces of 0 to 15 bytes, chosen by a seed.
fn pieces(stream: &[u8], seed: u8) -> Vec<&[u8]> {
    let mut state = u32::from(seed);
    let mut rest = stream;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        let (piece, tail) = rest.split_at(rest.len().min((state >> 16) as usize % 16));
        pieces.push(piece);
        rest = tail;
    }
    pieces
}

/// The reference: the whole stream cut into lines first, then read line by line.
fn letter(stream: &[u8], limit: usize) -> Answer {
    let mut events = Vec::new();
    let mut event = Event::default();
    let mut has_content = false;
    for (number, (line, is_whole)) in lines(stream).into_iter().enumerate() {
        if event.data.len() + line.len() > limit {
            return (events, Some(Error::TooLarge { limit }));
        }
        if !is_whole {
            break;
        }
        let Ok(line) = std::str::from_utf8(line) else {
            return (events, Some(Error::NotUtf8));
        };
        let line = if number == 0 {
            line.strip_prefix('\u{FEFF}').unwrap_or(line)
        } else {
            line
        };
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "" if line.is_empty() => {
                let mut done = std::mem::take(&mut event);
                done.data.pop();
                if std::mem::take(&mut has_content) {
                    events.push(done);
                }
            }
            "data" => {
                event.data.extend([value, "\n"]);
                has_content = true;
            }
            "event" => event.event = Some(value.to_owned()),
            "id" if !value.contains('\0') => {
                event.id = Some(value.to_owned());
                has_content = true;
            }
            "retry" if !value.is_empty() && value.chars().all(|c| c.is_ascii_digit()) => {
                event.retry = Some(value.parse().unwrap_or(u64::MAX));
                has_content = true;
            }
            _ => {}
        }
    }
    (events, None)
}

/// The lines, and whether each has its end.
fn lines(stream: &[u8]) -> Vec<(&[u8], bool)> {
    let mut lines = Vec::new();
    let mut rest = stream;
    while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
        lines.push((&rest[..end], true));
        let length = if rest[end..].starts_with(b"\r\n") { 2 } else { 1 };
        rest = &rest[end + length..];
    }
    lines.push((rest, false));
    lines
}

fn what_is_written_is_read(text: &str) {
    let joined = text.replace("\r\n", "\n").replace('\r', "\n");
    let id: String = text.chars().filter(|c| !matches!(c, '\r' | '\n' | '\0')).collect();
    for given in [None, Some(text)] {
        let wanted = Event {
            data: joined.clone(),
            id: given.map(|_| id.clone()),
            ..Event::default()
        };
        let written = sse::encode(given, text);
        assert_eq!(decoded(usize::MAX, [written.as_bytes()]), (vec![wanted], None));
    }
    let primed = Event {
        id: Some(id),
        retry: Some(1),
        ..Event::default()
    };
    let written = sse::encode_priming(text, Some(1));
    assert_eq!(decoded(usize::MAX, [written.as_bytes()]), (vec![primed], None));
}
