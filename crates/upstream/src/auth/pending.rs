//! Sign-ins under way: each is finished once, within ten minutes, by whoever holds its state.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use countersign_core::names::ServerName;
use countersign_core::principal::PrincipalKey;
use countersign_core::secret::Secret;

use super::client::Client;
use super::random;

/// How long a sign-in may take.
pub(crate) const LIFE: Duration = Duration::from_secs(10 * 60);
/// How many of one principal may be under way; a new one pushes out its oldest.
const OF_ONE: usize = 32;
/// How many may be under way altogether.
const ALL: usize = 10_000;

/// What a sign-in needs to be finished.
#[derive(Debug)]
pub(crate) struct Begun {
    pub(crate) server: ServerName,
    pub(crate) principal: PrincipalKey,
    /// What the grant will be bound to.
    pub(crate) binding: String,
    pub(crate) issuer: String,
    /// Whether the answer must name the issuer (RFC 9207).
    pub(crate) names_issuer: bool,
    pub(crate) token_endpoint: String,
    pub(crate) revocation_endpoint: Option<String>,
    pub(crate) client: Client,
    pub(crate) redirect: String,
    pub(crate) resource: String,
    pub(crate) scopes: Vec<String>,
    pub(crate) verifier: Secret,
}

/// All sign-ins under way, by the hash of their state: what is compared is never the secret itself.
#[derive(Debug, Default)]
pub(crate) struct Pending(Mutex<HashMap<String, (Instant, Begun)>>);

impl Pending {
    /// One more.
    pub(crate) fn add(&self, state: &Secret, begun: Begun) {
        let mut all = self.lock();
        let now = Instant::now();
        all.retain(|_, (since, _)| now.duration_since(*since) < LIFE);
        let of_one = all
            .values()
            .filter(|(_, other)| other.principal == begun.principal)
            .count();
        if of_one >= OF_ONE {
            let principal = &begun.principal;
            push_out_oldest(&mut all, |other| other.principal == *principal);
        }
        if all.len() >= ALL {
            push_out_oldest(&mut all, |_| true);
        }
        all.insert(random::hash(state.reveal()), (now, begun));
    }

    /// Takes one out: a state is good once.
    pub(crate) fn take(&self, state: &str) -> Option<Begun> {
        let (since, begun) = self.lock().remove(&random::hash(state))?;
        (since.elapsed() < LIFE).then_some(begun)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, (Instant, Begun)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn push_out_oldest(all: &mut HashMap<String, (Instant, Begun)>, among: impl Fn(&Begun) -> bool) {
    let oldest = all
        .iter()
        .filter(|(_, (_, begun))| among(begun))
        .min_by_key(|(_, (since, _))| *since)
        .map(|(state, _)| state.clone());
    if let Some(oldest) = oldest {
        all.remove(&oldest);
    }
}
