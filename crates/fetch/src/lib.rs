//! Documents that others name: metadata, keys and tokens, fetched without being led astray (spec 9.3).
//!
//! An address that a remote party names is fetched over https only, and only from public addresses: its name is
//! resolved once, what it leads to is screened, and the connection goes to exactly what was screened. A redirect is
//! such an address again. What the operator wrote or vouched for is exempt ([`Trust`]).

mod address;
mod connector;
mod error;
mod exchange;
mod form;
mod screen;

use std::time::Duration;

use bytes::Bytes;
use countersign_core::secret::Secret;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};

pub use address::{Trust, shown};
pub use connector::{Connector, Io, Unconnected};
pub use error::Error;
pub use form::form;
pub use screen::{Kind, Screen, kind_of};

/// Limits of one fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long it may take altogether, redirects included.
    pub time: Duration,
    /// How large the document may be, in bytes.
    pub bytes: usize,
    /// How many redirects are followed.
    pub redirects: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(10),
            bytes: 1 << 20,
            redirects: 3,
        }
    }
}

/// Fetches documents; cheap to clone.
#[derive(Debug, Clone)]
pub struct Fetcher {
    connector: Connector,
    limits: Limits,
}

/// What was fetched.
#[derive(Debug, Clone)]
pub struct Document {
    /// The status of the last answer; no status is an error by itself.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
}

/// What is posted.
#[derive(Debug, Clone)]
pub enum Post<'a> {
    /// Fields, as a form.
    Form(&'a [(&'a str, &'a str)]),
    /// A JSON text.
    Json(&'a str),
}

impl Fetcher {
    /// A fetcher. Loading the system's certificates waits for the first https address.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            connector: Connector::new(limits.time),
            limits,
        }
    }

    /// Fetches a document, following a few redirects. No credential is ever sent.
    ///
    /// # Errors
    /// Why there is none; an answer of any status is a document.
    pub async fn get(&self, url: &str, trust: &Trust) -> Result<Document, Error> {
        let mut at = address::parse(url)?;
        let work = async {
            for _hop in 0..=self.limits.redirects {
                let outward = exchange::Outward {
                    method: Method::GET,
                    headers: accepting(),
                    body: Bytes::new(),
                };
                let document = self.once(&at, outward, trust).await?;
                match redirect(&document, &at)? {
                    Some(next) => at = next,
                    None => return Ok(document),
                }
            }
            Err(Error::TooManyRedirects { url: shown(url) })
        };
        self.in_time(url, work).await
    }

    /// Posts to an address. A redirect is an error: what is posted is meant for this address alone.
    ///
    /// # Errors
    /// Why there is no answer; one of any status is a document.
    pub async fn post(
        &self,
        url: &str,
        post: Post<'_>,
        authorization: Option<&Secret>,
        trust: &Trust,
    ) -> Result<Document, Error> {
        let at = address::parse(url)?;
        let mut headers = accepting();
        let (kind, body) = match post {
            Post::Form(fields) => ("application/x-www-form-urlencoded", form(fields)),
            Post::Json(text) => ("application/json", text.to_owned()),
        };
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        if let Some(authorization) = authorization {
            let mut value = HeaderValue::from_str(authorization.reveal())
                .map_err(|_error| Error::Unwritable { url: shown(url) })?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let outward = exchange::Outward {
            method: Method::POST,
            headers,
            body: Bytes::from(body),
        };
        let work = async {
            let document = self.once(&at, outward, trust).await?;
            if document.status.is_redirection() {
                return Err(Error::Redirected { url: shown(url) });
            }
            Ok(document)
        };
        self.in_time(url, work).await
    }

    async fn in_time(&self, url: &str, work: impl Future<Output = Result<Document, Error>>) -> Result<Document, Error> {
        let done = tokio::time::timeout(self.limits.time, work).await;
        done.unwrap_or_else(|_elapsed| Err(Error::TooSlow { url: shown(url) }))
    }

    async fn once(&self, at: &Uri, outward: exchange::Outward, trust: &Trust) -> Result<Document, Error> {
        let screen = if trust.covers(at) {
            Screen::Nothing
        } else if at.scheme_str() == Some("https") {
            Screen::Others
        } else {
            return Err(Error::NotSecure {
                url: shown(&at.to_string()),
            });
        };
        let io = self.connector.connect(at, screen).await;
        let io = io.map_err(|unconnected| Error::of(unconnected, at))?;
        exchange::exchange(io, at, outward, self.limits.bytes).await
    }
}

fn accepting() -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    headers
}

/// Where an answer redirects to; the address is checked like one that a stranger named.
fn redirect(document: &Document, from: &Uri) -> Result<Option<Uri>, Error> {
    let follows = matches!(
        document.status,
        StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::SEE_OTHER
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT
    );
    let Some(location) = document.headers.get(LOCATION).filter(|_| follows) else {
        return Ok(None);
    };
    let bad = || Error::BadRedirect {
        url: shown(&from.to_string()),
    };
    let location = location.to_str().map_err(|_error| bad())?;
    address::resolved(from, location).ok_or_else(bad).map(Some)
}

#[cfg(test)]
mod tests;
