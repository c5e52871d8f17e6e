//! Names as types: a server, a tool as its server calls it, and the name a caller uses.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }
    };
}

name_type! {
    /// The name of one upstream server, `^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`.
    ServerName
}
name_type! {
    /// The name of a family of servers that offer the same tools (spec 2.4); the rule is that of server names.
    FamilyName
}
name_type! {
    /// A name as its upstream server publishes it, kept as written; routing and audit use it.
    OriginalName
}
name_type! {
    /// The name that a caller uses: `x_<server>_<tool>`, `core_<verb>`.
    ///
    /// INVARIANT: made only by the catalogue and looked up there, never split (I9).
    ExposedName
}

/// Why a text is not a server name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text does not match the rule for server names.
    #[error(
        "server name `{0}` is not allowed: use 1 to 64 letters, digits, `.`, `_` or `-`, beginning with a letter or digit"
    )]
    Server(String),
    /// The text does not match the rule for family names.
    #[error(
        "family name `{0}` is not allowed: use 1 to 64 letters, digits, `.`, `_` or `-`, beginning with a letter or digit"
    )]
    Family(String),
}

impl ServerName {
    /// Parses a server name (spec 2.2).
    ///
    /// # Errors
    /// [`Error::Server`] when the text breaks the rule.
    pub fn parse(text: &str) -> Result<Self, Error> {
        if is_name(text) {
            Ok(Self(text.into()))
        } else {
            Err(Error::Server(text.to_owned()))
        }
    }
}

impl FamilyName {
    /// Parses a family name (spec 2.4).
    ///
    /// # Errors
    /// [`Error::Family`] when the text breaks the rule.
    pub fn parse(text: &str) -> Result<Self, Error> {
        if is_name(text) {
            Ok(Self(text.into()))
        } else {
            Err(Error::Family(text.to_owned()))
        }
    }
}

/// The rule for names that an operator gives to servers and families.
fn is_name(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let starts_well = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    starts_well && text.len() <= 64 && text.chars().all(allowed)
}

impl OriginalName {
    /// Takes an upstream's name as it is; any text is one.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }
}

impl ExposedName {
    /// Only the catalogue and the core tools make exposed names.
    pub(crate) fn new(text: &str) -> Self {
        Self(text.into())
    }
}
