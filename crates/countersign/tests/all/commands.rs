//! Commands that end at once: exit codes, and what they say.

use std::fs;
use std::process::Stdio;

use crate::running::{Folder, assert_code, clocks, countersign, err, out, run};

#[test]
fn check_says_ok_and_counts() {
    let folder = Folder::new(&clocks(&["a", "b"]));
    let output = folder.run(&["check", "--config", folder.path()]);
    assert_code(&output, 0);
    assert!(out(&output).starts_with("ok: 2 servers"), "{}", out(&output));

    let json = folder.run(&["check", "--config", folder.path(), "--output", "json"]);
    let report: serde_json::Value = serde_json::from_str(&out(&json)).expect("JSON");
    assert_eq!(report["ok"], true);
    assert_eq!(report["servers"], serde_json::json!(["a", "b"]));
}

#[test]
fn check_shows_the_place_of_every_problem_and_exits_with_2() {
    let folder = Folder::new(&clocks(&["a"]));
    folder.write("countersign.yaml", "listen: 127.0.0.1:0\nsurfac: meta\n");
    let output = folder.run(&["check", "--config", folder.path()]);
    assert_code(&output, 2);
    let text = err(&output);
    for expected in ["countersign.yaml:2:1", "surfac", "surface"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert_eq!(out(&output), "");

    let json = folder.run(&["check", "--config", folder.path(), "--output", "json"]);
    assert_code(&json, 2);
    let report: serde_json::Value = serde_json::from_str(&out(&json)).expect("JSON");
    assert_eq!(
        (&report["ok"], &report["problems"][0]["line"]),
        (&false.into(), &2.into())
    );
}

#[test]
fn b062_check_names_every_preset_rule_that_is_no_pattern_or_can_match_nothing() {
    let folder = Folder::new(&clocks(&["github"]));
    let preset = |globs: &str| format!("toolsetPresets:\n  mine:\n    include: [{globs}]\n");
    // Without asking the server: names it might have are not told of.
    let could = r#"{pattern: "x_git?ub_*"}, {pattern: "**"}, {server: github}, {tool: x_github_any}"#;
    folder.write("countersign.yaml", &preset(could));
    let output = folder.run(&["check", "--config", folder.path()]);
    assert_code(&output, 0);
    assert!(!out(&output).contains("preset_rule_idle"), "{}", out(&output));

    let idle = r#"{pattern: "mcp__*(*)"}, {pattern: "github*"}, {pattern: ".*"}, {pattern: "a|b"}, {pattern: "X_GITHUB_*"}, {server: gitlab}"#;
    folder.write("countersign.yaml", &preset(idle));
    let json = folder.run(&["check", "--config", folder.path(), "--output", "json"]);
    assert_code(&json, 0);
    let report: serde_json::Value = serde_json::from_str(&out(&json)).expect("JSON");
    let findings = report["findings"].as_array().expect("a list");
    let subjects: Vec<&str> = findings
        .iter()
        .filter_map(|finding| finding["subject"].as_str())
        .collect();
    let wanted: Vec<String> = (0..6).map(|number| format!("mine.include[{number}]")).collect();
    assert_eq!(subjects, wanted);
    let table = folder.run(&["check", "--config", folder.path()]);
    assert!(
        out(&table).contains("(pattern: github*) selects nothing"),
        "{}",
        out(&table)
    );

    folder.write("countersign.yaml", &preset(r#"{pattern: "x_[a"}, {pattern: ""}"#));
    let broken = folder.run(&["check", "--config", folder.path()]);
    assert_code(&broken, 2);
    for place in ["toolsetPresets.mine.include[0]", "toolsetPresets.mine.include[1]"] {
        assert!(err(&broken).contains(place), "{}", err(&broken));
    }
}

#[test]
fn serve_and_stdio_refuse_a_broken_folder_with_2() {
    let folder = Folder::new("{ not json");
    for command in ["serve", "stdio"] {
        let output = folder.run(&[command, "--config", folder.path()]);
        assert_code(&output, 2);
        assert!(err(&output).contains("mcp.json"), "{}", err(&output));
    }
}

#[test]
fn wrong_usage_exits_with_2() {
    let home = tempfile::tempdir().expect("a folder");
    let cases: [&[&str]; 7] = [
        &[],
        &["bogus"],
        &["serve", "--listen", "nowhere"],
        &["check", "--config", "absent"],
        &["tools", "call", "x", "--args", "[1]"],
        &["tools", "list", "--url", "ftp://x"],
        &["import", "absent.json"],
    ];
    for args in cases {
        assert_code(&run(home.path(), args), 2);
    }
}

#[test]
fn address_that_others_reach_is_refused() {
    let folder = Folder::new(&clocks(&[]));
    let output = folder.run(&["serve", "--config", folder.path(), "--listen", "0.0.0.0:0"]);
    assert_code(&output, 2);
    assert!(err(&output).contains("loopback"), "{}", err(&output));
}

#[test]
fn taken_metrics_address_is_named_with_the_way_out() {
    let folder = Folder::new(&clocks(&[]));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("bound");
    folder.write(
        "countersign.yaml",
        &format!("listen: 127.0.0.1:0\nmetrics: {{listen: \"{address}\"}}\n"),
    );
    let output = folder.run(&["serve", "--config", folder.path()]);
    assert_code(&output, 1);
    assert!(
        err(&output).contains(&format!("the metrics address {address} is in use")),
        "{}",
        err(&output)
    );
    assert!(err(&output).contains("metrics: {listen: ADDR}"), "{}", err(&output));
}

#[test]
fn import_writes_our_file_once_and_replaces_it_only_when_told() {
    let home = tempfile::tempdir().expect("a folder");
    let theirs = home.path().join("claude_desktop_config.json");
    fs::write(
        &theirs,
        r#"{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}, "theme": "dark"}"#,
    )
    .expect("written");
    let args = ["import", "claude_desktop_config.json", "--dir", "conf"];
    let first = run(home.path(), &args);
    assert_code(&first, 0);
    assert!(
        out(&first).contains("1 server taken over") && out(&first).contains("time"),
        "{}",
        out(&first)
    );
    let ours = home.path().join("conf/mcp.json");
    let text = fs::read_to_string(&ours).expect("written");
    assert!(text.contains("mcp-server-time"), "{text}");
    assert_code(&run(home.path(), &["check", "--config", "conf"]), 0);

    fs::write(&ours, "{\"mcpServers\": {}}").expect("edited");
    let second = run(home.path(), &args);
    assert_code(&second, 2);
    assert!(err(&second).contains("--force"), "{}", err(&second));
    assert_eq!(fs::read_to_string(&ours).expect("kept"), "{\"mcpServers\": {}}");

    assert_code(
        &run(
            home.path(),
            &["import", "claude_desktop_config.json", "--dir", "conf", "--force"],
        ),
        0,
    );
    assert_eq!(fs::read_to_string(&ours).expect("replaced"), text);
    let printed = run(home.path(), &["import", "claude_desktop_config.json", "--stdout"]);
    assert_eq!(out(&printed).trim_end(), text.trim_end());
}

#[cfg(unix)]
#[test]
fn i10_imported_file_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = tempfile::tempdir().expect("a folder");
    fs::write(
        home.path().join("s.json"),
        r#"{"mcpServers": {"a": {"command": "a", "env": {"TOKEN": "t"}}}}"#,
    )
    .expect("written");
    assert_code(&run(home.path(), &["import", "s.json", "--dir", "conf"]), 0);
    let mode = fs::metadata(home.path().join("conf/mcp.json"))
        .expect("written")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn completions_know_the_commands_of_every_shell() {
    let home = tempfile::tempdir().expect("a folder");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = run(home.path(), &["completions", shell]);
        assert_code(&output, 0);
        assert!(out(&output).contains("quickstart"), "{shell}");
    }
}

#[test]
fn reader_that_went_away_is_no_error() {
    let home = tempfile::tempdir().expect("a folder");
    let mut child = countersign(home.path())
        .args(["completions", "zsh"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_code(&output, 0);
    assert_eq!(err(&output), "");
}

#[test]
fn log_is_json_where_asked_and_a_wrong_filter_is_named() {
    let folder = Folder::new("{\"mcpServers\": {}}");
    let mut command = countersign(folder.home.path());
    command
        .args(["stdio", "--config", folder.path(), "--log-format", "json"])
        .stdin(Stdio::null());
    let output = command.output().expect("the binary runs");
    assert_code(&output, 0);
    let text = err(&output);
    let events: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("one JSON object a line"))
        .collect();
    assert!(
        events
            .iter()
            .any(|event| event["message"] == "configuration applied" && event["servers"] == 0),
        "{text}"
    );

    let wrong = command
        .env("RUST_LOG", "engine=loud")
        .output()
        .expect("the binary runs");
    assert_code(&wrong, 2);
    assert!(err(&wrong).contains("engine=loud"), "{}", err(&wrong));
}
