//! What a child writes to its standard error: always drained, bounded, and without secrets.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use countersign_core::names::ServerName;
use countersign_core::secret::Secret;
use countersign_core::server::Transport;
use tokio::io::{AsyncRead, AsyncReadExt};

/// How many lines are kept.
const LINES: usize = 200;
/// How long one line may be, in bytes; longer ones are cut into several.
const LINE: usize = 2 * 1024;
/// Parts of a secret that are shorter than this are too common to be masked by themselves.
const PART: usize = 8;
/// What stands in place of a secret.
const MASK: &str = "[secret]";

/// The last lines of one server's standard error.
#[derive(Debug)]
pub(crate) struct Log {
    server: ServerName,
    masks: Masks,
    lines: Mutex<VecDeque<String>>,
}

impl Log {
    /// An empty log that masks every hidden value of a server's entry.
    pub(crate) fn new(server: ServerName, transport: &Transport) -> Self {
        Self {
            server,
            masks: Masks::of(hidden(transport)),
            lines: Mutex::default(),
        }
    }

    /// The last lines, oldest first.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .cloned()
            .collect()
    }

    /// A text of the server without any hidden value of its entry.
    pub(crate) fn masked(&self, text: &str) -> String {
        self.masks.applied(text)
    }

    /// Reads a child's standard error to its end.
    pub(crate) async fn drain(&self, mut source: impl AsyncRead + Unpin) {
        let mut cutter = Cutter::default();
        let mut bytes = Vec::with_capacity(8 * 1024);
        loop {
            bytes.clear();
            match source.read_buf(&mut bytes).await {
                Ok(0) | Err(_) => break,
                Ok(_) => cutter.push(&bytes, &self.masks, &mut |line| self.keep(line)),
            }
        }
        cutter.finish(&self.masks, &mut |line| self.keep(line));
    }

    fn keep(&self, line: String) {
        tracing::debug!(server = %self.server, line, "stderr");
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }
}

/// The hidden values that a child knows.
fn hidden(transport: &Transport) -> Vec<&str> {
    let values: Vec<&Secret> = match transport {
        Transport::Stdio {
            command,
            args,
            env,
            cwd,
            ..
        } => std::iter::once(command)
            .chain(args)
            .chain(env.values())
            .chain(cwd)
            .collect(),
        Transport::Http { url, headers } | Transport::Sse { url, headers } => {
            std::iter::once(url).chain(headers.values()).collect()
        }
    };
    values
        .into_iter()
        .filter(|value| value.is_hidden())
        .map(Secret::reveal)
        .collect()
}

/// Texts that are never shown, longest first.
#[derive(Clone)]
pub(crate) struct Masks {
    texts: Vec<String>,
}

impl std::fmt::Debug for Masks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Masks")
    }
}

impl Masks {
    /// Masks for whole values and for their longer parts: `Bearer ${TOKEN}` is one value, and a child
    /// may write the token alone.
    pub(crate) fn of(values: Vec<&str>) -> Self {
        let mut texts: Vec<String> = Vec::new();
        for value in values {
            let parts = value.split(|c: char| !(c.is_alphanumeric() || "-_.~+".contains(c)));
            texts.extend(parts.filter(|part| part.len() >= PART).map(str::to_owned));
            texts.extend(value.lines().map(str::trim).map(str::to_owned));
            texts.push(value.to_owned());
        }
        texts.retain(|text| !text.is_empty());
        texts.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        texts.dedup();
        Self { texts }
    }

    /// A text without any of the values.
    pub(crate) fn applied(&self, text: &str) -> String {
        self.texts.iter().fold(text.to_owned(), |text, mask| {
            if text.contains(mask.as_str()) {
                text.replace(mask.as_str(), MASK)
            } else {
                text
            }
        })
    }

    fn longest(&self) -> usize {
        self.texts.first().map_or(0, String::len)
    }
}

/// Cuts bytes into masked lines, whether or not they ever hold a line feed.
#[derive(Debug, Default)]
pub(crate) struct Cutter {
    rest: Vec<u8>,
}

impl Cutter {
    /// Takes some bytes and hands out the lines that they complete.
    pub(crate) fn push(&mut self, bytes: &[u8], masks: &Masks, out: &mut dyn FnMut(String)) {
        let mut pieces = bytes.split(|byte| matches!(byte, b'\n' | b'\r')).peekable();
        while let Some(piece) = pieces.next() {
            self.rest.extend_from_slice(piece);
            if pieces.peek().is_some() {
                self.finish(masks, out);
            } else {
                self.cut(masks, out);
            }
        }
    }

    /// The end of a line.
    pub(crate) fn finish(&mut self, masks: &Masks, out: &mut dyn FnMut(String)) {
        let line = std::mem::take(&mut self.rest);
        hand_out(&masks.applied(&String::from_utf8_lossy(&line)), out);
    }

    /// A line that does not end is cut, but never where a secret may go on.
    fn cut(&mut self, masks: &Masks, out: &mut dyn FnMut(String)) {
        let held = masks.longest().max(4);
        if self.rest.len() < 2 * LINE + held {
            return;
        }
        let text = masks.applied(&String::from_utf8_lossy(&self.rest));
        let mut at = text.len().saturating_sub(held);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let (line, rest) = text.split_at(at);
        hand_out(line, out);
        self.rest = rest.as_bytes().to_vec();
    }
}

/// Hands out a text in pieces of at most [`LINE`] bytes; it is masked already.
fn hand_out(text: &str, out: &mut dyn FnMut(String)) {
    let mut line = String::new();
    for c in text.chars() {
        if line.len() + c.len_utf8() > LINE {
            out(std::mem::take(&mut line));
        }
        line.push(c);
    }
    if !line.trim().is_empty() {
        out(line);
    }
}

#[cfg(test)]
mod tests;
