//! The valid word that a mistyped one was probably meant to be.

/// The nearest of the candidates, when one is near enough to be meant.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| -> Vec<char> {
        text.chars()
            .filter(|c| !matches!(c, '_' | '-'))
            .flat_map(char::to_lowercase)
            .take(64)
            .collect()
    };
    let word = plain(word);
    let (distance, best) = candidates
        .into_iter()
        .map(|candidate| (distance(&word, &plain(candidate)), candidate))
        .min_by_key(|(distance, _)| *distance)?;
    (distance <= (word.len() / 3).max(1)).then_some(best)
}

/// The help for an unknown word: the nearest valid one, else all of them.
pub(crate) fn help(word: &str, candidates: &[&str]) -> String {
    match nearest(word, candidates.iter().copied()) {
        Some(best) => format!("did you mean `{best}`?"),
        None => {
            let all: Vec<String> = candidates.iter().map(|candidate| format!("`{candidate}`")).collect();
            format!("known here: {}", all.join(", "))
        }
    }
}

/// How many insertions, deletions, replacements and swaps of neighbours lie between two words.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (row, from) in a.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, to) in b.iter().enumerate() {
            let at = |line: &[usize], index: usize| line.get(index).copied().unwrap_or(usize::MAX / 2);
            let replaced = at(&last, column) + usize::from(from != to);
            let mut best = replaced.min(at(&last, column + 1) + 1).min(at(&current, column) + 1);
            let swapped = row > 0 && column > 0 && a.get(row - 1) == Some(to) && b.get(column - 1) == Some(from);
            if swapped {
                best = best.min(at(&before, column - 1) + 1);
            }
            current.push(best);
        }
        before = std::mem::replace(&mut last, current);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_mistyped_key_finds_its_neighbour() {
        let keys = [
            "command", "args", "env", "envMode", "env_mode", "url", "headers", "timeout",
        ];
        for (word, expected) in [
            ("comand", Some("command")),
            ("commnad", Some("command")),
            ("ENV_MODE", Some("envMode")),
            ("ulr", Some("url")),
            ("header", Some("headers")),
            ("zebra", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, keys), expected, "{word}");
        }
    }
}
