//! Catalogues in, entries or problems out. The texts are what operators see.

#![expect(clippy::too_many_lines, reason = "tables of texts are long")]

use expect_test::expect;

use crate::load::tests::{environment, json, read, warned, written};

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
fn contradictory_transports_are_refused() {
    json(
        &one(r#"{"command": "x", "url": "http://x"}"#),
        expect![[r#"
        conf/mcp.json:2:23: server `s`: `url` contradicts `command`
            keep `command` for a server that is started here, `url` for one that runs elsewhere
    "#]],
    );
    json(
        &one(r#"{"type": "stdio", "url": "http://x"}"#),
        expect![[r#"
        conf/mcp.json:2:24: server `s`: `url` does not go with `type: stdio`
            write `command`, or remove `type`
    "#]],
    );
    json(
        &one(r#"{"type": "http", "command": "x"}"#),
        expect![[r#"
        conf/mcp.json:2:23: server `s`: `command` does not go with `type: http`
            write `url`, or remove `type`
    "#]],
    );
    json(
        &one(r#"{"type": "sse"}"#),
        expect![[r#"
        conf/mcp.json:2:1: server `s` has no `url`
            `type: sse` needs it
    "#]],
    );
    json(
        &one(r#"{"type": "websocket", "url": "ws://x"}"#),
        expect![[r#"
        conf/mcp.json:2:15: server `s`: `type` must be `stdio`, `http` or `sse`, not `websocket`
            known here: `stdio`, `http`, `sse`, `streamable-http`
    "#]],
    );
    json(
        &one(r#"{"type": "http", "transport": "sse", "url": "http://x"}"#),
        expect![[r#"
        conf/mcp.json:2:23: server `s`: `transport` says the same as `type`
            keep one of the two
    "#]],
    );
    json(
        &one(r#"{"url": "http://x", "args": ["a"], "env": {}, "envMode": "clean", "cwd": "/"}"#),
        expect![[r#"
        conf/mcp.json:2:26: server `s`: `args` has no meaning for a server of type `http`
            remove it
        warning: conf/mcp.json:2:41: server `s`: `env` has no meaning for a server of type `http`
        conf/mcp.json:2:52: server `s`: `envMode` has no meaning for a server of type `http`
            remove it
        conf/mcp.json:2:72: server `s`: `cwd` has no meaning for a server of type `http`
            remove it
    "#]],
    );
    json(
        &one(r#"{"command": "x", "headers": {"A": "b"}, "auth": "none", "allowPrivateNetwork": true}"#),
        expect![[r#"
        conf/mcp.json:2:23: server `s`: `headers` has no meaning for a server of type `stdio`
            remove it
        conf/mcp.json:2:46: server `s`: `auth` has no meaning for a server of type `stdio`
            remove it
        conf/mcp.json:2:62: server `s`: `allowPrivateNetwork` has no meaning for a server of type `stdio`
            remove it
    "#]],
    );
    json(
        &one(r#"{"type": "sse", "url": "http://x", "shared": true}"#),
        expect![[r#"
        conf/mcp.json:2:41: server `s`: `shared` has no meaning for a server of type `sse`
            remove it
    "#]],
    );
}

#[test]
fn wrong_values_are_refused() {
    json(
        &one(
            r#"{"command": ["x"], "args": "a", "env": ["A=1"], "envMode": "cleam", "env_mode": "inherit", "envPassthrough": ["A=1"], "cwd": ""}"#,
        ),
        expect![[r#"
            conf/mcp.json:2:18: server `s`: `command` must be a string, not a list
            conf/mcp.json:2:33: server `s`: `args` must be a list, not a string
            conf/mcp.json:2:45: server `s`: `env` must be a map, not a list
            conf/mcp.json:2:65: server `s`: `envMode` must be `clean` or `inherit`, not `cleam`
                did you mean `clean`?
            conf/mcp.json:2:74: server `s`: `env_mode` says the same as `envMode`
                keep one of the two
            conf/mcp.json:2:116: server `s`: `envPassthrough[0]` is not the name of a variable
            conf/mcp.json:2:131: server `s`: `cwd` must be the path of a folder
        "#]],
    );
    json(
        &one(
            r#"{"command": "", "args": [1, true, null, "${NUL}"], "env": {"A=1": "", "B": true, "C": null, "": "x"}}"#,
        ),
        expect![[r#"
            conf/mcp.json:2:18: server `s`: `command` must name a program
                write its name or its path
            conf/mcp.json:2:31: server `s`: `args[0]` must be a string, not a number
                put the value in double quotes
            conf/mcp.json:2:34: server `s`: `args[1]` must be a string, not a boolean
                put the value in double quotes
            conf/mcp.json:2:40: server `s`: `args[2]` must be a string, not null
            conf/mcp.json:2:46: server `s`: `args[3]` holds a NUL character, which no program can be given
            conf/mcp.json:2:65: server `s`: `env.A=1` is not the name of a variable
                use a name without `=`, blanks and control characters
            conf/mcp.json:2:81: server `s`: `env.B` must be a string, not a boolean
                put the value in double quotes
            conf/mcp.json:2:92: server `s`: `env.C` must be a string, not null
            conf/mcp.json:2:98: server `s`: `env.` is not the name of a variable
                use a name without `=`, blanks and control characters
        "#]],
    );
    json(
        &one(
            r#"{"command": "x", "labels": {"a": 1, "": "b"}, "toolPrefix": "a b", "description": 1, "timeout": "5", "autoStart": "yes", "suspended": 1, "trustAnnotations": null, "shared": "true"}"#,
        ),
        expect![[r#"
            conf/mcp.json:2:39: server `s`: `labels.a` must be a string, not a number
                put the value in double quotes
            conf/mcp.json:2:42: server `s`: `labels.` is a label without a name
                give it a name
            conf/mcp.json:2:66: server `s`: `toolPrefix` must be at most 64 letters, digits, `_`, `-` or `.`
            conf/mcp.json:2:88: server `s`: `description` must be a string, not a number
                put the value in double quotes
            conf/mcp.json:2:102: server `s`: `timeout` must be a duration from `1ms` to `30d` with its unit, such as `90s`, `10m` or `1h30m`
            conf/mcp.json:2:120: server `s`: `autoStart` must be `true` or `false`, not a string
            conf/mcp.json:2:140: server `s`: `suspended` must be `true` or `false`, not a number
            conf/mcp.json:2:163: server `s`: `trustAnnotations` must be `true` or `false`, not null
            conf/mcp.json:2:179: server `s`: `shared` must be `true` or `false`, not a string
        "#]],
    );
    json(
        &one(
            r#"{"command": "x", "timeout": 0, "access": [{"class": "read"}, {"class": "a b", "tools": ["*"]}, {"class": "read", "tools": ["[a"], "tool": 1}, {"class": "x", "tools": []}, "y"]}"#,
        ),
        expect![[r#"
            conf/mcp.json:2:34: server `s`: `timeout` must be a duration from `1ms` to `30d` with its unit, such as `90s`, `10m` or `1h30m`
            conf/mcp.json:2:48: server `s`: `access[0]` needs a `class` and `tools`
                write `{"class": "read", "tools": ["get_*"]}`
            conf/mcp.json:2:77: server `s`: `access[1].class` must be `read`, `write`, `admin`, `dangerous` or a word of your own
            conf/mcp.json:2:129: server `s`: `access[2].tools[0]` is a malformed glob
                close each `[` and put something after each `\`
            conf/mcp.json:2:136: server `s`: `access[2].tool` is not a known key
                did you mean `tools`?
            conf/mcp.json:2:172: server `s`: `access[3].tools` must name at least one tool or glob
            conf/mcp.json:2:177: server `s`: `access[4]` must be a map, not a string
        "#]],
    );
    json(
        &one(
            r#"{"url": "example.com/mcp", "headers": {"Host": "x", "Mcp-Session-Id": "x", "A B": "x", "X": "a\r\nb", "Y": "${LINES}", "Z": 1, "q": "1", "Q": "2"}}"#,
        ),
        expect![[r#"
            conf/mcp.json:2:14: server `s`: `url` must be a URL that begins with `http://` or `https://`
            conf/mcp.json:2:45: server `s`: `headers.Host` is a header that countersign sets itself
                remove it
            conf/mcp.json:2:58: server `s`: `headers.Mcp-Session-Id` is a header that countersign sets itself
                remove it
            conf/mcp.json:2:81: server `s`: `headers.A B` is not the name of a header
                use letters, digits and `-`
            conf/mcp.json:2:98: server `s`: `headers.X` has a line break or another character that a header cannot carry
            conf/mcp.json:2:113: server `s`: `headers.Y` has a line break or another character that a header cannot carry
            conf/mcp.json:2:130: server `s`: `headers.Z` must be a string, not a number
                put the value in double quotes
            conf/mcp.json:2:143: server `s`: `headers.Q` is there already, in other letters
                keep one of the two
        "#]],
    );
    json(
        &one(r#"{"url": "${A}"}"#),
        expect![[r#"
        conf/mcp.json:2:14: server `s`: `url` must be a URL that begins with `http://` or `https://`
    "#]],
    );
    json(
        &one(r#"{"url": "https://x", "auth": "forwardToken", "family": {"name": "f"}, "allowPrivateNetwork": false}"#),
        expect![[r#"
        conf/mcp.json:2:27: server `s`: `auth` other than `none` is not supported by this version of countersign
            remove it; it is refused rather than ignored because the server would be called without the credential it asks for
        conf/mcp.json:2:51: server `s`: `family` is not supported by this version of countersign
            remove it; it is refused rather than ignored because the tools would be served under other names
        conf/mcp.json:2:99: server `s`: `allowPrivateNetwork` cannot be `false` in this version of countersign
            remove it; it is refused rather than ignored because private addresses would be reached all the same
    "#]],
    );
    json(
        &one(r#"{"url": "https://x", "auth": {"CLIENT_ID": "x"}}"#),
        expect![[r#"
        conf/mcp.json:2:27: server `s`: `auth` other than `none` is not supported by this version of countersign
            remove it; it is refused rather than ignored because the server would be called without the credential it asks for
    "#]],
    );
}

#[test]
fn unknown_keys_are_refused_with_the_nearest() {
    json(
        &one(r#"{"comand": "x", "arg": []}"#),
        expect![[r#"
        conf/mcp.json:2:1: server `s` has neither `command` nor `url`
            write `command` for a server that is started here, `url` for one that runs elsewhere
        conf/mcp.json:2:7: server `s`: `comand` is not a known key
            did you mean `command`?
        conf/mcp.json:2:22: server `s`: `arg` is not a known key
            did you mean `args`?
    "#]],
    );
    json(
        &one(r#"{"command": "x", "enviroment": {}, "environment": {}, "zebra": 1}"#),
        expect![[r#"
        conf/mcp.json:2:23: server `s`: `enviroment` is not a known key
            known here: `type`, `transport`, `command`, `url`, `args`, `env`, `envMode`, `env_mode`, `envPassthrough`, `env_passthrough`, `cwd`, `headers`, `auth`, `allowPrivateNetwork`, `allow_private_network`, `shared`, `labels`, `toolPrefix`, `tool_prefix`, `description`, `timeout`, `access`, `trustAnnotations`, `trust_annotations`, `autoStart`, `auto_start`, `suspended`, `family`
        conf/mcp.json:2:41: server `s`: `environment` is another client's key
            write `env`
        conf/mcp.json:2:60: server `s`: `zebra` is not a known key
            known here: `type`, `transport`, `command`, `url`, `args`, `env`, `envMode`, `env_mode`, `envPassthrough`, `env_passthrough`, `cwd`, `headers`, `auth`, `allowPrivateNetwork`, `allow_private_network`, `shared`, `labels`, `toolPrefix`, `tool_prefix`, `description`, `timeout`, `access`, `trustAnnotations`, `trust_annotations`, `autoStart`, `auto_start`, `suspended`, `family`
    "#]],
    );
    json(
        &one(r#"{"serverUrl": "http://x"}"#),
        expect![[r#"
        conf/mcp.json:2:1: server `s` has neither `command` nor `url`
            write `command` for a server that is started here, `url` for one that runs elsewhere
        conf/mcp.json:2:7: server `s`: `serverUrl` is another client's key
            write `url`
    "#]],
    );
}

#[test]
fn a_command_outside_the_allowlist_is_refused_as_it_is_written() {
    json(
        r#"{"commandAllowlist": ["npx", "/usr/bin/uvx"], "mcpServers": {
  "a": {"command": "npx"}, "b": {"command": "uvx"}, "c": {"command": "${A}"}, "d": {"command": "NPX"}, "e": {"url": "http://x"}
}}"#,
        expect![[r#"
            conf/mcp.json:2:45: server `b`: `command` is `uvx`, which is not in `commandAllowlist`
                add it there, as it is written here, or use a program of the list
            conf/mcp.json:2:70: server `c`: `command` is `[secret]`, which is not in `commandAllowlist`
                add it there, as it is written here, or use a program of the list
            conf/mcp.json:2:96: server `d`: `command` is `NPX`, which is not in `commandAllowlist`
                add it there, as it is written here, or use a program of the list
        "#]],
    );
}

#[test]
fn keys_of_other_clients_warn() {
    warned(
        &one(
            r#"{"command": "x", "disabled": true, "autoApprove": [], "gallery": true, "alwaysAllow": ["a"], "disabledTools": ["b"], "tools": ["*"], "icon": "x", "_comment": "y", "timeout": 60000}"#,
        ),
        expect![[r#"
            warning: conf/mcp.json:2:23: server `s`: `disabled` is another client's key; the server is suspended, as with `suspended: true`
            warning: conf/mcp.json:2:41: server `s`: `autoApprove` is another client's key and is not used here
            warning: conf/mcp.json:2:60: server `s`: `gallery` is another client's key and is not used here
            warning: conf/mcp.json:2:77: server `s`: `alwaysAllow` is another client's key and is not used here
            warning: conf/mcp.json:2:99: server `s`: `disabledTools` is another client's key and is not used here: every tool of the server is served
            warning: conf/mcp.json:2:123: server `s`: `tools` is another client's key and is not used here
            warning: conf/mcp.json:2:139: server `s`: `icon` is another client's key and is not used here
            warning: conf/mcp.json:2:152: server `s`: `_comment` is another client's key and is not used here
            warning: conf/mcp.json:2:169: server `s`: `timeout` is read as 60000 seconds; if milliseconds are meant, write `"60000ms"`
        "#]],
    );
    warned(
        r#"{"inputs": [], "$schema": "x", "servers": {"a": {"url": "https://u:p@a/mcp", "enabled": false, "headers": {"Accept": "x", "Content-Type": "y"}, "args": []}, "A": {"command": "x"}}}"#,
        expect![[r#"
            warning: conf/mcp.json:1:2: `inputs` is another client's key and is not used here
            warning: conf/mcp.json:1:16: `$schema` is another client's key and is not used here
            warning: conf/mcp.json:1:50: server `a`: `url` holds a user name, which is not sent; write an `Authorization` header
            warning: conf/mcp.json:1:78: server `a`: `enabled` is another client's key; the server is suspended, as with `suspended: true`
            warning: conf/mcp.json:1:108: server `a`: `headers.Accept` is a header that countersign sets itself; it is not used
            warning: conf/mcp.json:1:123: server `a`: `headers.Content-Type` is a header that countersign sets itself; it is not used
            warning: conf/mcp.json:1:145: server `a`: `args` has no meaning for a server of type `http`
            warning: conf/mcp.json:1:158: server `A` differs from server `a` only in upper and lower case
        "#]],
    );
}

#[test]
fn another_clients_off_switch_keeps_the_server_from_starting() {
    use countersign_core::server::Start;
    for (entry, start) in [
        (r#"{"command": "x"}"#, Start::Boot),
        (r#"{"command": "x", "autoStart": false}"#, Start::Lazy),
        (
            r#"{"command": "x", "suspended": true, "autoStart": true}"#,
            Start::Suspended,
        ),
        (r#"{"command": "x", "disabled": true}"#, Start::Suspended),
        (r#"{"command": "x", "disabled": false}"#, Start::Boot),
        (r#"{"command": "x", "enabled": false}"#, Start::Suspended),
        (
            r#"{"command": "x", "isActive": false, "suspended": false}"#,
            Start::Suspended,
        ),
    ] {
        assert_eq!(
            read(&[("mcp.json", &one(entry))]).unwrap().servers[0].start,
            start,
            "{entry}"
        );
    }
    json(
        &one(r#"{"command": "x", "disabled": "true"}"#),
        expect![[r#"
        conf/mcp.json:2:35: server `s`: `disabled` must be `true` or `false`, not a string
            write `"suspended": true` to keep the server from starting
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
