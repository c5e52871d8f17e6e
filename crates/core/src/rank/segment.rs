//! One part of the index: the words of a few neighbouring tools, kept while those tools stay as they are.

use std::collections::BTreeMap;

use super::stem::stem;
use super::words::words;
use super::{Document, FIELDS};

/// How many documents one segment holds at most.
pub(super) const DOCUMENTS: usize = 256;

/// That a document holds a term in one field, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    /// The document's place in its segment.
    pub(super) document: u16,
    /// Name, title, description, parameters or labels.
    pub(super) field: u8,
    /// How often; more than 255 times count as 255.
    pub(super) times: u8,
}

/// The words of at most [`DOCUMENTS`] documents. It says nothing of other segments, so it is as true
/// in the next index as in this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Segment {
    /// For each document, how many words each field has, without counting a word and its parts twice.
    pub(super) lengths: Vec<[u32; FIELDS]>,
    /// By stem.
    pub(super) stems: Terms,
    /// By word as spelled.
    pub(super) spellings: Terms,
}

/// Terms in their order, each with its entries by document and field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Terms {
    terms: Vec<(Box<str>, usize)>,
    entries: Vec<Entry>,
}

impl Terms {
    fn of(mut found: BTreeMap<String, Vec<Entry>>) -> Self {
        let mut terms = Self::default();
        for (term, entries) in &mut found {
            terms.entries.append(entries);
            terms.terms.push((term.as_str().into(), terms.entries.len()));
        }
        terms.terms.shrink_to_fit();
        terms.entries.shrink_to_fit();
        terms
    }

    /// The entries of a term; none where no document holds it.
    pub(super) fn entries(&self, term: &str) -> &[Entry] {
        match self.terms.binary_search_by(|(other, _)| (**other).cmp(term)) {
            Ok(place) => self.at(place),
            Err(_) => &[],
        }
    }

    fn at(&self, place: usize) -> &[Entry] {
        let end_of = |place: usize| self.terms.get(place).map_or(0, |(_, end)| *end);
        let start = place.checked_sub(1).map_or(0, end_of);
        self.entries.get(start..end_of(place)).unwrap_or_default()
    }

    /// The terms that begin with some letters, in their order.
    pub(super) fn beginning_with<'s>(&'s self, letters: &'s str) -> impl Iterator<Item = &'s str> {
        let start = self.terms.partition_point(|(term, _)| &**term < letters);
        let from = self.terms.get(start..).unwrap_or_default().iter();
        from.map(|(term, _)| &**term)
            .take_while(move |term| term.starts_with(letters))
    }
}

impl Segment {
    /// Reads the words of documents.
    pub(super) fn of(documents: &[Document<'_>]) -> Self {
        let mut reading = Reading::default();
        let lengths = (0..)
            .zip(documents)
            .map(|(place, document)| reading.read(place, document));
        Self {
            lengths: lengths.collect(),
            stems: Terms::of(reading.stems),
            spellings: Terms::of(reading.spellings),
        }
    }
}

#[derive(Debug, Default)]
struct Reading {
    stems: BTreeMap<String, Vec<Entry>>,
    spellings: BTreeMap<String, Vec<Entry>>,
}

impl Reading {
    fn read(&mut self, document: u16, text: &Document<'_>) -> [u32; FIELDS] {
        let list = |texts: &[String]| texts.join(" ");
        let (parameters, labels) = (list(text.parameters), list(text.labels));
        let title = text.title.unwrap_or_default();
        let mut lengths = [0; FIELDS];
        let fields = [text.name, title, text.description, &parameters, &labels];
        for ((field, text), length) in (0..).zip(fields).zip(&mut lengths) {
            for word in words(text) {
                *length += 1;
                for word in std::iter::once(&word.whole).chain(&word.parts) {
                    let entry = Entry {
                        document,
                        field,
                        times: 1,
                    };
                    note(&mut self.spellings, word, entry);
                    note(&mut self.stems, &stem(word), entry);
                }
            }
        }
        lengths
    }
}

/// Documents and fields come in their order, so that a term's last entry is the only one that can grow.
fn note(terms: &mut BTreeMap<String, Vec<Entry>>, term: &str, entry: Entry) {
    let Some(entries) = terms.get_mut(term) else {
        terms.insert(term.to_owned(), vec![entry]);
        return;
    };
    match entries.last_mut() {
        Some(last) if last.document == entry.document && last.field == entry.field => {
            last.times = last.times.saturating_add(1);
        }
        Some(_) | None => entries.push(entry),
    }
}
