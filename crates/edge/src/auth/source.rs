//! Where an issuer's keys come from: fetched once, kept, fetched anew when they are old or a token names another one.

#[cfg(test)]
pub(super) mod tests;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use countersign_fetch::{Fetcher, Trust};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use serde::Deserialize;

use super::jwks::{self, Algorithm, Jwk};

/// How old keys may be before they are fetched anew, beside the requests that use them.
const FRESH: Duration = Duration::from_secs(5 * 60);

/// How old keys may be at most. An issuer that takes a key back is heard of by then, or none of its tokens is taken.
const USABLE: Duration = Duration::from_secs(60 * 60);

/// How many fetches may follow each other at once, whatever tokens name.
const BURST: u32 = 5;

/// How often one more may.
const REFILL: Duration = Duration::from_secs(10);

/// Which issuer's keys, and where they are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Whose {
    pub(super) issuer: Arc<str>,
    /// Absent: its metadata says so.
    pub(super) jwks_url: Option<Arc<str>>,
}

/// The keys of one issuer.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) whose: Whose,
    fetcher: Fetcher,
    current: ArcSwapOption<Set>,
    state: Mutex<State>,
}

/// Keys as they were fetched.
#[derive(Debug)]
struct Set {
    keys: Vec<Jwk>,
    fetched: Instant,
    /// Differs from the number of the set before where the keys do.
    number: u64,
}

#[derive(Debug)]
struct State {
    under_way: Option<Shared<BoxFuture<'static, ()>>>,
    left: u32,
    refilled: Instant,
    error: String,
}

/// A key, and the number of the set that it is from.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) key: Jwk,
    pub(super) number: u64,
}

/// Why there is no key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unfound {
    /// The issuer has none of that id.
    Unknown,
    /// Its keys cannot be had.
    Unavailable(String),
}

#[derive(Debug, Deserialize)]
struct Metadata {
    issuer: String,
    jwks_uri: String,
}

impl Source {
    pub(super) fn new(whose: Whose, fetcher: Fetcher) -> Self {
        Self {
            whose,
            fetcher,
            current: ArcSwapOption::empty(),
            state: Mutex::new(State {
                under_way: None,
                left: BURST,
                refilled: Instant::now(),
                error: "they were not asked for yet".to_owned(),
            }),
        }
    }

    /// Whether keys of that number are still the issuer's. Old ones are fetched anew meanwhile.
    pub(super) fn is_current(self: &Arc<Self>, number: u64) -> bool {
        let Some(set) = self.current.load_full() else {
            return false;
        };
        let age = set.fetched.elapsed();
        if age > FRESH {
            drop(self.refresh());
        }
        set.number == number && age <= USABLE
    }

    /// The key that a token names. One that nobody knows is asked for once, together with everyone who asks for it.
    pub(super) async fn key(self: &Arc<Self>, kid: Option<&str>, algorithm: Algorithm) -> Result<Found, Unfound> {
        let set = match self.usable() {
            Some(set) => set,
            None => {
                if let Some(refresh) = self.refresh() {
                    refresh.await;
                }
                self.usable().ok_or_else(|| Unfound::Unavailable(self.error()))?
            }
        };
        if let Some(found) = set.find(kid, algorithm) {
            return Ok(found);
        }
        if let Some(refresh) = self.refresh() {
            refresh.await;
        }
        let anew = self.usable().and_then(|set| set.find(kid, algorithm));
        anew.ok_or(Unfound::Unknown)
    }

    fn usable(self: &Arc<Self>) -> Option<Arc<Set>> {
        let set = self.current.load_full()?;
        let age = set.fetched.elapsed();
        if age > FRESH {
            drop(self.refresh());
        }
        (age <= USABLE).then_some(set)
    }

    fn error(&self) -> String {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.error.clone()
    }

    /// A fetch that is under way, for all who wait for it; a new one where there is none and one may be made.
    fn refresh(self: &Arc<Self>) -> Option<Shared<BoxFuture<'static, ()>>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(under_way) = &state.under_way {
            return Some(under_way.clone());
        }
        if !state.spend(Instant::now()) {
            return None;
        }
        let source = Arc::clone(self);
        // The fetch ends by itself, and goes on when the request that began it does not.
        let task = tokio::spawn(async move { source.fetch().await });
        let shared = async move { drop(task.await) }.boxed().shared();
        state.under_way = Some(shared.clone());
        Some(shared)
    }

    async fn fetch(&self) {
        let fetched = self.document().await;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.under_way = None;
        match fetched {
            Ok(keys) => {
                let before = self.current.load();
                let number = before
                    .as_ref()
                    .map_or(0, |set| if set.keys == keys { set.number } else { set.number + 1 });
                let fetched = Instant::now();
                self.current.store(Some(Arc::new(Set { keys, fetched, number })));
            }
            Err(error) => {
                tracing::warn!(issuer = %self.whose.issuer, %error, "the issuer's keys cannot be fetched");
                state.error = error;
            }
        }
    }

    async fn document(&self) -> Result<Vec<Jwk>, String> {
        // What the operator wrote is trusted to be where it is; what an issuer names elsewhere is screened.
        let trust = Trust::nobody().and_origin_of(&self.whose.issuer);
        let url = match &self.whose.jwks_url {
            Some(url) => url.to_string(),
            None => self.discover(&trust).await?,
        };
        let trust = match &self.whose.jwks_url {
            Some(url) => trust.and_origin_of(url),
            None => trust,
        };
        let document = self.get(&url, &trust).await?;
        jwks::read(&document).map_err(|what| format!("{}: {what}", countersign_fetch::shown(&url)))
    }

    /// Reads `jwks_uri` from the issuer's metadata (OpenID Connect Discovery 1.0, RFC 8414).
    async fn discover(&self, trust: &Trust) -> Result<String, String> {
        let issuer = &*self.whose.issuer;
        let mut problem = String::new();
        for url in places(issuer) {
            let metadata = match self.get(&url, trust).await {
                Ok(document) => serde_json::from_slice::<Metadata>(&document),
                Err(error) => {
                    problem = error;
                    continue;
                }
            };
            match metadata {
                Ok(metadata) if metadata.issuer == issuer => return Ok(metadata.jwks_uri),
                Ok(_) => problem = format!("{} describes another issuer", countersign_fetch::shown(&url)),
                Err(_error) => problem = format!("{} is no metadata with `jwks_uri`", countersign_fetch::shown(&url)),
            }
        }
        Err(problem)
    }

    async fn get(&self, url: &str, trust: &Trust) -> Result<bytes::Bytes, String> {
        let document = self.fetcher.get(url, trust).await.map_err(|error| error.to_string())?;
        if document.status.is_success() {
            Ok(document.body)
        } else {
            Err(format!(
                "{} answered {}",
                countersign_fetch::shown(url),
                document.status.as_u16()
            ))
        }
    }
}

/// Where an issuer's metadata may be.
fn places(issuer: &str) -> Vec<String> {
    let plain = issuer.trim_end_matches('/');
    let mut places = vec![format!("{plain}/.well-known/openid-configuration")];
    let start = plain.find("://").map_or(0, |at| at + 3);
    let path = plain
        .get(start..)
        .and_then(|rest| rest.find('/'))
        .map_or(plain.len(), |at| start + at);
    if let Some((origin, path)) = plain.split_at_checked(path) {
        places.push(format!("{origin}/.well-known/oauth-authorization-server{path}"));
    }
    places
}

impl Set {
    fn find(&self, kid: Option<&str>, algorithm: Algorithm) -> Option<Found> {
        jwks::find(&self.keys, kid, algorithm).map(|key| Found {
            key: key.clone(),
            number: self.number,
        })
    }
}

impl State {
    /// Takes one of the fetches that may be made now.
    fn spend(&mut self, now: Instant) -> bool {
        let refills = now.saturating_duration_since(self.refilled).as_secs() / REFILL.as_secs();
        if refills > 0 {
            self.left = self
                .left
                .saturating_add(u32::try_from(refills).unwrap_or(u32::MAX))
                .min(BURST);
            self.refilled = now;
        }
        let may = self.left > 0;
        self.left = self.left.saturating_sub(1);
        may
    }
}
