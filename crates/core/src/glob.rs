//! Globs over whole names, in the syntax of Go's `path.Match`.

/// A compiled pattern: anchored, case-sensitive; `*` and `?` do not cross `/`.
///
/// Like its model it works on bytes: `*` takes any bytes but `/`, `?` and classes take one character,
/// and a class may take `/`. The first place where a part after `*` fits is the one that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    chunks: Vec<Chunk>,
    /// What every name that matches begins with.
    head: String,
}

/// Why a text is not a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A class or an escape does not end, or a range is malformed.
    #[error("glob `{0}` is malformed")]
    Malformed(String),
}

/// A part of the pattern without `*`, and whether one stands before it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Chunk {
    star: bool,
    items: Vec<Item>,
    /// The items as plain text, when they are nothing else.
    plain: Option<Vec<u8>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Item {
    Byte(u8),
    /// `?`
    Any,
    /// `[…]`; ranges include both ends.
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

impl Glob {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// [`Error::Malformed`] for every pattern that Go's `path.Match` calls bad.
    pub fn parse(pattern: &str) -> Result<Self, Error> {
        chunks(pattern)
            .map(|chunks| Self {
                head: head(&chunks),
                chunks,
            })
            .ok_or_else(|| Error::Malformed(pattern.to_owned()))
    }

    /// Whether the pattern matches the whole name.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let mut rest = name.as_bytes();
        let last = self.chunks.len().saturating_sub(1);
        for (place, chunk) in self.chunks.iter().enumerate() {
            if chunk.star && chunk.items.is_empty() {
                return !rest.contains(&b'/');
            }
            match after(chunk, rest, place == last) {
                Some(tail) => rest = tail,
                None => return false,
            }
        }
        rest.is_empty()
    }

    /// What every name that matches begins with; empty where the pattern does not begin with plain text.
    #[must_use]
    pub fn head(&self) -> &str {
        &self.head
    }

    /// Whether it matches every name that begins so and goes on without `/`.
    #[must_use]
    pub fn takes_all_after(&self, beginning: &str) -> bool {
        let is_open = self
            .chunks
            .last()
            .is_some_and(|chunk| chunk.star && chunk.items.is_empty());
        is_open && self.matches(beginning)
    }

    /// Whether it may match a name that begins so and goes on. It never says no of a beginning that some name
    /// that matches has.
    #[must_use]
    pub fn may_match_after(&self, beginning: &str) -> bool {
        let mut steps: Vec<Option<&Item>> = Vec::new();
        for chunk in &self.chunks {
            steps.extend(chunk.star.then_some(None));
            steps.extend(chunk.items.iter().map(Some));
        }
        // Every step that the bytes so far can lead to. A star is left for the next step at any time.
        let mut reached = vec![false; steps.len()];
        if let Some(first) = reached.first_mut() {
            *first = true;
        }
        for byte in beginning.bytes() {
            leave_stars(&steps, &mut reached);
            let mut next = vec![false; steps.len()];
            for (place, step) in steps.iter().enumerate().filter(|(place, _)| is(&reached, *place)) {
                let (stays, goes_on) = after_byte(*step, byte);
                set(&mut next, place, stays);
                set(&mut next, place.saturating_add(1), goes_on);
            }
            reached = next;
        }
        reached.contains(&true)
    }
}

/// The plain text that the items begin with.
fn head(chunks: &[Chunk]) -> String {
    let first = chunks.first().filter(|chunk| !chunk.star);
    let bytes = first
        .into_iter()
        .flat_map(|chunk| &chunk.items)
        .map_while(|item| match item {
            Item::Byte(byte) => Some(*byte),
            Item::Any | Item::Class { .. } => None,
        });
    // The bytes come from whole characters, so nothing is replaced.
    String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned()
}

/// Whether a step can take a byte and stay, and whether it can take it and be done.
fn after_byte(step: Option<&Item>, byte: u8) -> (bool, bool) {
    // One byte of a longer character may be any part of it.
    let is_part = !byte.is_ascii();
    match step {
        None => (byte != b'/', false),
        Some(Item::Byte(wanted)) => (false, *wanted == byte),
        Some(Item::Any) => (is_part, byte != b'/'),
        Some(Item::Class { negated, ranges }) => {
            let character = char::from(byte);
            let fits = ranges.iter().any(|(low, high)| (*low..=*high).contains(&character)) != *negated;
            (is_part, is_part || fits)
        }
    }
}

fn leave_stars(steps: &[Option<&Item>], reached: &mut [bool]) {
    for (place, step) in steps.iter().enumerate() {
        if step.is_none() && is(reached, place) {
            set(reached, place.saturating_add(1), true);
        }
    }
}

fn is(places: &[bool], place: usize) -> bool {
    places.get(place).copied().unwrap_or_default()
}

/// Marks a place; the end of the pattern is no place, since a name that goes on does not end there.
fn set(places: &mut [bool], place: usize, mark: bool) {
    if let Some(at) = places.get_mut(place) {
        *at = *at || mark;
    }
}

/// What is left of the name after a chunk; the last one must leave nothing.
fn after<'n>(chunk: &Chunk, name: &'n [u8], is_last: bool) -> Option<&'n [u8]> {
    if let Some(text) = &chunk.plain {
        return after_plain(text, chunk.star, name, is_last);
    }
    let mut from = name;
    loop {
        if let Some(tail) = laid(&chunk.items, from)
            && (tail.is_empty() || !is_last)
        {
            return Some(tail);
        }
        match from.split_first() {
            Some((skipped, next)) if chunk.star && *skipped != b'/' => from = next,
            _ => return None,
        }
    }
}

/// As [`after`] for a chunk that is plain text, which most are.
fn after_plain<'n>(text: &[u8], star: bool, name: &'n [u8], is_last: bool) -> Option<&'n [u8]> {
    if !star {
        return name.strip_prefix(text).filter(|tail| tail.is_empty() || !is_last);
    }
    if is_last {
        // It fits at one place only.
        let skipped = name.strip_suffix(text)?;
        return (!skipped.contains(&b'/')).then_some(&[]);
    }
    let first = text.first();
    let mut from = name;
    loop {
        if from.first() == first
            && let Some(tail) = from.strip_prefix(text)
        {
            return Some(tail);
        }
        match from.split_first() {
            Some((skipped, next)) if *skipped != b'/' => from = next,
            _ => return None,
        }
    }
}

/// The items as plain text, when they are nothing else.
fn plain(items: &[Item]) -> Option<Vec<u8>> {
    let byte = |item: &Item| match item {
        Item::Byte(byte) => Some(*byte),
        Item::Any | Item::Class { .. } => None,
    };
    items.iter().map(byte).collect()
}

/// What is left of the name when the items stand at its beginning.
fn laid<'n>(items: &[Item], name: &'n [u8]) -> Option<&'n [u8]> {
    let mut rest = name;
    for item in items {
        match item {
            Item::Byte(byte) => rest = rest.strip_prefix(std::slice::from_ref(byte))?,
            Item::Any => {
                let (character, tail) = first_character(rest)?;
                if character == '/' {
                    return None;
                }
                rest = tail;
            }
            Item::Class { negated, ranges } => {
                let (character, tail) = first_character(rest)?;
                if ranges.iter().any(|(low, high)| (*low..=*high).contains(&character)) == *negated {
                    return None;
                }
                rest = tail;
            }
        }
    }
    Some(rest)
}

/// The first character of the bytes; in the middle of one, a single byte stands for U+FFFD.
fn first_character(bytes: &[u8]) -> Option<(char, &[u8])> {
    let (first, after_first) = bytes.split_first()?;
    let length = match first {
        0..0x80 => return Some((char::from(*first), after_first)),
        0xC0..0xE0 => 2,
        0xE0..0xF0 => 3,
        _ => 4,
    };
    let character = bytes
        .get(..length)
        .and_then(|b| std::str::from_utf8(b).ok())
        .and_then(|s| s.chars().next());
    match character {
        Some(character) => Some((character, bytes.get(length..)?)),
        None => Some((char::REPLACEMENT_CHARACTER, after_first)),
    }
}

fn chunks(pattern: &str) -> Option<Vec<Chunk>> {
    let mut chunks: Vec<Chunk> = Vec::new();
    let mut rest = pattern;
    while !rest.is_empty() {
        let tail = rest.trim_start_matches('*');
        let star = tail.len() < rest.len();
        let mut items = Vec::new();
        rest = tail;
        while let Some(character) = rest.chars().next().filter(|c| *c != '*') {
            rest = rest.get(character.len_utf8()..)?;
            match character {
                '?' => items.push(Item::Any),
                '[' => {
                    let (class, tail) = class(rest)?;
                    items.push(class);
                    rest = tail;
                }
                '\\' => {
                    let quoted = rest.chars().next()?;
                    rest = rest.get(quoted.len_utf8()..)?;
                    items.extend(bytes_of(quoted));
                }
                plain => items.extend(bytes_of(plain)),
            }
        }
        chunks.push(Chunk {
            star,
            plain: plain(&items),
            items,
        });
    }
    Some(chunks)
}

fn bytes_of(character: char) -> Vec<Item> {
    character.encode_utf8(&mut [0; 4]).bytes().map(Item::Byte).collect()
}

/// A class after its `[`, and what follows its `]`.
fn class(text: &str) -> Option<(Item, &str)> {
    let (negated, mut rest) = text.strip_prefix('^').map_or((false, text), |rest| (true, rest));
    let mut ranges = Vec::new();
    loop {
        if !ranges.is_empty()
            && let Some(tail) = rest.strip_prefix(']')
        {
            return Some((Item::Class { negated, ranges }, tail));
        }
        let (low, tail) = end_of_range(rest)?;
        let (high, tail) = match tail.strip_prefix('-') {
            Some(tail) => end_of_range(tail)?,
            None => (low, tail),
        };
        ranges.push((low, high));
        rest = tail;
    }
}

/// One end of a range; something must follow it.
fn end_of_range(text: &str) -> Option<(char, &str)> {
    let text = match text.chars().next()? {
        '-' | ']' => return None,
        '\\' => text.get(1..)?,
        _ => text,
    };
    let character = text.chars().next()?;
    text.get(character.len_utf8()..)
        .filter(|tail| !tail.is_empty())
        .map(|tail| (character, tail))
}

#[cfg(test)]
mod tests;
