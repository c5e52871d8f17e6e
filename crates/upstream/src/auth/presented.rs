//! The bearer tokens that callers connect with: the newest of each principal, until it ends, in memory only.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwapOption;
use countersign_core::principal::PrincipalKey;
use countersign_core::secret::Secret;
use countersign_core::time::Millis;

use super::token::Token;
use crate::ending::Ending;

/// One principal's newest token.
#[derive(Debug, Default)]
pub(crate) struct Presented {
    current: ArcSwapOption<Bearer>,
}

/// A token, as text and as it is sent on.
#[derive(Debug)]
pub(crate) struct Bearer {
    pub(crate) text: Secret,
    pub(crate) token: Arc<Token>,
}

impl Presented {
    /// The token, unless it has ended.
    pub(crate) fn bearer(&self) -> Option<Arc<Bearer>> {
        let bearer = self.current.load_full()?;
        if bearer.token.has_ended() {
            self.drop_numbered(bearer.token.number);
            return None;
        }
        Some(bearer)
    }

    /// Drops the token, unless a newer one has come.
    fn drop_numbered(&self, number: u64) {
        self.current.rcu(|current| {
            current
                .as_ref()
                .filter(|current| current.token.number != number)
                .cloned()
        });
    }
}

/// The tokens of all principals.
#[derive(Debug, Default)]
pub(crate) struct AllPresented(Mutex<HashMap<PrincipalKey, Arc<Presented>>>);

impl AllPresented {
    /// A principal's place, made when there is none.
    pub(crate) fn of(&self, principal: &PrincipalKey) -> Arc<Presented> {
        Arc::clone(self.lock().entry(principal.clone()).or_default())
    }

    /// Whether a principal has a token now.
    pub(crate) fn has(&self, principal: &PrincipalKey) -> bool {
        let place = self.lock().get(principal).cloned();
        place.is_some_and(|place| place.bearer().is_some())
    }

    /// Takes a principal's token; cheap when it is the one that is known. One that ends no later than the one that is
    /// known is older: of several connections the newest counts.
    pub(crate) fn present(
        self: &Arc<Self>,
        principal: &PrincipalKey,
        text: &Secret,
        ends: Option<Millis>,
        ending: &Ending,
    ) {
        let place = self.of(principal);
        let before = place.current.load_full();
        if before.as_ref().is_some_and(|before| before.text == *text) {
            return;
        }
        let left = ends.map(left);
        if left.is_some_and(|left| left.is_zero()) {
            return;
        }
        let number = before.as_ref().map_or(0, |before| before.token.number);
        let Some(token) = Token::new(text, number + 1, left) else {
            return;
        };
        if let (Some(before), Some(new)) = (&before, token.ends)
            && !before.token.has_ended()
            && before.token.ends.is_some_and(|old| old > new)
        {
            return;
        }
        let number = token.number;
        place.current.store(Some(Arc::new(Bearer {
            text: Secret::hidden(text.reveal()),
            token: Arc::new(token),
        })));
        // It is dropped when it ends, also when nobody asks for it.
        if let Some(left) = left {
            let (all, principal) = (Arc::clone(self), principal.clone());
            ending.spawn_until(async move {
                tokio::time::sleep(left).await;
                place.drop_numbered(number);
                all.sweep(&principal);
            });
        }
    }

    /// Forgets a place that is empty and that nobody holds.
    fn sweep(&self, principal: &PrincipalKey) {
        let mut all = self.lock();
        let unused = all
            .get(principal)
            .is_some_and(|place| place.current.load().is_none() && Arc::strong_count(place) <= 2);
        if unused {
            all.remove(principal);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PrincipalKey, Arc<Presented>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn left(ends: Millis) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
    Duration::from_millis(u64::try_from(ends.0.saturating_sub(now)).unwrap_or(0))
}
