//! What becomes of the answer of a call: provenance added, all else as it was.

use countersign_core::exact::Exact;
use countersign_core::names::ServerName;
use countersign_engine::Provenance;
use expect_test::expect;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::MetaTool;
use super::super::forward::{named_call, prompt_result, read_error, resource_result, with_provenance};
use super::published;

fn provenance() -> Provenance {
    Provenance {
        server: Some(ServerName::parse("files").unwrap()),
        subject: "read\"file".to_owned(),
    }
}

#[test]
fn a_tools_result_stays_and_says_which_tool_answered() {
    let ours = r#""countersign/tool":{"name":"x_files_read","server":"files","tool":"read\"file"}"#;
    let table = [
        (
            r#"{"content":[],"n": 9007199254740993}"#,
            format!(r#"{{"content":[],"n": 9007199254740993,"_meta":{{{ours}}}}}"#),
        ),
        ("{}", format!(r#"{{"_meta":{{{ours}}}}}"#)),
        (
            r#"{"_meta":{"a": 1e400},"isError":true,"content":[ ]}"#,
            format!(r#"{{"_meta":{{"a": 1e400,{ours}}},"isError":true,"content":[ ]}}"#),
        ),
        (
            r#"{"_meta":{"countersign/tool":{"server":"other"}},"structuredContent":[1]}"#,
            format!(r#"{{"_meta":{{{ours}}},"structuredContent":[1]}}"#),
        ),
        (r#"{"_meta":null}"#, format!(r#"{{"_meta":{{{ours}}}}}"#)),
        (r#"{"_meta":{"a":1,"a":2}}"#, format!(r#"{{"_meta":{{{ours}}}}}"#)),
    ];
    for (result, expected) in table {
        let raw = RawValue::from_string(result.to_owned()).unwrap();
        assert_eq!(
            with_provenance("x_files_read", &provenance(), &raw).unwrap().get(),
            expected
        );
    }
    let core = Provenance {
        server: None,
        subject: "core_events".to_owned(),
    };
    let raw = RawValue::from_string("{}".to_owned()).unwrap();
    assert_eq!(
        with_provenance("core_events", &core, &raw).unwrap().get(),
        r#"{"_meta":{"countersign/tool":{"name":"core_events","tool":"core_events"}}}"#
    );
}

#[test]
fn a_result_with_two_readings_cannot_name_another_tool() {
    for result in [
        r#"{"_meta":{},"_meta":{"countersign/tool":{"server":"other"}}}"#,
        "[]",
        "null",
    ] {
        let raw = RawValue::from_string(result.to_owned()).unwrap();
        let failure = with_provenance("x_files_read", &provenance(), &raw)
            .unwrap_err()
            .render();
        assert!(
            failure.contains(r#""code":"bad_result""#) && failure.contains(r#""isError":true"#),
            "{failure}"
        );
    }
}

#[test]
fn b041_null_arguments() {
    let (_, absent) = named_call(MetaTool::CallTool, &Exact::object(r#"{"name":"t"}"#).unwrap()).unwrap();
    let (_, empty) = named_call(
        MetaTool::CallTool,
        &Exact::object(r#"{"name":"t","arguments":{}}"#).unwrap(),
    )
    .unwrap();
    assert_eq!((absent.as_str(), absent.digest()), ("{}", empty.digest()));
    for wrong in ["null", "[]", "\"x\"", "1", "true"] {
        let arguments = Exact::object(&format!(r#"{{"name":"t","arguments":{wrong}}}"#)).unwrap();
        for tool in [MetaTool::CallTool, MetaTool::GetPrompt] {
            let failure = named_call(tool, &arguments).unwrap_err().render();
            assert!(failure.contains("`arguments` must be an object"), "{failure}");
            assert!(failure.contains(r#""wrong_arguments":["arguments"]"#), "{failure}");
        }
    }
}

#[test]
fn i4_the_inner_arguments_are_exactly_those_of_a_direct_call() {
    let inner = r#"{"b":[1.0,1,9007199254740993,1e400,-0],"a":"\u0000é"}"#;
    let outer = Exact::object(&format!(r#"{{"arguments":{inner},"name":"t"}}"#)).unwrap();
    let (name, arguments) = named_call(MetaTool::CallTool, &outer).unwrap();
    assert_eq!((name.as_str(), arguments), ("t", Exact::object(inner).unwrap()));
}

#[test]
fn a_prompts_arguments_are_strings() {
    let arguments = Exact::object(r#"{"name":"p","arguments":{"a":1}}"#).unwrap();
    let failure = named_call(MetaTool::GetPrompt, &arguments).unwrap_err().render();
    assert!(failure.contains("`arguments.a` must be a string, found 1"), "{failure}");
}

#[test]
fn a_resource_keeps_text_and_blobs() {
    let text = r#"{"contents":[{"uri":"a://b","text":"x", "n":9007199254740993}],"ttlMs":5,"cacheScope":"public","resultType":"complete","next":1,"_meta":{"k":1,"countersign/tool":{}}}"#;
    let blob = r#"{"contents":[{"uri":"a://b","blob":"AA=="},{"uri":"a://c","text":"y"}]}"#;
    let found: Vec<String> = [text, blob, r#"{"contents":[]}"#]
        .iter()
        .map(|it| resource_result(it).unwrap())
        .collect();
    expect![[r#"
        {"content":[{"type":"text","text":"{\"contents\":[{\"uri\":\"a://b\",\"text\":\"x\",\"n\":9007199254740993}],\"next\":1}"},{"type":"resource","resource":{"uri":"a://b","text":"x", "n":9007199254740993}}],"structuredContent":{"contents":[{"uri":"a://b","text":"x", "n":9007199254740993}],"next":1},"_meta":{"k":1}}
        {"content":[{"type":"resource","resource":{"uri":"a://b","blob":"AA=="}},{"type":"resource","resource":{"uri":"a://c","text":"y"}}],"structuredContent":{"contents":[{"uri":"a://b","blob":"AA=="},{"uri":"a://c","text":"y"}]}}
        {"content":[{"type":"text","text":"{\"contents\":[]}"}],"structuredContent":{"contents":[]}}"#]].assert_eq(&found.join("\n"));
    let schema = jsonschema::draft202012::new(&published(MetaTool::GetResource)["outputSchema"]).unwrap();
    for result in found {
        let result: Value = serde_json::from_str(&result).unwrap();
        assert!(schema.is_valid(&result["structuredContent"]));
    }
}

#[test]
fn a_prompt_keeps_every_kind_of_content() {
    let raw = r#"{"description":"d","messages":[{"role":"user","content":{"type":"image","data":"AA==","mimeType":"image/png", "n": 9007199254740993}},{"role":"assistant","content":{"type":"vendor","x":1e400}}]}"#;
    let result = prompt_result(raw).unwrap();
    assert!(result.contains(&format!(r#""structuredContent":{raw}"#)), "{result}");
    let schema = jsonschema::draft202012::new(&published(MetaTool::GetPrompt)["outputSchema"]).unwrap();
    // A number beyond all doubles is no value of serde_json, so the schema sees the rest.
    let result: Value = serde_json::from_str(&result.replace("1e400", "1")).unwrap();
    assert!(schema.is_valid(&result["structuredContent"]));
}

#[test]
fn an_error_of_a_reading_method_is_a_tools_error_unless_it_asks_the_client() {
    let error = |text: &str| read_error(&RawValue::from_string(text.to_owned()).unwrap(), &provenance());
    let raw = r#"{"code":-32002,"message":"no \"x\"", "data":{"n":9007199254740993}}"#;
    assert_eq!(
        error(raw).unwrap(),
        format!(
            r#"{{"content":[{{"type":"text","text":"server files answered with an error: no \"x\""}}],"structuredContent":{{"code":"upstream_error","message":"server files answered with an error: no \"x\"","server":"files","error":{raw}}},"isError":true}}"#
        )
    );
    assert_eq!(error(r#"{"code":-32042,"message":"sign in"}"#), None);
    assert_eq!(error(r#"{"code":-32021,"message":"sampling"}"#), None);
    assert!(error("{}").unwrap().contains("upstream_error"));
}

#[test]
fn an_answer_without_its_list_is_an_error_and_not_an_empty_success() {
    for result in ["{}", r#"{"contents":null}"#, "[]"] {
        assert!(
            resource_result(result).unwrap_err().render().contains("bad_result"),
            "{result}"
        );
        assert!(
            prompt_result(result).unwrap_err().render().contains("bad_result"),
            "{result}"
        );
    }
}
