//! The samples, spoken to in both eras.
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::server::{Offer, serve};
use super::{clock, notes};

const MODERN: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// All that a sample writes for some lines.
fn talk(offer: &mut dyn Offer, lines: &[String]) -> Vec<Value> {
    let mut output = Vec::new();
    serve(offer, lines.join("\n").as_bytes(), &mut output).expect("memory does not fail");
    let text = String::from_utf8(output).expect("UTF-8");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("one JSON message a line"))
        .collect()
}

fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
}

fn call(offer: &mut dyn Offer, tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments}).to_string();
    talk(offer, &[request("tools/call", &params)]).remove(0)["result"].clone()
}

fn notes_in(dir: &Path) -> notes::Notes {
    notes::Notes::new(dir.join("notes.json"))
}

#[test]
fn legacy_handshake_answers_the_asked_version_without_modern_members() {
    let lines = [
        request(
            "initialize",
            r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}"#,
        ),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
        request("tools/list", "{}"),
    ];
    let answers = talk(&mut clock::Clock, &lines);
    assert_eq!(answers[0]["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(answers[1]["result"]["tools"].as_array().map(Vec::len), Some(2));
    assert_eq!(answers[1]["result"].get("resultType"), None);
}

#[test]
fn modern_requests_need_no_handshake_and_carry_the_modern_members() {
    let lines = [
        request("server/discover", &format!("{{{MODERN}}}")),
        request("tools/list", &format!("{{{MODERN}}}")),
    ];
    let answers = talk(&mut clock::Clock, &lines);
    assert_eq!(answers[0]["result"]["supportedVersions"][0], "2026-07-28");
    assert_eq!(answers[1]["result"]["resultType"], "complete");
    assert_eq!(answers[1]["result"]["cacheScope"], "private");
}

#[test]
fn notes_live_in_their_file() {
    let dir = tempfile::tempdir().expect("a folder");
    let added = call(
        &mut notes_in(dir.path()),
        "add_note",
        &json!({"title": "Milk", "text": "Buy oat milk"}),
    );
    assert_eq!(added["structuredContent"]["id"], "1");
    let found = call(&mut notes_in(dir.path()), "search_notes", &json!({"query": "OAT milk"}));
    assert_eq!(found["structuredContent"]["notes"][0]["title"], "Milk");
    let read = call(&mut notes_in(dir.path()), "read_note", &json!({"id": "1"}));
    assert_eq!(read["structuredContent"]["text"], "Buy oat milk");
    call(&mut notes_in(dir.path()), "delete_note", &json!({"id": "1"}));
    let gone = call(&mut notes_in(dir.path()), "read_note", &json!({"id": "1"}));
    assert_eq!(gone["isError"], true);
    let next = call(
        &mut notes_in(dir.path()),
        "add_note",
        &json!({"title": "a", "text": "b"}),
    );
    assert_eq!(next["structuredContent"]["id"], "2", "an id is never used twice");
}

#[test]
fn broken_notes_file_is_set_aside_and_kept() {
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join("notes.json"), "{half").expect("written");
    let listed = call(&mut notes_in(dir.path()), "list_notes", &json!({}));
    assert_eq!(listed["structuredContent"]["notes"], json!([]));
    assert_eq!(
        fs::read_to_string(dir.path().join("notes.json.broken-1")).expect("kept"),
        "{half"
    );
}

#[test]
fn wrong_arguments_are_tool_errors_that_name_them() {
    let dir = tempfile::tempdir().expect("a folder");
    let cases = [
        ("add_note", json!({"title": "a"}), "`text` is required"),
        ("add_note", json!({"title": 1, "text": "b"}), "`title` must be a string"),
        (
            "add_note",
            json!({"title": " ", "text": "b"}),
            "`title` must not be empty",
        ),
        ("list_notes", json!({"limit": 1}), "`limit` is not known"),
        ("read_note", json!({"id": "9"}), "note `9` is not known"),
    ];
    for (tool, arguments, expected) in cases {
        let result = call(&mut notes_in(dir.path()), tool, &arguments);
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        assert!(
            result["isError"] == true && text.contains(expected),
            "{tool} {arguments}: {result}"
        );
    }
}

#[test]
fn notes_are_resources_and_changes_are_announced_to_both_eras() {
    let dir = tempfile::tempdir().expect("a folder");
    let listen = format!(r#"{{"notifications":{{"resourcesListChanged":true}},{MODERN}}}"#);
    let lines = [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
        request("subscriptions/listen", &listen),
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add_note","arguments":{"title":"t","text":"x"}}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"note://1"}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"note://7"}}"#.to_owned(),
    ];
    let answers = talk(&mut notes_in(dir.path()), &lines);
    let methods: Vec<&str> = answers.iter().filter_map(|answer| answer["method"].as_str()).collect();
    let changed = "notifications/resources/list_changed";
    assert_eq!(methods, ["notifications/subscriptions/acknowledged", changed, changed]);
    assert_eq!(
        answers[3]["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        1
    );
    assert_eq!(answers[4]["result"]["contents"][0]["text"], "x");
    assert_eq!(answers[5]["error"]["code"], -32002);
}

#[test]
fn prompt_carries_the_notes_it_is_about() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut notes = notes_in(dir.path());
    call(&mut notes, "add_note", &json!({"title": "Milk", "text": "oat"}));
    call(&mut notes, "add_note", &json!({"title": "Car", "text": "wash"}));
    let params = json!({"name": "summarize_notes", "arguments": {"topic": "milk"}}).to_string();
    let answer = talk(&mut notes, &[request("prompts/get", &params)]).remove(0);
    let messages = answer["result"]["messages"].as_array().expect("messages");
    assert_eq!(messages.len(), 2);
    assert_eq!(messages[1]["content"]["resource"]["uri"], "note://1");
}

#[test]
fn clock_converts_between_names_and_offsets() {
    let cases = [
        (
            json!({"time": "2026-07-28T09:30", "from": "Europe/Vienna", "to": "America/New_York"}),
            "2026-07-28T03:30:00-04:00",
        ),
        (
            json!({"time": "2026-07-28T09:30:00Z", "to": "+05:30"}),
            "2026-07-28T15:00:00+05:30",
        ),
        (
            json!({"time": "2026-01-01T00:00", "from": "-08:00", "to": "UTC"}),
            "2026-01-01T08:00:00+00:00",
        ),
    ];
    for (arguments, expected) in cases {
        let result = call(&mut clock::Clock, "convert", &arguments);
        assert_eq!(
            result["structuredContent"]["to"]["time"], expected,
            "{arguments}: {result}"
        );
    }
}

#[test]
fn clock_names_what_it_cannot_read() {
    for (arguments, expected) in [
        (
            json!({"time": "now", "from": "UTC", "to": "UTC"}),
            "`now` is not a time",
        ),
        (json!({"time": "2026-01-01T00:00", "to": "UTC"}), "needs `from`"),
        (
            json!({"time": "2026-01-01T00:00Z", "to": "Mars/Base"}),
            "`Mars/Base` is no time zone",
        ),
    ] {
        let result = call(&mut clock::Clock, "convert", &arguments);
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        assert!(
            result["isError"] == true && text.contains(expected),
            "{arguments}: {result}"
        );
    }
}

#[test]
fn bad_lines_get_an_error_and_the_next_line_its_answer() {
    let long = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#, "x".repeat(1_100_000));
    let lines = [
        "{".to_owned(),
        long,
        "[]".to_owned(),
        String::new(),
        request("ping", "{}"),
        request("nope", "{}"),
    ];
    let answers = talk(&mut clock::Clock, &lines);
    assert_eq!(answers[0]["error"]["code"], -32700);
    assert_eq!(answers[1]["error"]["code"], -32600);
    assert_eq!(answers[answers.len() - 2]["result"], json!({}));
    assert_eq!(answers[answers.len() - 1]["error"]["code"], -32601);
}
