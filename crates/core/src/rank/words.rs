//! Words of names, texts and queries: split at separators, case changes and digits.

/// Longer runs of letters are no words, but data.
const LONGEST: usize = 64;

/// Words that say nothing of what is looked for.
const STOP_WORDS: [&str; 62] = [
    "a", "about", "all", "am", "an", "and", "any", "are", "as", "at", "be", "been", "by", "can", "could", "did", "do",
    "does", "for", "from", "had", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "me", "my", "need",
    "of", "on", "or", "our", "please", "should", "some", "that", "the", "their", "them", "then", "there", "these",
    "this", "to", "us", "want", "was", "we", "what", "when", "where", "which", "who", "with", "would", "you",
];

/// Verbs that fit most tools: what they act on says more.
const COMMON_VERBS: [&str; 30] = [
    "add", "check", "create", "do", "fetch", "find", "get", "give", "let", "list", "look", "make", "open", "perform",
    "put", "read", "retrieve", "return", "run", "see", "send", "set", "show", "tell", "try", "use", "view", "want",
    "work", "write",
];

/// One word: as a whole and, where its spelling shows parts, those.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// In lower case.
    pub(super) whole: String,
    /// Those of two letters or more; none where the spelling shows no parts.
    pub(super) parts: Vec<String>,
}

pub(super) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

pub(super) fn is_common_verb(word: &str) -> bool {
    COMMON_VERBS.binary_search(&word).is_ok()
}

/// The words of a text, in order.
pub(super) fn words(text: &str) -> impl Iterator<Item = Word> + '_ {
    let runs = text.split(|c: char| !c.is_alphanumeric());
    let runs = runs.filter(|run| !run.is_empty() && run.len() <= LONGEST);
    runs.map(|run| Word {
        whole: run.to_lowercase(),
        parts: parts(run),
    })
}

/// `pullNumber` gives `pull`, `number`; `HTTPServer2` gives `http`, `server`; single letters are dropped.
fn parts(run: &str) -> Vec<String> {
    if run.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Vec::new();
    }
    let characters: Vec<char> = run.chars().collect();
    let mut parts = Vec::new();
    let mut part = String::new();
    for (place, character) in characters.iter().enumerate() {
        let before = place.checked_sub(1).and_then(|place| characters.get(place));
        let after = characters.get(place + 1);
        if before.is_some_and(|before| starts_part(*before, *character, after.copied())) {
            parts.push(std::mem::take(&mut part));
        }
        part.extend(character.to_lowercase());
    }
    if parts.is_empty() {
        return parts;
    }
    parts.push(part);
    parts.retain(|part| part.chars().count() > 1);
    parts
}

fn starts_part(before: char, character: char, after: Option<char>) -> bool {
    let upper = character.is_uppercase();
    (upper && before.is_lowercase())
        || (upper && before.is_uppercase() && after.is_some_and(char::is_lowercase))
        || (before.is_numeric() != character.is_numeric())
}

/// Whether both lists can be searched by halves.
#[cfg(test)]
pub(super) fn are_sorted() -> bool {
    STOP_WORDS.is_sorted() && COMMON_VERBS.is_sorted()
}
