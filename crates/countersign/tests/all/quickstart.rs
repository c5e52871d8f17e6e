//! The main job in one command.

use crate::running::{Running, assert_code, err, is_warden, lives, out, run, until};

#[test]
fn quickstart_serves_its_samples_leaves_nothing_running_and_finds_its_state_again() {
    let home = tempfile::tempdir().expect("a folder");
    let args = ["quickstart", "--dir", "qs", "--listen", "127.0.0.1:0"];

    let mut first = Running::start(home.path(), &args);
    for expected in [
        "MCP address",
        "claude mcp add --transport http countersign http://127.0.0.1:",
        "mcpServers",
        ".vscode/mcp.json",
        "Add a note",
    ] {
        first.line_with(expected);
    }
    first.line_with("tools call x_clock_now");
    let children = first.children();
    let (wardens, servers): (Vec<u32>, Vec<u32>) = children.iter().partition(|pid| is_warden(**pid));
    assert_eq!(servers.len(), 2, "the notes and the clock run as processes");
    assert_eq!(wardens.len(), 1, "one warden watches over both");
    let note = r#"{"title": "Ada", "text": "call at four"}"#;
    let added = run(
        home.path(),
        &["tools", "call", "x_notes_add_note", "--args", note, "--url", &first.url],
    );
    assert_code(&added, 0);
    assert!(out(&added).contains("note://1"), "{}", out(&added));
    let time = run(home.path(), &["tools", "call", "x_clock_now", "--url", &first.url]);
    assert_code(&time, 0);
    assert_eq!(err(&time), "");
    assert!(first.end("INT").success());
    until("all children have ended", || children.iter().all(|pid| !lives(*pid)));

    let second = Running::start(home.path(), &args);
    let listed = run(
        home.path(),
        &["tools", "call", "x_notes_list_notes", "--url", &second.url],
    );
    assert!(out(&listed).contains("Ada"), "{} {}", out(&listed), err(&listed));
    let children = second.children();
    assert!(second.end("TERM").success());
    until("all children have ended", || children.iter().all(|pid| !lives(*pid)));
}

#[test]
fn quickstart_for_programs_prints_one_json_object() {
    let home = tempfile::tempdir().expect("a folder");
    let mut running = Running::start(
        home.path(),
        &[
            "quickstart",
            "--dir",
            "qs",
            "--listen",
            "127.0.0.1:0",
            "--output",
            "json",
        ],
    );
    let line = running.line_with("\"url\"");
    let guide: serde_json::Value = serde_json::from_str(&line).expect("JSON on one line");
    assert_eq!(
        guide["clients"]["cursor"]["mcpServers"]["countersign"]["url"],
        running.url
    );
    assert_eq!(guide["servers"].as_array().map(Vec::len), Some(2));
    assert!(
        running.end("HUP").success(),
        "closing the terminal is a stop like any other"
    );
}

#[test]
fn taken_port_is_named_with_the_way_out() {
    let home = tempfile::tempdir().expect("a folder");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("bound").to_string();
    let output = run(home.path(), &["quickstart", "--dir", "qs", "--listen", &address]);
    assert_code(&output, 1);
    assert!(
        err(&output).contains(&address) && err(&output).contains("--listen"),
        "{}",
        err(&output)
    );
}
