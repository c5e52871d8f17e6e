//! Tokens whose signature was checked, by their digest, so that each is checked once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use countersign_core::exact::Digest;
use countersign_core::principal::Principal;

use super::source::Source;

/// How many tokens are remembered.
const TOKENS: usize = 8192;

/// A token that was checked. Neither it nor a part of it is kept.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) who: Who,
    /// When it ends, leeway included, in milliseconds since the Unix epoch.
    pub(super) ends: i64,
    source: Arc<Source>,
    number: u64,
}

/// Whom it stands for.
#[derive(Debug, Clone)]
pub(super) enum Who {
    /// A person.
    Person(Arc<Principal>),
    /// The actor of a Session; who that is served as, the binding says at each request.
    Actor {
        /// The Session.
        session: Arc<str>,
    },
}

/// The tokens that were checked.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    table: Mutex<HashMap<Digest, Known>>,
}

impl Known {
    pub(super) fn new(who: Who, ends: i64, source: &Arc<Source>, number: u64) -> Self {
        Self {
            who,
            ends,
            source: Arc::clone(source),
            number,
        }
    }
}

impl Tokens {
    /// The token, unless its time is over or its issuer has other keys by now.
    pub(super) fn find(&self, digest: &Digest, now: i64) -> Option<Known> {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        let known = table.get(digest)?;
        if now < known.ends && known.source.is_current(known.number) {
            return Some(known.clone());
        }
        table.remove(digest);
        None
    }

    pub(super) fn keep(&self, digest: Digest, known: Known) {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        if table.len() >= TOKENS {
            // Those that are in use are checked once more.
            table.clear();
        }
        table.insert(digest, known);
    }

    pub(super) fn clear(&self) {
        self.table.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
