//! Ranked search over the catalogue: BM25 over several fields (spec 2.5).

use std::collections::BTreeMap;
use std::ops::Bound;

mod build;
mod stem;
mod words;

use stem::stem;
use words::{is_common_verb, is_stop_word};

/// What is known of one tool when it is searched.
#[derive(Debug, Clone, Copy)]
pub struct Document<'a> {
    /// Exposed name, weight 3.
    pub name: &'a str,
    /// Title, weight 1.
    pub title: Option<&'a str>,
    /// Whole description, weight 1.
    pub description: &'a str,
    /// Parameter names, weight 1.
    pub parameters: &'a [String],
    /// Labels of its server as `key=value`, weight 1.
    pub labels: &'a [String],
}

/// An inverted index, built once per catalogue.
#[derive(Debug, Clone, Default)]
pub struct Index {
    documents: usize,
    /// By stem.
    stems: BTreeMap<String, Vec<Posting>>,
    /// By word as spelled.
    spellings: BTreeMap<String, Vec<Posting>>,
}

/// One answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The document's place in the list that the index was built from.
    pub document: usize,
    /// Its score; equal queries over equal catalogues give equal scores.
    pub score: f64,
}

/// That a document holds a term, and how much it is about it, over all fields.
#[derive(Debug, Clone, Copy)]
struct Posting {
    document: usize,
    weight: f64,
}

/// BM25's k1: how soon more evidence for one word stops to matter.
const SATURATION: f64 = 1.2;
/// The part of a word's score that only its own spelling earns: `pods` is nearer to `pods` than `pod`.
const SPELLING: f64 = 0.2;
/// What a verb counts that fits most tools.
const COMMON_VERB: f64 = 0.5;
/// What a term counts that only begins like an unknown word of the query.
const PREFIX: f64 = 0.5;
/// What two words of the query count where they are written as one.
const JOINED: f64 = 0.8;
/// The part of a score that does not depend on how many words of the query were found.
const UNCOVERED: f64 = 0.4;
/// How many words of a query are looked at.
const QUERY_WORDS: usize = 64;

impl Index {
    /// Builds the index.
    #[must_use]
    pub fn build(documents: &[Document<'_>]) -> Self {
        build::build(documents)
    }

    /// The documents that match at least one word of the query, best first; ties by place.
    #[must_use]
    pub fn search(&self, query: &str) -> Vec<Hit> {
        let terms = self.terms(query);
        let mut scores = vec![0.0; self.documents];
        let mut covered = vec![0.0; self.documents];
        let mut asked = 0.0;
        for term in &terms {
            let importance = term.importance;
            asked += importance;
            let mut best = vec![0.0_f64; self.documents];
            for way in &term.ways {
                self.add_way(way, &mut best);
            }
            for ((score, covered), best) in scores.iter_mut().zip(&mut covered).zip(best) {
                if best > 0.0 {
                    *score += importance * best;
                    *covered += importance;
                }
            }
        }
        let mut hits: Vec<Hit> = scores
            .into_iter()
            .zip(covered)
            .enumerate()
            .filter(|(_, (score, _))| *score > 0.0)
            .map(|(document, (score, covered))| {
                let share = covered / asked;
                Hit {
                    document,
                    score: score * (UNCOVERED + (1.0 - UNCOVERED) * share),
                }
            })
            .collect();
        hits.sort_by(|left, right| {
            right
                .score
                .total_cmp(&left.score)
                .then(left.document.cmp(&right.document))
        });
        hits
    }

    /// Raises each document's best score for a word to what one way of reading the word gives.
    fn add_way(&self, way: &Way<'_>, best: &mut [f64]) {
        let mut spelled = way.spelling.iter().copied().peekable();
        for posting in way.postings {
            while spelled.next_if(|other| other.document < posting.document).is_some() {}
            let exact = spelled
                .next_if(|other| other.document == posting.document)
                .map_or(0.0, |other| other.weight);
            let score = (1.0 - SPELLING) * saturated(posting.weight) + SPELLING * saturated(exact);
            if let Some(best) = best.get_mut(posting.document) {
                *best = best.max(way.factor * score);
            }
        }
    }

    /// The words of a query that say something and that the catalogue knows.
    fn terms(&self, query: &str) -> Vec<Term<'_>> {
        let mut words: Vec<String> = Vec::new();
        for word in words::words(query) {
            if words.len() >= QUERY_WORDS {
                break;
            }
            if word.parts.is_empty() || self.stems.contains_key(&stem(&word.whole)) {
                words.push(word.whole);
            } else {
                words.extend(word.parts);
            }
        }
        if !words.iter().all(|word| is_stop_word(word)) {
            words.retain(|word| !is_stop_word(word));
        }
        let mut terms: Vec<Term<'_>> = Vec::new();
        for (place, word) in words.iter().enumerate() {
            let stem = stem(word);
            if words.iter().take(place).any(|earlier| stem::stem(earlier) == stem) {
                continue;
            }
            let before = place
                .checked_sub(1)
                .and_then(|place| words.get(place))
                .map(|before| format!("{before}{word}"));
            let after = words.get(place + 1).map(|after| format!("{word}{after}"));
            terms.extend(self.term(word, &stem, before.iter().chain(after.iter())));
        }
        terms
    }

    fn term<'q>(&self, word: &str, stem: &str, joined: impl Iterator<Item = &'q String>) -> Option<Term<'_>> {
        let mut ways = Vec::new();
        match self.stems.get(stem) {
            Some(postings) => ways.push(Way {
                postings,
                spelling: self.spelled(word),
                factor: 1.0,
            }),
            None => self.alike(stem, &mut ways),
        }
        for joined in joined {
            if let Some(postings) = self.stems.get(&stem::stem(joined)) {
                ways.push(Way {
                    postings,
                    spelling: self.spelled(joined),
                    factor: JOINED,
                });
            }
        }
        let rarest = ways.iter().map(|way| way.postings.len()).min()?;
        // Such a verb is never rare: that few tools are described with it tells nothing of the others.
        let is_common = is_common_verb(word) || is_common_verb(stem);
        let rarity = if is_common {
            self.rarity(rarest.max(self.documents / 5)) * COMMON_VERB
        } else {
            self.rarity(rarest)
        };
        Some(Term {
            importance: rarity,
            ways,
        })
    }

    /// Terms that a word which nobody wrote begins with, or that begin with it.
    fn alike<'i>(&'i self, stem: &str, ways: &mut Vec<Way<'i>>) {
        let way = |postings| Way {
            postings,
            spelling: &[],
            factor: PREFIX,
        };
        if stem.chars().count() >= 3 {
            let from = (Bound::Included(stem), Bound::Unbounded);
            let longer = self
                .stems
                .range::<str, _>(from)
                .take_while(|(term, _)| term.starts_with(stem));
            ways.extend(longer.take(QUERY_WORDS).map(|(_, postings)| way(postings.as_slice())));
        }
        let cuts = stem
            .char_indices()
            .map(|(place, _)| place)
            .filter(|place| *place >= 4 && place * 2 > stem.len());
        let longest_first = cuts.collect::<Vec<_>>().into_iter().rev();
        let shorter = longest_first.filter_map(|place| self.stems.get(stem.get(..place)?));
        ways.extend(shorter.take(1).map(|postings| way(postings.as_slice())));
    }

    fn spelled(&self, word: &str) -> &[Posting] {
        self.spellings.get(word).map_or(&[], Vec::as_slice)
    }

    /// BM25's idf.
    fn rarity(&self, holding: usize) -> f64 {
        let (all, holding) = (count(self.documents), count(holding));
        (1.0 + (all - holding + 0.5) / (holding + 0.5)).ln()
    }
}

/// One word of a query.
struct Term<'i> {
    importance: f64,
    ways: Vec<Way<'i>>,
}

/// One way of reading a word: a term of the index.
struct Way<'i> {
    postings: &'i [Posting],
    spelling: &'i [Posting],
    factor: f64,
}

fn saturated(weight: f64) -> f64 {
    weight / (weight + SATURATION)
}

fn count(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::from(u32::MAX), f64::from)
}

#[cfg(test)]
mod tests;
