//! Who asks: a bearer key, a person's token or an actor's token becomes the principal of one request (spec 4.1, 3.4).

mod callers;
mod challenge;
mod clock;
mod jwks;
mod known;
mod source;
mod standing;
mod throttle;
mod token;

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use countersign_core::exact::Digest;
use countersign_core::identity::{ActorTokens, Binders, Identities, Issuer};
use countersign_core::principal::{Authentication, Caller, Endpoint, Principal};
use countersign_core::stages::Toolset;
use countersign_core::time::Millis;
use countersign_engine::Engine;
use countersign_fetch::{Fetcher, Limits};
use http::HeaderMap;
use http::header::AUTHORIZATION;

use self::callers::{UNSCOPED, bound_person, bound_toolset, holder, person_of};
use self::clock::Clock;
use self::known::{Known, Tokens, Who};
use self::source::{Source, Unfound, Whose};
use self::standing::Streams;
use self::throttle::Throttle;
use self::token::{Expected, Fault, Token};

pub(crate) use challenge::{METADATA, challenge, metadata};
pub(crate) use standing::End;
pub(crate) use throttle::Proxies;

/// How far the clock of whoever signs actor tokens may differ, in milliseconds.
const ACTOR_LEEWAY: i64 = 60_000;

/// Who is let in, as the settings in force say.
#[derive(Debug)]
pub(crate) struct Auth {
    keys: HashMap<Digest, Arc<KeyHolder>>,
    issuers: Vec<Arc<Trusted>>,
    actors: Option<Arc<Actors>>,
    proxies: Proxies,
    writers: BTreeSet<Arc<str>>,
    /// Whom a request without a credential is served as; nobody where `identities.yaml` says who may connect.
    local: Option<Arc<Principal>>,
    /// What is remembered between requests, whatever the settings become.
    memory: Arc<Memory>,
}

#[derive(Debug)]
struct KeyHolder {
    principal: Arc<Principal>,
    toolset: Toolset,
}

#[derive(Debug)]
struct Trusted {
    issuer: Issuer,
    source: Arc<Source>,
}

#[derive(Debug)]
struct Actors {
    tokens: ActorTokens,
    source: Arc<Source>,
}

/// What is remembered between requests.
#[derive(Debug)]
pub(crate) struct Memory {
    clock: Clock,
    throttle: Throttle,
    tokens: Tokens,
    pub(crate) streams: Streams,
    sources: Mutex<HashMap<Whose, Arc<Source>>>,
    fetcher: Fetcher,
}

/// A caller that was let in.
#[derive(Debug, Clone)]
pub(crate) struct Admitted {
    pub(crate) principal: Arc<Principal>,
    pub(crate) toolset: Toolset,
    /// When it is no longer, by the clock that nobody sets.
    pub(crate) until: Option<Instant>,
}

/// Why a request is not served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Denied {
    /// It brings nothing.
    #[error("the request has no `authorization` header")]
    Missing,
    /// It brings something that is no bearer.
    #[error("header `authorization` {0}")]
    Malformed(&'static str),
    /// Its key is nobody's.
    #[error("the key is none of `identities.yaml`")]
    UnknownKey,
    /// Its token is not taken.
    #[error(transparent)]
    Token(#[from] Fault),
    /// Too many credentials from its address failed.
    #[error("too many credentials from `{source_address}` failed")]
    Throttled {
        /// The address.
        source_address: std::net::IpAddr,
        /// How long none is looked at.
        wait: Duration,
    },
    /// An issuer's keys cannot be had.
    #[error("the keys of the issuer `{issuer}` cannot be had: {reason}")]
    Unavailable {
        /// The issuer.
        issuer: String,
        /// Why.
        reason: String,
    },
}

impl Admitted {
    /// The principal that everyone is who needs no credential.
    fn local(principal: &Arc<Principal>) -> Self {
        Self {
            principal: Arc::clone(principal),
            toolset: UNSCOPED,
            until: None,
        }
    }

    /// Whether it is let in because everyone is.
    fn is_local(&self) -> bool {
        *self.principal.authentication() == Authentication::LocalOnly
    }

    /// When it is no longer, by the clock on the wall.
    pub(crate) fn ends(&self) -> Option<Millis> {
        let left = self.until?.saturating_duration_since(Instant::now());
        let ends = SystemTime::now().checked_add(left)?.duration_since(UNIX_EPOCH).ok()?;
        i64::try_from(ends.as_millis()).ok().map(Millis)
    }

    /// The caller at the endpoint that all routes have.
    pub(crate) fn caller(&self) -> Caller {
        Caller {
            principal: Arc::clone(&self.principal),
            endpoint: Endpoint::Main,
            toolset: self.toolset.clone(),
        }
    }
}

impl Memory {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            clock: Clock::start(),
            throttle: Throttle::default(),
            tokens: Tokens::default(),
            streams: Streams::default(),
            sources: Mutex::default(),
            fetcher: Fetcher::new(Limits::default()),
        })
    }

    /// The keys of an issuer; an edit that leaves the issuer as it was leaves them too.
    fn source(&self, issuer: &Arc<str>, jwks_url: Option<&Arc<str>>) -> Arc<Source> {
        let whose = Whose {
            issuer: Arc::clone(issuer),
            jwks_url: jwks_url.cloned(),
        };
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = || Arc::new(Source::new(whose.clone(), self.fetcher.clone()));
        Arc::clone(sources.entry(whose.clone()).or_insert_with(fresh))
    }

    fn keep_only(&self, used: &[Arc<Source>]) {
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        sources.retain(|_, source| used.iter().any(|used| Arc::ptr_eq(used, source)));
    }
}

impl Auth {
    /// What the settings say of callers.
    pub(crate) fn new(
        identities: Option<&Identities>,
        binders: &Binders,
        proxies: Proxies,
        memory: &Arc<Memory>,
    ) -> Self {
        let trusted = |issuer: &Issuer| {
            let source = memory.source(&issuer.issuer, issuer.jwks_url.as_ref());
            Arc::new(Trusted {
                issuer: issuer.clone(),
                source,
            })
        };
        let (keys, issuers) = identities.map_or((&[][..], &[][..]), |both| (&both.keys[..], &both.issuers[..]));
        let issuers: Vec<Arc<Trusted>> = issuers.iter().map(trusted).collect();
        let actors = binders.actor_tokens.as_ref().map(|tokens| {
            let source = memory.source(&tokens.issuer, tokens.jwks_url.as_ref());
            Arc::new(Actors {
                tokens: tokens.clone(),
                source,
            })
        });
        let mut used: Vec<Arc<Source>> = issuers.iter().map(|trusted| Arc::clone(&trusted.source)).collect();
        used.extend(actors.iter().map(|actors| Arc::clone(&actors.source)));
        memory.keep_only(&used);
        // What was found out under other settings is found out anew.
        memory.tokens.clear();
        Self {
            keys: keys.iter().map(|key| (key.sha256, Arc::new(holder(key)))).collect(),
            issuers,
            actors,
            proxies,
            writers: binders.writers.iter().cloned().collect(),
            local: identities.is_none().then(|| Arc::new(Principal::local())),
            memory: Arc::clone(memory),
        }
    }

    /// The issuers that a client may get tokens from; nothing where nobody is asked who they are.
    pub(crate) fn issuers(&self) -> Option<Vec<&str>> {
        let issuers = self.issuers.iter().map(|trusted| &*trusted.issuer.issuer).collect();
        self.local.is_none().then_some(issuers)
    }

    /// Whether callers are told apart.
    pub(crate) fn tells_apart(&self) -> bool {
        self.local.is_none()
    }

    /// Whether a principal may write the bindings of Sessions.
    pub(crate) fn may_bind(&self, principal: &Principal) -> bool {
        match principal.authentication() {
            Authentication::Key { name } => self.writers.contains(name) || self.writers.contains(principal.subject()),
            Authentication::Token { .. } => self.writers.contains(principal.subject()),
            Authentication::LocalOnly | Authentication::Bound { .. } => false,
        }
    }

    /// Whether a principal that was let in once could still be: its key is there, its issuer is trusted.
    pub(crate) fn still_knows(&self, principal: &Principal) -> bool {
        match principal.authentication() {
            Authentication::LocalOnly => self.local.is_some(),
            Authentication::Key { .. } => {
                let mut holders = self.keys.values();
                holders.any(|holder| holder.principal.key() == principal.key())
            }
            Authentication::Token { issuer } => {
                let mut issuers = self.issuers.iter();
                issuers.any(|trusted| trusted.issuer.issuer == *issuer)
            }
            Authentication::Bound { issuer, .. } => {
                let mut actors = self.actors.iter();
                actors.any(|actors| actors.tokens.issuer == *issuer)
            }
        }
    }

    /// Lets the caller of one request in, or says why not.
    pub(crate) async fn admit(
        &self,
        engine: &Engine,
        headers: &HeaderMap,
        peer: SocketAddr,
    ) -> Result<Admitted, Denied> {
        if let Some(local) = &self.local
            && (self.actors.is_none() || !headers.contains_key(AUTHORIZATION))
        {
            return Ok(Admitted::local(local));
        }
        let bearer = bearer(headers)?;
        let digest = Digest::of(bearer.as_bytes());
        if let Some(holder) = self.keys.get(&digest) {
            return Ok(Admitted {
                principal: Arc::clone(&holder.principal),
                toolset: holder.toolset.clone(),
                until: None,
            });
        }
        if let Some(known) = self.memory.tokens.find(&digest, self.memory.clock.now()) {
            return self.known(engine, &known);
        }
        Box::pin(self.unknown(engine, bearer, digest, self.proxies.source(peer, headers))).await
    }

    /// A credential that was not seen before, or that failed before.
    async fn unknown(
        &self,
        engine: &Engine,
        bearer: &str,
        digest: Digest,
        from: std::net::IpAddr,
    ) -> Result<Admitted, Denied> {
        let throttle = &self.memory.throttle;
        if let Some(wait) = throttle.blocked(from, &digest, Instant::now()) {
            let source_address = from;
            return Err(Denied::Throttled { source_address, wait });
        }
        let checked = if token::looks_like_one(bearer) {
            self.check(bearer).await
        } else {
            Err(Denied::UnknownKey)
        };
        let known = checked.inspect_err(|denied| {
            if denied.is_a_guess() {
                throttle.failed(from, digest, Instant::now());
            }
        })?;
        let admitted = self.known(engine, &known);
        self.memory.tokens.keep(digest, known);
        admitted
    }

    /// Checks a token: its issuer, its signature, its claims.
    async fn check(&self, bearer: &str) -> Result<Known, Denied> {
        let token = Token::read(bearer)?;
        let issuer = token.claims.issuer();
        let now = self.memory.clock.now();
        let actors = self.actors.as_ref().filter(|actors| *actors.tokens.issuer == *issuer);
        let people: Vec<&Arc<Trusted>> = self
            .issuers
            .iter()
            .filter(|trusted| *trusted.issuer.issuer == *issuer)
            .collect();
        // A token that is for actors as well is an actor's: that is the narrower of the two.
        let person = people
            .iter()
            .find(|trusted| token.claims.is_for(&trusted.issuer.audience))
            .or(people.first());
        match (actors, person) {
            (Some(actors), person) if person.is_none() || token.claims.is_for(&actors.tokens.audience) => {
                let number = verified(&actors.source, &token).await?;
                let ends = token.claims.check(Expected {
                    audience: &actors.tokens.audience,
                    leeway: ACTOR_LEEWAY,
                    now,
                })?;
                let session = token.claims.text(&actors.tokens.session_claim)?;
                Ok(Known::new(
                    Who::Actor {
                        session: session.into(),
                    },
                    ends,
                    &actors.source,
                    number,
                ))
            }
            (_, Some(trusted)) => {
                let number = verified(&trusted.source, &token).await?;
                let ends = token.claims.check(Expected {
                    audience: &trusted.issuer.audience,
                    leeway: i64::try_from(trusted.issuer.leeway.as_millis()).unwrap_or_default(),
                    now,
                })?;
                let person = Arc::new(person_of(&token.claims, &trusted.issuer)?);
                Ok(Known::new(Who::Person(person), ends, &trusted.source, number))
            }
            (_, None) => Err(Fault::Issuer(token::shown(issuer)).into()),
        }
    }

    /// The caller that a token of known goodness stands for.
    fn known(&self, engine: &Engine, known: &Known) -> Result<Admitted, Denied> {
        let now = self.memory.clock.now();
        if now >= known.ends {
            return Err(Fault::Expired.into());
        }
        let left = Duration::from_millis(u64::try_from(known.ends.saturating_sub(now)).unwrap_or_default());
        let until = Instant::now().checked_add(left);
        match &known.who {
            Who::Person(principal) => Ok(Admitted {
                principal: Arc::clone(principal),
                toolset: UNSCOPED,
                until,
            }),
            Who::Actor { session } => {
                let no_binding = || Fault::NoBinding(session.to_string());
                let (binding, ends) = engine.binding(session).ok_or_else(no_binding)?;
                let issuer = self
                    .actors
                    .as_ref()
                    .map(|actors| &actors.tokens.issuer)
                    .ok_or_else(no_binding)?;
                Ok(Admitted {
                    principal: Arc::new(bound_person(&binding, issuer)),
                    toolset: bound_toolset(&binding),
                    until: until.map(|until| until.min(ends)),
                })
            }
        }
    }
}

impl Denied {
    /// Whether somebody may be trying what could be let in. A good token whose time is over is no guess.
    fn is_a_guess(&self) -> bool {
        match self {
            Self::UnknownKey => true,
            Self::Token(fault) => match fault {
                Fault::Malformed(_)
                | Fault::Algorithm(_)
                | Fault::Critical
                | Fault::Issuer(_)
                | Fault::UnknownKey { .. }
                | Fault::Signature => true,
                Fault::Audience(_)
                | Fault::Claim { .. }
                | Fault::Expired
                | Fault::TooEarly(_)
                | Fault::NoBinding(_) => false,
            },
            Self::Missing | Self::Malformed(_) | Self::Throttled { .. } | Self::Unavailable { .. } => false,
        }
    }
}

/// Checks a token's signature; gives the number of the set that its key is from.
async fn verified(source: &Arc<Source>, token: &Token<'_>) -> Result<u64, Denied> {
    let found = source.key(token.kid.as_deref(), token.algorithm).await;
    let found = found.map_err(|unfound| match unfound {
        Unfound::Unknown => Denied::Token(Fault::UnknownKey {
            issuer: source.whose.issuer.to_string(),
            kid: token.kid.as_deref().map(token::shown).unwrap_or_default(),
            algorithm: token.algorithm.name(),
        }),
        Unfound::Unavailable(reason) => Denied::Unavailable {
            issuer: source.whose.issuer.to_string(),
            reason,
        },
    })?;
    token.verify(&found.key)?;
    Ok(found.number)
}

/// The one bearer of a request (RFC 6750 section 2.1).
pub(crate) fn bearer(headers: &HeaderMap) -> Result<&str, Denied> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = values.next().ok_or(Denied::Missing)?;
    if values.next().is_some() {
        return Err(Denied::Malformed("is there more than once"));
    }
    let text = value
        .to_str()
        .map_err(|_error| Denied::Malformed("is no visible ASCII"))?;
    let (scheme, bearer) = text.trim().split_once(' ').unwrap_or((text, ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(Denied::Malformed("must be `Bearer` and a key or token"));
    }
    let bearer = bearer.trim();
    if bearer.is_empty() || bearer.contains([' ', '\t', ',']) {
        return Err(Denied::Malformed("must hold one key or token"));
    }
    Ok(bearer)
}

#[cfg(test)]
mod tests;
