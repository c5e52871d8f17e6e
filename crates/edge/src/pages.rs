//! Pages of lists, rendered once for each snapshot and sent to every caller from the same bytes; those of toolsets
//! likewise, as far as they are the newest.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;
use countersign_core::catalogue::Catalogue;
use countersign_core::toolset::Narrowed;
use countersign_wire::version::Era;

use crate::cursor::List;
use crate::settings::InForce;

/// How many pages of toolsets are held.
const NARROWED: usize = 256;

/// How long they may be together, in bytes.
const NARROWED_BYTES: usize = 32 * 1024 * 1024;

/// What a rendered page depends on, beside the snapshot, the toolset and the settings in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) list: List,
    pub(crate) page: usize,
    /// Whether the meta-tools stand on it.
    pub(crate) meta: bool,
    /// Whether the catalogue's own elements stand on it.
    pub(crate) direct: bool,
    /// Whether the tools that only apps may call stand on it.
    pub(crate) apps: bool,
    pub(crate) era: Era,
}

/// How long the pages of all snapshots may be together, in bytes; those of the one that was asked for last stay.
const SNAPSHOT_BYTES: usize = 64 * 1024 * 1024;

/// How many snapshots have pages: that of everybody, and those of principals that signed in somewhere.
const SNAPSHOTS: usize = 64;

/// The pages of the snapshots that are in use, and the newest pages of toolsets.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    /// The one that was asked for last stands last.
    held: Mutex<VecDeque<Arc<Held>>>,
    narrowed: Mutex<VecDeque<NarrowedPage>>,
}

/// A page as one toolset shows it, of one snapshot.
#[derive(Debug)]
struct NarrowedPage {
    /// Weak, so that no page keeps what a toolset selects in memory.
    of: Weak<Narrowed>,
    in_force: Weak<InForce>,
    key: Key,
    page: Bytes,
}

/// The pages of one snapshot.
#[derive(Debug)]
struct Held {
    /// Weak, so that no page keeps a snapshot in memory.
    catalogue: Weak<Catalogue>,
    in_force: Weak<InForce>,
    bytes: AtomicUsize,
    pages: Mutex<BTreeMap<Key, Bytes>>,
}

impl Held {
    fn is_of(&self, catalogue: &Arc<Catalogue>, in_force: &Arc<InForce>) -> bool {
        // INVARIANT: a weak pointer keeps its allocation, so that an equal address is the same snapshot.
        self.catalogue.as_ptr() == Arc::as_ptr(catalogue) && self.in_force.as_ptr() == Arc::as_ptr(in_force)
    }

    fn is_in_use(&self) -> bool {
        self.catalogue.strong_count() > 0 && self.in_force.strong_count() > 0
    }
}

impl Pages {
    /// The page, rendered by the first who asks; whoever asks for one of the same snapshot meanwhile waits for it.
    pub(crate) fn page(
        &self,
        catalogue: &Arc<Catalogue>,
        in_force: &Arc<InForce>,
        key: Key,
        render: impl FnOnce() -> String,
    ) -> Bytes {
        let held = self.of(catalogue, in_force);
        let mut pages = held.pages.lock().unwrap_or_else(PoisonError::into_inner);
        let mut is_new = false;
        let page = pages.entry(key).or_insert_with(|| {
            is_new = true;
            render().into()
        });
        let page = page.clone();
        drop(pages);
        if is_new {
            held.bytes.fetch_add(page.len(), Ordering::Relaxed);
            self.make_room();
        }
        page
    }

    /// The pages of a snapshot, those that there are and those to come.
    fn of(&self, catalogue: &Arc<Catalogue>, in_force: &Arc<InForce>) -> Arc<Held> {
        let mut all = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let place = all.iter().rposition(|held| held.is_of(catalogue, in_force));
        let held = match place.and_then(|place| all.remove(place)) {
            Some(held) => held,
            None => {
                all.retain(|held| held.is_in_use());
                Arc::new(Held {
                    catalogue: Arc::downgrade(catalogue),
                    in_force: Arc::downgrade(in_force),
                    bytes: AtomicUsize::new(0),
                    pages: Mutex::default(),
                })
            }
        };
        all.push_back(Arc::clone(&held));
        held
    }

    fn make_room(&self) {
        let mut all = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes: usize = all.iter().map(|held| held.bytes.load(Ordering::Relaxed)).sum();
        while all.len() > 1 && (all.len() > SNAPSHOTS || bytes > SNAPSHOT_BYTES) {
            let Some(oldest) = all.pop_front() else { break };
            bytes = bytes.saturating_sub(oldest.bytes.load(Ordering::Relaxed));
        }
    }

    /// As [`Pages::page`], of what a toolset selects. Two may render it at the same time; nobody waits.
    pub(crate) fn narrowed(
        &self,
        narrowed: &Arc<Narrowed>,
        in_force: &Arc<InForce>,
        key: Key,
        render: impl FnOnce() -> String,
    ) -> Bytes {
        // INVARIANT: as above; and what a toolset selects is of one snapshot.
        let is_it = |held: &NarrowedPage| {
            held.key == key
                && held.of.as_ptr() == Arc::as_ptr(narrowed)
                && held.in_force.as_ptr() == Arc::as_ptr(in_force)
        };
        let lock = || self.narrowed.lock().unwrap_or_else(PoisonError::into_inner);
        let held = lock().iter().find(|held| is_it(held)).map(|held| held.page.clone());
        if let Some(page) = held {
            return page;
        }
        let page = Bytes::from(render());
        let mut pages = lock();
        pages.retain(|held| held.of.strong_count() > 0 && held.in_force.strong_count() > 0 && !is_it(held));
        pages.push_back(NarrowedPage {
            of: Arc::downgrade(narrowed),
            in_force: Arc::downgrade(in_force),
            key,
            page: page.clone(),
        });
        let mut bytes: usize = pages.iter().map(|held| held.page.len()).sum();
        while pages.len() > NARROWED || bytes > NARROWED_BYTES {
            let Some(oldest) = pages.pop_front() else { break };
            bytes = bytes.saturating_sub(oldest.page.len());
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use countersign_core::catalogue::{Catalogue, Naming, Parts};
    use countersign_wire::version::Era;

    use super::{Key, Pages};
    use crate::cursor::List;
    use crate::settings::{InForce, Settings};

    fn catalogue(version: u64) -> Arc<Catalogue> {
        let naming = Naming {
            prefix: "x".to_owned(),
            max_length: 64,
        };
        Arc::new(Catalogue::build(Parts {
            version,
            naming,
            servers: Vec::new(),
            workflows: Arc::default(),
        }))
    }

    fn key(page: usize, era: Era) -> Key {
        Key {
            list: List::Tools,
            page,
            meta: false,
            direct: true,
            apps: false,
            era,
        }
    }

    #[test]
    fn a_page_is_rendered_once_for_each_thing_that_it_depends_on() {
        let (pages, first, settings) = (
            Pages::default(),
            catalogue(1),
            Arc::new(InForce::new(Settings::default(), &crate::auth::Memory::new())),
        );
        let get = |catalogue, in_force, key, text: &str| pages.page(catalogue, in_force, key, || text.to_owned());
        let one = get(&first, &settings, key(0, Era::Legacy), "one");
        let again = get(&first, &settings, key(0, Era::Legacy), "never rendered");
        assert_eq!(
            (&again[..], again.as_ptr()),
            (&b"one"[..], one.as_ptr()),
            "the same bytes"
        );
        assert_eq!(get(&first, &settings, key(1, Era::Legacy), "page"), "page");
        assert_eq!(get(&first, &settings, key(0, Era::Modern), "era"), "era");
        let other = Arc::new(InForce::new(Settings::default(), &crate::auth::Memory::new()));
        assert_eq!(get(&first, &other, key(0, Era::Legacy), "settings"), "settings");
        assert_eq!(get(&catalogue(2), &other, key(0, Era::Legacy), "snapshot"), "snapshot");
    }

    #[test]
    fn snapshots_of_principals_keep_their_pages_beside_each_other_and_the_oldest_give_way() {
        let (pages, settings) = (
            Pages::default(),
            Arc::new(InForce::new(Settings::default(), &crate::auth::Memory::new())),
        );
        let all: Vec<_> = (0..=u64::try_from(super::SNAPSHOTS).unwrap()).map(catalogue).collect();
        let get = |at: usize, text: &str| pages.page(&all[at], &settings, key(0, Era::Legacy), || text.to_owned());
        for at in 0..super::SNAPSHOTS {
            assert_eq!(get(at, &format!("{at}")), format!("{at}"));
        }
        assert_eq!(get(0, "never rendered"), "0");
        assert_eq!(get(super::SNAPSHOTS, "one more"), "one more");
        assert_eq!(get(0, "never rendered"), "0", "it was asked for lately");
        assert_eq!(get(1, "again"), "again", "the one that was longest unused gave way");
    }

    #[test]
    fn an_older_snapshot_does_not_displace_the_pages_of_a_newer_one() {
        let (pages, settings) = (
            Pages::default(),
            Arc::new(InForce::new(Settings::default(), &crate::auth::Memory::new())),
        );
        let (old, new) = (catalogue(1), catalogue(2));
        let get = |catalogue, text: &str| pages.page(catalogue, &settings, key(0, Era::Legacy), || text.to_owned());
        assert_eq!(get(&new, "new"), "new");
        assert_eq!(get(&old, "old"), "old");
        assert_eq!(get(&new, "never rendered"), "new");
    }
}
