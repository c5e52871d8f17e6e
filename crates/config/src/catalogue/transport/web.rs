//! Servers that are reached by a URL: the address, the headers, and how they are signed in to.

use std::collections::BTreeMap;

use countersign_core::auth::Auth;
use countersign_core::secret::Secret;
use countersign_core::server::PrivateNetwork;
use http::{HeaderName, HeaderValue};

use super::{Kind, auth, credential, does_not_go_with};
use crate::address;
use crate::fields::{Field, Fields, Reader};

/// The keys of a server that is reached by a URL, besides the URL.
pub(super) struct Keys<'t> {
    headers: Option<Field<'t>>,
    auth: Option<Field<'t>>,
    private: Option<Field<'t>>,
}

impl<'t> Keys<'t> {
    pub(super) fn take(reader: &mut Reader<'_>, fields: &mut Fields<'t>) -> Self {
        Self {
            headers: fields.take(reader, &["headers"]),
            auth: fields.take(reader, &["auth"]),
            private: fields.take(reader, &["allowPrivateNetwork", "allow_private_network"]),
        }
    }

    pub(super) fn refuse(self, reader: &mut Reader<'_>, kind: Kind) {
        for field in [self.headers, self.auth, self.private].into_iter().flatten() {
            does_not_go_with(reader, &field, kind);
        }
    }

    pub(super) fn read(self, reader: &mut Reader<'_>) -> Read {
        let auth = self
            .auth
            .and_then(|field| auth::read(reader, &field))
            .unwrap_or(Auth::None);
        let screened = self.private.and_then(|field| reader.flag(&field)) == Some(false);
        let headers = self.headers.map_or_else(BTreeMap::new, |field| {
            let headers = headers(reader, &field);
            if auth.is_on() && headers.keys().any(|name| name.eq_ignore_ascii_case("authorization")) {
                let what = format!(
                    "holds an `Authorization` header, which contradicts `auth: {}`",
                    auth.word()
                );
                reader.wrong_key(&field, &what, "keep one of the two");
            }
            headers
        });
        Read {
            headers,
            auth,
            private_network: if screened {
                PrivateNetwork::Screened
            } else {
                PrivateNetwork::Allowed
            },
        }
    }
}

/// What the keys say.
pub(super) struct Read {
    pub(super) headers: BTreeMap<String, Secret>,
    pub(super) auth: Auth,
    pub(super) private_network: PrivateNetwork,
}

/// The URL, checked after expansion.
pub(super) fn url(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<Secret> {
    let url = reader.secret(field)?;
    match address::endpoint(url.reveal()) {
        Ok(endpoint) => {
            if endpoint.has_credentials {
                reader.warn(
                    field,
                    "holds a user name, which is not sent; write an `Authorization` header",
                );
            }
            Some(credential::hidden_url(url))
        }
        Err(what) => {
            reader.wrong(field, what);
            None
        }
    }
}

fn headers(reader: &mut Reader<'_>, field: &Field<'_>) -> BTreeMap<String, Secret> {
    let mut headers: BTreeMap<String, Secret> = BTreeMap::new();
    for (name, value) in reader.entries(field).unwrap_or_default() {
        let Some(text) = reader.secret(&value) else { continue };
        if HeaderName::from_bytes(name.as_bytes()).is_err() {
            reader.wrong_key(&value, "is not the name of a header", "use letters, digits and `-`");
        } else if HeaderValue::from_str(text.reveal()).is_err() {
            reader.wrong(
                &value,
                "has a line break or another character that a header cannot carry",
            );
        } else if headers.keys().any(|other| other.eq_ignore_ascii_case(name)) {
            reader.wrong_key(&value, "is there already, in other letters", "keep one of the two");
        } else {
            match own(name) {
                Own::No => {
                    headers.insert(name.to_owned(), credential::hidden_by_name(name, text));
                }
                Own::Harmless => reader.warn(&value, "is a header that countersign sets itself; it is not used"),
                Own::Yes => {
                    reader.wrong_key(&value, "is a header that countersign sets itself", "remove it");
                }
            }
        }
    }
    headers
}

/// Whether a header is the gateway's own to set.
enum Own {
    /// It is the operator's.
    No,
    /// It is ours, and people write it by habit with the value that it has anyway.
    Harmless,
    /// It is ours, and another value would break or bend the connection.
    Yes,
}

fn own(name: &str) -> Own {
    let name = name.to_ascii_lowercase();
    match name.as_str() {
        "accept" | "accept-encoding" | "content-type" => Own::Harmless,
        "connection"
        | "content-length"
        | "expect"
        | "host"
        | "keep-alive"
        | "last-event-id"
        | "proxy-authenticate"
        | "proxy-authorization"
        | "proxy-connection"
        | "te"
        | "trailer"
        | "transfer-encoding"
        | "upgrade" => Own::Yes,
        other if other.starts_with("mcp-") => Own::Yes,
        _ => Own::No,
    }
}
