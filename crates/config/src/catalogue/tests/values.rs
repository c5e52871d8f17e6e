//! Values, keys and transports that are refused, and the way out that is named.

use expect_test::expect;

use super::one;
use crate::load::tests::json;

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
