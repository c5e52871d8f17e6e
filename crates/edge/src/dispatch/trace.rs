//! What of a request's `_meta` goes on to the server: all but `baggage`, with a span of the gateway's own.

use std::fmt::Write as _;

use countersign_wire::object;
use serde_json::value::RawValue;

use crate::toolsets;

/// The members that go on. `baggage` may hold anything about the caller and does not leave, and what narrows the request
/// is none of its server's business; a `traceparent` becomes
/// that of a child span. One that is none is dropped, and `tracestate` goes on only beside one that is (W3C Trace
/// Context, 3.2 and 3.3).
pub(super) fn handed_on(rest: &[(String, &RawValue)]) -> Vec<(String, Box<RawValue>)> {
    let parent = rest.iter().find(|(name, _)| name == "traceparent");
    let parent = parent.and_then(|(_, value)| child(value));
    let members = rest.iter().filter_map(|(name, value)| {
        let value = match name.as_str() {
            "baggage" | toolsets::KEY => return None,
            "traceparent" => parent.clone()?,
            "tracestate" if parent.is_none() => return None,
            _ => (*value).to_owned(),
        };
        Some((name.clone(), value))
    });
    members.collect()
}

fn child(parent: &RawValue) -> Option<Box<RawValue>> {
    let parent = object::text_of(parent)?;
    let mut parts = parent.split('-');
    let version = hex(parts.next()?, 2)?;
    let (trace, span, flags) = (hex(parts.next()?, 32)?, hex(parts.next()?, 16)?, hex(parts.next()?, 2)?);
    let has_more = parts.next().is_some();
    let is_zero = |id: &str| id.bytes().all(|byte| byte == b'0');
    if version == "ff" || (version == "00" && has_more) || is_zero(trace) || is_zero(span) {
        return None;
    }
    let mut bytes = [0_u8; 8];
    getrandom::fill(&mut bytes).ok()?;
    let own = bytes.iter().fold(String::with_capacity(16), |mut own, byte| {
        // Writing to a string cannot fail.
        write!(own, "{byte:02x}").ok();
        own
    });
    RawValue::from_string(format!(r#""00-{trace}-{own}-{flags}""#)).ok()
}

fn hex(part: &str, length: usize) -> Option<&str> {
    let is_hex = part.len() == length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_hex.then_some(part)
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::handed_on;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).expect("JSON")
    }

    #[test]
    fn a_trace_goes_on_with_a_span_of_its_own() {
        let parent = raw(r#""00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01""#);
        let handed = handed_on(&[("traceparent".to_owned(), &*parent)]);
        let text = handed[0].1.get();
        assert!(
            text.starts_with(r#""00-0af7651916cd43dd8448eb211c80319c-"#) && text.ends_with(r#"-01""#),
            "{text}"
        );
        assert!(!text.contains("b7ad6b7169203331"), "{text}");
        assert_eq!(text.len(), parent.get().len());
    }

    #[test]
    fn the_state_of_a_trace_goes_on_beside_its_parent_only() {
        let state = raw(r#""congo=t61rcWkgMzE""#);
        let good = raw(r#""00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01""#);
        let bad = raw(r#""00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01""#);
        let cases = [
            (vec![("tracestate", &*state), ("traceparent", &*good)], 2),
            (vec![("traceparent", &*good), ("tracestate", &*state)], 2),
            (vec![("tracestate", &*state), ("traceparent", &*bad)], 0),
            (vec![("traceparent", &*bad), ("tracestate", &*state)], 0),
            (vec![("tracestate", &*state)], 0),
        ];
        for (members, left) in cases {
            let members: Vec<_> = members
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect();
            let handed = handed_on(&members);
            assert_eq!(handed.len(), left, "{members:?}");
            let states = handed.iter().filter(|(name, _)| name == "tracestate");
            assert!(states.map(|(_, value)| value.get()).all(|value| value == state.get()));
        }
    }

    #[test]
    fn what_is_no_trace_and_what_is_about_the_caller_stays() {
        let kept = raw("{ \"x\":1.0}");
        let dropped = [
            ("baggage", r#""user=ada""#),
            ("countersign/toolset", r#""server:a""#),
            (
                "traceparent",
                r#""00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331""#,
            ),
            (
                "traceparent",
                r#""00-00000000000000000000000000000000-b7ad6b7169203331-01""#,
            ),
            (
                "traceparent",
                r#""00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01""#,
            ),
            (
                "traceparent",
                r#""ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01""#,
            ),
            ("traceparent", "7"),
        ];
        for (name, value) in dropped {
            let value = raw(value);
            let handed = handed_on(&[(name.to_owned(), &*value), ("com.example/x".to_owned(), &*kept)]);
            let left: Vec<(&str, &str)> = handed
                .iter()
                .map(|(name, value)| (name.as_str(), value.get()))
                .collect();
            assert_eq!(left, [("com.example/x", "{ \"x\":1.0}")], "{name} {value}");
        }
    }
}
