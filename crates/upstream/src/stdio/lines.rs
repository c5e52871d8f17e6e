//! Lines out of a pipe: put together from bytes first, decoded after.

use std::io;

use countersign_wire::cut::Cut;
use tokio::io::{AsyncRead, AsyncReadExt};

/// How much is read at once, in bytes.
const CHUNK: usize = 8 * 1024;

/// Reads lines that arrive in any pieces.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    source: R,
    buffer: Vec<u8>,
    /// How much of the buffer holds no line feed.
    scanned: usize,
    limit: usize,
    /// The ends of the line under way, once it is larger than the limit.
    skipping: Option<Cut>,
}

/// One line, without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    /// Text.
    Text(String),
    /// Bytes that are no UTF-8; what is, is kept.
    NotUtf8(String),
    /// It was larger than the limit; its ends are kept.
    TooLarge(Cut),
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Lines of at most `limit` bytes.
    pub(crate) fn new(source: R, limit: usize) -> Self {
        Self {
            source,
            buffer: Vec::new(),
            scanned: 0,
            limit,
            skipping: None,
        }
    }

    /// The next line; `None` at the end of the stream. What stands after the last line feed is a line too.
    ///
    /// # Errors
    /// When the stream cannot be read.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            if let Some(end) = self.line_end() {
                let rest = self.buffer.split_off(end + 1);
                let mut line = std::mem::replace(&mut self.buffer, rest);
                self.scanned = 0;
                line.pop();
                return Ok(Some(self.whole(line)));
            }
            self.scanned = self.buffer.len();
            if self.buffer.len() > self.limit {
                self.skipping.get_or_insert_default();
            }
            if let Some(cut) = &mut self.skipping {
                cut.push(&self.buffer);
                self.buffer = Vec::new();
                self.scanned = 0;
            }
            self.buffer.reserve(CHUNK.max(self.buffer.len() / 2));
            if self.source.read_buf(&mut self.buffer).await? == 0 {
                let line = std::mem::take(&mut self.buffer);
                self.scanned = 0;
                return Ok((self.skipping.is_some() || !line.is_empty()).then(|| self.whole(line)));
            }
        }
    }

    /// A line whose end has come.
    fn whole(&mut self, line: Vec<u8>) -> Line {
        let cut = self.skipping.take();
        match cut.or_else(|| (line.len() > self.limit).then(Cut::default)) {
            Some(mut cut) => {
                cut.push(&line);
                Line::TooLarge(cut)
            }
            None => decoded(line),
        }
    }

    fn line_end(&self) -> Option<usize> {
        let fresh = self.buffer.get(self.scanned..)?;
        fresh.iter().position(|byte| *byte == b'\n').map(|at| self.scanned + at)
    }
}

fn decoded(mut line: Vec<u8>) -> Line {
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    String::from_utf8(line).map_or_else(
        |error| Line::NotUtf8(String::from_utf8_lossy(error.as_bytes()).into_owned()),
        Line::Text,
    )
}

#[cfg(test)]
mod tests;
