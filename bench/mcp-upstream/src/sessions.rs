//! The sessions that the server knows.

use std::{
    collections::HashSet,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use hyper::header::HeaderValue;

/// Known session ids, sharded to keep worker threads apart.
#[derive(Debug)]
pub(crate) struct Sessions {
    shards: [Mutex<HashSet<u128>>; 16],
    count: AtomicUsize,
    max: usize,
}

impl Sessions {
    pub(crate) fn new(max: usize) -> Self {
        Self {
            shards: Default::default(),
            count: AtomicUsize::new(0),
            max,
        }
    }

    fn shard(&self, id: u128) -> std::sync::MutexGuard<'_, HashSet<u128>> {
        self.shards[(id & 15) as usize]
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn parse(id: &[u8]) -> Option<u128> {
        if id.len() != 32 {
            return None;
        }
        u128::from_str_radix(std::str::from_utf8(id).ok()?, 16).ok()
    }

    pub(crate) fn create(&self) -> Option<HeaderValue> {
        if self.count.fetch_add(1, Ordering::Relaxed) >= self.max {
            self.count.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).ok()?;
        let id = u128::from_ne_bytes(bytes);
        self.shard(id).insert(id);
        HeaderValue::from_str(&format!("{id:032x}")).ok()
    }

    pub(crate) fn contains(&self, id: &[u8]) -> bool {
        Self::parse(id).is_some_and(|id| self.shard(id).contains(&id))
    }

    pub(crate) fn remove(&self, id: &[u8]) -> bool {
        let removed = Self::parse(id).is_some_and(|id| self.shard(id).remove(&id));
        if removed {
            self.count.fetch_sub(1, Ordering::Relaxed);
        }
        removed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_issued_checked_removed_and_limited() {
        let s = Sessions::new(2);
        let a = s.create().unwrap();
        let _b = s.create().unwrap();
        assert!(s.create().is_none());
        assert!(s.contains(a.as_bytes()));
        assert!(!s.contains(b"00000000000000000000000000000000"));
        assert!(s.remove(a.as_bytes()));
        assert!(!s.remove(a.as_bytes()));
        assert!(s.create().is_some());
    }
}
