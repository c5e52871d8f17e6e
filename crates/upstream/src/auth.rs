//! Signing in to servers: grants of principals, the tokens that callers come with, and what is kept of them.

mod challenge;
mod client;
mod clients;
mod credential;
mod discovery;
mod disk;
mod exchange;
mod flight;
mod grant;
mod metadata;
mod pending;
mod presented;
mod random;
mod seal;
mod sign_in;
mod site;
mod token;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use countersign_core::auth::Auth;
use countersign_core::principal::PrincipalKey;
use countersign_core::secret::Secret;
use countersign_core::time::Millis;
use countersign_fetch::{Fetcher, Limits};
use countersign_store::Ledger;

use crate::ending::Ending;
use clients::Clients;
use credential::Source;
use disk::{Disk, Kind};
use exchange::Exchange;
use grant::{Grant, Record};
use pending::Pending;
use presented::AllPresented;

pub use client::client_document;
pub use seal::{BadKey, VaultKey};
pub use sign_in::{Returned, Routes, SignIn, SignInError, SignedIn};

pub(crate) use challenge::{Challenge, challenge};
pub(crate) use credential::Credential;
pub(crate) use site::Site;
pub(crate) use token::Refusal;

/// How a principal stands with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The server is reached with its entry's own credential, if any.
    NotNeeded,
    /// The principal has a credential.
    SignedIn,
    /// The principal has none: it must sign in, or connect with a token that can be forwarded or exchanged.
    Required,
}

/// What every credential needs to be renewed.
#[derive(Debug)]
pub(crate) struct Tools {
    pub(crate) fetcher: Fetcher,
    pub(crate) disk: Disk,
    pub(crate) clients: Clients,
    pub(crate) ending: Ending,
}

/// The credentials of all principals at all servers.
#[derive(Debug)]
pub(crate) struct Keeper {
    tools: Arc<Tools>,
    grants: Mutex<HashMap<String, Arc<Grant>>>,
    exchanges: Mutex<HashMap<String, (String, Arc<Exchange>)>>,
    presented: Arc<AllPresented>,
    pending: Pending,
    told: AtomicBool,
}

impl Keeper {
    /// What was kept of former sign-ins, and nothing else yet.
    pub(crate) fn new(ledger: Ledger, key: Option<VaultKey>, ending: Ending) -> Self {
        let disk = Disk::new(ledger, key);
        let (kept, closed) = disk.kept::<Record>(Kind::Grant);
        if closed > 0 {
            // They stay where they are: with the key that they were sealed with they can be used again.
            tracing::error!(
                count = closed,
                "stored sign-ins to servers are set aside: COUNTERSIGN_KEY is missing, or is not the key that they were stored with; set that key, or let people sign in again"
            );
        }
        let grants = kept
            .into_iter()
            .map(|(name, record)| (name, Grant::new(record)))
            .collect();
        Self {
            tools: Arc::new(Tools {
                fetcher: Fetcher::new(Limits::default()),
                clients: Clients::kept(&disk),
                disk,
                ending,
            }),
            grants: Mutex::new(grants),
            exchanges: Mutex::default(),
            presented: Arc::default(),
            pending: Pending::default(),
            told: AtomicBool::new(false),
        }
    }

    /// A server that people sign in to came into force: said once when what they sign in with will not last.
    pub(crate) fn serves(&self, site: &Site) {
        if site.oauth().is_some() && !self.tools.disk.keeps() && !self.told.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "sign-ins to servers live in memory only and end with this process: set COUNTERSIGN_KEY (`openssl rand -base64 32`) and `store: {{type: sqlite}}` to keep them, encrypted"
            );
        }
    }

    /// A principal's credential at a server; `None` where it has none.
    pub(crate) fn credential(&self, site: &Arc<Site>, principal: &PrincipalKey) -> Option<Credential> {
        let source = match &site.entry.auth {
            Auth::None => return None,
            Auth::OAuth(_) => Source::Granted(self.grant(site, principal)?),
            Auth::ForwardToken => {
                let place = self.presented.of(principal);
                place.bearer()?;
                Source::Forwarded(place)
            }
            Auth::TokenExchange(_) => {
                let exchange = self.exchange(site, principal);
                if !exchange.is_ready() {
                    return None;
                }
                Source::Exchanged(exchange)
            }
        };
        Some(Credential {
            site: Arc::clone(site),
            tools: Arc::clone(&self.tools),
            source,
        })
    }

    /// How a principal stands with a server that has credentials of principals.
    pub(crate) fn standing(&self, site: &Site, principal: &PrincipalKey) -> Standing {
        let has = match &site.entry.auth {
            Auth::None => return Standing::NotNeeded,
            Auth::OAuth(_) => self.grant(site, principal).is_some(),
            Auth::ForwardToken | Auth::TokenExchange(_) => self.presented.has(principal),
        };
        if has { Standing::SignedIn } else { Standing::Required }
    }

    /// Whether a request of a principal that is signed in needed more than it granted.
    pub(crate) fn lacks_scope(&self, site: &Site, principal: &PrincipalKey) -> bool {
        self.grant(site, principal)
            .is_some_and(|grant| !grant.wanted().is_empty())
    }

    /// Takes the bearer token that a principal connected with.
    pub(crate) fn present(&self, principal: &PrincipalKey, token: &Secret, ends: Option<Millis>) {
        self.presented.present(principal, token, ends, &self.tools.ending);
    }

    /// Forgets a principal's grant; whether there was one. Its tokens are given back as far as they can be.
    pub(crate) async fn forget(&self, site: &Arc<Site>, principal: &PrincipalKey) -> bool {
        let name = grant::name(site.server().as_str(), principal.as_str());
        let Some(grant) = self.grants().remove(&name) else {
            return false;
        };
        let was_good = grant.is_good();
        grant.forget(&self.tools).await;
        if was_good && grant.binding == site.binding {
            let (site, tools) = (Arc::clone(site), Arc::clone(&self.tools));
            self.tools
                .ending
                .spawn(async move { grant.revoke(&site, &tools).await });
        }
        was_good
    }

    fn grant(&self, site: &Site, principal: &PrincipalKey) -> Option<Arc<Grant>> {
        let name = grant::name(site.server().as_str(), principal.as_str());
        let grant = self.grants().get(&name).cloned()?;
        (grant.is_good() && grant.binding == site.binding).then_some(grant)
    }

    /// A principal's exchange at a server, made anew when the entry changed.
    fn exchange(&self, site: &Site, principal: &PrincipalKey) -> Arc<Exchange> {
        let name = grant::name(site.server().as_str(), principal.as_str());
        let digest = site.entry.digest.hex();
        let mut exchanges = self.exchanges.lock().unwrap_or_else(PoisonError::into_inner);
        match exchanges.get(&name) {
            Some((of, exchange)) if *of == digest => return Arc::clone(exchange),
            Some(_) | None => {}
        }
        // Those whose callers have gone are made anew when they come back.
        exchanges.retain(|_, (_, exchange)| Arc::strong_count(exchange) > 1 || exchange.is_ready());
        let exchange = Arc::new(Exchange::new(self.presented.of(principal)));
        exchanges.insert(name, (digest, Arc::clone(&exchange)));
        exchange
    }

    fn grants(&self) -> MutexGuard<'_, HashMap<String, Arc<Grant>>> {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
