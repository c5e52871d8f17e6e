//! Tests of `lines`.

use std::pin::Pin;
use std::task::{Context, Poll};

use countersign_wire::cut::Cut;
use tokio::io::{AsyncRead, ReadBuf};

use super::{Line, Lines};

/// Gives out its pieces one read at a time.
struct Pieces(Vec<Vec<u8>>);

impl AsyncRead for Pieces {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
        if !self.0.is_empty() {
            let piece = self.0.remove(0);
            into.put_slice(&piece);
        }
        Poll::Ready(Ok(()))
    }
}

async fn lines(pieces: &[&[u8]], limit: usize) -> Vec<Line> {
    let mut lines = Lines::new(Pieces(pieces.iter().map(|piece| piece.to_vec()).collect()), limit);
    let mut read = Vec::new();
    while let Some(line) = lines.next().await.unwrap() {
        read.push(line);
    }
    read
}

fn text(line: &str) -> Line {
    Line::Text(line.to_owned())
}

fn too_large(line: &str) -> Line {
    let mut cut = Cut::default();
    cut.push(line.as_bytes());
    Line::TooLarge(cut)
}

#[tokio::test]
async fn b023_a_character_split_over_two_reads_is_one_character() {
    assert_eq!(
        lines(&[b"{\"a\":\"\xc3", b"\xa4\"}\n"], 100).await,
        [text("{\"a\":\"ä\"}")]
    );
}

#[tokio::test]
async fn lines_end_with_lf_or_crlf_or_the_stream() {
    assert_eq!(
        lines(&[b"a\r\nb\n\nc"], 100).await,
        [text("a"), text("b"), text(""), text("c")]
    );
    assert_eq!(
        lines(&[b"a", b"b", b"\nc\nd", b"\n"], 100).await,
        [text("ab"), text("c"), text("d")]
    );
}

#[tokio::test]
async fn b053_a_line_over_the_limit_is_dropped_and_the_next_one_is_read() {
    assert_eq!(
        lines(&[b"12345", b"67890", b"1\nok\n"], 8).await,
        [too_large("12345678901"), text("ok")]
    );
    assert_eq!(
        lines(&[b"123456789\nok\n"], 8).await,
        [too_large("123456789"), text("ok")]
    );
    assert_eq!(lines(&[b"12345678\nok\n"], 8).await, [text("12345678"), text("ok")]);
    assert_eq!(lines(&[b"12345678901"], 8).await, [too_large("12345678901")]);
}

#[tokio::test]
async fn bytes_that_are_no_utf8_are_one_bad_line() {
    assert_eq!(
        lines(&[b"\xff\xfe\nok\n"], 100).await,
        [Line::NotUtf8("\u{fffd}\u{fffd}".to_owned()), text("ok")]
    );
}
