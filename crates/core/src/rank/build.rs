//! From documents to the inverted index: each word becomes a place, each place a list of postings.

use std::collections::BTreeMap;

use super::stem::stem;
use super::words::words;
use super::{Document, Index, Posting, count};

const FIELDS: usize = 5;
/// Name, title, description, parameters, labels.
const WEIGHTS: [f64; FIELDS] = [3.0, 1.0, 1.0, 1.0, 1.0];
/// How much a field that is longer than its average counts for less.
const LENGTH_NORMS: [f64; FIELDS] = [0.4, 0.3, 0.7, 0.4, 0.0];
/// A word that stands in one field again and again counts at most 1.5 times there, so that no long
/// text outweighs a name.
const REPEATED: f64 = 0.5;

/// One word of a text, as places in the vocabulary.
#[derive(Debug, Clone, Copy)]
struct Token {
    spelling: usize,
    stem: usize,
}

/// The words of one field, and how many there are without counting a word and its parts twice.
#[derive(Debug, Default)]
struct Field {
    tokens: Vec<Token>,
    length: usize,
}

pub(super) fn build(documents: &[Document<'_>]) -> Index {
    let mut vocabulary = Vocabulary::default();
    let read: Vec<[Field; FIELDS]> = documents.iter().map(|document| vocabulary.fields(document)).collect();
    let averages = averages(&read);
    let mut stems = vec![Vec::new(); vocabulary.stems.len()];
    let mut spellings = vec![Vec::new(); vocabulary.spellings.len()];
    for (document, fields) in read.iter().enumerate() {
        post(&mut stems, document, fields, &averages, |token| token.stem);
        post(&mut spellings, document, fields, &averages, |token| token.spelling);
    }
    let mut take = |place: usize| spellings.get_mut(place).map(std::mem::take).unwrap_or_default();
    let spellings = vocabulary
        .spellings
        .into_iter()
        .map(|(word, token)| (word, take(token.spelling)))
        .collect();
    let mut take = |place: usize| stems.get_mut(place).map(std::mem::take).unwrap_or_default();
    let stems = vocabulary
        .stems
        .into_iter()
        .map(|(word, place)| (word, take(place)))
        .collect();
    Index {
        documents: documents.len(),
        stems,
        spellings,
    }
}

/// Adds one document to the postings of its terms.
fn post(
    postings: &mut [Vec<Posting>],
    document: usize,
    fields: &[Field; FIELDS],
    averages: &[f64; FIELDS],
    term: impl Fn(&Token) -> usize,
) {
    let mut weights: Vec<(usize, f64)> = Vec::new();
    for (field, ((average, weight), norm)) in fields.iter().zip(averages.iter().zip(WEIGHTS).zip(LENGTH_NORMS)) {
        let longer = 1.0 - norm + norm * count(field.length) / average;
        let mut terms: Vec<usize> = field.tokens.iter().map(&term).collect();
        terms.sort_unstable();
        for same in terms.chunk_by(|left, right| left == right) {
            let times = count(same.len());
            let about = weight * times * (1.0 + REPEATED) / (times + REPEATED * longer);
            weights.extend(same.first().map(|term| (*term, about)));
        }
    }
    // A stable sort, so that sums are taken in the order of the fields and scores never vary.
    weights.sort_by_key(|(term, _)| *term);
    for same in weights.chunk_by(|left, right| left.0 == right.0) {
        if let Some(postings) = same.first().and_then(|(term, _)| postings.get_mut(*term)) {
            postings.push(Posting {
                document,
                weight: same.iter().map(|(_, weight)| weight).sum(),
            });
        }
    }
}

#[derive(Debug, Default)]
struct Vocabulary {
    spellings: BTreeMap<String, Token>,
    stems: BTreeMap<String, usize>,
}

impl Vocabulary {
    fn fields(&mut self, document: &Document<'_>) -> [Field; FIELDS] {
        let list = |texts: &[String]| texts.join(" ");
        [
            self.field(document.name),
            self.field(document.title.unwrap_or_default()),
            self.field(document.description),
            self.field(&list(document.parameters)),
            self.field(&list(document.labels)),
        ]
    }

    fn field(&mut self, text: &str) -> Field {
        let mut field = Field::default();
        for word in words(text) {
            field.length += 1;
            field.tokens.push(self.token(&word.whole));
            field.tokens.extend(word.parts.iter().map(|part| self.token(part)));
        }
        field
    }

    fn token(&mut self, word: &str) -> Token {
        if let Some(token) = self.spellings.get(word) {
            return *token;
        }
        let next = self.stems.len();
        let stem = *self.stems.entry(stem(word)).or_insert(next);
        let token = Token {
            spelling: self.spellings.len(),
            stem,
        };
        self.spellings.insert(word.to_owned(), token);
        token
    }
}

/// The average length of each field over the documents that have it.
fn averages(documents: &[[Field; FIELDS]]) -> [f64; FIELDS] {
    let mut sums = [(0_usize, 0_usize); FIELDS];
    for fields in documents {
        for (sum, field) in sums.iter_mut().zip(fields).filter(|(_, field)| field.length > 0) {
            sum.0 += field.length;
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
