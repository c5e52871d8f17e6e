//! Lists, filters and descriptions.

use countersign_core::catalogue::{Availability, Server};
use expect_test::expect;
use serde_json::{Value, json};

use super::{ODD_SCHEMA, answered, answered_in, entry, names, notes, structured, world_of};

#[test]
fn list_tools_shows_the_catalogue_in_order_and_the_servers_that_are_down() {
    let mut answer = structured("list_tools", r#"{"limit":3}"#);
    assert!(answer["total"].as_u64().unwrap() > 3);
    assert_eq!(answer["total_tools"], answer["total"]);
    answer["total"] = json!("…");
    answer["total_tools"] = json!("…");
    expect![[r#"
        {
          "filters": {
            "limit": 3,
            "offset": 0
          },
          "servers_unavailable": [
            {
              "reason": "connection refused",
              "server": "notes",
              "state": "unavailable"
            }
          ],
          "tools": [
            {
              "annotations": {
                "readOnlyHint": true,
                "x-vendor": 9007199254740993
              },
              "effect": "read_only",
              "kind": "tool",
              "labels": {
                "team": "docs",
                "zone": "eu"
              },
              "name": "x_files_read_file",
              "on_call": "runs",
              "server": "files",
              "summary": "Reads a file.",
              "title": "Read a file"
            },
            {
              "effect": "mutating",
              "kind": "tool",
              "labels": {
                "team": "docs",
                "zone": "eu"
              },
              "name": "x_files_Write_File",
              "on_call": "runs",
              "server": "files",
              "summary": "Writes a file."
            },
            {
              "effect": "mutating",
              "kind": "tool",
              "labels": {
                "team": "notes"
              },
              "name": "x_notes_add",
              "on_call": "runs",
              "server": "notes",
              "summary": "Adds a note to the notebook."
            }
          ],
          "total": "…",
          "total_tools": "…",
          "truncated": true
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&answer).unwrap());
}

#[test]
fn servers_stand_before_core_tools_and_tools_of_an_app_page_are_not_offered() {
    let all = names("list_tools", r#"{"limit":500}"#);
    assert_eq!(all[..3], ["x_files_read_file", "x_files_Write_File", "x_notes_add"]);
    assert!(all[3..].iter().all(|name| name.starts_with("core_")), "{all:?}");
    assert_eq!(names("list_core_tools", "{}"), all[3..]);
    assert_eq!(names("filter_tools", r#"{"pattern":"*poll"}"#), [""; 0]);
    assert_eq!(names("filter_tools", r#"{"query":"poll"}"#), [""; 0]);
    assert_eq!(
        structured("describe_tool", r#"{"name":"x_files_poll"}"#)["original_name"],
        "poll"
    );
}

#[test]
fn filters_all_hold_together() {
    let table = [
        (
            r#"{"pattern":"X_FILES_*"}"#,
            vec!["x_files_read_file", "x_files_Write_File"],
        ),
        (r#"{"pattern":"x_files_write_file","case_sensitive":true}"#, vec![]),
        (
            r#"{"pattern":"x_files_Write_File","case_sensitive":true}"#,
            vec!["x_files_Write_File"],
        ),
        (r#"{"pattern":"files"}"#, vec![]),
        (r#"{"description_filter":"WRITES"}"#, vec!["x_files_Write_File"]),
        (r#"{"description_filter":"WRITES","case_sensitive":true}"#, vec![]),
        (r#"{"description_filter":"More lines"}"#, vec!["x_files_read_file"]),
        (
            r#"{"labels":{"team":"docs","zone":"eu"}}"#,
            vec!["x_files_read_file", "x_files_Write_File"],
        ),
        (r#"{"labels":{"team":"docs","zone":"us"}}"#, vec![]),
        (
            r#"{"labels":{"team":"docs"},"description_filter":"writes"}"#,
            vec!["x_files_Write_File"],
        ),
        (r#"{"labels":{"team":"docs"},"query":"add a note"}"#, vec![]),
        (r#"{"query":"add a note","pattern":"x_*"}"#, vec!["x_notes_add"]),
        (
            r#"{"pattern":"","query":"","description_filter":"","labels":{},"limit":1}"#,
            vec!["x_files_read_file"],
        ),
    ];
    for (arguments, expected) in table {
        assert_eq!(names("filter_tools", arguments), expected, "{arguments}");
    }
}

#[test]
fn a_query_ranks_and_scores() {
    let answer = structured("filter_tools", r#"{"query":"write a file"}"#);
    let tools = answer["tools"].as_array().unwrap();
    assert_eq!(tools[0]["name"], "x_files_Write_File");
    let scores: Vec<f64> = tools.iter().map(|tool| tool["score"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|one, next| one >= next), "{scores:?}");
    assert!(structured("filter_tools", "{}")["tools"][0].get("score").is_none());
}

#[test]
fn pages_cover_everything_once() {
    let all = names("list_tools", r#"{"limit":500}"#);
    let mut paged = Vec::new();
    loop {
        let answer = structured("list_tools", &format!(r#"{{"limit":2,"offset":{}}}"#, paged.len()));
        let shown = answer["tools"].as_array().unwrap();
        paged.extend(shown.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
        assert_eq!(answer["truncated"], paged.len() < all.len());
        if answer["truncated"] == false {
            break;
        }
    }
    assert_eq!(paged, all);
    let beyond = structured("list_tools", r#"{"offset":18446744073709551615}"#);
    assert_eq!((&beyond["tools"], &beyond["truncated"]), (&json!([]), &json!(false)));
}

#[test]
fn schemas_and_hints_pass_byte_for_byte() {
    for (name, arguments) in [
        ("describe_tool", r#"{"name":"x_files_read_file"}"#),
        ("filter_tools", r#"{"include_schema":true}"#),
    ] {
        let raw = answered(name, arguments);
        assert!(raw.contains(&format!(r#""inputSchema":{ODD_SCHEMA}"#)), "{raw}");
        assert!(
            raw.contains(r#""annotations":{"readOnlyHint": true,"x-vendor":9007199254740993}"#),
            "{raw}"
        );
    }
    let raw = answered("describe_tool", r#"{"name":"x_files_read_file"}"#);
    assert!(raw.contains(r#""outputSchema":{"type": "object"}"#), "{raw}");
    let raw = answered("describe_resource", r#"{"uri":"file:///docs/a.md"}"#);
    assert!(raw.contains(r#""size": 9007199254740993}"#), "{raw}");
}

#[test]
fn describe_tool_tells_all() {
    let answer = structured("describe_tool", r#"{"name":"x_notes_add"}"#);
    expect![[r#"
        {
          "description": "Adds a note to the notebook.",
          "effect": "mutating",
          "inputSchema": {
            "properties": {
              "text": {
                "type": "string"
              }
            },
            "required": [
              "text"
            ],
            "type": "object"
          },
          "invocation": {
            "arguments": {
              "arguments": {
                "text": "<text>"
              },
              "name": "x_notes_add"
            },
            "tool": "call_tool"
          },
          "kind": "tool",
          "labels": {
            "team": "notes"
          },
          "name": "x_notes_add",
          "on_call": "runs",
          "original_name": "add",
          "server": "notes"
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&answer).unwrap());
}

#[test]
fn an_invocation_has_a_place_for_every_required_parameter() {
    let raw = answered("describe_tool", r#"{"name":"x_files_read_file"}"#);
    assert!(
        raw.contains(
            r#""invocation":{"tool":"call_tool","arguments":{"name":"x_files_read_file","arguments":{"path":"<path>","mode":9007199254740993}}}"#
        ),
        "{raw}"
    );
    let prompt = structured("describe_prompt", r#"{"name":"x_files_review"}"#);
    assert_eq!(
        prompt["invocation"],
        json!({"tool": "get_prompt", "arguments": {"name": "x_files_review", "arguments": {"path": "<path>"}}})
    );
}

#[test]
fn a_star_over_uris_stands_for_slashes_too() {
    let all = structured("list_resources", "{}")["total"].clone();
    assert_eq!(structured("filter_resources", r#"{"pattern":"*"}"#)["total"], all);
    assert_eq!(
        structured("filter_resources", r#"{"pattern":"FILE:*"}"#)["filters"]["pattern"],
        "FILE:*"
    );
    assert_ne!(structured("filter_resources", r#"{"pattern":"FILE:*"}"#)["total"], 0);
}

#[test]
fn resources_and_templates_are_listed_and_described() {
    let answer = structured("filter_resources", r#"{"pattern":"file:///docs/*","server":"files"}"#);
    expect![[r#"
        {
          "filters": {
            "case_sensitive": false,
            "limit": 25,
            "offset": 0,
            "pattern": "file:///docs/*",
            "server": "files"
          },
          "resources": [
            {
              "mime_type": "text/markdown",
              "name": "a.md",
              "server": "files",
              "summary": "The first.",
              "title": "A",
              "uri": "file:///docs/a.md"
            },
            {
              "name": "doc",
              "server": "files",
              "summary": "",
              "uri_template": "file:///docs/{name}"
            }
          ],
          "servers_unavailable": [
            {
              "reason": "connection refused",
              "server": "notes",
              "state": "unavailable"
            }
          ],
          "total": 2,
          "total_resources": 4,
          "truncated": false
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&answer).unwrap());
    assert_eq!(names("list_resources", r#"{"server":"notes"}"#), ["one"]);
    assert_eq!(names("list_resources", "{}").len(), 4);
    let one = structured("describe_resource", r#"{"uri":"shared://one","server":"notes"}"#);
    assert_eq!(one["server"], "notes");
}

#[test]
fn prompts_are_listed_and_described() {
    let answer = structured("list_prompts", r#"{"server":"files"}"#);
    expect![[r#"
        {
          "filters": {
            "limit": 50,
            "offset": 0,
            "server": "files"
          },
          "prompts": [
            {
              "arguments": [
                {
                  "name": "path",
                  "required": true
                },
                {
                  "name": "tone"
                }
              ],
              "name": "x_files_review",
              "server": "files",
              "summary": "Reviews a file.",
              "title": "Review"
            }
          ],
          "servers_unavailable": [
            {
              "reason": "connection refused",
              "server": "notes",
              "state": "unavailable"
            }
          ],
          "total": 1,
          "total_prompts": 2,
          "truncated": false
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&answer).unwrap());
    assert_eq!(names("filter_prompts", r#"{"pattern":"x_notes_*"}"#), ["x_notes_plan"]);
    let described = structured("describe_prompt", r#"{"name":"x_files_review"}"#);
    assert_eq!(described["original_name"], "review");
    assert_eq!(described["definition"]["name"], "x_files_review");
}

#[test]
fn every_server_that_is_not_ready_is_said_so_with_its_reason() {
    let states = [
        Availability::Unlisted,
        Availability::Suspended,
        Availability::Stopped,
        Availability::Unavailable {
            reason: "exit code 1".to_owned(),
        },
        Availability::Ready,
    ];
    let server = |(place, availability)| Server {
        entry: entry(&format!("s{place}"), &[]),
        availability,
        ..notes()
    };
    let world = world_of(states.into_iter().enumerate().map(server).collect());
    for name in ["list_tools", "filter_tools", "list_resources", "list_prompts"] {
        let result: Value = serde_json::from_str(&answered_in(&world, name, "{}")).unwrap();
        let down = result["structuredContent"]["servers_unavailable"].as_array().unwrap();
        let states: Vec<&str> = down.iter().map(|server| server["state"].as_str().unwrap()).collect();
        assert_eq!(states, ["unlisted", "suspended", "stopped", "unavailable"], "{name}");
        assert_eq!(down[3]["reason"], "exit code 1");
    }
}

#[test]
fn an_empty_catalogue_has_the_core_tools_alone() {
    let world = world_of(Vec::new());
    let result: Value = serde_json::from_str(&answered_in(&world, "list_tools", "{}")).unwrap();
    let tools = result["structuredContent"]["tools"].as_array().unwrap();
    assert!(!tools.is_empty() && tools.iter().all(|tool| tool["kind"] == "core"));
}
