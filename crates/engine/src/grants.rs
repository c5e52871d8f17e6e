//! Who is signed in where: what upstream keeps of it, in the engine's words.

use countersign_core::names::ServerName;
use countersign_core::principal::PrincipalKey;
use countersign_core::secret::Secret;
use countersign_upstream::{Returned, Routes, SignInError, Standing, Upstreams};

/// A sign-in that was begun.
#[derive(Debug)]
pub(crate) struct Begun {
    pub(crate) url: Secret,
    pub(crate) state: Secret,
}

/// Who is signed in where.
#[derive(Debug)]
pub(crate) struct Grants {
    upstreams: Upstreams,
}

impl Grants {
    pub(crate) fn new(upstreams: Upstreams) -> Self {
        Self { upstreams }
    }

    pub(crate) fn is_signed_in(&self, server: &ServerName, principal: &PrincipalKey) -> bool {
        match self.upstreams.standing(server, principal) {
            Standing::NotNeeded | Standing::SignedIn => true,
            Standing::Required => false,
        }
    }

    pub(crate) async fn sign_in(
        &self,
        server: &ServerName,
        principal: &PrincipalKey,
        callback: &str,
    ) -> Result<Begun, SignInError> {
        let routes = Routes {
            callback: callback.to_owned(),
            client_document: None,
        };
        let begun = self.upstreams.sign_in(server, principal, &routes).await?;
        Ok(Begun {
            url: Secret::hidden(begun.url),
            state: begun.state,
        })
    }

    pub(crate) async fn finish_sign_in(
        &self,
        state: &str,
        answer: Result<Secret, String>,
        iss: Option<&str>,
    ) -> Result<(ServerName, PrincipalKey), SignInError> {
        let returned = Returned {
            state: Secret::hidden(state),
            code: answer,
            iss: iss.map(str::to_owned),
        };
        let done = self.upstreams.finish_sign_in(returned).await?;
        Ok((done.server, done.principal))
    }

    pub(crate) async fn sign_out(&self, server: &ServerName, principal: &PrincipalKey) {
        // A server that is in the catalogue no longer has no connection; its grant stays until it comes back.
        self.upstreams.sign_out(server, principal).await.ok();
    }
}
