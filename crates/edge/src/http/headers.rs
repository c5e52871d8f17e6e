//! The headers of a request: limits, and the few that are read, each at most once.

use std::borrow::Cow;

use countersign_core::principal::Caller;
use countersign_core::toolset::{Origin, Selectors};
use countersign_wire::headers::Seen;
use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue};

/// How many headers a request may have; hyper answers more with 431.
pub(super) const COUNT: usize = 100;
/// How long one value may be.
const VALUE_BYTES: usize = 16 * 1024;
/// How long all names and values may be together.
const TOTAL_BYTES: usize = 64 * 1024;

const SESSION_NAME: &str = "mcp-session-id";
pub(super) const SESSION: HeaderName = HeaderName::from_static(SESSION_NAME);
const VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";
const SURFACE: &str = "x-countersign-surface";

/// The header that narrows a request, and its old name.
const TOOLSET: &str = "x-countersign-toolset";
const TOOLSET_BEFORE: &str = "x-muster-toolset";

/// A header that asks for a narrowed catalogue which this version does not know. Served without the narrowing, the
/// request would see more than its caller wanted it to.
const SPECIALIST: &str = "x-countersign-specialist";

/// The headers that the gateway reads.
#[derive(Debug, Clone)]
pub(super) struct Read<'r> {
    /// What 2026-07-28 compares with the body.
    pub(super) seen: Seen<'r>,
    pub(super) session: Option<&'r str>,
    pub(super) surface: Option<&'r str>,
    /// What the request is narrowed to: all lines of both names, joined with commas.
    pub(super) toolset: Option<Cow<'r, str>>,
}

impl<'r> Read<'r> {
    /// Reads them; the error names the header that is there twice or is no text.
    pub(super) fn of(headers: &'r HeaderMap) -> Result<Self, String> {
        let mut read = Self {
            seen: Seen::default(),
            session: None,
            surface: None,
            toolset: None,
        };
        // One walk costs less than a look-up of each name, most of which are absent.
        for (name, value) in headers {
            let place = match name.as_str() {
                VERSION => &mut read.seen.version,
                METHOD => &mut read.seen.method,
                NAME => &mut read.seen.name,
                SESSION_NAME => &mut read.session,
                SURFACE => &mut read.surface,
                TOOLSET | TOOLSET_BEFORE => {
                    read.add_toolset(value);
                    continue;
                }
                SPECIALIST => {
                    return Err(format!(
                        "header `{SPECIALIST}` is not supported by this version of countersign: the request would be \
                         served without the narrowing that it asks for; remove the header"
                    ));
                }
                _ => continue,
            };
            let text = value.to_str().map_err(|error| format!("header `{name}`: {error}"))?;
            if place.replace(text).is_some() {
                return Err(format!("header `{name}` is there more than once"));
            }
        }
        Ok(read)
    }

    /// One more line of the toolset. What is no text stays visible as such: it selects nothing, and is never left out.
    fn add_toolset(&mut self, value: &'r HeaderValue) {
        let line = String::from_utf8_lossy(value.as_bytes());
        self.toolset = Some(match self.toolset.take() {
            None => line,
            Some(before) => Cow::Owned([&*before, ",", &*line].concat()),
        });
    }

    /// The caller within the toolset that the headers name.
    pub(super) fn narrowed(&self, mut caller: Caller) -> Caller {
        if let Some(toolset) = &self.toolset {
            let declared = Selectors::parse_header([&**toolset]);
            caller.toolset = caller.toolset.narrowed(Origin::Header, declared);
        }
        caller
    }

    /// Whether the version header says 2026-07-28 or later.
    pub(super) fn is_modern(&self) -> bool {
        self.seen.version.is_some_and(is_modern)
    }
}

/// Whether a text is the date of a revision without sessions.
fn is_modern(version: &str) -> bool {
    let is_date = version.len() == 10
        && version.bytes().enumerate().all(|(at, byte)| {
            if at == 4 || at == 7 {
                byte == b'-'
            } else {
                byte.is_ascii_digit()
            }
        });
    is_date && version >= "2026-07-28"
}

/// Which limit the headers break.
pub(super) fn broken_limit(headers: &HeaderMap) -> Option<String> {
    let mut total = 0_usize;
    for (name, value) in headers {
        if value.len() > VALUE_BYTES {
            return Some(format!("header `{name}` is longer than {VALUE_BYTES} bytes"));
        }
        total += name.as_str().len() + value.len();
    }
    if headers.len() > COUNT {
        Some(format!("more than {COUNT} headers"))
    } else if total > TOTAL_BYTES {
        Some(format!("the headers together are longer than {TOTAL_BYTES} bytes"))
    } else {
        None
    }
}

/// Why two readers could see two ends of the body (RFC 9112 section 6.1): what follows it may be no request.
pub(super) fn unclear_end(headers: &HeaderMap) -> Option<&'static str> {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let first = codings.next()?;
    if codings.next().is_some() || !first.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked") {
        return Some("header `transfer-encoding` must be `chunked` and nothing else");
    }
    headers
        .contains_key(CONTENT_LENGTH)
        .then_some("header `content-length` cannot stand beside `transfer-encoding`")
}

/// What a body may be answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Accepts {
    pub(super) json: bool,
    pub(super) events: bool,
}

impl Accepts {
    /// Reads `Accept` liberally: absent means anything, parameters do not matter.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let mut accepts = Self {
            json: false,
            events: false,
        };
        let mut is_there = false;
        for value in headers.get_all(ACCEPT) {
            is_there = true;
            // As the protocol has clients write it.
            if value == "application/json, text/event-stream" {
                accepts.json = true;
                accepts.events = true;
                continue;
            }
            for range in value.to_str().unwrap_or_default().split(',') {
                let mut parts = range.split(';').map(str::trim);
                let range = parts.next().unwrap_or_default();
                if parts.any(is_zero_weight) {
                    continue;
                }
                let any = range == "*/*";
                accepts.json |= any
                    || range.eq_ignore_ascii_case("application/json")
                    || range.eq_ignore_ascii_case("application/*");
                accepts.events |=
                    any || range.eq_ignore_ascii_case("text/event-stream") || range.eq_ignore_ascii_case("text/*");
            }
        }
        if is_there {
            accepts
        } else {
            Self {
                json: true,
                events: true,
            }
        }
    }
}

/// `q=0`: what it stands with is not acceptable (RFC 9110 section 12.4.2).
fn is_zero_weight(parameter: &str) -> bool {
    let (name, value) = parameter.split_once('=').unwrap_or_default();
    let value = value.trim();
    name.trim_end().eq_ignore_ascii_case("q")
        && value.starts_with('0')
        && value.bytes().all(|byte| matches!(byte, b'0' | b'.'))
}

/// Why a body cannot be read as it is announced.
pub(super) fn unreadable(headers: &HeaderMap) -> Option<&'static str> {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let media_type = types
        .next()
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next());
    let is_json = media_type.is_some_and(|media_type| media_type.trim().eq_ignore_ascii_case("application/json"));
    if !is_json || types.next().is_some() {
        return Some("header `content-type` must be `application/json`");
    }
    let mut codings = headers.get_all(CONTENT_ENCODING).iter();
    let is_encoded = codings.any(|value| !value.as_bytes().eq_ignore_ascii_case(b"identity"));
    is_encoded.then_some("header `content-encoding`: send the body without compression")
}

#[cfg(test)]
mod tests;
