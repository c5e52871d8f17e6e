//! Lines out of a pipe: put together from bytes first, decoded after.

use std::io;

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
    skipping: bool,
}

/// One line, without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    /// Text.
    Text(String),
    /// Bytes that are no UTF-8; what is, is kept.
    NotUtf8(String),
    /// It was larger than the limit; its bytes are gone.
    TooLarge,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Lines of at most `limit` bytes.
    pub(crate) fn new(source: R, limit: usize) -> Self {
        Self {
            source,
            buffer: Vec::new(),
            scanned: 0,
            limit,
            skipping: false,
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
                if std::mem::take(&mut self.skipping) || line.len() > self.limit {
                    return Ok(Some(Line::TooLarge));
                }
                return Ok(Some(decoded(line)));
            }
            self.scanned = self.buffer.len();
            if self.buffer.len() > self.limit {
                self.skipping = true;
            }
            if self.skipping {
                self.buffer = Vec::new();
                self.scanned = 0;
            }
            self.buffer.reserve(CHUNK.max(self.buffer.len() / 2));
            if self.source.read_buf(&mut self.buffer).await? == 0 {
                let line = std::mem::take(&mut self.buffer);
                self.scanned = 0;
                return Ok(match (std::mem::take(&mut self.skipping), line.is_empty()) {
                    (true, _) => Some(Line::TooLarge),
                    (false, true) => None,
                    (false, false) => Some(decoded(line)),
                });
            }
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
