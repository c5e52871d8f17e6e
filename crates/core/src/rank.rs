//! Ranked search over the catalogue: BM25 over several fields (spec 2.5).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

mod segment;
mod stem;
mod words;

use segment::{Entry, Segment};
use stem::stem;
use words::{is_common_verb, is_stop_word};

/// What is known of one tool when it is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// Documents that change together.
#[derive(Debug, Clone)]
pub struct Group<'a> {
    /// What tells it from the others; it may be repeated, and only then its parts may be read anew.
    pub name: &'a str,
    /// Its documents.
    pub documents: Vec<Document<'a>>,
}

/// An inverted index, in segments that outlive it: an index over a catalogue in which little changed
/// takes most of them over from the one before.
#[derive(Debug, Clone, Default)]
pub struct Index {
    segments: Vec<Arc<Segment>>,
    /// How much the length of each field of each document tells against it: all that depends on the
    /// other segments.
    longer: Vec<[f64; FIELDS]>,
}

/// One answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The document's place in the list that the index was built from.
    pub document: usize,
    /// Its score; equal queries over equal catalogues give equal scores.
    pub score: f64,
}

const FIELDS: usize = 5;
/// Name, title, description, parameters, labels.
const WEIGHTS: [f64; FIELDS] = [3.0, 1.0, 1.0, 1.0, 1.0];
/// How much a field that is longer than its average counts for less.
const LENGTH_NORMS: [f64; FIELDS] = [0.4, 0.3, 0.7, 0.4, 0.0];
/// A word that stands in one field again and again counts at most 1.5 times there, so that no long
/// text outweighs a name.
const REPEATED: f64 = 0.5;
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
        Self::join(
            documents
                .chunks(segment::DOCUMENTS)
                .map(|few| Arc::new(Segment::of(few)))
                .collect(),
        )
    }

    /// The index over documents in groups (those of one server, say). Where a part of a group holds the
    /// same documents as in the index `before`, its words are not read again.
    #[must_use]
    pub fn build_from(groups: &[Group<'_>], before: &Self, old: &[Group<'_>]) -> Self {
        let mut known = BTreeMap::new();
        for ((key, documents), segment) in parts(old).zip(&before.segments) {
            known.insert(key, (documents, segment));
        }
        let segment = |(key, documents): (Key<'_>, &[Document<'_>])| match known.get(&key) {
            Some((same, segment)) if *same == documents => Arc::clone(segment),
            Some(_) | None => Arc::new(Segment::of(documents)),
        };
        Self::join(parts(groups).map(segment).collect())
    }

    fn join(segments: Vec<Arc<Segment>>) -> Self {
        let averages = averages(segments.iter().flat_map(|segment| &segment.lengths));
        let longer = |lengths: &[u32; FIELDS]| {
            let mut longer = [0.0; FIELDS];
            let norms = averages.iter().zip(LENGTH_NORMS).zip(lengths);
            for (longer, ((average, norm), length)) in longer.iter_mut().zip(norms) {
                *longer = REPEATED * (1.0 - norm + norm * f64::from(*length) / average);
            }
            longer
        };
        Self {
            longer: segments
                .iter()
                .flat_map(|segment| segment.lengths.iter().map(longer))
                .collect(),
            segments,
        }
    }

    /// The documents that match at least one word of the query, best first; ties by place.
    #[must_use]
    pub fn search(&self, query: &str) -> Vec<Hit> {
        let terms = self.terms(query);
        let documents = self.longer.len();
        let mut scores = vec![(0.0, 0.0); documents];
        let mut best = vec![0.0_f64; documents];
        let mut asked = 0.0;
        for term in &terms {
            let importance = term.importance;
            asked += importance;
            best.fill(0.0);
            for way in &term.ways {
                self.add_way(way, &mut best);
            }
            for ((score, covered), best) in scores.iter_mut().zip(&best) {
                if *best > 0.0 {
                    *score += importance * best;
                    *covered += importance;
                }
            }
        }
        let mut hits: Vec<Hit> = scores
            .into_iter()
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
        hits.sort_unstable_by(|left, right| {
            right
                .score
                .total_cmp(&left.score)
                .then(left.document.cmp(&right.document))
        });
        hits
    }

    /// Raises each document's best score for a word to what one way of reading the word gives.
    fn add_way(&self, way: &Way<'_>, best: &mut [f64]) {
        let mut longer = self.longer.as_slice();
        let mut best = best;
        for (segment, (entries, spelled)) in self.segments.iter().zip(&way.entries) {
            let documents = segment.lengths.len();
            let (Some((here, later)), Some((best_here, best_later))) =
                (longer.split_at_checked(documents), best.split_at_mut_checked(documents))
            else {
                return;
            };
            add_segment(entries, spelled, way.factor, (here, best_here));
            (longer, best) = (later, best_later);
        }
    }

    /// The words of a query that say something and that the catalogue knows.
    fn terms(&self, query: &str) -> Vec<Term<'_>> {
        let mut words: Vec<String> = Vec::new();
        for word in words::words(query) {
            if words.len() >= QUERY_WORDS {
                break;
            }
            if word.parts.is_empty() || self.holds(&stem(&word.whole)) {
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
        if self.holds(stem) {
            ways.push(self.way(stem, Some(word), 1.0));
        } else {
            self.alike(stem, &mut ways);
        }
        for joined in joined {
            let stem = stem::stem(joined);
            if self.holds(&stem) {
                ways.push(self.way(&stem, Some(joined), JOINED));
            }
        }
        let rarest = ways.iter().map(Way::holding).min()?;
        // Such a verb is never rare: that few tools are described with it tells nothing of the others.
        let is_common = is_common_verb(word) || is_common_verb(stem);
        let rarity = if is_common {
            self.rarity(rarest.max(self.longer.len() / 5)) * COMMON_VERB
        } else {
            self.rarity(rarest)
        };
        Some(Term {
            importance: rarity,
            ways,
        })
    }

    fn holds(&self, stem: &str) -> bool {
        self.segments
            .iter()
            .any(|segment| !segment.stems.entries(stem).is_empty())
    }

    fn way(&self, stem: &str, spelling: Option<&str>, factor: f64) -> Way<'_> {
        let entries = self.segments.iter().map(|segment| {
            let spelled = spelling.map_or(&[][..], |spelling| segment.spellings.entries(spelling));
            (segment.stems.entries(stem), spelled)
        });
        Way {
            entries: entries.collect(),
            factor,
        }
    }

    /// Terms that a word which nobody wrote begins with, or that begin with it.
    fn alike<'i>(&'i self, stem: &str, ways: &mut Vec<Way<'i>>) {
        if stem.chars().count() >= 3 {
            let longer = self
                .segments
                .iter()
                .flat_map(|segment| segment.stems.beginning_with(stem));
            let longer: BTreeSet<&str> = longer.collect();
            ways.extend(
                longer
                    .into_iter()
                    .take(QUERY_WORDS)
                    .map(|term| self.way(term, None, PREFIX)),
            );
        }
        let cuts = stem
            .char_indices()
            .map(|(place, _)| place)
            .filter(|place| *place >= 4 && place * 2 > stem.len());
        let longest_first = cuts.collect::<Vec<_>>().into_iter().rev();
        let mut shorter = longest_first
            .filter_map(|place| stem.get(..place))
            .filter(|cut| self.holds(cut));
        ways.extend(shorter.next().map(|cut| self.way(cut, None, PREFIX)));
    }

    /// BM25's idf.
    fn rarity(&self, holding: usize) -> f64 {
        let (all, holding) = (count(self.longer.len()), count(holding));
        (1.0 + (all - holding + 0.5) / (holding + 0.5)).ln()
    }
}

/// One word of a query.
struct Term<'i> {
    importance: f64,
    ways: Vec<Way<'i>>,
}

/// One way of reading a word: a term of the index, with its entries and those of the word's own
/// spelling, segment by segment.
struct Way<'i> {
    entries: Vec<(&'i [Entry], &'i [Entry])>,
    factor: f64,
}

impl Way<'_> {
    /// How many documents hold the term.
    fn holding(&self) -> usize {
        self.entries
            .iter()
            .map(|(entries, _)| by_document(entries).count())
            .sum()
    }
}

fn by_document(entries: &[Entry]) -> impl Iterator<Item = &[Entry]> {
    entries.chunk_by(|left, right| left.document == right.document)
}

/// As [`Index::add_way`], for one segment: its documents' lengths and best scores.
fn add_segment(entries: &[Entry], spelled: &[Entry], factor: f64, documents: (&[[f64; FIELDS]], &mut [f64])) {
    let (longer, best) = documents;
    let mut spelled = by_document(spelled).peekable();
    for entries in by_document(entries) {
        let Some(document) = entries.first().map(|entry| entry.document) else {
            continue;
        };
        // Whoever holds the spelling holds its stem, so both lists go through the documents together.
        let exact = spelled.next_if(|other| other.first().is_some_and(|other| other.document == document));
        let place = usize::from(document);
        if let (Some(longer), Some(best)) = (longer.get(place), best.get_mut(place)) {
            let exact = exact.map_or(0.0, |exact| saturated(weight(exact, longer)));
            let score = (1.0 - SPELLING) * saturated(weight(entries, longer)) + SPELLING * exact;
            *best = best.max(factor * score);
        }
    }
}

/// How much a document is about a term, over all fields; they come in their order, so that sums never vary.
fn weight(entries: &[Entry], longer: &[f64; FIELDS]) -> f64 {
    let about = |entry: &Entry| {
        let field = usize::from(entry.field);
        let (weight, longer) = (WEIGHTS.get(field)?, longer.get(field)?);
        let times = f64::from(entry.times);
        Some(weight * times * (1.0 + REPEATED) / (times + longer))
    };
    entries.iter().filter_map(about).sum()
}

/// The average length of each field over the documents that have it.
fn averages<'l>(documents: impl Iterator<Item = &'l [u32; FIELDS]>) -> [f64; FIELDS] {
    let mut sums = [(0_usize, 0_usize); FIELDS];
    for lengths in documents {
        for (sum, length) in sums.iter_mut().zip(lengths).filter(|(_, length)| **length > 0) {
            sum.0 += usize::try_from(*length).unwrap_or(usize::MAX);
            sum.1 += 1;
        }
    }
    sums.map(|(words, documents)| {
        if documents == 0 {
            1.0
        } else {
            count(words) / count(documents)
        }
    })
}

/// Which part of which group.
type Key<'g> = (&'g str, usize);

/// The groups in parts of the size of a segment.
fn parts<'g>(groups: &'g [Group<'_>]) -> impl Iterator<Item = (Key<'g>, &'g [Document<'g>])> {
    groups.iter().flat_map(|group| {
        let parts = group.documents.chunks(segment::DOCUMENTS).enumerate();
        parts.map(|(number, documents)| ((group.name, number), documents))
    })
}

fn saturated(weight: f64) -> f64 {
    weight / (weight + SATURATION)
}

fn count(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::from(u32::MAX), f64::from)
}

#[cfg(test)]
mod tests;
