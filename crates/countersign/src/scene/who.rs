//! Whom `--as` names, and the toolsets that bound the request.

use std::sync::Arc;

use countersign_config::{At, Config, Store};
use countersign_core::identity::{Identities, Key, UNSCOPED};
use countersign_core::principal::{Authentication, Caller, Endpoint, Principal, Standing};
use countersign_core::toolset::{Error, Origin, Presets, Selectors};
use countersign_store::Binding;
use serde::Serialize;

use super::Read;
use crate::failure::Failure;

/// A caller as the gateway would know it.
#[derive(Debug)]
pub(crate) struct Who {
    pub(crate) caller: Caller,
    pub(crate) whom: Whom,
    /// The toolsets of the request, in the order in which they narrow.
    pub(crate) declared: Vec<Declared>,
}

/// A toolset and where it is said.
#[derive(Debug)]
pub(crate) struct Declared {
    pub(crate) origin: Origin,
    pub(crate) selectors: Result<Selectors, Error>,
    pub(crate) from: Option<At>,
}

/// A caller as it is shown.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Whom {
    pub(crate) name: String,
    pub(crate) subject: String,
    pub(crate) connection: String,
    pub(crate) authentication: &'static str,
    pub(crate) roles: Vec<String>,
    pub(crate) plan: Option<String>,
    pub(crate) from: Option<At>,
}

impl Who {
    /// The caller that the flags name.
    pub(crate) fn find(read: &Read, name: Option<&str>, toolset: Option<&str>) -> Result<Self, Failure> {
        let mut who = found(read, name)?;
        if let Some(text) = toolset {
            who.declare(Origin::Header, Selectors::parse_header([text]), None);
        }
        Ok(who)
    }

    /// The caller over a pipe, and everybody where nobody is told apart.
    pub(crate) fn local() -> Self {
        Self::of("local", Principal::local(), None)
    }

    /// Narrows every request of the caller by one more toolset.
    pub(crate) fn declare(&mut self, origin: Origin, selectors: Result<Selectors, Error>, from: Option<At>) {
        let before = std::mem::replace(&mut self.caller.toolset, UNSCOPED);
        self.caller.toolset = before.narrowed(origin, selectors.clone());
        self.declared.push(Declared {
            origin,
            selectors,
            from,
        });
    }

    fn of(name: &str, principal: Principal, from: Option<At>) -> Self {
        let standing = principal.standing();
        let whom = Whom {
            name: name.to_owned(),
            subject: principal.subject().to_owned(),
            connection: principal.connection().to_owned(),
            authentication: match principal.authentication() {
                Authentication::LocalOnly => "local",
                Authentication::Key { .. } => "key",
                Authentication::Token { .. } => "token",
                Authentication::Bound { .. } => "bound",
            },
            roles: standing.roles.iter().map(ToString::to_string).collect(),
            plan: standing.plan.as_deref().map(str::to_owned),
            from,
        };
        let caller = Caller {
            principal: Arc::new(principal),
            endpoint: Endpoint::Main,
            toolset: UNSCOPED,
        };
        let declared = Vec::new();
        Self { caller, whom, declared }
    }
}

/// What the name of a session begins with.
const SESSION: &str = "session:";

fn found(read: &Read, name: Option<&str>) -> Result<Who, Failure> {
    let identities = read.config.identities.as_ref();
    let name = match (name, identities) {
        (Some(name), _) => name,
        (None, None) => "local",
        (None, Some(identities)) => {
            let help = format!("name one with --as WHO: {}", known(identities));
            return Err(Failure::configuration(
                "identities.yaml tells callers apart, and none is named",
                help,
            ));
        }
    };
    if name == "local" {
        return Ok(Who::local());
    }
    if let Some(session) = name.strip_prefix(SESSION) {
        return bound(read, name, session);
    }
    let Some(identities) = identities else {
        let what = format!("nobody is known as `{name}`");
        let help = "without identities.yaml everybody is `local`; the bound Sessions are `session:ID`";
        return Err(Failure::authentication(what, help));
    };
    let keys = || identities.keys.iter().enumerate();
    if let Some((number, key)) = keys().find(|(_, key)| *key.name == *name) {
        return Ok(holder(read, name, (number, key)));
    }
    let of_subject: Vec<(usize, &Key)> = keys().filter(|(_, key)| *key.subject == *name).collect();
    match of_subject.as_slice() {
        [only] => return Ok(holder(read, name, *only)),
        [] => {}
        several => {
            let names: Vec<String> = several.iter().map(|(_, key)| format!("`{}`", key.name)).collect();
            let what = format!("`{name}` is the subject of several keys");
            return Err(Failure::configuration(
                what,
                format!("name one of them: {}", names.join(", ")),
            ));
        }
    }
    person(read, identities, name).ok_or_else(|| {
        let what = format!("nobody is known as `{name}`");
        Failure::authentication(what, format!("who may connect: {}", known(identities)))
    })
}

fn holder(read: &Read, name: &str, (number, key): (usize, &Key)) -> Who {
    let mut who = Who::of(name, key.principal(), read.places.key(number, None));
    if let Some(list) = &key.toolset {
        let from = read.places.key(number, Some("toolset"));
        who.declare(Origin::Key, Selectors::parse_list(list), from);
    }
    who
}

/// A person of an issuer: `SUBJECT@ISSUER`. Which client it uses is not known, so the issuer stands for it.
fn person(read: &Read, identities: &Identities, name: &str) -> Option<Who> {
    let issuers = identities.issuers.iter().enumerate();
    let mut named = issuers.filter_map(|(number, issuer)| {
        let subject = name.strip_suffix(&*issuer.issuer)?.strip_suffix('@')?;
        (!subject.is_empty()).then_some((number, issuer, subject))
    });
    let (number, issuer, subject) = named.next()?;
    let authentication = Authentication::Token {
        issuer: Arc::clone(&issuer.issuer),
    };
    let principal = Principal::of(subject, &issuer.issuer, authentication);
    Some(Who::of(name, principal, read.places.issuer(number)))
}

/// The person that a stored binding names.
fn bound(read: &Read, name: &str, session: &str) -> Result<Who, Failure> {
    let Config { gateway, .. } = &read.config;
    let unknown = |what: String, help: &str| Err(Failure::authentication(what, help));
    let Some(actors) = &gateway.bindings.actor_tokens else {
        return unknown(
            format!("no Session is served, so neither is `{session}`"),
            "countersign.yaml has no `bindings.actor_tokens`",
        );
    };
    let path = match &gateway.store {
        Store::Sqlite { path } => path,
        Store::Memory => {
            return unknown(
                format!("the binding of `{session}` cannot be read"),
                "`store` is `memory`, so bindings are known to the gateway that runs alone; its answer to \
                 `GET /session-bindings/ID` names the toolset to give with --toolset",
            );
        }
    };
    let binding = countersign_store::stored_binding(path, session).map_err(|error| {
        let why = std::error::Error::source(&error).map_or(String::new(), |source| format!(": {source}"));
        Failure::authentication(
            format_args!("the binding of `{session}` cannot be read: {error}{why}"),
            "the store is where the gateway that was started with this folder keeps its bindings",
        )
    })?;
    let now = jiff::Timestamp::now().as_millisecond();
    let Some(binding) = binding.filter(|binding| binding.expires_at.0 > now) else {
        return unknown(
            format!("the Session `{session}` is not bound, or its binding has ended"),
            "whoever starts Sessions binds them with `PUT /session-bindings/ID`",
        );
    };
    let authentication = Authentication::Bound {
        session: Arc::clone(&binding.session),
        issuer: Arc::clone(&actors.issuer),
    };
    let principal = Principal::of(&binding.subject, &actors.issuer, authentication).with(standing(&binding));
    let mut who = Who::of(name, principal, None);
    if let Some(list) = &binding.toolset {
        who.declare(Origin::Bound, Selectors::parse_list(list), None);
    }
    Ok(who)
}

fn standing(binding: &Binding) -> Standing {
    Standing {
        roles: binding.roles.iter().map(|role| Arc::from(role.as_str())).collect(),
        plan: binding.plan.as_deref().map(Arc::from),
        groups: Arc::default(),
    }
}

/// Everybody whom the file names.
fn known(identities: &Identities) -> String {
    let mut known = vec!["`local` (over stdio)".to_owned()];
    for key in &identities.keys {
        let subject = if key.name == key.subject {
            String::new()
        } else {
            format!(" (subject `{}`)", key.subject)
        };
        known.push(format!("`{}`{subject}", key.name));
    }
    let issuers = identities.issuers.iter();
    known.extend(issuers.map(|issuer| format!("`SUBJECT@{}`", issuer.issuer)));
    known.join(", ")
}

/// The toolset of a request that a caller cannot use, and where it is said.
pub(crate) fn at_fault<'w>(who: &'w Who, presets: &Presets) -> Option<&'w Declared> {
    who.declared.iter().find(|declared| match &declared.selectors {
        Err(_) => true,
        Ok(selectors) => presets.check(selectors).is_err(),
    })
}

/// A caller's toolset as one of several that narrow.
pub(crate) fn from_of(who: &Who, origin: Origin) -> Option<&At> {
    let mut declared = who.declared.iter();
    declared
        .find(|declared| declared.origin == origin)
        .and_then(|declared| declared.from.as_ref())
}
