//! What toolsets leave of snapshots, found once and kept while the snapshot is in force.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use arc_swap::ArcSwap;
use countersign_core::admit::View;
use countersign_core::catalogue::Catalogue;
use countersign_core::stages::Toolset;
use countersign_core::toolset::{Bounds, Narrowed, Presets};

/// How many are kept: every caller may declare toolsets of its own making.
const KEPT: usize = 1024;

/// What toolsets leave of snapshots. Reading takes no lock.
#[derive(Debug, Default)]
pub(crate) struct Narrowings {
    kept: ArcSwap<HashMap<Key, Kept>>,
    writing: Mutex<u64>,
}

/// A snapshot by its address, which [`Kept`] keeps from being used again, and the toolsets.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    catalogue: usize,
    presets: usize,
    bounds: Arc<Bounds>,
}

#[derive(Debug, Clone)]
struct Kept {
    narrowed: Arc<Narrowed>,
    /// INVARIANT: while these are held, no other snapshot and no other presets have their addresses.
    catalogue: Weak<Catalogue>,
    presets: Weak<Presets>,
    turn: u64,
}

impl Narrowings {
    /// What a toolset leaves of a snapshot. Without a toolset nothing is looked up, and one that was asked for
    /// before costs one look.
    pub(crate) fn view(&self, toolset: &Toolset, catalogue: &Arc<Catalogue>, presets: &Arc<Presets>) -> View {
        let bounds = match toolset {
            Toolset::Unscoped { because } => return View::Whole { because },
            Toolset::Bad(error) => return View::Refused(Arc::clone(error)),
            Toolset::Within(bounds) => bounds,
        };
        let key = Key {
            catalogue: Arc::as_ptr(catalogue).addr(),
            presets: Arc::as_ptr(presets).addr(),
            bounds: Arc::clone(bounds),
        };
        if let Some(kept) = self.kept.load().get(&key) {
            return View::Narrowed(Arc::clone(&kept.narrowed));
        }
        let view = View::within(bounds, catalogue, presets);
        if let View::Narrowed(narrowed) = &view {
            log_narrowing(narrowed);
            self.keep(key, narrowed, (catalogue, presets));
        }
        view
    }

    fn keep(&self, key: Key, narrowed: &Arc<Narrowed>, (catalogue, presets): (&Arc<Catalogue>, &Arc<Presets>)) {
        let mut turn = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        *turn = turn.saturating_add(1);
        let kept = Kept {
            narrowed: Arc::clone(narrowed),
            catalogue: Arc::downgrade(catalogue),
            presets: Arc::downgrade(presets),
            turn: *turn,
        };
        let mut next = HashMap::clone(&self.kept.load());
        // What belongs to snapshots that are no more goes first, then the older half.
        next.retain(|_, kept| kept.catalogue.strong_count() > 0 && kept.presets.strong_count() > 0);
        if next.len() >= KEPT {
            let mut turns: Vec<u64> = next.values().map(|kept| kept.turn).collect();
            let half = turns.len() / 2;
            let (_, middle, _) = turns.select_nth_unstable(half);
            let middle = *middle;
            next.retain(|_, kept| kept.turn > middle);
        }
        next.insert(key, kept);
        self.kept.store(Arc::new(next));
    }
}

/// Says that what a request declares is narrowed by what is bound to its caller, once for each pair of the two.
fn log_narrowing(narrowed: &Narrowed) {
    let bounds = narrowed.bounds();
    if let (Some(header), Some(bound)) = (bounds.header(), bounds.bound())
        && header.selectors != bound.selectors
    {
        tracing::info!(
            header = %format_args!("[{}]", header.selectors),
            bound = %format_args!("[{}]", bound.selectors),
            "toolset header resolved within the bound toolset"
        );
    }
}

#[cfg(test)]
mod tests;
