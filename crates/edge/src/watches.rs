//! Who watches which resource: one upstream subscription serves all watchers of one principal.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use countersign_core::principal::PrincipalKey;

/// How many watchers every resource has.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    counts: Mutex<HashMap<(PrincipalKey, String), usize>>,
}

impl Watches {
    /// One more watcher.
    pub(crate) fn hold(&self, principal: &PrincipalKey, uri: &str) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry((principal.clone(), uri.to_owned())).or_default() += 1;
    }

    /// One watcher less; says whether it was the last.
    pub(crate) fn release(&self, principal: &PrincipalKey, uri: &str) -> bool {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (principal.clone(), uri.to_owned());
        match counts.get_mut(&key) {
            Some(count) if *count > 1 => {
                *count -= 1;
                false
            }
            Some(_) => {
                counts.remove(&key);
                true
            }
            None => false,
        }
    }

    /// Whether anyone watches.
    pub(crate) fn is_held(&self, principal: &PrincipalKey, uri: &str) -> bool {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.contains_key(&(principal.clone(), uri.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use countersign_core::principal::Principal;

    use super::Watches;

    #[test]
    fn only_the_last_watcher_ends_the_upstream_subscription() {
        let (watches, local) = (Watches::default(), Principal::local());
        watches.hold(local.key(), "a:b");
        watches.hold(local.key(), "a:b");
        assert!(!watches.release(local.key(), "a:b"));
        assert!(watches.is_held(local.key(), "a:b"));
        assert!(watches.release(local.key(), "a:b"));
        assert!(!watches.release(local.key(), "a:b"));
    }
}
