//! Tests of `meta`.

use super::{legacy_request, modern_request, read, require_modern};
use crate::codes;
use crate::version::Version;
use serde_json::value::RawValue;

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

const FULL: &str = r#"{"_meta":{"traceparent":"00-1","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{ "elicitation":{} },
    "io.modelcontextprotocol/clientInfo":{"name":"c"},"io.modelcontextprotocol/logLevel":"info","progressToken":5,"com.vendor/x":[1.0]},"name":"x"}"#;

#[test]
fn reserved_keys_are_taken_out_and_the_rest_stays() {
    let params = raw(FULL);
    let meta = read(Some(&params)).unwrap();
    assert_eq!(meta.version.as_deref(), Some("2026-07-28"));
    assert_eq!(meta.capabilities.unwrap().get(), r#"{ "elicitation":{} }"#);
    assert_eq!(meta.client_info.unwrap().get(), r#"{"name":"c"}"#);
    assert_eq!(meta.log_level.as_deref(), Some("info"));
    assert_eq!(meta.progress_token.unwrap().get(), "5");
    let rest: Vec<_> = meta
        .rest
        .iter()
        .map(|(name, value)| (name.as_str(), value.get()))
        .collect();
    assert_eq!(rest, [("traceparent", "\"00-1\""), ("com.vendor/x", "[1.0]")]);
    assert_eq!(require_modern(&meta), Ok(Version::V2026_07_28));
}

#[test]
fn wrong_types_are_refused_by_name() {
    for (params, named) in [
        ("[]", "params"),
        (r#"{"_meta":null}"#, "_meta"),
        (r#"{"_meta":[]}"#, "_meta"),
        (r#"{"_meta":{"progressToken":1,"progressToken":2}}"#, "progressToken"),
        (
            r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":1}}"#,
            "protocolVersion",
        ),
        (
            r#"{"_meta":{"io.modelcontextprotocol/clientCapabilities":[]}}"#,
            "clientCapabilities",
        ),
        (r#"{"_meta":{"io.modelcontextprotocol/clientInfo":"x"}}"#, "clientInfo"),
        (r#"{"_meta":{"io.modelcontextprotocol/logLevel":{}}}"#, "logLevel"),
        (r#"{"_meta":{"progressToken":null}}"#, "progressToken"),
        (r#"{"_meta":{"progressToken":true}}"#, "progressToken"),
    ] {
        let params = raw(params);
        let fault = read(Some(&params)).unwrap_err();
        assert_eq!(fault.code, codes::INVALID_PARAMS);
        assert!(fault.message.contains(named), "{}", fault.message);
    }
    assert!(read(None).unwrap().rest.is_empty());
}

#[test]
fn modern_requests_must_say_version_and_capabilities() {
    let verdict = |meta: &str| {
        let params = raw(&format!(r#"{{"_meta":{{{meta}}}}}"#));
        let meta = read(Some(&params)).unwrap();
        require_modern(&meta).map_err(|fault| (fault.code, fault.data))
    };
    let version = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
    let abilities = r#""io.modelcontextprotocol/clientCapabilities":{}"#;
    assert_eq!(verdict(&format!("{version},{abilities}")), Ok(Version::V2026_07_28));
    assert_eq!(verdict(version), Err((codes::INVALID_PARAMS, None)));
    assert_eq!(verdict(abilities), Err((codes::INVALID_PARAMS, None)));
    assert_eq!(
        verdict(&format!(
            r#"{version},{abilities},"io.modelcontextprotocol/logLevel":"loud""#
        )),
        Err((codes::INVALID_PARAMS, None))
    );
    for odd in ["2099-01-01", "2025-11-25", ""] {
        let data =
            format!(r#"{{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26"],"requested":"{odd}"}}"#);
        assert_eq!(
            verdict(&format!(
                r#""io.modelcontextprotocol/protocolVersion":"{odd}",{abilities}"#
            )),
            Err((codes::UNSUPPORTED_VERSION, Some(data)))
        );
    }
}

#[test]
fn metadata_for_upstreams_names_the_gateway_and_never_repeats_a_reserved_key() {
    let rest = [
        ("traceparent".to_owned(), raw("\"00\"")),
        ("progressToken".to_owned(), raw("9")),
        (super::CLIENT_INFO.to_owned(), raw("{}")),
    ];
    let text = modern_request(r#"{"roots":{}}"#, Some("info"), Some("3"), &rest);
    let params = raw(&format!(r#"{{"_meta":{text}}}"#));
    let meta = read(Some(&params)).unwrap();
    assert_eq!(require_modern(&meta), Ok(Version::V2026_07_28));
    assert_eq!(
        (meta.client_info.unwrap().get(), meta.progress_token.unwrap().get()),
        (crate::authored::GATEWAY, "3")
    );
    assert_eq!(meta.rest.len(), 1);
    assert_eq!(
        legacy_request(Some("3"), &rest).as_deref(),
        Some(r#"{"progressToken":3,"traceparent":"00"}"#)
    );
    assert_eq!(legacy_request(None, &rest[1..]), None);
}
