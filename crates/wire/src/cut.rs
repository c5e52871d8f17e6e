//! What is kept of a message over the limit: its ends, which mostly say whose answer it was.

use crate::rpc;

/// How much of the beginning is kept, in bytes.
const HEAD: usize = 4 * 1024;
/// How much of the end is kept, in bytes.
const TAIL: usize = 256;

/// The two ends of a message that was too large to be kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cut {
    head: Vec<u8>,
    tail: Vec<u8>,
}

/// Whose a message was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whose {
    /// The answer to the request with this id (raw JSON).
    Answer(String),
    /// A notification, or a request of the peer: no answer.
    Said,
    /// Nothing like a message: it does not begin like one.
    Garbage,
    /// A message; whose, nobody can say.
    Unknown,
}

impl Cut {
    /// Takes the next bytes of the message; only its ends are kept.
    pub fn push(&mut self, bytes: &[u8]) {
        let room = HEAD.saturating_sub(self.head.len());
        self.head.extend(bytes.iter().take(room));
        let last = bytes.len().saturating_sub(TAIL);
        self.tail.extend_from_slice(bytes.get(last..).unwrap_or_default());
        let over = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..over);
    }

    /// Whose the message was. Ids stand near the ends: most servers write `id` before `result`, some after it.
    #[must_use]
    pub fn whose(&self) -> Whose {
        let head = String::from_utf8_lossy(&self.head);
        let head = head.strip_prefix('\u{FEFF}').unwrap_or(&head).trim_start();
        match head.as_bytes().first() {
            Some(b'{') => {}
            // A batch may hold answers.
            Some(b'[') => return Whose::Unknown,
            Some(_) | None => return Whose::Garbage,
        }
        let names = rpc::names_of_unreadable(head);
        if names.iter().any(|name| name == "method") {
            return Whose::Said;
        }
        let id = rpc::id_of_unreadable(head).or_else(|| id_at_end(&String::from_utf8_lossy(&self.tail)));
        id.map_or(Whose::Unknown, Whose::Answer)
    }
}

/// The id of an object that ends with it: `…,"id":7}`, maybe with `jsonrpc` after it. A quotation mark inside a
/// string is escaped, so that `,"id":` is a member, and only the last brace follows.
fn id_at_end(tail: &str) -> Option<String> {
    let members = tail.trim_end().strip_suffix('}')?;
    let (before, after) = members.rsplit_once(r#""id""#)?;
    if !before.trim_end().ends_with(',') {
        return None;
    }
    let value = after.trim_start().strip_prefix(':')?.trim();
    let value = value.strip_suffix(r#""2.0""#).map_or(value, |rest| {
        let rest = rest.trim_end().strip_suffix(':').unwrap_or(rest).trim_end();
        let rest = rest.strip_suffix(r#""jsonrpc""#).unwrap_or(rest).trim_end();
        rest.strip_suffix(',').unwrap_or(rest).trim_end()
    });
    let digits = value.trim_matches('"');
    let whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    whole.then(|| value.to_owned())
}

#[cfg(test)]
mod tests;
