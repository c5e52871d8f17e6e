//! What one connection signs its requests with.

use std::sync::Arc;

use super::Tools;
use super::challenge::Challenge;
use super::exchange::Exchange;
use super::grant::Grant;
use super::presented::Presented;
use super::site::Site;
use super::token::{Refusal, Token};

/// One principal's credential at one server.
#[derive(Debug, Clone)]
pub(crate) struct Credential {
    pub(crate) site: Arc<Site>,
    pub(crate) tools: Arc<Tools>,
    pub(crate) source: Source,
}

/// Where its tokens come from.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// The principal signed in.
    Granted(Arc<Grant>),
    /// The caller's own token.
    Forwarded(Arc<Presented>),
    /// The caller's token, exchanged.
    Exchanged(Arc<Exchange>),
}

impl Credential {
    /// The token to send now: one read, unless it has to be renewed.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) async fn token(&self) -> Result<Arc<Token>, Refusal> {
        match &self.source {
            Source::Granted(grant) => grant.token(&self.site, &self.tools).await,
            Source::Forwarded(presented) => presented
                .bearer()
                .map(|bearer| Arc::clone(&bearer.token))
                .ok_or_else(not_presented),
            Source::Exchanged(exchange) => exchange.token(&self.site, &self.tools).await,
        }
    }

    /// Another token than one that the server refused.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) async fn after(&self, refused: &Token) -> Result<Arc<Token>, Refusal> {
        match &self.source {
            Source::Granted(grant) => grant.after(refused, &self.site, &self.tools).await,
            Source::Forwarded(presented) => {
                // A newer one may have come while the refused one was under way.
                let bearer = presented.bearer().ok_or_else(not_presented)?;
                if bearer.token.number == refused.number {
                    return Err(Refusal::Final(
                        "its server does not take the token that the caller connected with".to_owned(),
                    ));
                }
                Ok(Arc::clone(&bearer.token))
            }
            Source::Exchanged(exchange) => exchange.after(refused, &self.site, &self.tools).await,
        }
    }

    /// Whether it will never be good again.
    pub(crate) fn is_gone(&self) -> bool {
        match &self.source {
            Source::Granted(grant) => !grant.is_good(),
            Source::Forwarded(_) | Source::Exchanged(_) => false,
        }
    }

    /// Whether signing in again could help a request whose scopes did not do; what is missing is asked for then.
    pub(crate) fn lacks(&self, challenge: &Challenge) -> bool {
        let Source::Granted(grant) = &self.source else {
            return false;
        };
        let had = grant.scopes();
        let missing: Vec<_> = challenge
            .scopes
            .iter()
            .filter(|scope| !had.contains(*scope))
            .cloned()
            .collect();
        if missing.is_empty() {
            return false;
        }
        grant.want(missing);
        true
    }

    /// A text without the token: servers say back what they were sent.
    pub(crate) fn masked(&self, text: &str) -> String {
        let token = match &self.source {
            Source::Granted(grant) => grant.current(),
            Source::Forwarded(presented) => presented.bearer().map(|bearer| Arc::clone(&bearer.token)),
            Source::Exchanged(exchange) => exchange.current(),
        };
        let secret = token.and_then(|token| {
            let header = token.header.to_str().ok()?;
            header.strip_prefix("Bearer ").map(str::to_owned)
        });
        match secret {
            Some(secret) if !secret.is_empty() => text.replace(&secret, "[secret]"),
            Some(_) | None => text.to_owned(),
        }
    }
}

fn not_presented() -> Refusal {
    Refusal::Final("the caller connected with no token that could be forwarded".to_owned())
}
