//! References in values: one rule everywhere, and an unset variable is an error that says where.

use serde_json::json;

use crate::gateway::Folder;
use crate::pipes::{PYTHON, server, start_of};
use crate::upstream::{Era, Script};

/// One entry with a value in the place of each kind.
fn entry(place: &str, value: &str) -> String {
    let value = serde_json::to_string(value).expect("JSON");
    match place {
        "command" => format!(r#"{{"command": {value}}}"#),
        "args" => format!(r#"{{"command": "x", "args": ["a", {value}]}}"#),
        "env" => format!(r#"{{"command": "x", "env": {{"T": {value}}}}}"#),
        "cwd" => format!(r#"{{"command": "x", "cwd": {value}}}"#),
        "url" => format!(r#"{{"url": {value}}}"#),
        "headers" => format!(r#"{{"url": "http://127.0.0.1:1/mcp", "headers": {{"X-T": {value}}}}}"#),
        _ => panic!("no such place"),
    }
}

fn folder(entry: &str) -> Folder {
    Folder::new(
        "",
        &format!("{{\n  \"mcpServers\": {{\n    \"broken\": {entry}\n  }}\n}}"),
    )
}

#[test]
fn b054_an_unset_variable_is_an_error_that_names_file_server_and_field() {
    for place in ["command", "args", "env", "cwd", "url", "headers"] {
        for command in ["check", "serve", "stdio"] {
            if command != "check" && place != "env" {
                continue;
            }
            let output = folder(&entry(place, "a${UNSET_HERE}b")).run(&[command]);
            let said = format!(
                "{}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
            assert_eq!(output.status.code(), Some(2), "{command} {place}: {said}");
            for part in ["mcp.json", "broken", place, "UNSET_HERE", ":3:"] {
                assert!(said.contains(part), "{command} {place}, no `{part}`: {said}");
            }
        }
    }
}

#[test]
fn b054_what_is_no_reference_is_an_error_and_never_passed_literally() {
    for value in [
        "${",
        "${A",
        "${}",
        "${ A}",
        "${A-b}",
        "${A:?b}",
        "${A:-${B}}",
        "${1A}",
        "${env:A}",
        "${input:token}",
        "${file:relative}",
        "${file:/nonexistent/file}",
        "${a.b}",
    ] {
        let output = folder(&entry("env", value)).env("A", "a").env("B", "b").run(&["check"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(2), "{value}: {said}");
        assert!(said.contains("broken") && said.contains("mcp.json"), "{value}: {said}");
    }
}

#[test]
fn b054_every_form_is_expanded_in_every_place_of_a_server_over_pipes() {
    let folder = Folder::new("surface: direct", "{}")
        .env("ONE", "first")
        .env("TWO", "second")
        .env("EMPTY", "")
        .env("DOLLARS", "$$ ${ONE}")
        .env("PYTHON", &PYTHON);
    std::fs::write(folder.home.join("secret.txt"), "from a file\n\n").expect("written");
    let home = folder.home.to_str().expect("UTF-8").to_owned();
    let entry = server(
        &folder.home,
        "s",
        r#", "${ONE}-${TWO}", "$$HOME", "$HOME", "${UNSET:-fall $$ back}""#,
    );
    let entry = entry.replacen(&format!("\"{}\"", *PYTHON), r#""${PYTHON}""#, 1);
    let env = format!(
        r#"{{"BOTH": "${{ONE}}${{TWO}}", "DEFAULT": "${{UNSET:-d}}", "EMPTY_DEFAULT": "${{EMPTY:-d}}", "NONE": "${{UNSET:-}}",
            "ESCAPED": "$$HOME", "ESCAPED_REF": "$${{ONE}}", "LONE": "a$b$", "FILE": "${{file:{home}/secret.txt}}",
            "ONCE": "${{DOLLARS}}", "COLON": "${{UNSET:-a:-b}}", "PLAIN": "%HOME% `id` $(id)"}}"#
    );
    folder.write(
        "mcp.json",
        &format!(r#"{{"mcpServers": {{"s": {{{entry}, "env": {env}, "cwd": "${{UNSET:-{home}}}", "envPassthrough": ["TWO", "UNSET"]}}}}}}"#),
    );
    let gateway = folder.serve();
    gateway.listed(1);
    let start = start_of(&gateway.folder.home, "s");
    assert_eq!(start["args"], json!(["first-second", "$HOME", "$HOME", "fall $ back"]));
    let wanted = json!({
        "BOTH": "firstsecond", "DEFAULT": "d", "EMPTY_DEFAULT": "d", "NONE": "", "ESCAPED": "$HOME", "ESCAPED_REF": "${ONE}",
        "LONE": "a$b$", "FILE": "from a file", "ONCE": "$$ ${ONE}", "COLON": "a:-b", "PLAIN": "%HOME% `id` $(id)", "TWO": "second",
    });
    for (name, value) in wanted.as_object().expect("an object") {
        assert_eq!(&start["env"][name], value, "{name}");
    }
    let names: Vec<&String> = start["env"].as_object().expect("an object").keys().collect();
    for name in &names {
        let known =
            wanted.get(name.as_str()).is_some() || ["PATH", "HOME", "LANG", "LC_CTYPE", "PWD"].contains(&name.as_str());
        assert!(known, "`{name}` was not given to the server: {names:?}");
    }
    let cwd = std::fs::canonicalize(start["cwd"].as_str().expect("a folder")).expect("there");
    assert_eq!(cwd, std::fs::canonicalize(home).expect("there"));
}

#[test]
fn b054_urls_and_headers_are_expanded_too() {
    let upstream = Script::with_tools(Era::Legacy, &["t"]).start();
    let mcp = r#"{"mcpServers": {"u": {"url": "${U}/mcp", "headers": {"Authorization": "Bearer ${TOKEN}", "X-Two": "${A}${B:-b}", "X-Dollar": "$$5"}}}}"#;
    let gateway = Folder::new("", mcp)
        .env("U", &format!("http://{}", upstream.address))
        .env("TOKEN", "token-of-the-server")
        .env("A", "a")
        .serve();
    gateway.listed(1);
    for seen in upstream.seen() {
        assert_eq!(
            seen.headers("authorization"),
            ["Bearer token-of-the-server"],
            "{}",
            seen.head
        );
        assert_eq!(seen.headers("x-two"), ["ab"]);
        assert_eq!(seen.headers("x-dollar"), ["$5"]);
    }
}

#[test]
fn b054_an_expanded_value_that_no_header_may_have_sets_its_server_aside_and_leaks_nothing() {
    let upstream = Script::with_tools(Era::Legacy, &["t"]).start();
    let address = upstream.address;
    let mcp = format!(
        r#"{{"mcpServers": {{"u": {{"url": "http://{address}/mcp", "headers": {{"X-T": "${{EVIL}}"}}}}, "good": {{"url": "http://{address}/mcp"}}}}}}"#
    );
    let folder = Folder::new("", &mcp).env("EVIL", "hidden-value\r\nX-Admin: 1");
    let output = folder.run(&["check"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(!said.contains("hidden-value"), "{said}");
    if output.status.success() {
        let gateway = folder.serve();
        gateway.listed(1);
        assert!(
            upstream
                .seen()
                .iter()
                .all(|seen| seen.headers("x-admin").is_empty() && seen.headers("x-t").is_empty())
        );
        let list = gateway.core("core_server_list", "{}").to_string();
        assert!(!list.contains("hidden-value") && !gateway.log.all().contains("hidden-value"));
    } else {
        assert_eq!(output.status.code(), Some(2), "{said}");
    }
}
