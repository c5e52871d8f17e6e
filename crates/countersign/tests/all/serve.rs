//! The gateway over HTTP and stdio, and edits while it runs.

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use crate::running::{Folder, Running, assert_code, clocks, countersign, err, out, until};

fn tools(folder: &Folder, gateway: &Running) -> String {
    let output = folder.run(&["tools", "list", "--url", &gateway.url]);
    assert_code(&output, 0);
    out(&output)
}

#[test]
fn edit_applies_while_running_and_a_broken_one_keeps_what_was() {
    let folder = Folder::new(&clocks(&["one"]));
    let mut gateway = Running::start(folder.home.path(), &["serve", "--config", folder.path()]);
    until("the first server is listed", || {
        tools(&folder, &gateway).contains("x_one_now")
    });
    let before = gateway.children();

    folder.write("mcp.json", &clocks(&["one", "two"]));
    let line = gateway.line_with("changed=1");
    assert!(
        line.contains("configuration applied") && line.contains("servers=2") && line.contains("hash="),
        "{line}"
    );
    until("the second server is listed", || {
        tools(&folder, &gateway).contains("x_two_now")
    });
    assert!(
        before.iter().all(|pid| gateway.children().contains(pid)),
        "the unchanged server was not touched"
    );

    folder.write("mcp.json", "{\"mcpServers\": {\"one\": {\"comand\": \"x\"}}}");
    gateway.line_with("configuration not applied");
    let listed = tools(&folder, &gateway);
    assert!(listed.contains("x_one_now") && listed.contains("x_two_now"), "{listed}");

    folder.write("mcp.json", &clocks(&["two"]));
    gateway.line_with("changed=1");
    until("the removed server is gone", || {
        !tools(&folder, &gateway).contains("x_one_now")
    });
    assert!(gateway.end("TERM").success());
}

#[test]
fn listen_cannot_change_while_running_and_the_log_says_so() {
    let folder = Folder::new(&clocks(&[]));
    let mut gateway = Running::start(folder.home.path(), &["serve", "--config", folder.path()]);
    folder.write(
        "countersign.yaml",
        "listen: 127.0.0.1:1\nmetrics: {listen: \"127.0.0.1:0\"}\n",
    );
    let line = gateway.line_with("next start");
    assert!(line.contains("listen"), "{line}");
}

#[test]
fn stdio_answers_one_client_and_ends_with_its_input() {
    let folder = Folder::new(&clocks(&["clock"]));
    let mut child = countersign(folder.home.path())
        .args(["stdio", "--config", folder.path()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let messages = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x_clock_convert","arguments":{"time":"2026-07-28T09:30:00Z","to":"+05:30"}}}"#,
    ];
    let mut stdin = child.stdin.take().expect("piped");
    let mut stdout = std::io::BufReader::new(child.stdout.take().expect("piped"));
    let mut answers = Vec::new();
    for message in messages {
        writeln!(stdin, "{message}").expect("written");
        if message.contains("\"id\"") {
            answers.push(next_answer(&mut stdout));
        }
    }
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert_code(&output, 0);
    assert_eq!(answers[0]["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(
        answers[1]["result"]["structuredContent"]["to"]["time"],
        "2026-07-28T15:00:00+05:30",
        "{} {}",
        answers[1],
        err(&output)
    );
}

#[test]
fn stdio_ends_on_a_signal_while_its_input_stays_open() {
    let folder = Folder::new(&clocks(&[]));
    let mut child = countersign(folder.home.path())
        .args(["stdio", "--config", folder.path()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts");
    let mut stdin = child.stdin.take().expect("piped");
    writeln!(stdin, r#"{{"jsonrpc":"2.0","id":1,"method":"ping"}}"#).expect("written");
    next_answer(&mut std::io::BufReader::new(child.stdout.take().expect("piped")));
    let kill = std::process::Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status();
    assert!(kill.expect("kill runs").success());
    assert!(child.wait().expect("the process ends").success());
    drop(stdin);
}

/// The next message with an id; notifications on the way are not asked for here.
fn next_answer(lines: &mut impl std::io::BufRead) -> Value {
    loop {
        let mut line = String::new();
        assert!(lines.read_line(&mut line).expect("read") > 0, "the output ended");
        let message: Value = serde_json::from_str(&line).expect("every line of stdout is a message");
        if message.get("id").is_some() {
            return message;
        }
    }
}
