//! Exact JSON: one reading or none, the same for the judge and for the framing (invariants I4 and I11).

use countersign_core::exact::{Error, Exact};
use countersign_wire::rpc;

use crate::reference;

/// The laws of one text.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let wanted = reference::canonical(text);
    let found = Exact::parse(text);
    assert_eq!(
        found.as_ref().ok().map(Exact::as_str),
        wanted.as_deref(),
        "{text:?}: {found:?}"
    );
    match &found {
        Ok(exact) => is_stable(exact),
        Err(error) => error_is_in_the_text(text, error),
    }
    let object = Exact::object(text);
    assert_eq!(
        object.is_ok(),
        wanted.as_deref().is_some_and(|text| text.starts_with('{'))
    );
    the_scan_agrees(text);
}

/// Canonical text reads as itself, so that what was recorded is what was sent.
fn is_stable(exact: &Exact) {
    let again = Exact::parse(exact.as_str()).expect("canonical text is read");
    assert_eq!(again.as_str(), exact.as_str());
    assert_eq!(again.digest(), exact.digest());
}

fn error_is_in_the_text(text: &str, error: &Error) {
    match error {
        Error::Syntax { at, .. } => assert!(*at <= text.len(), "{error}"),
        Error::LoneSurrogate { at } => assert_eq!(text.get(*at..at + 2), Some("\\u"), "{error}"),
        Error::DuplicateKey { .. } | Error::TooDeep => {}
        Error::NotAnObject { .. } => panic!("any value was asked for: {error}"),
    }
}

/// The scan of the framing and the exact reader accept the same texts.
fn the_scan_agrees(text: &str) {
    let body = format!(r#"{{"jsonrpc":"2.0","method":"m","params":{{"v":{text}}}}}"#);
    match (Exact::parse(&body), Exact::parse(text)) {
        (Ok(_), Ok(_)) => assert!(rpc::parse(body.as_bytes()).is_ok(), "{body}"),
        // The text closed the braces around it: what it makes of the envelope is for `framing`.
        (Ok(_), Err(_)) => {}
        (Err(_), _) => assert!(rpc::parse(body.as_bytes()).is_err(), "{body}"),
    }
}
