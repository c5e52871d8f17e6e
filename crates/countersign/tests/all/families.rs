//! Families on the real binary: one surface, the argument taken away, findings where people look.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::running::{Folder, Running, assert_code, err, out, until};

/// The page that a user reads.
fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/families.md");
    fs::read_to_string(path).expect("the page")
}

/// The page's first `jsonc` block, with this binary's own clock for the servers that the page names.
fn example() -> String {
    let page = page();
    let block = page
        .split("```jsonc\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let block = block.expect("an example");
    block.replace(
        "\"clock-server\"",
        &json!(env!("CARGO_BIN_EXE_countersign")).to_string(),
    )
}

fn call(folder: &Folder, gateway: &Running, name: &str, arguments: &Value) -> Value {
    let arguments = arguments.to_string();
    let output = folder.run(&[
        "tools",
        "call",
        name,
        "--args",
        &arguments,
        "--url",
        &gateway.url,
        "--output",
        "json",
    ]);
    serde_json::from_str(&out(&output)).unwrap_or_else(|_| panic!("no JSON: {output:?}"))
}

#[test]
fn the_page_s_example_runs_and_the_argument_says_where() {
    let folder = Folder::new(&example());
    let gateway = Running::start(folder.home.path(), &["serve", "--config", folder.path()]);
    let list = || out(&folder.run(&["tools", "list", "--url", &gateway.url]));
    until("both members are listed", || list().contains("x_clocks_now"));
    assert!(
        !list().contains("x_berlin_") && !list().contains("x_tokyo_"),
        "{}",
        list()
    );

    let described = out(&folder.run(&[
        "tools",
        "describe",
        "x_clocks_convert",
        "--url",
        &gateway.url,
        "--output",
        "json",
    ]));
    let described: Value = serde_json::from_str(&described).expect("JSON");
    let schema = described.get("inputSchema").expect("a schema");
    assert_eq!(
        schema["properties"]["city"]["enum"],
        json!(["berlin", "tokyo"]),
        "{described}"
    );
    assert_eq!(schema["required"][0], "city", "{described}");

    let arguments = |city: Value| json!({"time": "2026-07-28T09:30:00Z", "to": "UTC", "city": city});
    for city in ["berlin", "tokyo"] {
        let answer = call(&folder, &gateway, "x_clocks_convert", &arguments(json!(city))).to_string();
        assert!(answer.contains("2026-07-28T09:30:00+00:00"), "{answer}");
    }
    let cases = [
        (
            json!({"time": "2026-07-28T09:30:00Z", "to": "UTC"}),
            r#"tool x_clocks_convert is provided by a family on servers berlin, tokyo; the "city" parameter is required"#,
        ),
        (
            arguments(json!("paris")),
            r#"tool x_clocks_convert is not available on server "paris" (available: berlin, tokyo)"#,
        ),
        (
            arguments(json!(["tokyo"])),
            r#"tool x_clocks_convert is provided by a family on servers berlin, tokyo; the "city" parameter must be a string, not an array"#,
        ),
    ];
    for (arguments, sentence) in cases {
        let answer = call(&folder, &gateway, "x_clocks_convert", &arguments);
        assert_eq!(answer["content"][0]["text"], sentence, "{answer}");
        assert_eq!(answer["isError"], true, "{answer}");
        assert!(page().contains(&sentence.replace("x_clocks_convert", "<name>")) || sentence.contains("must be"));
    }

    // The trail names the server that ran the call; both got the same call, so the argument reached neither.
    let events = call(&folder, &gateway, "core_events", &json!({}));
    let ran = |server: &str| {
        let events = events["structuredContent"]["events"].as_array().expect("a list");
        let event = events
            .iter()
            .find(|event| event["server"] == server && event["subject"] == "convert");
        event.unwrap_or_else(|| panic!("{server}: {events:?}"))["args_sha256"].clone()
    };
    assert!(ran("tokyo").is_string());
    assert_eq!(ran("tokyo"), ran("berlin"));
}

#[test]
fn check_live_shows_what_servers_publish_and_what_to_mend() {
    let two = example().replacen("\"city\"", "\"town\"", 1);
    let folder = Folder::new(&two);
    let still = folder.run(&["check", "--config", folder.path()]);
    assert_code(&still, 0);
    assert!(
        err(&still).contains("argument `city`") && !out(&still).contains("finding"),
        "{still:?}"
    );
    let live = folder.run(&["check", "--live", "--config", folder.path(), "--output", "json"]);
    assert_code(&live, 0);
    let report: Value = serde_json::from_str(&out(&live)).expect("JSON");
    assert_eq!(report["findings"][0]["kind"], "family_argument_differs", "{report}");
    assert_eq!(
        (&report["live"][0]["name"], &report["live"][0]["state"]),
        (&json!("berlin"), &json!("ready"))
    );
    folder.write(
        "mcp.json",
        r#"{"mcpServers": {"gone": {"command": "/nowhere/at/all"}}}"#,
    );
    let gone = folder.run(&["check", "--live", "--config", folder.path()]);
    assert_code(&gone, 1);
    assert!(out(&gone).contains("gone: unavailable: "), "{gone:?}");
}

#[test]
fn membership_follows_an_edit_and_findings_are_said_once() {
    let folder = Folder::new(&example());
    let mut gateway = Running::start(folder.home.path(), &["serve", "--config", folder.path()]);
    let list = |gateway: &Running| out(&folder.run(&["tools", "list", "--url", &gateway.url]));
    until("both members are listed", || list(&gateway).contains("x_clocks_now"));
    folder.write("mcp.json", &example().replacen("\"city\"", "\"town\"", 1));
    let line = gateway.line_with("finding");
    assert!(
        line.contains("family_argument_differs") && line.contains("berlin, tokyo"),
        "{line}"
    );
    until("the members serve their tools themselves", || {
        let list = list(&gateway);
        list.contains("x_berlin_now") && list.contains("x_tokyo_now") && !list.contains("x_clocks_")
    });
    let servers = call(&folder, &gateway, "core_server_list", &json!({}));
    let findings = servers["structuredContent"]["findings"].as_array().expect("a list");
    assert!(
        !findings.is_empty()
            && findings
                .iter()
                .all(|finding| finding["kind"] == "family_argument_differs"),
        "{servers}"
    );
    assert!(
        findings
            .iter()
            .all(|finding| finding["way_out"].is_string() && finding["servers"] == json!(["berlin", "tokyo"]))
    );
    folder.write("mcp.json", &example());
    gateway.line_with("finding is no more");
    until("the family is back", || list(&gateway).contains("x_clocks_now"));
}
