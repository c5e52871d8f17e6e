//! Tools and results as people see them.
use expect_test::expect;
use serde_json::value::RawValue;

use super::show;

fn raw(text: &str) -> Box<RawValue> {
    serde_json::from_str(text).expect("test data is JSON")
}

#[test]
fn list_shows_name_hint_and_first_line() {
    let tools = [
        raw(
            r#"{"name":"x_notes_list","description":"Lists notes.\nSecond line.","annotations":{"readOnlyHint":true}}"#,
        ),
        raw(r#"{"name":"x_notes_add","inputSchema":{}}"#),
    ];
    expect![[r#"
        NAME          HINT   DESCRIPTION
        x_notes_list  reads  Lists notes.
        x_notes_add   -      
    "#]]
    .assert_eq(&show::list(&tools));
}

#[test]
fn description_names_arguments_and_which_are_required() {
    let tool = r#"{"name":"x_a","title":"A","description":"Does a.\nAnd b.","inputSchema":{"type":"object","required":["q"],
        "properties":{"q":{"type":"string","description":"Words."},"n":{"type":["integer","null"]}}}}"#;
    expect![[r#"
        x_a  (A)
        Hint of its server: -

        Does a.
        And b.

        ARGUMENT  TYPE                          DESCRIPTION
        n         ["integer","null"]            
        q         string              required  Words.
    "#]]
    .assert_eq(&show::describe(tool));
}

#[test]
fn result_prints_texts_and_names_bytes() {
    let result = r#"{"content":[{"type":"text","text":"hello\u001b[31m"},{"type":"image","data":"AAAA","mimeType":"image/png"},
        {"type":"resource","resource":{"uri":"note://1","text":"body"}},{"type":"resource_link","uri":"note://2","name":"n"},{"type":"novel","x":1}]}"#;
    expect![[r#"
        hello�[31m
        [image, image/png, 3 bytes; --output json has it]
        [resource note://1]
        body
        [resource note://2]
        {"type":"novel","x":1}
    "#]]
    .assert_eq(&show::result(result));
}
