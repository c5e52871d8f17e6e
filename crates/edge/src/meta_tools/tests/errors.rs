//! Errors in full: what a model reads when it asks wrongly.

use std::fmt::Write as _;

use expect_test::expect;
use serde_json::Value;

use super::super::find;
use super::{answered, published};

fn errors(cases: &[(&str, &str)]) -> String {
    let mut out = String::new();
    for (name, arguments) in cases {
        let result: Value = serde_json::from_str(&answered(name, arguments)).unwrap();
        assert_eq!(result["isError"], true, "{name} {arguments}: {result}");
        // TypeScript clients check errors against the output schema too.
        let schema = published(find(name).unwrap())["outputSchema"].clone();
        assert!(
            jsonschema::draft202012::is_valid(&schema, &result["structuredContent"]),
            "{name} {arguments}"
        );
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
        ("describe_resource", "{}"),
        ("describe_prompt", r#"{"nam":"x"}"#),
        ("list_resources", r#"{"pattern":"*"}"#),
    ]);
    expect![[r#"
        list_tools {"limit":0}
          list_tools: `limit` must be a whole number from 1 to 500, found 0; allowed arguments: limit, offset
          {"allowed_arguments":["limit","offset"],"code":"bad_arguments","message":"list_tools: `limit` must be a whole number from 1 to 500, found 0; allowed arguments: limit, offset","wrong_arguments":["limit"]}
        list_tools {"limit":501,"offset":-1}
          list_tools: `limit` must be a whole number from 1 to 500, found 501; `offset` must be a whole number that is at least 0, found -1; allowed arguments: limit, offset
          {"allowed_arguments":["limit","offset"],"code":"bad_arguments","message":"list_tools: `limit` must be a whole number from 1 to 500, found 501; `offset` must be a whole number that is at least 0, found -1; allowed arguments: limit, offset","wrong_arguments":["limit","offset"]}
        list_tools {"limit":"5"}
          list_tools: `limit` must be a whole number from 1 to 500, found a string; allowed arguments: limit, offset
          {"allowed_arguments":["limit","offset"],"code":"bad_arguments","message":"list_tools: `limit` must be a whole number from 1 to 500, found a string; allowed arguments: limit, offset","wrong_arguments":["limit"]}
        list_tools {"limit":1.5}
          list_tools: `limit` must be a whole number from 1 to 500, found 1.5; allowed arguments: limit, offset
          {"allowed_arguments":["limit","offset"],"code":"bad_arguments","message":"list_tools: `limit` must be a whole number from 1 to 500, found 1.5; allowed arguments: limit, offset","wrong_arguments":["limit"]}
        list_tools {"toolset":"ops"}
          list_tools: unknown argument `toolset`; allowed arguments: limit, offset
          {"allowed_arguments":["limit","offset"],"code":"bad_arguments","message":"list_tools: unknown argument `toolset`; allowed arguments: limit, offset","wrong_arguments":["toolset"]}
        filter_tools {"pattern":null,"case_sensitive":"yes","labels":["a"],"quary":"x"}
          filter_tools: unknown argument `quary`; `pattern` must be a string, found null; `labels` must be an object of strings, found an array; `case_sensitive` must be `true` or `false`, found a string; allowed arguments: pattern, description_filter, query, labels, case_sensitive, include_schema, toolset, include_presets, limit, offset
          {"allowed_arguments":["pattern","description_filter","query","labels","case_sensitive","include_schema","toolset","include_presets","limit","offset"],"code":"bad_arguments","message":"filter_tools: unknown argument `quary`; `pattern` must be a string, found null; `labels` must be an object of strings, found an array; `case_sensitive` must be `true` or `false`, found a string; allowed arguments: pattern, description_filter, query, labels, case_sensitive, include_schema, toolset, include_presets, limit, offset","wrong_arguments":["case_sensitive","labels","pattern","quary"]}
        filter_tools {"labels":{"team":1}}
          filter_tools: `labels.team` must be a string, found 1; allowed arguments: pattern, description_filter, query, labels, case_sensitive, include_schema, toolset, include_presets, limit, offset
          {"allowed_arguments":["pattern","description_filter","query","labels","case_sensitive","include_schema","toolset","include_presets","limit","offset"],"code":"bad_arguments","message":"filter_tools: `labels.team` must be a string, found 1; allowed arguments: pattern, description_filter, query, labels, case_sensitive, include_schema, toolset, include_presets, limit, offset","wrong_arguments":["labels"]}
        describe_tool {}
          describe_tool: `name` is required and must be a string that is not empty; allowed arguments: name
          {"allowed_arguments":["name"],"code":"bad_arguments","message":"describe_tool: `name` is required and must be a string that is not empty; allowed arguments: name","wrong_arguments":["name"]}
        describe_tool {"name":""}
          describe_tool: `name` is required and must be a string that is not empty; allowed arguments: name
          {"allowed_arguments":["name"],"code":"bad_arguments","message":"describe_tool: `name` is required and must be a string that is not empty; allowed arguments: name","wrong_arguments":["name"]}
        describe_tool {"name":7}
          describe_tool: `name` must be a string, found 7; allowed arguments: name
          {"allowed_arguments":["name"],"code":"bad_arguments","message":"describe_tool: `name` must be a string, found 7; allowed arguments: name","wrong_arguments":["name"]}
        list_core_tools {"include_schema":[]}
          list_core_tools: `include_schema` must be `true` or `false`, found an array; allowed arguments: include_schema
          {"allowed_arguments":["include_schema"],"code":"bad_arguments","message":"list_core_tools: `include_schema` must be `true` or `false`, found an array; allowed arguments: include_schema","wrong_arguments":["include_schema"]}
        describe_resource {}
          describe_resource: `uri` is required and must be a string that is not empty; allowed arguments: uri, server
          {"allowed_arguments":["uri","server"],"code":"bad_arguments","message":"describe_resource: `uri` is required and must be a string that is not empty; allowed arguments: uri, server","wrong_arguments":["uri"]}
        describe_prompt {"nam":"x"}
          describe_prompt: unknown argument `nam`; `name` is required and must be a string that is not empty; allowed arguments: name
          {"allowed_arguments":["name"],"code":"bad_arguments","message":"describe_prompt: unknown argument `nam`; `name` is required and must be a string that is not empty; allowed arguments: name","wrong_arguments":["nam","name"]}
        list_resources {"pattern":"*"}
          list_resources: unknown argument `pattern`; allowed arguments: server, limit, offset
          {"allowed_arguments":["server","limit","offset"],"code":"bad_arguments","message":"list_resources: unknown argument `pattern`; allowed arguments: server, limit, offset","wrong_arguments":["pattern"]}
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
          {"allowed_arguments":["server","limit","offset"],"code":"bad_arguments","message":"list_prompts: `server` names no server: `note`; servers: files, notes","servers":["files","notes"],"wrong_arguments":["server"]}
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
