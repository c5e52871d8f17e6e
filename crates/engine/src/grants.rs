//! Who is signed in where.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use countersign_core::names::ServerName;
use countersign_core::principal::PrincipalKey;
use countersign_core::secret::Secret;
use countersign_upstream::Error;

/// A sign-in that was begun.
#[derive(Debug)]
pub(crate) struct Begun {
    pub(crate) url: Secret,
    pub(crate) state: Secret,
}

/// Who is signed in where.
#[derive(Debug, Default)]
pub(crate) struct Grants {
    known: Mutex<BTreeSet<(ServerName, PrincipalKey)>>,
}

impl Grants {
    pub(crate) fn is_signed_in(&self, server: &ServerName, principal: &PrincipalKey) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.contains(&(server.clone(), principal.clone()))
    }

    pub(crate) async fn sign_in(&self, server: &ServerName, _: &PrincipalKey, _: &str) -> Result<Begun, Error> {
        Err(Error::AuthRequired { server: server.clone() })
    }

    pub(crate) async fn finish_sign_in(
        &self,
        _: &str,
        _: Result<Secret, String>,
        _: Option<&str>,
    ) -> Result<(ServerName, PrincipalKey), Error> {
        Err(Error::Unknown("nothing".to_owned()))
    }

    pub(crate) async fn sign_out(&self, server: &ServerName, principal: &PrincipalKey) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.remove(&(server.clone(), principal.clone()));
    }
}
