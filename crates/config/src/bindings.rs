//! `bindings` of `countersign.yaml`: who binds Sessions, and who signs for their actors (spec 3.4).

use countersign_core::identity::{ActorTokens, Binders, Identities};

use crate::fields::{Field, Reader};
use crate::identities::{jwks, optional, required, texts, url};
use crate::tree::Value;

/// Reads the key.
pub(crate) fn read(reader: &mut Reader<'_>, field: &Field<'_>) -> Binders {
    let mut binders = Binders::default();
    if matches!(field.node.value, Value::Null) {
        return binders;
    }
    let Some(mut fields) = reader.fields(field) else {
        return binders;
    };
    if let Some(field) = fields.take(reader, &["writers"]) {
        binders.writers = texts(reader, &field);
    }
    if let Some(field) = fields.take(reader, &["actor_tokens"])
        && !matches!(field.node.value, Value::Null)
    {
        binders.actor_tokens = actor_tokens(reader, &field);
    }
    fields.finish(reader);
    binders
}

fn actor_tokens(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<ActorTokens> {
    let mut fields = reader.fields(field)?;
    let issuer_field = fields.take(reader, &["issuer"]);
    let issuer = url(reader, field, issuer_field.as_ref(), "issuer");
    let audience_field = fields.take(reader, &["audience"]);
    let audience = required(reader, field, audience_field.as_ref(), "audience");
    let jwks_url = jwks(reader, field, &mut fields, "jwks");
    let session_claim = optional(reader, &mut fields, "session_claim").unwrap_or_else(|| "sid".into());
    fields.finish(reader);
    Some(ActorTokens {
        issuer: issuer?,
        jwks_url,
        audience: audience?,
        session_claim,
    })
}

/// What an actor's token means must be clear: an issuer and audience that people's tokens have too would make an actor
/// a person whose requests nothing bounds.
pub(crate) fn is_of_people_too(binders: &Binders, identities: &Identities) -> bool {
    let Some(actors) = &binders.actor_tokens else {
        return false;
    };
    let mut issuers = identities.issuers.iter();
    issuers.any(|issuer| issuer.issuer == actors.issuer && issuer.audience == actors.audience)
}
