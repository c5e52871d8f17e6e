//! Catalogues in, entries or problems out. The texts are what operators see.

#![expect(clippy::too_many_lines, reason = "tables of texts are long")]

mod auth;
mod families;
mod foreign;
mod values;

use expect_test::expect;

use crate::load::tests::{environment, json, read, written};

fn one(entry: &str) -> String {
    format!("{{\"mcpServers\": {{\n\"s\": {entry}\n}}}}")
}

#[test]
fn every_key_of_a_server_is_read() {
    let text = r#"{
        "version": 1,
        "commandAllowlist": ["${A}", "npx"],
        "mcpServers": {
            "z-http": {"type": "streamable-http", "url": "${URL}", "headers": {"Authorization": "Bearer ${file:/run/secrets/token}", "X-Team": "a", "X-Api-Key": "plain"},
                "auth": "none", "allowPrivateNetwork": true, "shared": true, "timeout": 30, "autoStart": false},
            "sse": {"transport": "sse", "url": "https://u:p@sse.example/x", "suspended": true},
            "stdio": {"command": "alpha", "args": ["-v", "${B}", "--token", "plain", "$$HOME"],
                "env": {"T": "${A}", "LEVEL": "info", "PORT": 80, "MY_TOKEN": "plain"}, "envMode": "inherit",
                "envPassthrough": ["PATH", "X"], "cwd": "work", "labels": {"team": "x", "a.b/c": "$$"}, "toolPrefix": "",
                "description": "what it is", "timeout": "1m", "trustAnnotations": true,
                "access": [{"class": "read", "tools": ["get_*", "list_?"]}, {"class": "own-word", "tools": ["*"]}]}
        }
    }"#;
    let config = read(&[("mcp.json", text)]).unwrap_or_else(|problems| panic!("{}", written(&problems)));
    expect![[r#"
        {
          "sse": {
            "access": [],
            "autoStart": false,
            "headers": {},
            "labels": {},
            "shared": false,
            "suspended": true,
            "trustAnnotations": false,
            "type": "sse",
            "url": "[secret]"
          },
          "stdio": {
            "access": [
              {
                "class": "read",
                "tools": [
                  "get_*",
                  "list_?"
                ]
              },
              {
                "class": "own-word",
                "tools": [
                  "*"
                ]
              }
            ],
            "args": [
              "-v",
              "[secret]",
              "--token",
              "[secret]",
              "$HOME"
            ],
            "autoStart": true,
            "command": "alpha",
            "cwd": "conf/work",
            "description": "what it is",
            "env": {
              "LEVEL": "info",
              "MY_TOKEN": "[secret]",
              "PORT": "80",
              "T": "[secret]"
            },
            "envMode": "inherit",
            "envPassthrough": [
              "PATH",
              "X"
            ],
            "labels": {
              "a.b/c": "$",
              "team": "x"
            },
            "shared": false,
            "suspended": false,
            "timeout": "60s",
            "toolPrefix": "",
            "trustAnnotations": true,
            "type": "stdio"
          },
          "z-http": {
            "access": [],
            "autoStart": false,
            "headers": {
              "Authorization": "[secret]",
              "X-Api-Key": "[secret]",
              "X-Team": "a"
            },
            "labels": {},
            "shared": true,
            "suspended": false,
            "timeout": "30s",
            "trustAnnotations": false,
            "type": "http",
            "url": "[secret]"
          }
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&config.shown["servers"]).unwrap());
    expect![[r#"
        Stdio {
            command: "alpha",
            args: [
                "-v",
                [secret],
                "--token",
                [secret],
                "$HOME",
            ],
            env: {
                "LEVEL": "info",
                "MY_TOKEN": [secret],
                "PORT": "80",
                "T": [secret],
            },
            env_mode: Inherit,
            env_passthrough: [
                "PATH",
                "X",
            ],
            cwd: Some(
                "conf/work",
            ),
        }"#]]
    .assert_eq(&format!("{:#?}", config.servers[1].transport));
    expect![[r#"
        warning: conf/mcp.json:7:41: server `sse`: `url` holds a user name, which is not sent; write an `Authorization` header
    "#]].assert_eq(&written(&config.warnings));
    let debug = format!("{config:?} {:?}", config.servers);
    for secret in ["s3cret", "plain", "u:p@", "up.example", "beta"] {
        assert!(!debug.contains(secret), "{secret}: {debug}");
        assert!(!config.shown.to_string().contains(secret), "{secret}");
    }
}

#[test]
fn both_spellings_of_the_list_mean_the_same() {
    let ours = read(&[("mcp.json", r#"{"mcpServers": {"a": {"url": "http://a/mcp"}}}"#)]).unwrap();
    let theirs = read(&[(
        "mcp.json",
        r#"{"servers": {"a": {"url": "http://a/mcp", "type": "http",},},} // end"#,
    )])
    .unwrap();
    assert_eq!(ours.servers, theirs.servers);
    assert_ne!(ours.hash, theirs.hash);
}

#[test]
fn a_digest_changes_with_the_entry_alone() {
    let entries = |a: &str, b: &str| {
        let text = format!("{{\"mcpServers\": {{\"a\": {a}, \"b\": {b}}}}}");
        let config = read(&[("mcp.json", &text)]).unwrap_or_else(|problems| panic!("{}", written(&problems)));
        (config.servers[0].digest, config.servers[1].digest)
    };
    let base = entries(r#"{"command": "x"}"#, r#"{"command": "y"}"#);
    let mut seen = vec![base.0];
    for entry in [
        r#"{"command": "x", "args": ["1"]}"#,
        r#"{"command": "x", "args": ["${A}"]}"#,
        r#"{"command": "x", "env": {"1": ""}}"#,
        r#"{"command": "x", "envMode": "inherit"}"#,
        r#"{"command": "x", "envPassthrough": ["1"]}"#,
        r#"{"command": "x", "cwd": "1"}"#,
        r#"{"command": "x", "labels": {"1": "1"}}"#,
        r#"{"command": "x", "toolPrefix": ""}"#,
        r#"{"command": "x", "description": "1"}"#,
        r#"{"command": "x", "timeout": 1}"#,
        r#"{"command": "x", "autoStart": false}"#,
        r#"{"command": "x", "suspended": true}"#,
        r#"{"command": "x", "trustAnnotations": true}"#,
        r#"{"command": "x", "shared": true}"#,
        r#"{"command": "x", "access": [{"class": "c", "tools": ["1"]}]}"#,
        r#"{"url": "http://x"}"#,
        r#"{"url": "http://x", "type": "sse"}"#,
        r#"{"url": "http://x", "headers": {"A": "1"}}"#,
    ] {
        let (a, b) = entries(entry, r#"{"command": "y"}"#);
        assert!(!seen.contains(&a), "{entry}");
        assert_eq!(b, base.1);
        seen.push(a);
    }
    assert_eq!(entries(r#"{"command": "${UNSET:-x}"}"#, r#"{"command": "y"}"#), base);
}

#[test]
fn b054_references_are_checked_everywhere() {
    json(
        r#"{"mcpServers": {
  "one": {"command": "${NOPE}", "args": ["a", "${NOPE}"], "env": {"T": "${NOPE}"}, "cwd": "${NOPE}"},
  "two": {"url": "${NOPE}", "headers": {"X": "${file:/missing}"}},
  "three": {"command": "x", "args": ["${env:A}", "${input:key}", "${A", "${}"], "labels": {"a": "${A}"}, "description": "${A}"}
}, "commandAllowlist": ["${NOPE}"]}"#,
        expect![[r#"
            conf/mcp.json:2:22: server `one`: `command` names the variable `NOPE`, which is not set
                set it, or give a default: `${NOPE:-value}`
            conf/mcp.json:2:47: server `one`: `args[1]` names the variable `NOPE`, which is not set
                set it, or give a default: `${NOPE:-value}`
            conf/mcp.json:2:72: server `one`: `env.T` names the variable `NOPE`, which is not set
                set it, or give a default: `${NOPE:-value}`
            conf/mcp.json:2:91: server `one`: `cwd` names the variable `NOPE`, which is not set
                set it, or give a default: `${NOPE:-value}`
            conf/mcp.json:3:18: server `two`: `url` names the variable `NOPE`, which is not set
                set it, or give a default: `${NOPE:-value}`
            conf/mcp.json:3:46: server `two`: `headers.X` names the file `/missing`, which cannot be read: entity not found
            conf/mcp.json:4:38: server `three`: `args[0]` has `${env:A}`, which is not a reference
                write `${A}`
            conf/mcp.json:4:50: server `three`: `args[1]` has `${input:key}`, which is not a reference
                VS Code asks the user for it; put the value into a variable and write `${VARIABLE}`
            conf/mcp.json:4:66: server `three`: `args[2]` has a `${` without a `}`
                close the reference, or write `$${` for the text `${`
            conf/mcp.json:4:73: server `three`: `args[3]` has `${}`, which is not a reference
                write `${VARIABLE}`, `${VARIABLE:-default}` or `${file:/path}`, and `$${` for the text `${`
            conf/mcp.json:4:97: server `three`: `labels.a` must not hold a reference: its value is shown to callers
                write the value itself, or `$${` for the text `${`
            conf/mcp.json:4:121: server `three`: `description` must not hold a reference: its value is shown to callers
                write the value itself, or `$${` for the text `${`
            conf/mcp.json:5:25: `commandAllowlist[0]` names the variable `NOPE`, which is not set
                set it, or give a default: `${NOPE:-value}`
        "#]],
    );
}

#[test]
fn a_catalogue_as_a_whole_is_checked() {
    json(
        "[]",
        expect![[r#"
        conf/mcp.json:1:1: the file must hold a map, not a list
    "#]],
    );
    json(
        "",
        expect![[r#"
        conf/mcp.json:1:1: expected a value, found the end of the file
    "#]],
    );
    json(
        r#"{"mcpServer": {}}"#,
        expect![[r#"
        conf/mcp.json:1:2: `mcpServer` is not a known key
            did you mean `mcpServers`?
    "#]],
    );
    json(
        r#"{"mcpServers": {}, "servers": {}, "version": 2}"#,
        expect![[r#"
        conf/mcp.json:1:20: `servers` means the same as `mcpServers`
            move its servers there
        conf/mcp.json:1:46: `version` must be 1
            write `1`, or remove it
    "#]],
    );
    json(
        r#"{"mcpServers": [], "commandAllowlist": "npx", "version": "1"}"#,
        expect![[r#"
        conf/mcp.json:1:16: `mcpServers` must be a map, not a list
        conf/mcp.json:1:40: `commandAllowlist` must be a list, not a string
        conf/mcp.json:1:58: `version` must be 1
            write `1`, or remove it
    "#]],
    );
    json(
        r#"{"mcpServers": {"a b": {"command": "x"}, "": {"command": "x"}, "c": "npx", "d": {}}}"#,
        expect![[r#"
        conf/mcp.json:1:17: server `a b` has a name that is not allowed
            use 1 to 64 letters, digits, `.`, `_` or `-`, beginning with a letter or a digit
        conf/mcp.json:1:42: server `` has a name that is not allowed
            use 1 to 64 letters, digits, `.`, `_` or `-`, beginning with a letter or a digit
        conf/mcp.json:1:69: server `c` must be a map, not a string
        conf/mcp.json:1:76: server `d` has neither `command` nor `url`
            write `command` for a server that is started here, `url` for one that runs elsewhere
    "#]],
    );
    json(
        "{\"mcpServers\": {\n \"a\": {\"command\": \"x\", \"command\": \"y\"},\n \"a\": {\"url\": \"http://x\"}\n}}",
        expect![[r#"
            conf/mcp.json:2:24: duplicate key `command`; it stands on line 2 already
            conf/mcp.json:3:2: duplicate key `a`; it stands on line 2 already
        "#]],
    );
}

#[test]
fn i10_problems_do_not_show_what_references_stood_for() {
    let text = one(r#"{"url": "${LINES}", "headers": {"X": "${LINES}"}}"#);
    let problems = read(&[("mcp.json", &text)]).unwrap_err();
    let shown = format!("{problems:?} {problems} {:?}", environment());
    assert!(!shown.contains("two"), "{shown}");
}

#[test]
fn a_huge_file_of_mistakes_is_told_of_a_hundred_and_is_still_refused() {
    let keys: String = (0..1_000)
        .map(|number| format!("\"_c{number}\": 1, \"k{number}\": 1,\n"))
        .collect();
    let text = format!("{{{keys}\"mcpServers\": {{}}, {}}}", "\"twice\": 1, ".repeat(1_000));
    let problems = read(&[("mcp.json", &text)]).unwrap_err();
    assert_eq!(problems.errors(), 200);
    assert_eq!(problems.iter().count(), 300);
}

#[test]
fn b062_a_glob_that_can_match_no_tool_is_warned_of() {
    let warnings = |pattern: &str| {
        let pattern = serde_json::to_string(pattern).expect("JSON");
        let text = format!(
            r#"{{"mcpServers": {{"s": {{"command": "x", "access": [{{"class": "read", "tools": [{pattern}]}}]}}}}}}"#
        );
        let config = read(&[("mcp.json", &text)]).unwrap_or_else(|problems| panic!("{problems:?}"));
        config.warnings.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    for pattern in [
        "mcp__*(*)",
        "a|b",
        "",
        "{a,b}",
        "!x",
        "^get",
        "get .*",
        "get_*, put_*",
        "größe",
    ] {
        let told = warnings(pattern);
        assert!(
            told.len() == 1 && told[0].contains("matches no tool"),
            "{pattern}: {told:?}"
        );
    }
    for pattern in [
        "github*", "git?ub_*", "**", ".*", "GITHUB_*", "[a-z]*", "a/b", "\\*", "[!a]x",
    ] {
        assert_eq!(warnings(pattern), Vec::<String>::new(), "{pattern}");
    }
}
