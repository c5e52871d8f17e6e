//! How a server is signed in to: the key `auth` (spec 2.2 and 3.5).

use countersign_core::auth::{Auth, ExchangedAt, OAuth, OAuthClient, TokenExchange};
use countersign_core::secret::Secret;

use super::credential;
use crate::address;
use crate::fields::{Field, Fields, Reader};
use crate::nearest;
use crate::tree::Value;

const WORDS: &[&str] = &["none", "forwardToken", "oauth", "tokenExchange"];

/// Reads `auth`: a word, `{"<word>": {…}}`, `{"type": "<word>", …}`, or another client's `{"CLIENT_ID": …}`.
///
/// Nothing when it is wrong: a server whose credential is in doubt is not served without one.
pub(super) fn read(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<Auth> {
    let Value::Map(_) = field.node.value else {
        let word = reader.literal(field)?;
        return match word.as_str() {
            "none" => Some(Auth::None),
            "forwardToken" => Some(Auth::ForwardToken),
            "oauth" => Some(Auth::OAuth(Box::default())),
            "tokenExchange" => {
                without_place(reader, field);
                None
            }
            other => {
                unknown(reader, field, other);
                None
            }
        };
    };
    let mut fields = reader.fields(field)?;
    if let Some(kind) = fields.take(reader, &["type"]) {
        let word = reader.literal(&kind)?;
        return match word.as_str() {
            "oauth" => oauth(reader, fields),
            "tokenExchange" => exchange(reader, field, fields),
            "none" | "forwardToken" => {
                fields.finish(reader);
                Some(if word == "none" { Auth::None } else { Auth::ForwardToken })
            }
            other => {
                unknown(reader, &kind, other);
                None
            }
        };
    }
    if field.node.member("CLIENT_ID").is_some() {
        return oauth(reader, fields);
    }
    by_word(reader, field, fields)
}

fn by_word(reader: &mut Reader<'_>, field: &Field<'_>, mut fields: Fields<'_>) -> Option<Auth> {
    let forward = fields.take(reader, &["forwardToken"]);
    let sign_in = fields.take(reader, &["oauth"]);
    let exchanged = fields.take(reader, &["tokenExchange"]);
    fields.finish(reader);
    match (forward, sign_in, exchanged) {
        (Some(inner), None, None) => is_on(reader, &inner).then_some(Auth::ForwardToken),
        (None, Some(inner), None) => match inner.node.value {
            Value::Map(_) => {
                let fields = reader.fields(&inner)?;
                oauth(reader, fields)
            }
            Value::Null | Value::Boolean(_) | Value::Number(_) | Value::Text(_) | Value::List(_) => {
                is_on(reader, &inner).then(|| Auth::OAuth(Box::default()))
            }
        },
        (None, None, Some(inner)) => {
            let fields = reader.fields(&inner)?;
            exchange(reader, &inner, fields)
        }
        (None, None, None) => {
            reader.wrong_with_help(
                field,
                "must say how the server is signed in to",
                "write `\"oauth\"`, `\"forwardToken\"`, `{\"oauth\": {…}}` or `{\"tokenExchange\": {…}}`",
            );
            None
        }
        _ => {
            reader.wrong_with_help(field, "names more than one way to sign in", "keep one of them");
            None
        }
    }
}

/// `true`, or an empty map.
fn is_on(reader: &mut Reader<'_>, field: &Field<'_>) -> bool {
    match &field.node.value {
        Value::Boolean(true) => true,
        Value::Map(members) if members.is_empty() => true,
        Value::Null | Value::Boolean(_) | Value::Number(_) | Value::Text(_) | Value::List(_) | Value::Map(_) => {
            reader.wrong(field, "must be `true`");
            false
        }
    }
}

fn unknown(reader: &mut Reader<'_>, field: &Field<'_>, word: &str) {
    let what = format!("must be `none`, `forwardToken`, `oauth` or `tokenExchange`, not `{word}`");
    reader.wrong_with_help(field, &what, nearest::help(word, WORDS));
}

fn without_place(reader: &mut Reader<'_>, field: &Field<'_>) {
    reader.wrong_with_help(
        field,
        "does not say where tokens are exchanged",
        "write `{\"tokenExchange\": {\"tokenEndpoint\": \"https://…\"}}`, or `issuer` in place of `tokenEndpoint`",
    );
}

fn oauth(reader: &mut Reader<'_>, mut fields: Fields<'_>) -> Option<Auth> {
    let issuer = fields.take(reader, &["issuer"]);
    let issuer = issuer.map(|field| issuer_of(reader, &field));
    let client = client(reader, &mut fields);
    let scopes = scopes(reader, &mut fields);
    let redirect = fields.take(reader, &["redirect", "redirectUri", "redirect_uri"]);
    let redirect = redirect.map(|field| url(reader, &field));
    let allowed_hosts = allowed_hosts(reader, &mut fields);
    fields.finish(reader);
    Some(Auth::OAuth(Box::new(OAuth {
        issuer: wanted(issuer)?,
        client: client?,
        scopes,
        redirect: wanted(redirect)?,
        allowed_hosts,
    })))
}

fn exchange(reader: &mut Reader<'_>, field: &Field<'_>, mut fields: Fields<'_>) -> Option<Auth> {
    let endpoint = fields.take(reader, &["tokenEndpoint", "token_endpoint"]);
    let issuer = fields.take(reader, &["issuer"]);
    let client = client(reader, &mut fields);
    let audience = fields
        .take(reader, &["audience"])
        .and_then(|field| text(reader, &field));
    let resource = fields.take(reader, &["resource"]);
    let resource = resource.map(|field| url(reader, &field));
    let subject_token_type = fields.take(reader, &["subjectTokenType", "subject_token_type"]);
    let subject_token_type = subject_token_type.and_then(|field| reader.literal(&field));
    let scopes = scopes(reader, &mut fields).unwrap_or_default();
    let allowed_hosts = allowed_hosts(reader, &mut fields);
    fields.finish(reader);
    let at = match (endpoint, issuer) {
        (Some(endpoint), None) => ExchangedAt::Endpoint(url(reader, &endpoint)?),
        (None, Some(issuer)) => ExchangedAt::Issuer(issuer_of(reader, &issuer)?),
        (Some(_), Some(issuer)) => {
            reader.wrong_key(&issuer, "says the same as `tokenEndpoint`", "keep one of the two");
            return None;
        }
        (None, None) => {
            without_place(reader, field);
            return None;
        }
    };
    Some(Auth::TokenExchange(Box::new(TokenExchange {
        at,
        client: client?,
        audience,
        resource: wanted(resource)?,
        scopes,
        subject_token_type,
        allowed_hosts,
    })))
}

/// A key that is there must have a value; `None` when it has none.
#[expect(clippy::option_option, reason = "the key may be absent, and its value may be wrong")]
fn wanted<T>(read: Option<Option<T>>) -> Option<Option<T>> {
    match read {
        None => Some(None),
        Some(None) => None,
        Some(value) => Some(value),
    }
}

/// The registered client; `None` when it is wrong.
#[expect(
    clippy::option_option,
    reason = "there may be no client, and the client may be wrong"
)]
fn client(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<Option<OAuthClient>> {
    let id = fields.take(reader, &["clientId", "client_id", "CLIENT_ID"]);
    let secret = fields.take(reader, &["clientSecret", "client_secret", "CLIENT_SECRET"]);
    let Some(id) = id else {
        return match secret {
            Some(secret) => {
                reader.wrong_key(&secret, "has no `clientId` beside it", "write both, or neither");
                None
            }
            None => Some(None),
        };
    };
    let id = text(reader, &id)?;
    let secret = match secret {
        None => None,
        // Written as it is or by reference, it never shows.
        Some(field) => Some(Secret::hidden(text(reader, &field)?.reveal())),
    };
    Some(Some(OAuthClient { id, secret }))
}

/// A text that is not empty.
fn text(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<Secret> {
    let text = reader.secret(field)?;
    if text.reveal().trim().is_empty() {
        reader.wrong(field, "must not be empty");
        return None;
    }
    Some(text)
}

fn url(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<Secret> {
    let url = text(reader, field)?;
    match address::endpoint(url.reveal()) {
        Ok(endpoint) if endpoint.has_credentials => {
            reader.wrong(field, "must be a URL without a user name");
            None
        }
        Ok(_) => Some(credential::hidden_url(url)),
        Err(what) => {
            reader.wrong(field, what);
            None
        }
    }
}

/// An issuer is compared character by character, and has neither query nor fragment (RFC 8414, 2).
fn issuer_of(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<Secret> {
    let issuer = url(reader, field)?;
    if issuer.reveal().contains('?') {
        reader.wrong(field, "must be a URL without a query");
        return None;
    }
    Some(issuer)
}

/// A list, or one text with blanks between.
fn scopes(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<Vec<String>> {
    let field = fields.take(reader, &["scopes", "scope"])?;
    let mut scopes: Vec<String> = Vec::new();
    let mut add = |reader: &mut Reader<'_>, field: &Field<'_>, word: &str| {
        let is_scope = !word.is_empty()
            && word
                .bytes()
                .all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e));
        if !is_scope {
            reader.wrong(field, "is not a scope");
        } else if !scopes.iter().any(|scope| scope == word) {
            scopes.push(word.to_owned());
        }
    };
    if let Value::Text(_) = field.node.value {
        let text = reader.literal(&field)?;
        for word in text.split_whitespace() {
            add(reader, &field, word);
        }
    } else {
        for item in reader.list(&field)? {
            if let Some(word) = reader.literal(&item) {
                add(reader, &item, &word);
            }
        }
    }
    Some(scopes)
}

fn allowed_hosts(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Vec<String> {
    let Some(field) = fields.take(reader, &["allowedHosts", "allowed_hosts"]) else {
        return Vec::new();
    };
    let mut hosts = Vec::new();
    for item in reader.list(&field).unwrap_or_default() {
        let Some(host) = reader.literal(&item) else { continue };
        match address::host(&host) {
            Ok(host) => hosts.push(host),
            Err(what) => reader.wrong(&item, what),
        }
    }
    hosts
}
