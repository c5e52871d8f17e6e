//! Who the gateway is to an authorization server: registered before, by a document of its own, or dynamically.

use countersign_core::auth::OAuthClient;
use countersign_core::secret::Secret;
use countersign_fetch::{Fetcher, Post, Trust};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Routes;
use super::metadata::Authority;

/// How a client proves who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Method {
    /// `client_secret_basic`
    #[serde(rename = "client_secret_basic")]
    Basic,
    /// `client_secret_post`
    #[serde(rename = "client_secret_post")]
    Post,
    /// `none`
    #[serde(rename = "none")]
    None,
    /// Nobody: an exchange whose token says enough.
    #[serde(skip)]
    Nobody,
}

impl Method {
    fn word(self) -> &'static str {
        match self {
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
            Self::None | Self::Nobody => "none",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        [Self::Basic, Self::Post, Self::None]
            .into_iter()
            .find(|method| method.word() == word)
    }
}

/// The gateway as a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) id: Secret,
    pub(crate) secret: Option<Secret>,
    pub(crate) method: Method,
}

impl Client {
    /// The client that the operator registered.
    pub(crate) fn pinned(pinned: &OAuthClient, authority: Option<&Authority>) -> Self {
        let offered = authority.and_then(|authority| authority.token_endpoint_auth_methods_supported.as_deref());
        let takes = |method: Method| offered.is_none_or(|offered| offered.iter().any(|word| word == method.word()));
        let method = match &pinned.secret {
            None => Method::None,
            // RFC 8414: what is not said is `client_secret_basic`.
            Some(_) if takes(Method::Basic) || !takes(Method::Post) => Method::Basic,
            Some(_) => Method::Post,
        };
        Self {
            id: Secret::hidden(pinned.id.reveal()),
            secret: pinned.secret.clone(),
            method,
        }
    }

    /// The client that a document of ours describes; its identifier is the document's address.
    pub(crate) fn documented(address: &str) -> Self {
        Self {
            id: Secret::hidden(address),
            secret: None,
            method: Method::None,
        }
    }
}

/// The document about the gateway as a client (client id metadata documents), which its own address serves.
#[must_use]
pub fn client_document(routes: &Routes) -> Option<String> {
    let address = routes.client_document.as_deref()?;
    let mut document = about(routes, Method::None);
    if let Value::Object(members) = &mut document {
        members.insert("client_id".to_owned(), Value::from(address));
    }
    Some(document.to_string())
}

fn about(routes: &Routes, method: Method) -> Value {
    json!({
        "client_name": "Countersign",
        "redirect_uris": [routes.callback],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "application_type": if is_native(&routes.callback) { "native" } else { "web" },
        "token_endpoint_auth_method": method.word(),
    })
}

/// A callback on this machine belongs to a native application (OpenID Connect Registration).
fn is_native(callback: &str) -> bool {
    callback.starts_with("http://")
}

/// A client that was registered dynamically, as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Registered {
    pub(crate) id: String,
    pub(crate) secret: Option<String>,
    pub(crate) method: Method,
    /// When the secret ends, in seconds since 1970; 0 for never.
    pub(crate) ends: i64,
}

impl Registered {
    /// The client.
    pub(crate) fn client(&self) -> Client {
        Client {
            id: Secret::hidden(&self.id),
            secret: self.secret.as_deref().map(Secret::hidden),
            method: self.method,
        }
    }

    /// Whether its secret is still good at a time in seconds since 1970.
    pub(crate) fn is_good(&self, now: i64) -> bool {
        self.ends == 0 || self.ends > now
    }
}

/// Registers the gateway (RFC 7591).
///
/// # Errors
/// Why it was not registered.
pub(crate) async fn register(
    fetcher: &Fetcher,
    trust: &Trust,
    authority: &Authority,
    routes: &Routes,
    scopes: &[String],
) -> Result<Registered, String> {
    let endpoint = authority.registration_endpoint.as_deref().ok_or(
        "its authorization server registers no client by itself; register countersign there and set `clientId` in `auth.oauth` of mcp.json",
    )?;
    let mut wanted = about(routes, wanted_method(authority, routes));
    if let Value::Object(members) = &mut wanted
        && !scopes.is_empty()
    {
        members.insert("scope".to_owned(), Value::from(scopes.join(" ")));
    }
    let document = fetcher
        .post(endpoint, Post::Json(&wanted.to_string()), None, trust)
        .await
        .map_err(|error| format!("countersign could not be registered: {error}"))?;
    let answer: Option<Value> = serde_json::from_slice(&document.body).ok();
    if !document.status.is_success() {
        let code = answer.as_ref().and_then(|answer| answer.get("error")?.as_str());
        let code = code.map_or_else(|| format!("HTTP {}", document.status.as_u16()), super::token::code);
        return Err(format!(
            "its authorization server refuses to register countersign: {code}"
        ));
    }
    let answer = answer.unwrap_or_default();
    let text = |name: &str| answer.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let id = text("client_id").ok_or("its authorization server registered countersign without a `client_id`")?;
    let secret = text("client_secret").map(str::to_owned);
    let named = text("token_endpoint_auth_method").and_then(Method::parse);
    let method = match (named, &secret) {
        // Without a secret there is nothing to prove it with.
        (_, None) => Method::None,
        (Some(method), Some(_)) => method,
        (None, Some(_)) => Method::Basic,
    };
    Ok(Registered {
        id: id.to_owned(),
        secret,
        method,
        ends: answer
            .get("client_secret_expires_at")
            .and_then(Value::as_i64)
            .unwrap_or(0),
    })
}

/// The first method that both sides have: a native client keeps no secret, a web client does.
fn wanted_method(authority: &Authority, routes: &Routes) -> Method {
    let order = if is_native(&routes.callback) {
        [Method::None, Method::Basic, Method::Post]
    } else {
        [Method::Basic, Method::Post, Method::None]
    };
    let Some(offered) = &authority.token_endpoint_auth_methods_supported else {
        return Method::Basic;
    };
    order
        .into_iter()
        .find(|method| offered.iter().any(|word| word == method.word()))
        .unwrap_or(Method::Basic)
}
