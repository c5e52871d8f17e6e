//! Server-sent events, both directions (WHATWG HTML section 9.2).

use crate::cut::Cut;

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// `event`, `message` when absent.
    pub event: Option<String>,
    /// `data`, its lines joined with line feeds; may be empty in an event that only sets `id` or `retry`.
    pub data: String,
    /// `id`
    pub id: Option<String>,
    /// `retry`, in milliseconds.
    pub retry: Option<u64>,
}

/// A comment that keeps a quiet stream open.
pub const KEEP_ALIVE: &str = ":\n\n";

/// Writes one event with the given data (one JSON message). Line ends in the data are blanks of
/// JSON; they become more `data` lines, which the reader joins again.
#[must_use]
pub fn encode(id: Option<&str>, data: &str) -> String {
    let mut out = String::with_capacity(data.len() + id.map_or(0, str::len) + 16);
    push_id(&mut out, id);
    push_data(&mut out, data);
    out.push('\n');
    out
}

/// The first event of a stream that can be resumed: an id, perhaps the wait before
/// reconnecting in milliseconds, no data.
#[must_use]
pub fn encode_priming(id: &str, retry: Option<u64>) -> String {
    let mut out = String::new();
    push_id(&mut out, Some(id));
    if let Some(milliseconds) = retry {
        out.push_str(&format!("retry: {milliseconds}\n"));
    }
    out.push_str("data:\n\n");
    out
}

fn push_id(out: &mut String, id: Option<&str>) {
    if let Some(id) = id {
        out.push_str("id: ");
        // Ids are the gateway's own; a line end in one would begin another field.
        out.extend(id.chars().filter(|c| !matches!(c, '\n' | '\r' | '\0')));
        out.push('\n');
    }
}

fn push_data(out: &mut String, data: &str) {
    let mut rest = data;
    loop {
        let (line, next) = match rest.find(['\n', '\r']) {
            Some(at) => {
                let (line, tail) = rest.split_at(at);
                let tail = tail
                    .strip_prefix("\r\n")
                    .or_else(|| tail.strip_prefix(['\n', '\r']))
                    .unwrap_or_default();
                (line, Some(tail))
            }
            None => (rest, None),
        };
        out.push_str("data: ");
        out.push_str(line);
        out.push('\n');
        match next {
            Some(tail) => rest = tail,
            None => return,
        }
    }
}

/// Reads events from bytes that arrive in any pieces; tolerates BOM, CR, LF and CRLF.
#[derive(Debug)]
pub struct Decoder {
    limit: usize,
    /// Bytes of a line whose end has not arrived.
    line: Vec<u8>,
    /// The line before ended with CR, so that a LF at the start belongs to it.
    after_cr: bool,
    /// No line has ended yet: a BOM may begin the first.
    at_start: bool,
    /// What is known of the event under way; each line of its data ends with a line feed.
    event: Event,
    /// Whether the event under way has a `data`, `id` or `retry` line.
    has_content: bool,
    /// What ended the stream; every later push says it again.
    failed: Option<Error>,
    /// The event over the limit that is under way, and how much of its line has come, in bytes.
    passing: Option<(Cut, usize)>,
    /// Where events over the limit are passed over and do not end the stream: those not taken yet.
    passed: Option<Vec<Cut>>,
}

/// Why a stream cannot be read on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// One event is larger than the limit.
    #[error("one event is larger than {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// Not UTF-8.
    #[error("the event stream is not UTF-8")]
    NotUtf8,
}

impl Decoder {
    /// A decoder that refuses events larger than `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            after_cr: false,
            at_start: true,
            event: Event::default(),
            has_content: false,
            failed: None,
            passing: None,
            passed: None,
        }
    }

    /// A decoder that passes over events larger than `limit` bytes: one stream carries the answers of many.
    #[must_use]
    pub fn passing_over(limit: usize) -> Self {
        Self {
            passed: Some(Vec::new()),
            ..Self::new(limit)
        }
    }

    /// What was passed over since the last time.
    pub fn take_passed(&mut self) -> Vec<Cut> {
        self.passed.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Takes some bytes and returns the events that they complete. What comes whole before a fault is
    /// returned; the fault is then said by the next push. An event that only sets `id` or `retry` is returned too.
    ///
    /// # Errors
    /// [`Error`], and the same for every push after it.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, Error> {
        let mut events = Vec::new();
        if self.failed.is_none()
            && let Err(error) = self.take(bytes, &mut events)
        {
            self.failed = Some(error);
        }
        match &self.failed {
            Some(error) if events.is_empty() => Err(error.clone()),
            Some(_) | None => Ok(events),
        }
    }

    fn take(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), Error> {
        let mut rest = bytes;
        while let Some(first) = rest.first() {
            if std::mem::take(&mut self.after_cr) && *first == b'\n' {
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                return self.hold(rest);
            };
            let (line, tail) = rest.split_at(end);
            self.after_cr = tail.first() == Some(&b'\r');
            rest = tail.get(1..).unwrap_or_default();
            self.hold(line)?;
            if let Some((cut, in_line)) = self.passing.take() {
                if in_line == 0 {
                    self.passed.get_or_insert_default().push(cut);
                } else {
                    self.passing = Some((cut, 0));
                }
                continue;
            }
            let line = std::mem::take(&mut self.line);
            events.extend(self.line(&line)?);
        }
        Ok(())
    }

    /// Adds to the line under way.
    fn hold(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if let Some((cut, in_line)) = &mut self.passing {
            cut.push(bytes);
            *in_line = in_line.saturating_add(bytes.len());
            return Ok(());
        }
        let size = self
            .event
            .data
            .len()
            .saturating_add(self.line.len())
            .saturating_add(bytes.len());
        if size > self.limit {
            let (event, line) = (std::mem::take(&mut self.event), std::mem::take(&mut self.line));
            if self.passed.is_some() {
                let mut cut = Cut::default();
                cut.push(event.data.as_bytes());
                let data = line.strip_prefix(b"data:");
                cut.push(data.unwrap_or(&line));
                let data = data.map_or_else(|| bytes.strip_prefix(b"data:").filter(|_| line.is_empty()), |_| None);
                cut.push(data.unwrap_or(bytes));
                self.has_content = false;
                self.passing = Some((cut, line.len().saturating_add(bytes.len())));
                return Ok(());
            }
            return Err(Error::TooLarge { limit: self.limit });
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// Reads one whole line; a blank one completes the event.
    fn line(&mut self, line: &[u8]) -> Result<Option<Event>, Error> {
        let mut line = str::from_utf8(line).ok().ok_or(Error::NotUtf8)?;
        if std::mem::take(&mut self.at_start) {
            line = line.strip_prefix('\u{FEFF}').unwrap_or(line);
        }
        if line.is_empty() {
            let mut event = std::mem::take(&mut self.event);
            event.data.pop();
            return Ok(std::mem::take(&mut self.has_content).then_some(event));
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                self.event.data.push_str(value);
                self.event.data.push('\n');
                self.has_content = true;
            }
            "event" => self.event.event = Some(value.to_owned()),
            "id" if !value.contains('\0') => {
                self.event.id = Some(value.to_owned());
                self.has_content = true;
            }
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                // A wait that does not fit is as good as the longest.
                self.event.retry = Some(value.parse().unwrap_or(u64::MAX));
                self.has_content = true;
            }
            _ => {}
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
