//! Why a document could not be had, in words that name its address and none of its secrets.

use http::Uri;

use crate::connector::Unconnected;
use crate::{Kind, shown};

/// Why a document could not be had. Every address is shown without user, query and fragment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It is no http or https address, or one with a user name.
    #[error("`{url}` is not an http or https address that can be fetched")]
    NotAnAddress {
        /// The address.
        url: String,
    },
    /// It is plain http, and nobody vouches for it.
    #[error("{url} is refused: it is not https, and its host is not one that the operator allows")]
    NotSecure {
        /// The address.
        url: String,
    },
    /// Its name leads inside.
    #[error("{url} is refused: its host leads to {} address, and is not one that the operator allows", .kind.words())]
    Screened {
        /// The address.
        url: String,
        /// What it leads to.
        kind: Kind,
    },
    /// Nobody answers there.
    #[error("{url} cannot be reached: {reason}")]
    Unreachable {
        /// The address.
        url: String,
        /// Why.
        reason: String,
    },
    /// The connection broke.
    #[error("{url} gave no whole answer: {reason}")]
    Broken {
        /// The address.
        url: String,
        /// Why.
        reason: String,
    },
    /// It took too long.
    #[error("{url} did not answer in time")]
    TooSlow {
        /// The address.
        url: String,
    },
    /// The document is too large.
    #[error("the document at {url} is larger than {limit} bytes")]
    TooLarge {
        /// The address.
        url: String,
        /// The limit.
        limit: usize,
    },
    /// It redirects again and again.
    #[error("{url} redirects too often")]
    TooManyRedirects {
        /// The address that was asked first.
        url: String,
    },
    /// It redirects to something that is no address.
    #[error("{url} redirects to what is no address")]
    BadRedirect {
        /// The address that redirects.
        url: String,
    },
    /// It redirects what was posted.
    #[error("{url} redirects what is posted to it, which is not followed")]
    Redirected {
        /// The address.
        url: String,
    },
    /// A credential has characters that no header may have.
    #[error("the credential for {url} cannot be written as a header")]
    Unwritable {
        /// The address.
        url: String,
    },
}

impl Error {
    /// The error of an address that was not connected to.
    pub(crate) fn of(unconnected: Unconnected, uri: &Uri) -> Self {
        let url = shown(&uri.to_string());
        match unconnected {
            Unconnected::Screened(kind) => Self::Screened { url, kind },
            Unconnected::Unreachable(reason) => Self::Unreachable { url, reason },
        }
    }
}
