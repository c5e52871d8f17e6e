//! The callers that keys, people's tokens and bindings stand for.

use std::sync::Arc;

pub(super) use countersign_core::identity::UNSCOPED;
use countersign_core::identity::{Issuer, Key};
use countersign_core::principal::{Authentication, Principal, Standing};
use countersign_core::stages::Toolset;
use countersign_core::toolset::{Origin, Selectors};
use countersign_engine::Binding;

use super::KeyHolder;
use super::token::{Claims, Fault};

pub(super) fn holder(key: &Key) -> KeyHolder {
    KeyHolder {
        principal: Arc::new(key.principal()),
        toolset: key.bounds(),
    }
}

pub(super) fn person_of(claims: &Claims, issuer: &Issuer) -> Result<Principal, Fault> {
    let subject = claims.text(&issuer.subject_claim)?;
    let client = claims.first(issuer.client_claims.iter().map(|name| &**name))?;
    let shared = |texts: Vec<&str>| texts.into_iter().map(Arc::from).collect::<Arc<[Arc<str>]>>();
    let roles = match &issuer.roles_claim {
        Some(name) => shared(claims.texts(name)?),
        None => Arc::default(),
    };
    let groups = claims.texts("groups").map(shared).unwrap_or_default();
    let authentication = Authentication::Token {
        issuer: Arc::clone(&issuer.issuer),
    };
    let standing = Standing {
        roles,
        plan: None,
        groups,
    };
    Ok(Principal::of(subject, client.unwrap_or(&issuer.issuer), authentication).with(standing))
}

/// The person that a binding names. All Sessions of one person that one issuer vouches for are one connection of it, so
/// that what the person signed in to once serves each of them.
pub(super) fn bound_person(binding: &Binding, issuer: &Arc<str>) -> Principal {
    let authentication = Authentication::Bound {
        session: Arc::clone(&binding.session),
        issuer: Arc::clone(issuer),
    };
    let standing = Standing {
        roles: binding.roles.iter().map(|role| Arc::from(role.as_str())).collect(),
        plan: binding.plan.as_deref().map(Arc::from),
        groups: Arc::default(),
    };
    Principal::of(&binding.subject, issuer, authentication).with(standing)
}

pub(super) fn bound_toolset(binding: &Binding) -> Toolset {
    match &binding.toolset {
        None => Toolset::Unscoped {
            because: "neither the request nor the session's binding names a toolset",
        },
        Some(list) => UNSCOPED.narrowed(Origin::Bound, Selectors::parse_list(list)),
    }
}
