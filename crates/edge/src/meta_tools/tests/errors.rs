//! Errors in full: what a model reads when it asks wrongly.

use std::fmt::Write as _;

use expect_test::expect;
use serde_json::Value;

use super::answered;

fn errors(cases: &[(&str, &str)]) -> String {
    let mut out = String::new();
    for (name, arguments) in cases {
        let result: Value = serde_json::from_str(&answered(name, arguments)).unwrap();
        assert_eq!(result["isError"], true, "{name} {arguments}: {result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        writeln!(out, "{name} {arguments}\n  {text}\n  {}", result["structuredContent"]).unwrap();
    }
    out
}

#[test]
fn wrong_arguments_are_named_with_what_they_must_be() {
    let found = errors(&[
        ("list_tools", r#"{"limit":0}"#),
        ("list_tools", r#"{"limit":501,"offset":-1}"#),
        ("list_tools", r#"{"limit":"5"}"#),
        ("list_tools", r#"{"limit":1.5}"#),
        ("list_tools", r#"{"toolset":"ops"}"#),
        (
            "filter_tools",
            r#"{"pattern":null,"case_sensitive":"yes","labels":["a"],"quary":"x"}"#,
        ),
        ("filter_tools", r#"{"labels":{"team":1}}"#),
        ("describe_tool", "{}"),
        ("describe_tool", r#"{"name":""}"#),
        ("describe_tool", r#"{"name":7}"#),
        ("list_core_tools", r#"{"include_schema":[]}"#),
    ]);
    expect![[r#"
        list_tools {"limit":0}
          list_tools: `limit` must be a whole number from 1 to 500, found 0; allowed arguments: limit, offset
          {"allowed":["limit","offset"],"arguments":["limit"],"code":"bad_arguments","message":"list_tools: `limit` must be a whole number from 1 to 500, found 0; allowed arguments: limit, offset"}
        list_tools {"limit":501,"offset":-1}
          list_tools: `limit` must be a whole number from 1 to 500, found 501; `offset` must be a whole number that is at least 0, found -1; allowed arguments: limit, offset
          {"allowed":["limit","offset"],"arguments":["limit","offset"],"code":"bad_arguments","message":"list_tools: `limit` must be a whole number from 1 to 500, found 501; `offset` must be a whole number that is at least 0, found -1; allowed arguments: limit, offset"}
        list_tools {"limit":"5"}
          list_tools: `limit` must be a whole number from 1 to 500, found a string; allowed arguments: limit, offset
          {"allowed":["limit","offset"],"arguments":["limit"],"code":"bad_arguments","message":"list_tools: `limit` must be a whole number from 1 to 500, found a string; allowed arguments: limit, offset"}
        list_tools {"limit":1.5}
          list_tools: `limit` must be a whole number from 1 to 500, found 1.5; allowed arguments: limit, offset
          {"allowed":["limit","offset"],"arguments":["limit"],"code":"bad_arguments","message":"list_tools: `limit` must be a whole number from 1 to 500, found 1.5; allowed arguments: limit, offset"}
        list_tools {"toolset":"ops"}
          list_tools: unknown argument `toolset`; allowed arguments: limit, offset
          {"allowed":["limit","offset"],"arguments":["toolset"],"code":"bad_arguments","message":"list_tools: unknown argument `toolset`; allowed arguments: limit, offset"}
        filter_tools {"pattern":null,"case_sensitive":"yes","labels":["a"],"quary":"x"}
          filter_tools: unknown argument `quary`; `pattern` must be a string, found null; `labels` must be an object of strings, found an array; `case_sensitive` must be `true` or `false`, found a string; allowed arguments: pattern, description_filter, query, labels, case_sensitive, include_schema, limit, offset
          {"allowed":["pattern","description_filter","query","labels","case_sensitive","include_schema","limit","offset"],"arguments":["case_sensitive","labels","pattern","quary"],"code":"bad_arguments","message":"filter_tools: unknown argument `quary`; `pattern` must be a string, found null; `labels` must be an object of strings, found an array; `case_sensitive` must be `true` or `false`, found a string; allowed arguments: pattern, description_filter, query, labels, case_sensitive, include_schema, limit, offset"}
        filter_tools {"labels":{"team":1}}
          filter_tools: `labels.team` must be a string, found 1; allowed arguments: pattern, description_filter, query, labels, case_sensitive, include_schema, limit, offset
          {"allowed":["pattern","description_filter","query","labels","case_sensitive","include_schema","limit","offset"],"arguments":["labels"],"code":"bad_arguments","message":"filter_tools: `labels.team` must be a string, found 1; allowed arguments: pattern, description_filter, query, labels, case_sensitive, include_schema, limit, offset"}
        describe_tool {}
          describe_tool: `name` is required and must be a string that is not empty; allowed arguments: name
          {"allowed":["name"],"arguments":["name"],"code":"bad_arguments","message":"describe_tool: `name` is required and must be a string that is not empty; allowed arguments: name"}
        describe_tool {"name":""}
          describe_tool: `name` is required and must be a string that is not empty; allowed arguments: name
          {"allowed":["name"],"arguments":["name"],"code":"bad_arguments","message":"describe_tool: `name` is required and must be a string that is not empty; allowed arguments: name"}
        describe_tool {"name":7}
          describe_tool: `name` must be a string, found 7; allowed arguments: name
          {"allowed":["name"],"arguments":["name"],"code":"bad_arguments","message":"describe_tool: `name` must be a string, found 7; allowed arguments: name"}
        list_core_tools {"include_schema":[]}
          list_core_tools: `include_schema` must be `true` or `false`, found an array; allowed arguments: include_schema
          {"allowed":["include_schema"],"arguments":["include_schema"],"code":"bad_arguments","message":"list_core_tools: `include_schema` must be `true` or `false`, found an array; allowed arguments: include_schema"}
    "#]].assert_eq(&found);
}

#[test]
fn what_is_not_there_is_said_with_what_is_near() {
    let found = errors(&[
        ("describe_tool", r#"{"name":"x_files_red_file"}"#),
        ("describe_tool", r#"{"name":"call_tool"}"#),
        ("list_prompts", r#"{"server":"note"}"#),
        ("describe_prompt", r#"{"name":"review"}"#),
        ("describe_resource", r#"{"uri":"file:///nowhere"}"#),
        ("describe_resource", r#"{"uri":"shared://one"}"#),
        ("filter_tools", r#"{"pattern":"[a"}"#),
        ("filter_resources", r#"{"pattern":"file:\\"}"#),
    ]);
    expect![[r#"
        describe_tool {"name":"x_files_red_file"}
          Tool not found: x_files_red_file. Nearest names: x_files_read_file, x_files_Write_File
          {"code":"tool_not_found","message":"Tool not found: x_files_red_file","nearest":["x_files_read_file","x_files_Write_File"]}
        describe_tool {"name":"call_tool"}
          Tool not found: call_tool (it is a meta-tool: call it by its own name, not through another one)
          {"code":"tool_not_found","message":"Tool not found: call_tool (it is a meta-tool: call it by its own name, not through another one)"}
        list_prompts {"server":"note"}
          list_prompts: `server` names no server: `note`; servers: files, notes
          {"allowed":["server","limit","offset"],"arguments":["server"],"code":"bad_arguments","message":"list_prompts: `server` names no server: `note`; servers: files, notes","servers":["files","notes"]}
        describe_prompt {"name":"review"}
          Prompt not found: review (list_prompts shows what there is)
          {"code":"prompt_not_found","message":"Prompt not found: review (list_prompts shows what there is)"}
        describe_resource {"uri":"file:///nowhere"}
          Resource not found: file:///nowhere (list_resources shows what is listed; get_resource may read URIs that no list shows)
          {"code":"resource_not_found","message":"Resource not found: file:///nowhere (list_resources shows what is listed; get_resource may read URIs that no list shows)"}
        describe_resource {"uri":"shared://one"}
          resource `shared://one` is published by servers files, notes; name one with the `server` argument of describe_resource
          {"code":"resource_ambiguous","message":"resource `shared://one` is published by servers files, notes; name one with the `server` argument of describe_resource","servers":["files","notes"]}
        filter_tools {"pattern":"[a"}
          `pattern` `[a` is malformed: `*` and `?` stand for any characters but `/`, `[a-z]` for one of a class, `\` makes the next one literal
          {"code":"bad_pattern","message":"`pattern` `[a` is malformed: `*` and `?` stand for any characters but `/`, `[a-z]` for one of a class, `\\` makes the next one literal"}
        filter_resources {"pattern":"file:\\"}
          `pattern` `file:\` is malformed: `*` and `?` stand for any characters but `/`, `[a-z]` for one of a class, `\` makes the next one literal
          {"code":"bad_pattern","message":"`pattern` `file:\\` is malformed: `*` and `?` stand for any characters but `/`, `[a-z]` for one of a class, `\\` makes the next one literal"}
    "#]].assert_eq(&found);
}

#[test]
fn whole_numbers_may_be_written_with_a_zero_fraction() {
    assert!(!answered("list_tools", r#"{"limit":5.0}"#).contains("isError"));
}
