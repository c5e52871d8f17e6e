//! One list's pages, and when to stop turning them.

use std::collections::HashSet;

use countersign_wire::object::Object;
use serde_json::value::RawValue;

/// How many pages of one list are read.
const MOST: usize = 1000;

/// One page.
#[derive(Debug)]
pub(crate) struct Page<'a> {
    /// Its elements, raw.
    pub(crate) elements: Vec<&'a RawValue>,
    /// `nextCursor`; the empty text is a cursor too.
    pub(crate) next: Option<String>,
    /// How large the whole page is, in bytes.
    size: usize,
}

impl<'a> Page<'a> {
    /// Reads a result.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn read(result: &'a str, member: &str) -> Result<Self, String> {
        let object = Object::parse(result).map_err(|error| format!("its list of `{member}` is no result: {error}"))?;
        let elements = object
            .get(member)
            .ok_or_else(|| format!("its list has no `{member}`"))?;
        let elements = serde_json::from_str(elements.get())
            .map_err(|_error| format!("its list has `{member}` that is no array"))?;
        let next = object.text("nextCursor").map(std::borrow::Cow::into_owned);
        Ok(Self {
            elements,
            next,
            size: result.len(),
        })
    }
}

/// Turns pages until the last, a cursor that repeats, or too many.
#[derive(Debug)]
pub(crate) struct Pages {
    seen: HashSet<String>,
    read: usize,
    bytes: usize,
    limit: usize,
}

impl Pages {
    /// Before the first page; all pages together hold at most `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            seen: HashSet::new(),
            read: 0,
            bytes: 0,
            limit,
        }
    }

    /// The next cursor; `None` after the last page.
    ///
    /// # Errors
    /// Why the list is cut off here.
    pub(crate) fn after(&mut self, page: &Page<'_>) -> Result<Option<String>, String> {
        self.read += 1;
        self.bytes = self.bytes.saturating_add(page.size);
        let Some(next) = &page.next else { return Ok(None) };
        if !self.seen.insert(next.clone()) {
            return Err(format!("the list stops at page {}: its cursor repeats", self.read));
        }
        if self.read >= MOST {
            return Err(format!("the list stops at page {MOST}: it has more"));
        }
        if self.bytes > self.limit {
            return Err(format!(
                "the list stops at page {}: all pages together are larger than {} bytes (limits.response_bytes)",
                self.read, self.limit
            ));
        }
        Ok(Some(next.clone()))
    }
}

#[cfg(test)]
mod tests;
