//! Questions between the eras.

use super::{Error, InputRequired, Question, named, params_for, responses};
use crate::version::Era;

#[test]
fn a_result_that_asks_is_read_and_written_alike() {
    let text = r#"{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"},"b":{"method":"elicitation/create","params":{"n": 1e400}}},"requestState":"s\u0000"}"#;
    let read = InputRequired::read(text).expect("asks").expect("is well-formed");
    assert_eq!(
        read.questions[0],
        Question {
            id: "a".to_owned(),
            method: "roots/list".to_owned(),
            params: None,
        }
    );
    assert_eq!(read.render(), text);
}

#[test]
fn other_results_ask_nothing_and_malformed_ones_are_told_apart() {
    for text in ["{}", "[]", "no", r#"{"resultType":"complete","inputRequests":{}}"#] {
        assert_eq!(InputRequired::read(text), None, "{text}");
    }
    let cases = [
        (r#"{"resultType":"input_required"}"#, Error::Empty),
        (r#"{"resultType":"input_required","inputRequests":{}}"#, Error::Empty),
        (
            r#"{"resultType":"input_required","inputRequests":[]}"#,
            Error::Malformed,
        ),
        (
            r#"{"resultType":"input_required","inputRequests":{"a":{}}}"#,
            Error::Malformed,
        ),
        (
            r#"{"resultType":"input_required","inputRequests":{"a":1}}"#,
            Error::Malformed,
        ),
    ];
    for (text, error) in cases {
        assert_eq!(InputRequired::read(text), Some(Err(error)), "{text}");
    }
}

#[test]
fn a_url_has_an_id_of_its_own_in_the_legacy_era_only() {
    let method = "elicitation/create";
    let url = r#"{"mode":"url","url":"https://a"}"#;
    let with = r#"{"mode":"url","url":"https://a","elicitationId":"7"}"#;
    assert_eq!(params_for(Era::Legacy, method, url, "7"), with);
    assert_eq!(params_for(Era::Legacy, method, with, "8"), with);
    assert_eq!(params_for(Era::Modern, method, with, "8"), url);
    for (method, params) in [(method, r#"{"mode":"form"}"#), ("sampling/createMessage", url)] {
        assert_eq!(params_for(Era::Legacy, method, params, "7"), params);
    }
}

#[test]
fn the_message_names_the_server_and_answers_pass_as_they_are() {
    assert_eq!(
        named("notes", "elicitation/create", r#"{"a":1e9,"message":"Who?"}"#).expect("an object"),
        r#"{"a":1e9,"message":"[notes] Who?","_meta":{"countersign/server":"notes"}}"#
    );
    assert_eq!(
        named("notes", "sampling/createMessage", r#"{"message":"m","_meta":{"x":1}}"#).expect("an object"),
        r#"{"message":"m","_meta":{"x":1,"countersign/server":"notes"}}"#
    );
    assert!(named("notes", "elicitation/create", "[]").is_err());
    let raw = serde_json::value::RawValue::from_string(r#"{"x": 1.0}"#.to_owned()).expect("JSON");
    assert_eq!(responses([("a", &*raw)].into_iter()), r#"{"a":{"x": 1.0}}"#);
}
