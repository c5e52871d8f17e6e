//! Sets of small numbers as bits.

use std::ops::Range;

const WORD: usize = 64;

/// A set of numbers below a limit that is given when it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bits {
    words: Box<[u64]>,
}

impl Bits {
    pub(super) fn empty(limit: usize) -> Self {
        Self {
            words: vec![0; limit.div_ceil(WORD)].into(),
        }
    }

    pub(super) fn full(limit: usize) -> Self {
        let mut bits = Self::empty(limit);
        bits.add_range(0..limit);
        bits
    }

    pub(super) fn add(&mut self, number: usize) {
        if let Some(word) = self.words.get_mut(number / WORD) {
            *word |= 1 << (number % WORD);
        }
    }

    pub(super) fn add_range(&mut self, numbers: Range<usize>) {
        for number in numbers {
            self.add(number);
        }
    }

    pub(super) fn has(&self, number: usize) -> bool {
        let word = self.words.get(number / WORD).copied().unwrap_or_default();
        word & (1 << (number % WORD)) != 0
    }

    pub(super) fn count(&self) -> usize {
        let ones = self.words.iter().map(|word| word.count_ones());
        usize::try_from(ones.map(u64::from).sum::<u64>()).unwrap_or(usize::MAX)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    pub(super) fn meets(&self, other: &Self) -> bool {
        self.words
            .iter()
            .zip(&other.words)
            .any(|(here, there)| here & there != 0)
    }

    pub(super) fn join(&mut self, other: &Self) {
        self.each(other, |here, there| here | there);
    }

    pub(super) fn meet(&mut self, other: &Self) {
        self.each(other, |here, there| here & there);
    }

    pub(super) fn leave_out(&mut self, other: &Self) {
        self.each(other, |here, there| here & !there);
    }

    fn each(&mut self, other: &Self, both: impl Fn(u64, u64) -> u64) {
        for (here, there) in self.words.iter_mut().zip(&other.words) {
            *here = both(*here, *there);
        }
    }

    /// The numbers, in order.
    pub(super) fn numbers(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(place, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = usize::try_from(left.trailing_zeros()).ok().filter(|bit| *bit < WORD)?;
                left &= left - 1;
                Some(place * WORD + bit)
            })
        })
    }
}
