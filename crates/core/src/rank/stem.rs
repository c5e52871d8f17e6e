//! Light English stemming: plurals, -ing, -ed and a silent e (the first steps of Porter's rules).

/// The stem of a lower-case word. It is a key for comparing, not a word to show.
pub(super) fn stem(word: &str) -> String {
    if word.len() < 3 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let singular = singular(word);
    let present = present(&singular);
    without_silent_end(&present)
}

fn singular(word: &str) -> String {
    let cut = |end: &str| word.strip_suffix(end);
    if let Some(base) = cut("ies").or_else(|| cut("ied")).filter(|base| base.len() > 1) {
        return format!("{base}y");
    }
    if word.ends_with("ss") || word.ends_with("us") || word.ends_with("is") {
        return word.to_owned();
    }
    let base = match cut("es") {
        Some(base) if ["ss", "x", "z", "ch", "sh"].iter().any(|end| base.ends_with(end)) => base,
        _ => cut("s").unwrap_or(word),
    };
    base.to_owned()
}

/// Without -ing or -ed, as its verb would be written.
fn present(word: &str) -> String {
    let ending = if word.ends_with("eed") {
        None
    } else {
        word.strip_suffix("ed")
    };
    let base = match word.strip_suffix("ing").or(ending) {
        Some(base) if base.len() > 1 && has_vowel(base) => base,
        _ => return word.to_owned(),
    };
    let twice = ends_doubled(base);
    if twice.is_some_and(|letter| !matches!(letter, b'l' | b's' | b'z')) && base.len() > 3 {
        return base.get(..base.len() - 1).unwrap_or(base).to_owned();
    }
    let silent = ["at", "bl", "iz"].iter().any(|end| base.ends_with(end)) || (measure(base) == 1 && is_short(base));
    if silent { format!("{base}e") } else { base.to_owned() }
}

fn without_silent_end(word: &str) -> String {
    let mut end = word;
    if let Some(base) = word.strip_suffix('e') {
        let measure = measure(base);
        if measure > 1 || (measure == 1 && !is_short(base)) {
            end = base;
        }
    }
    if ends_doubled(end) == Some(b'l') && measure(end) > 1 {
        end = end.get(..end.len() - 1).unwrap_or(end);
    }
    end.to_owned()
}

/// For each letter, whether it is a vowel; `y` is one after a consonant.
fn vowels(word: &str) -> Vec<bool> {
    let mut vowels: Vec<bool> = Vec::with_capacity(word.len());
    for byte in word.bytes() {
        let after_consonant = vowels.last() == Some(&false);
        vowels.push(matches!(byte, b'a' | b'e' | b'i' | b'o' | b'u') || (byte == b'y' && after_consonant));
    }
    vowels
}

fn has_vowel(word: &str) -> bool {
    vowels(word).contains(&true)
}

/// How many times vowels are followed by consonants.
fn measure(word: &str) -> usize {
    vowels(word).windows(2).filter(|pair| *pair == [true, false]).count()
}

/// Whether the word ends as consonant, vowel, consonant: a silent e was cut from it.
fn is_short(word: &str) -> bool {
    vowels(word).ends_with(&[false, true, false]) && !word.ends_with(['w', 'x', 'y'])
}

fn ends_doubled(word: &str) -> Option<u8> {
    match word.as_bytes() {
        [.., before, last] if before == last && !matches!(last, b'a' | b'e' | b'i' | b'o' | b'u') => Some(*last),
        _ => None,
    }
}
