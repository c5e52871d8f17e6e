//! A server and its principals' sign-ins: who may connect, and what ends with a sign-in.

use std::sync::Arc;

use countersign_core::principal::PrincipalKey;

use super::Server;
use super::slot::Slot;
use crate::Error;
use crate::auth::{Site, Standing};
use crate::connection::{Connection, Link};
use crate::exchange::Unmade;

impl Server {
    /// The error for a server that takes no credential which its principal has.
    pub(crate) fn requires_sign_in(&self, reason: impl Into<String>) -> Error {
        Error::AuthRequired {
            server: self.entry.name.clone(),
            reason: reason.into(),
        }
    }

    /// How it is signed in to, where principals have credentials of their own.
    pub(crate) fn site(&self) -> Option<&Arc<Site>> {
        self.site.as_ref()
    }

    /// A connection whose grant is gone takes no new call; the next one has the grant that is in force then.
    pub(crate) fn set_aside_if_signed_out(self: &Arc<Self>, connection: &Arc<Connection>) {
        if let Link::Http(link) = &connection.link
            && link.is_signed_out()
        {
            self.set_aside(connection.principal.as_ref(), "its principal must sign in");
        }
    }

    /// A principal's own connection takes no new call and ends when its calls have ended.
    pub(crate) fn set_aside(&self, principal: Option<&PrincipalKey>, reason: &'static str) {
        let connection = {
            let mut state = self.lock();
            state.slots.get_mut(&principal.cloned()).and_then(Slot::taken)
        };
        if let Some(connection) = connection {
            self.ending.spawn_until(async move {
                connection.idle().await;
                connection.close(reason).await;
            });
        }
    }

    /// Ends a principal's own connection, and waits until nothing of it is left; the next use makes another.
    pub(crate) async fn end_of(&self, principal: &PrincipalKey, reason: &str) {
        let connection = {
            let mut state = self.lock();
            state.slots.get_mut(&Some(principal.clone())).and_then(Slot::taken)
        };
        if let Some(connection) = connection {
            connection.close(reason).await;
        }
    }

    /// Whether the principal has a credential, where it needs one. A renewal may still find that it is good no longer.
    pub(super) fn check_sign_in(&self, key: Option<&PrincipalKey>) -> Result<(), Unmade> {
        match (&self.site, key) {
            (Some(site), Some(principal)) if self.keeper.standing(site, principal) == Standing::Required => {
                Err(Unmade::SignIn(site.missing().to_owned()))
            }
            _ => Ok(()),
        }
    }
}
