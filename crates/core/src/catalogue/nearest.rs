//! Names near one that was not found; a rough sieve bounds the work before edit distances are taken.

use std::collections::BTreeSet;

/// How much of an asked name is looked at, in bytes; exposed names are no longer.
const LENGTH: usize = 128;

/// How many names pass the sieve.
const SIFTED: usize = 48;

/// The least likeness of a name that is worth showing, of 1000.
const LIKE: usize = 500;

/// A sketch of a name: one bit per pair of neighbouring characters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sketch(u128);

impl Sketch {
    pub(super) fn of(name: &str) -> Self {
        let mut bits = 0_u128;
        for pair in name.as_bytes().windows(2) {
            if let [left, right] = pair {
                let (left, right) = (left.to_ascii_lowercase(), right.to_ascii_lowercase());
                let place = u32::from(left)
                    .wrapping_mul(31)
                    .wrapping_add(u32::from(right).wrapping_mul(7))
                    % 128;
                bits |= 1 << place;
            }
        }
        Self(bits)
    }

    /// Shared pairs against all pairs, of 1000.
    fn likeness(self, other: Self) -> u32 {
        let all = (self.0 | other.0).count_ones().max(1);
        (self.0 & other.0).count_ones() * 1000 / all
    }
}

/// At most `limit` of the names, the nearest first; ties in the order of the names.
pub(super) fn nearest<'n>(asked: &str, names: impl Iterator<Item = (Sketch, &'n str)>, limit: usize) -> Vec<String> {
    let asked: String = asked.chars().take(LENGTH).collect::<String>().to_ascii_lowercase();
    let sketch = Sketch::of(&asked);
    let mut sifted: Vec<(u32, &str)> = names.map(|(other, name)| (sketch.likeness(other), name)).collect();
    let nearer = |left: &(u32, &str), right: &(u32, &str)| right.0.cmp(&left.0).then(left.1.cmp(right.1));
    if sifted.len() > SIFTED {
        sifted.select_nth_unstable_by(SIFTED, nearer);
        sifted.truncate(SIFTED);
    }
    sifted.sort_unstable_by(nearer);
    let words = words(&asked);
    let mut near: Vec<(usize, &str)> = sifted
        .into_iter()
        .map(|(_, name)| (likeness(&asked, &words, name), name))
        .filter(|(likeness, _)| *likeness >= LIKE)
        .collect();
    near.sort_by(|left, right| right.0.cmp(&left.0).then(left.1.cmp(right.1)));
    near.into_iter().take(limit).map(|(_, name)| name.to_owned()).collect()
}

/// How alike two names are, of 1000: by letters, or by the words that they share.
fn likeness(asked: &str, asked_words: &BTreeSet<String>, name: &str) -> usize {
    let name = name.to_ascii_lowercase();
    let longest = asked.chars().count().max(name.chars().count()).max(1);
    let letters = (longest - distance(asked, &name).min(longest)) * 1000 / longest;
    let name_words = words(&name);
    let shared = asked_words.intersection(&name_words).count();
    // Words of the name that were not asked for weigh less than asked ones that it lacks.
    let by_words = shared * 3000 / (2 * asked_words.len() + name_words.len()).max(1);
    letters.max(by_words * 9 / 10)
}

fn words(name: &str) -> BTreeSet<String> {
    name.split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.len() > 1)
        .map(str::to_owned)
        .collect()
}

/// Levenshtein's distance.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, left) in left.chars().enumerate() {
        let mut diagonal = index;
        let mut previous = index + 1;
        let mut next = Vec::with_capacity(row.len());
        next.push(previous);
        for (right, above) in right.iter().zip(row.iter().skip(1)) {
            previous = (previous + 1)
                .min(above + 1)
                .min(diagonal + usize::from(left != *right));
            diagonal = *above;
            next.push(previous);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}
