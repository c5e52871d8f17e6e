//! Who may connect, `identities.yaml`: bearer keys and trusted issuers (spec 4.1).

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use countersign_core::exact::Digest;
use countersign_core::identity::{Identities, Issuer, Key};
use countersign_core::principal::Standing;
use countersign_core::toolset::{Presets, Selectors};

use crate::address;
use crate::fields::{Field, Fields, Numbers, Reader};
use crate::tree::{Node, Value};

/// How far clocks may differ at most.
const LEEWAY: Duration = Duration::from_secs(60);

/// How long a name, a subject or a claim may be, in characters.
const LONGEST: usize = 256;

/// Reads the file. What is wrong is left out and complained of in the reader.
pub(crate) fn read(reader: &mut Reader<'_>, node: Option<&Node>, presets: &Presets) -> Identities {
    let mut identities = Identities::default();
    let Some(mut fields) = node.and_then(|node| reader.root(node)) else {
        return identities;
    };
    if let Some(field) = fields.take(reader, &["keys"]) {
        identities.keys = keys(reader, &field, presets);
    }
    if let Some(field) = fields.take(reader, &["issuers"]) {
        identities.issuers = issuers(reader, &field);
    }
    fields.finish(reader);
    identities
}

fn keys(reader: &mut Reader<'_>, field: &Field<'_>, presets: &Presets) -> Vec<Key> {
    let mut names: BTreeMap<Arc<str>, String> = BTreeMap::new();
    let mut digests: BTreeMap<Digest, Arc<str>> = BTreeMap::new();
    let mut keys = Vec::new();
    for item in reader.list(field).unwrap_or_default() {
        let Some(mut fields) = reader.fields(&item) else {
            continue;
        };
        let name_field = fields.take(reader, &["name"]);
        let name = required(reader, &item, name_field.as_ref(), "name");
        if let (Some(name), Some(field)) = (&name, &name_field) {
            if let Some(first) = names.get(name) {
                let what = format!("is the name of the key on {first} already; a name stands for one key");
                reader.wrong(field, &what);
            } else {
                names.insert(Arc::clone(name), reader.shown_place(&field.node.span));
            }
        }
        let proof = proof(reader, &item, &mut fields);
        let subject_field = fields.take(reader, &["subject"]);
        let subject = required(reader, &item, subject_field.as_ref(), "subject");
        let caller_id = optional(reader, &mut fields, "caller_id");
        let roles = fields.take(reader, &["roles"]).map(|field| texts(reader, &field));
        let plan = optional(reader, &mut fields, "plan");
        let toolset = fields
            .take(reader, &["toolset"])
            .and_then(|field| toolset(reader, &field, presets));
        refuse_specialist(reader, &mut fields);
        fields.finish(reader);
        let (Some(name), Some((sha256, proof_field)), Some(subject)) = (name, proof, subject) else {
            continue;
        };
        if let Some(other) = digests.get(&sha256) {
            let what = format!("is the digest of the key `{other}` too; whose key it is must be clear");
            reader.wrong(&proof_field, &what);
        }
        digests.insert(sha256, Arc::clone(&name));
        let standing = Standing {
            roles: roles.unwrap_or_default().into(),
            plan,
            groups: Arc::default(),
        };
        keys.push(Key {
            name,
            sha256,
            subject,
            caller_id,
            standing,
            toolset,
        });
    }
    keys
}

/// The digest that a presented key is compared with.
fn proof<'t>(reader: &mut Reader<'_>, item: &Field<'t>, fields: &mut Fields<'t>) -> Option<(Digest, Field<'t>)> {
    if let Some(field) = fields.take(reader, &["key_hash"]) {
        reader.wrong_key(
            &field,
            "is not supported by this version of countersign",
            "write `key_sha256`, and a key of at least 128 random bits: `openssl rand -hex 32`; a slow hash protects \
             only keys that people make up",
        );
        fields.take(reader, &["key_sha256"]);
        return None;
    }
    let Some(field) = fields.take(reader, &["key_sha256"]) else {
        reader.wrong_with_help(
            item,
            "has no `key_sha256`",
            "write the SHA-256 of the key as 64 hex digits: `printf %s \"$KEY\" | sha256sum`",
        );
        return None;
    };
    let text = reader.secret(&field)?;
    let Some(digest) = Digest::of_hex(text.reveal()) else {
        reader.wrong_with_help(
            &field,
            "must be 64 hex digits",
            "they are the SHA-256 of the key, never the key itself: `printf %s \"$KEY\" | sha256sum`",
        );
        return None;
    };
    if digest == Digest::of(b"") {
        reader.wrong(&field, "is the digest of an empty key");
        return None;
    }
    Some((digest, field))
}

fn refuse_specialist<'t>(reader: &mut Reader<'_>, fields: &mut Fields<'t>) {
    if let Some(field) = fields.take(reader, &["specialist"]) {
        reader.wrong_key(
            &field,
            "is not supported by this version of countersign",
            "remove it; it is refused rather than ignored because the key would be served without the narrowing that \
             it asks for",
        );
    }
}

/// Selectors that bound every request of a key. A preset that nobody defines would refuse each of them.
fn toolset(reader: &mut Reader<'_>, field: &Field<'_>, presets: &Presets) -> Option<Vec<String>> {
    if matches!(field.node.value, Value::Null) {
        return None;
    }
    let items = reader.list(field)?;
    let mut selectors = Vec::new();
    for item in items {
        selectors.push(reader.literal(&item)?);
    }
    let read = Selectors::parse_list(&selectors);
    if let Err(error) = read.and_then(|read| presets.check(&read)) {
        reader.wrong(field, &format!("cannot be used: {error}"));
    }
    Some(selectors)
}

fn issuers(reader: &mut Reader<'_>, field: &Field<'_>) -> Vec<Issuer> {
    let mut seen: BTreeMap<(Arc<str>, Arc<str>), String> = BTreeMap::new();
    let mut issuers = Vec::new();
    for item in reader.list(field).unwrap_or_default() {
        let Some(mut fields) = reader.fields(&item) else {
            continue;
        };
        let issuer_field = fields.take(reader, &["issuer"]);
        let issuer = url(reader, &item, issuer_field.as_ref(), "issuer");
        let audience_field = fields.take(reader, &["audience"]);
        let audience = required(reader, &item, audience_field.as_ref(), "audience");
        let jwks_url = jwks(reader, &item, &mut fields, "jwks_url");
        let subject_claim = optional(reader, &mut fields, "subject_claim").unwrap_or_else(|| "sub".into());
        let roles_claim = optional(reader, &mut fields, "roles_claim");
        let client_claims = match fields.take(reader, &["client_claims"]) {
            Some(field) => texts(reader, &field),
            None => vec!["azp".into(), "client_id".into()],
        };
        let leeway = fields
            .take(reader, &["leeway"])
            .map_or(Some(LEEWAY), |field| leeway(reader, &field));
        fields.finish(reader);
        let (Some(issuer), Some(audience), Some(leeway)) = (issuer, audience, leeway) else {
            continue;
        };
        if let Some(field) = &issuer_field {
            let place = reader.shown_place(&field.node.span);
            let pair = (Arc::clone(&issuer), Arc::clone(&audience));
            if let Some(first) = seen.insert(pair, place) {
                let what =
                    format!("stands on {first} already with the same audience; one entry decides what its tokens mean");
                reader.wrong(field, &what);
            }
        }
        issuers.push(Issuer {
            issuer,
            audience,
            jwks_url,
            subject_claim,
            roles_claim,
            client_claims,
            leeway,
        });
    }
    issuers
}

fn leeway(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<Duration> {
    if field.node.text() == Some("0s") {
        return Some(Duration::ZERO);
    }
    let leeway = reader.duration(field, Numbers::Refused)?;
    if leeway > LEEWAY {
        reader.wrong_with_help(
            field,
            "must be at most `60s`",
            "a token would be good for longer than its issuer says; set the clocks instead",
        );
        return None;
    }
    Some(leeway)
}

/// The address of an issuer's keys, which may be left to its metadata.
pub(crate) fn jwks<'t>(
    reader: &mut Reader<'_>,
    item: &Field<'t>,
    fields: &mut Fields<'t>,
    key: &'static str,
) -> Option<Arc<str>> {
    let field = fields.take(reader, &[key])?;
    if matches!(field.node.value, Value::Null) {
        return None;
    }
    url(reader, item, Some(&field), key)
}

/// The URL of something that vouches for callers.
pub(crate) fn url(reader: &mut Reader<'_>, item: &Field<'_>, field: Option<&Field<'_>>, key: &str) -> Option<Arc<str>> {
    let text = required(reader, item, field, key)?;
    let field = field?;
    match address::endpoint(&text) {
        Err(what) => {
            reader.wrong_with_help(field, what, "write it like `https://idp.example.com`");
            None
        }
        Ok(endpoint) if endpoint.has_credentials => {
            reader.wrong(field, "must be a URL without a user name");
            None
        }
        Ok(_) => {
            if !address::is_private_to_its_ends(&text) {
                reader.warn(
                    field,
                    "is plain http: whoever is on the way can sign tokens of their own; use https",
                );
            }
            Some(text)
        }
    }
}

/// A text that must be there.
pub(crate) fn required(
    reader: &mut Reader<'_>,
    item: &Field<'_>,
    field: Option<&Field<'_>>,
    key: &str,
) -> Option<Arc<str>> {
    match field {
        Some(field) => text(reader, field),
        None => {
            reader.wrong(item, &format!("has no `{key}`"));
            None
        }
    }
}

/// A text that may be absent or null.
pub(crate) fn optional(reader: &mut Reader<'_>, fields: &mut Fields<'_>, key: &'static str) -> Option<Arc<str>> {
    let field = fields.take(reader, &[key])?;
    if matches!(field.node.value, Value::Null) {
        return None;
    }
    text(reader, &field)
}

/// The texts of a list.
pub(crate) fn texts(reader: &mut Reader<'_>, field: &Field<'_>) -> Vec<Arc<str>> {
    let items = reader.list(field).unwrap_or_default();
    items.iter().filter_map(|item| text(reader, item)).collect()
}

/// A name of something: no blanks around it and nothing in it that would break a line of the trail.
fn text(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<Arc<str>> {
    let secret = reader.secret(field)?;
    let text = secret.reveal();
    let fits = !text.is_empty() && text.trim() == text && text.chars().count() <= LONGEST;
    if !fits || text.chars().any(char::is_control) {
        let what = format!("must be 1 to {LONGEST} characters, without blanks around them or line ends");
        reader.wrong(field, &what);
        return None;
    }
    Some(text.into())
}
