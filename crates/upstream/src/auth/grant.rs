//! What one principal granted at one server: its tokens, renewed by one request at a time.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwapOption;
use countersign_core::secret::Secret;
use serde::{Deserialize, Serialize};

use super::Tools;
use super::client::{Client, Method};
use super::disk::Kind;
use super::flight::{Outcome, Single};
use super::site::Site;
use super::token::{Desk, Issued, Refusal, Token};

/// How long a server that cannot renew a token now is left alone.
const PAUSE: Duration = Duration::from_secs(5);

/// A grant as it is kept, sealed.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) server: String,
    pub(crate) principal: String,
    /// See [`Site::binding`].
    pub(crate) binding: String,
    pub(crate) issuer: String,
    pub(crate) token_endpoint: String,
    pub(crate) revocation_endpoint: Option<String>,
    pub(crate) client_id: String,
    pub(crate) client_secret: Option<String>,
    pub(crate) client_method: Method,
    pub(crate) resource: String,
    /// The scopes that were asked for and given.
    pub(crate) scopes: BTreeSet<String>,
    pub(crate) access: String,
    pub(crate) refresh: Option<String>,
    /// When the access token ends, in milliseconds since 1970, and how long it lived: a clock that was set back
    /// makes no token live longer than it was given for.
    pub(crate) ends: Option<i64>,
    pub(crate) lifetime: Option<u64>,
}

impl std::fmt::Debug for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Record")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

impl Record {
    /// Where it is kept. Lengths keep two pairs from sharing a place.
    pub(crate) fn name(&self) -> String {
        name(&self.server, &self.principal)
    }

    fn client(&self) -> Client {
        Client {
            id: Secret::hidden(&self.client_id),
            secret: self.client_secret.as_deref().map(Secret::hidden),
            method: self.client_method,
        }
    }

    /// How long the access token still lives, by our clock.
    fn left(&self) -> Option<Duration> {
        let (ends, lifetime) = (self.ends?, self.lifetime?);
        let left = u64::try_from(ends.saturating_sub(now_ms())).unwrap_or(0);
        Some(Duration::from_millis(left.min(lifetime)))
    }

    /// Takes over what a token endpoint gave.
    pub(crate) fn take(&mut self, issued: &Issued) {
        if let Some(refresh) = &issued.refresh {
            self.refresh = Some(refresh.reveal().to_owned());
        }
        if let Ok(access) = issued.usable() {
            access.reveal().clone_into(&mut self.access);
            let lifetime = issued
                .lifetime
                .and_then(|lifetime| u64::try_from(lifetime.as_millis()).ok());
            self.lifetime = lifetime;
            self.ends = lifetime.map(|lifetime| now_ms().saturating_add_unsigned(lifetime));
        }
        self.scopes.extend(issued.scopes.iter().flatten().cloned());
    }
}

/// Where the grant of a principal at a server is kept.
pub(crate) fn name(server: &str, principal: &str) -> String {
    format!("{}:{server}/{principal}", server.len())
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// One principal's grant at one server.
#[derive(Debug)]
pub(crate) struct Grant {
    pub(crate) binding: String,
    name: String,
    /// What is sent; empty once the grant is forgotten.
    current: ArcSwapOption<Token>,
    record: Mutex<Record>,
    renewing: Arc<Single>,
    gone: AtomicBool,
    replaced: AtomicBool,
    wanted: Mutex<BTreeSet<String>>,
    /// Until when no further renewal is tried.
    paused: Mutex<Option<Instant>>,
}

impl Grant {
    /// A grant; its access token may have ended.
    pub(crate) fn new(record: Record) -> Arc<Self> {
        let token = Token::new(&Secret::hidden(&record.access), 1, record.left());
        Arc::new(Self {
            binding: record.binding.clone(),
            name: record.name(),
            current: ArcSwapOption::from_pointee(token),
            record: Mutex::new(record),
            renewing: Arc::default(),
            gone: AtomicBool::new(false),
            replaced: AtomicBool::new(false),
            wanted: Mutex::default(),
            paused: Mutex::default(),
        })
    }

    /// Whether it can still be used.
    pub(crate) fn is_good(&self) -> bool {
        !self.gone.load(Ordering::Acquire)
    }

    /// The scopes that were asked for and given.
    pub(crate) fn scopes(&self) -> BTreeSet<String> {
        self.record().scopes.clone()
    }

    /// Scopes that a request needed and that the next sign-in asks for.
    pub(crate) fn want(&self, scopes: Vec<String>) {
        self.wanted
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(scopes);
    }

    /// What the next sign-in asks for besides what a first one would.
    pub(crate) fn wanted(&self) -> BTreeSet<String> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The token to send: renewed shortly before its end, if it can be. A clock that is off does no harm: what the
    /// server says of the token counts.
    ///
    /// # Errors
    /// [`Refusal::Final`] when the principal must sign in again.
    pub(crate) async fn token(self: &Arc<Self>, site: &Arc<Site>, tools: &Arc<Tools>) -> Result<Arc<Token>, Refusal> {
        let token = self.current.load_full().ok_or_else(signed_out)?;
        if !token.is_due() || !self.can_renew() {
            return Ok(token);
        }
        match Box::pin(self.renew(&token, site, tools)).await {
            Ok(()) => self.current.load_full().ok_or_else(signed_out),
            // It may be good for a while, and its server decides.
            Err(Refusal::Later(_)) => Ok(token),
            Err(refusal @ Refusal::Final(_)) => Err(refusal),
        }
    }

    /// Another token than one that the server refused.
    ///
    /// # Errors
    /// [`Refusal::Final`] when the principal must sign in again.
    pub(crate) async fn after(
        self: &Arc<Self>,
        refused: &Token,
        site: &Arc<Site>,
        tools: &Arc<Tools>,
    ) -> Result<Arc<Token>, Refusal> {
        if refused.is_useless()
            && self
                .current
                .load()
                .as_ref()
                .is_some_and(|current| current.number == refused.number)
        {
            return Err(Refusal::Final(
                "its server does not take the tokens that it is given".to_owned(),
            ));
        }
        self.renew(refused, site, tools).await?;
        self.current.load_full().ok_or_else(signed_out)
    }

    async fn renew(self: &Arc<Self>, used: &Token, site: &Arc<Site>, tools: &Arc<Tools>) -> Outcome {
        let used = used.number;
        let (grant, site, tools_of_work) = (Arc::clone(self), Arc::clone(site), Arc::clone(tools));
        self.renewing
            .join(
                &tools.ending,
                || {
                    self.current
                        .load()
                        .as_ref()
                        .is_none_or(|current| current.number == used)
                },
                move || async move { grant.renewed(&site, &tools_of_work).await },
            )
            .await
    }

    /// Presents the refresh token, once.
    async fn renewed(&self, site: &Site, tools: &Tools) -> Outcome {
        if !self.is_good() {
            return Err(signed_out());
        }
        let before = self.record().clone();
        let Some(refresh) = &before.refresh else {
            // The access token was all there was, and the server does not take it.
            self.forget(tools).await;
            return Err(Refusal::Final("the sign-in has ended".to_owned()));
        };
        if let Some(until) = self.paused()
            && until > Instant::now()
        {
            return Err(Refusal::Later(
                "its sign-in could not be renewed a moment ago".to_owned(),
            ));
        }
        let client = before.client();
        let desk = Desk {
            fetcher: &tools.fetcher,
            trust: &site.trust,
            endpoint: &before.token_endpoint,
            client: &client,
        };
        let fields = [
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh),
            ("resource", &before.resource),
        ];
        match desk.ask(&fields).await {
            Ok(issued) => {
                // INVARIANT: what was given is kept before anything of it is looked at: the token that was presented
                // is used up, and is never presented again (b072).
                self.keep(&issued, tools).await;
                issued.usable().map(|_access| ()).map_err(Refusal::Later)
            }
            Err(Refusal::Final(code)) => {
                tracing::info!(server = %site.server(), code, "a sign-in was not renewed; its principal must sign in again");
                if code == "invalid_client" {
                    tools
                        .clients
                        .forget(&before.issuer, &before.client_id, &tools.disk)
                        .await;
                }
                self.forget(tools).await;
                Err(Refusal::Final(code))
            }
            Err(Refusal::Later(reason)) => {
                tracing::warn!(server = %site.server(), reason, "a sign-in could not be renewed");
                *self.paused.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now().checked_add(PAUSE);
                Err(Refusal::Later(reason))
            }
        }
    }

    async fn keep(&self, issued: &Issued, tools: &Tools) {
        let record = {
            let mut record = self.record();
            record.take(issued);
            record.clone()
        };
        if let Ok(access) = issued.usable() {
            let number = self.current.load().as_ref().map_or(0, |current| current.number);
            let token = Token::new(access, number + 1, record.left());
            self.current.store(token.map(Arc::new));
        }
        if self.replaced.load(Ordering::Acquire) {
            return;
        }
        tools.disk.keep(Kind::Grant, &self.name, &record).await;
        // Whoever signed out in the meantime has signed out.
        if !self.is_good() && !self.replaced.load(Ordering::Acquire) {
            self.forget(tools).await;
        }
    }

    /// Another grant of the same principal takes its place, and its place on disk; waits for a renewal under way.
    pub(crate) async fn replace(&self) {
        self.gone.store(true, Ordering::Release);
        self.replaced.store(true, Ordering::Release);
        self.current.store(None);
        self.renewing.settled().await;
    }

    /// Forgets the grant, here and on disk.
    pub(crate) async fn forget(&self, tools: &Tools) {
        self.gone.store(true, Ordering::Release);
        self.current.store(None);
        tools.disk.forget(Kind::Grant, &self.name).await;
    }

    /// Gives the tokens back (RFC 7009), as far as the authorization server takes them.
    pub(crate) async fn revoke(&self, site: &Site, tools: &Tools) {
        let record = self.record().clone();
        let Some(endpoint) = &record.revocation_endpoint else {
            return;
        };
        let client = record.client();
        let desk = Desk {
            fetcher: &tools.fetcher,
            trust: &site.trust,
            endpoint,
            client: &client,
        };
        let (token, hint) = match &record.refresh {
            Some(refresh) => (refresh, "refresh_token"),
            None => (&record.access, "access_token"),
        };
        if let Err(refusal) = desk.post(&[("token", token), ("token_type_hint", hint)]).await {
            let reason = refusal.reason();
            tracing::info!(server = %site.server(), reason, "a sign-in that ended here could not be ended at its authorization server");
        }
    }

    fn can_renew(&self) -> bool {
        self.record().refresh.is_some() && self.paused().is_none_or(|until| until <= Instant::now())
    }

    fn paused(&self) -> Option<Instant> {
        *self.paused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The token in force, to be taken out of texts.
    pub(crate) fn current(&self) -> Option<Arc<Token>> {
        self.current.load_full()
    }
}

fn signed_out() -> Refusal {
    Refusal::Final("the principal is not signed in".to_owned())
}
