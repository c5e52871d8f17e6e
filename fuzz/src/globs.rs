//! Globs answer as Go's `path.Match` does, and in time that grows with the texts and not with their powers.

use countersign_core::glob::Glob;

/// The laws of one pattern and one name; the first line is the pattern, the rest the name.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (pattern, name) = text.split_once('\n').unwrap_or((text, ""));
    let wanted = matched(pattern.as_bytes(), name.as_bytes());
    let found = Glob::parse(pattern).map(|glob| glob.matches(name));
    assert_eq!(found.ok(), wanted, "{pattern:?} on {name:?}");
    // A text of which every character is escaped stands for itself.
    let literal: String = name.chars().flat_map(|character| ['\\', character]).collect();
    assert_eq!(
        Glob::parse(&literal).map(|glob| glob.matches(name)),
        Ok(true),
        "{literal:?}"
    );
    // Whatever else, a star takes every name without a slash.
    assert_eq!(Glob::parse("*").map(|glob| glob.matches(name)), Ok(!name.contains('/')));
}

/// Go's `path.Match`, statement by statement; `None` stands for its `ErrBadPattern`.
fn matched(mut pattern: &[u8], mut name: &[u8]) -> Option<bool> {
    'pattern: while !pattern.is_empty() {
        let (star, chunk, rest) = scan(pattern);
        pattern = rest;
        if star && chunk.is_empty() {
            return Some(!name.contains(&b'/'));
        }
        if let Some(tail) = chunk_matched(chunk, name)?
            && (tail.is_empty() || !pattern.is_empty())
        {
            name = tail;
            continue;
        }
        if star {
            let mut skipped = 0;
            while skipped < name.len() && name[skipped] != b'/' {
                skipped += 1;
                if let Some(tail) = chunk_matched(chunk, &name[skipped..])? {
                    if pattern.is_empty() && !tail.is_empty() {
                        continue;
                    }
                    name = tail;
                    continue 'pattern;
                }
            }
        }
        while !pattern.is_empty() {
            let (_, chunk, rest) = scan(pattern);
            pattern = rest;
            chunk_matched(chunk, b"")?;
        }
        return Some(false);
    }
    Some(name.is_empty())
}

/// Go's `scanChunk`: whether a star stands first, the part up to the next star, and what follows.
fn scan(pattern: &[u8]) -> (bool, &[u8], &[u8]) {
    let stars = pattern.iter().take_while(|byte| **byte == b'*').count();
    let pattern = &pattern[stars..];
    let mut in_range = false;
    let mut at = 0;
    while at < pattern.len() {
        match pattern[at] {
            b'\\' if at + 1 < pattern.len() => at += 1,
            b'[' => in_range = true,
            b']' => in_range = false,
            b'*' if !in_range => break,
            _ => {}
        }
        at += 1;
    }
    (stars > 0, &pattern[..at], &pattern[at..])
}

/// Go's `matchChunk`: outside `None` for a bad pattern, inside `None` for no match.
fn chunk_matched<'n>(mut chunk: &[u8], mut name: &'n [u8]) -> Option<Option<&'n [u8]>> {
    let mut failed = false;
    while let Some(first) = chunk.first() {
        failed = failed || name.is_empty();
        match first {
            b'[' => {
                let mut character = '\0';
                if !failed {
                    let (decoded, length) = decode(name);
                    character = decoded;
                    name = &name[length..];
                }
                chunk = &chunk[1..];
                let negated = chunk.first() == Some(&b'^');
                chunk = &chunk[usize::from(negated)..];
                let mut fits = false;
                let mut ranges = 0;
                while chunk.first() != Some(&b']') || ranges == 0 {
                    let (low, rest) = escaped(chunk)?;
                    let (high, rest) = if rest[0] == b'-' {
                        escaped(&rest[1..])?
                    } else {
                        (low, rest)
                    };
                    fits = fits || (low <= character && character <= high);
                    chunk = rest;
                    ranges += 1;
                }
                chunk = &chunk[1..];
                failed = failed || fits == negated;
            }
            b'?' => {
                if !failed {
                    failed = name[0] == b'/';
                    name = &name[decode(name).1..];
                }
                chunk = &chunk[1..];
            }
            first => {
                if *first == b'\\' {
                    chunk = &chunk[1..];
                }
                let byte = chunk.first()?;
                if !failed {
                    failed = *byte != name[0];
                    name = &name[1..];
                }
                chunk = &chunk[1..];
            }
        }
    }
    Some((!failed).then_some(name))
}

/// Go's `getEsc`: one end of a range; something must follow it.
fn escaped(chunk: &[u8]) -> Option<(char, &[u8])> {
    let chunk = match chunk.first()? {
        b'-' | b']' => return None,
        b'\\' => &chunk[1..],
        _ => chunk,
    };
    if chunk.is_empty() {
        return None;
    }
    let (character, length) = decode(chunk);
    (chunk.len() > length).then(|| (character, &chunk[length..]))
}

/// Go's `utf8.DecodeRuneInString`: a byte that begins no character counts as U+FFFD.
fn decode(text: &[u8]) -> (char, usize) {
    (1..=text.len().min(4))
        .find_map(|length| {
            let text = std::str::from_utf8(&text[..length]).ok()?;
            text.chars().next().map(|character| (character, length))
        })
        .unwrap_or((char::REPLACEMENT_CHARACTER, 1))
}
