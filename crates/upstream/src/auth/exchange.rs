//! A caller's token exchanged for one of the server's (RFC 8693), kept until shortly before it ends.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use countersign_core::auth::ExchangedAt;
use countersign_core::secret::Secret;

use super::Tools;
use super::client::{Client, Method};
use super::discovery;
use super::flight::{Outcome, Single};
use super::presented::{Bearer, Presented};
use super::site::Site;
use super::token::{Desk, Refusal, Token};

const GRANT: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

/// One principal's exchanged token at one server.
#[derive(Debug)]
pub(crate) struct Exchange {
    presented: Arc<Presented>,
    current: ArcSwapOption<Exchanged>,
    exchanging: Arc<Single>,
}

#[derive(Debug)]
struct Exchanged {
    /// The number of the caller's token that it was exchanged for.
    of: u64,
    token: Arc<Token>,
}

impl Exchange {
    /// Nothing exchanged yet.
    pub(crate) fn new(presented: Arc<Presented>) -> Self {
        Self {
            presented,
            current: ArcSwapOption::empty(),
            exchanging: Arc::default(),
        }
    }

    /// Whether there is a token to exchange.
    pub(crate) fn is_ready(&self) -> bool {
        self.presented.bearer().is_some()
    }

    /// The token to send.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) async fn token(self: &Arc<Self>, site: &Arc<Site>, tools: &Arc<Tools>) -> Result<Arc<Token>, Refusal> {
        let bearer = self.bearer()?;
        match &*self.current.load() {
            // A token lives on when its caller comes with another one: it was exchanged for the same principal.
            Some(exchanged) if !exchanged.token.is_due() => return Ok(Arc::clone(&exchanged.token)),
            Some(_) | None => {}
        }
        Box::pin(self.exchange(bearer, None, site, tools)).await
    }

    /// Another token than one that the server refused.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) async fn after(
        self: &Arc<Self>,
        refused: &Token,
        site: &Arc<Site>,
        tools: &Arc<Tools>,
    ) -> Result<Arc<Token>, Refusal> {
        let bearer = self.bearer()?;
        let current = self.current.load_full();
        if let Some(current) = current.filter(|current| current.token.number == refused.number)
            && refused.is_useless()
            && current.of == bearer.token.number
        {
            return Err(Refusal::Final(
                "its server does not take the token that the caller's is exchanged for".to_owned(),
            ));
        }
        self.exchange(bearer, Some(refused.number), site, tools).await
    }

    async fn exchange(
        self: &Arc<Self>,
        bearer: Arc<Bearer>,
        refused: Option<u64>,
        site: &Arc<Site>,
        tools: &Arc<Tools>,
    ) -> Result<Arc<Token>, Refusal> {
        let (this, site, tools_of_work) = (Arc::clone(self), Arc::clone(site), Arc::clone(tools));
        let needed = || {
            let current = self.current.load();
            current
                .as_ref()
                .is_none_or(|current| current.token.is_due() || Some(current.token.number) == refused)
        };
        self.exchanging
            .join(&tools.ending, needed, move || async move {
                this.exchanged(&bearer, &site, &tools_of_work).await
            })
            .await?;
        let current = self.current.load_full();
        current
            .map(|current| Arc::clone(&current.token))
            .ok_or_else(|| Refusal::Later("the exchanged token ended at once".to_owned()))
    }

    async fn exchanged(&self, bearer: &Bearer, site: &Site, tools: &Tools) -> Outcome {
        let Some(wanted) = site.exchange() else {
            return Err(Refusal::Later("its entry exchanges no tokens".to_owned()));
        };
        let endpoint = match &wanted.at {
            ExchangedAt::Endpoint(endpoint) => endpoint.reveal().to_owned(),
            ExchangedAt::Issuer(issuer) => discovery::token_endpoint(&tools.fetcher, site, issuer.reveal())
                .await
                .map_err(Refusal::Later)?,
        };
        let client = wanted.client.as_ref().map(|client| Client::pinned(client, None));
        let client = client.unwrap_or_else(|| Client {
            id: Secret::hidden(""),
            secret: None,
            method: Method::Nobody,
        });
        let scopes = wanted.scopes.join(" ");
        let mut fields = vec![
            ("grant_type", GRANT),
            ("subject_token", bearer.text.reveal()),
            (
                "subject_token_type",
                wanted.subject_token_type.as_deref().unwrap_or(ACCESS_TOKEN),
            ),
            ("requested_token_type", ACCESS_TOKEN),
        ];
        fields.extend(wanted.audience.as_ref().map(|audience| ("audience", audience.reveal())));
        fields.extend(wanted.resource.as_ref().map(|resource| ("resource", resource.reveal())));
        if !scopes.is_empty() {
            fields.push(("scope", &scopes));
        }
        let desk = Desk {
            fetcher: &tools.fetcher,
            trust: &site.trust,
            endpoint: &endpoint,
            client: &client,
        };
        let issued = desk.ask(&fields).await?;
        let access = issued.usable().map_err(Refusal::Later)?;
        let number = self.current.load().as_ref().map_or(0, |current| current.token.number);
        let token = Token::new(access, number + 1, issued.lifetime)
            .ok_or_else(|| Refusal::Later("the exchanged token cannot be sent".to_owned()))?;
        self.current.store(Some(Arc::new(Exchanged {
            of: bearer.token.number,
            token: Arc::new(token),
        })));
        Ok(())
    }

    fn bearer(&self) -> Result<Arc<Bearer>, Refusal> {
        self.presented.bearer().ok_or_else(|| {
            self.current.store(None);
            Refusal::Final("the caller connected with no token that could be exchanged".to_owned())
        })
    }

    /// The token in force, to be taken out of texts.
    pub(crate) fn current(&self) -> Option<Arc<Token>> {
        self.current.load_full().map(|current| Arc::clone(&current.token))
    }
}
