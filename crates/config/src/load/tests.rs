//! Whole folders in, snapshots or problems out. The texts are what operators see.

#![expect(clippy::too_many_lines, reason = "tables of texts are long")]
#![expect(
    clippy::needless_pass_by_value,
    reason = "a table reads better without a reference at each row"
)]

mod documents;

use std::fmt::Write as _;

use expect_test::{Expect, expect};

use super::{Config, evaluate};
use crate::environment::Environment;
use crate::folder::Files;
use crate::problem::{Problem, Problems, Severity};

pub(crate) fn environment() -> Environment {
    Environment::with_variables([
        ("A", "alpha"),
        ("B", "beta"),
        ("EMPTY", ""),
        ("LINES", "one\r\ntwo"),
        ("NUL", "a\0b"),
        ("URL", "https://up.example/mcp"),
    ])
    .with_files([("/run/secrets/token", " s3cret\n")])
}

pub(crate) fn read(files: &[(&'static str, &str)]) -> Result<Config, Problems> {
    evaluate(&Files::of("conf", files), &environment()).result
}

/// One line per problem, help indented below.
pub(crate) fn written<'a>(problems: impl IntoIterator<Item = &'a Problem>) -> String {
    let mut text = String::new();
    for problem in problems {
        let warning = if problem.severity == Severity::Warning {
            "warning: "
        } else {
            ""
        };
        writeln!(text, "{warning}{problem}").unwrap();
        if let Some(help) = &problem.help {
            writeln!(text, "    {help}").unwrap();
        }
    }
    text
}

fn broken(files: &[(&'static str, &str)], expected: Expect) {
    match read(files) {
        Ok(config) => panic!("was accepted: {config:?}"),
        Err(problems) => expected.assert_eq(&written(&problems)),
    }
}

fn yaml(text: &str, expected: Expect) {
    broken(&[("countersign.yaml", text), ("mcp.json", "{}")], expected);
}

pub(crate) fn json(text: &str, expected: Expect) {
    broken(&[("mcp.json", text)], expected);
}

pub(crate) fn warned(text: &str, expected: Expect) {
    let config = read(&[("mcp.json", text)]).unwrap_or_else(|problems| panic!("{}", written(&problems)));
    expected.assert_eq(&written(&config.warnings));
}

#[test]
fn an_empty_folder_means_every_default() {
    let config = read(&[]).unwrap();
    assert_eq!(
        config.gateway,
        crate::Gateway {
            store: crate::Store::Sqlite {
                path: "conf/state.db".into()
            },
            ..Default::default()
        }
    );
    assert!(config.servers.is_empty());
    expect![[r#"
        warning: conf/mcp.json: is not there, so there are no servers
    "#]]
    .assert_eq(&written(&config.warnings));
}

#[test]
fn every_key_of_the_gateway_is_read() {
    let text = r#"
listen: "[::1]:1234"
public_url: https://Gate.Example/
metrics: {listen: 127.0.0.1:0}
surface: [meta, direct]
name_prefix: ""
limits: {request_bytes: 1MiB, response_bytes: 2097152, sessions: 5, sessions_per_principal: 4,
         session_idle_timeout: 30m, parked_per_principal: 3, tool_name_length: 32, call_timeout: 1m30s, connect_timeout: 500ms}
store: {type: sqlite, path: "${A}.db"}
toolsetPresets: {}
pins: {mode: off}
allowed_hosts: [Gate.Example]
allowed_origins: ["https://App.Example:8443"]
"#;
    let config = read(&[("countersign.yaml", text), ("mcp.json", "{}")])
        .unwrap_or_else(|problems| panic!("{}", written(&problems)));
    assert_eq!(
        config.gateway.store,
        crate::Store::Sqlite {
            path: "conf/alpha.db".into()
        }
    );
    expect![[r#"
        {
          "gateway": {
            "allowed_hosts": [
              "gate.example"
            ],
            "allowed_origins": [
              "https://app.example:8443"
            ],
            "bindings": {
              "actor_tokens": false,
              "writers": 0
            },
            "limits": {
              "call_timeout": "90s",
              "connect_timeout": "500ms",
              "parked_per_principal": 3,
              "request_bytes": 1048576,
              "response_bytes": 2097152,
              "session_idle_timeout": "1800s",
              "sessions": 5,
              "sessions_per_principal": 4,
              "tool_name_length": 32
            },
            "listen": "[::1]:1234",
            "metrics": {
              "listen": "127.0.0.1:0"
            },
            "name_prefix": "",
            "public_url": "https://gate.example",
            "store": {
              "path": "[secret]",
              "type": "sqlite"
            },
            "surface": [
              "meta",
              "direct"
            ],
            "toolsetPresets": {},
            "trusted_proxies": [
              "127.0.0.0/8",
              "::1/128"
            ]
          },
          "identities": null,
          "servers": {},
          "workflows": {}
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&config.shown).unwrap());
}

#[test]
fn what_is_wrong_in_the_settings_is_named_with_its_place() {
    yaml(
        "listen: 0.0.0.0:8090\n",
        expect![[r#"
        conf/countersign.yaml:1:9: `listen` must be a loopback address: without `identities.yaml` everyone who can reach the gateway would be served as `local`
            write `127.0.0.1:8090`, or an `identities.yaml` that says who may connect
    "#]],
    );
    yaml(
        "lisen: 127.0.0.1:8090\nlimits:\n  cal_timeout: 5s\n  zebra: 1\n",
        expect![[r#"
        conf/countersign.yaml:1:1: `lisen` is not a known key
            did you mean `listen`?
        conf/countersign.yaml:3:3: `limits.cal_timeout` is not a known key
            did you mean `call_timeout`?
        conf/countersign.yaml:4:3: `limits.zebra` is not a known key
            known here: `request_bytes`, `response_bytes`, `sessions`, `sessions_per_principal`, `parked_per_principal`, `tool_name_length`, `session_idle_timeout`, `call_timeout`, `connect_timeout`
    "#]],
    );
    yaml(
        "listen: 8090\npublic_url: ftp://a\nsurface: [meta, drect, meta]\nname_prefix: 'a b'\n",
        expect![[r#"
        conf/countersign.yaml:1:9: `listen` must be a string, not a number
            put the value in double quotes
        conf/countersign.yaml:2:13: `public_url` must be a URL that begins with `http://` or `https://`
            write it like `https://gateway.example.com`
        conf/countersign.yaml:3:17: `surface[1]` must be `meta` or `direct`, not `drect`
            did you mean `direct`?
        conf/countersign.yaml:3:24: `surface[2]` names `meta` twice
        conf/countersign.yaml:4:14: `name_prefix` must be at most 32 letters, digits, `_`, `-` or `.`
    "#]],
    );
    yaml(
        "listen: nowhere\nmetrics: {listen: 127.0.0.1:8090, lsten: 1}\n",
        expect![[r#"
        conf/countersign.yaml:1:9: `listen` must be an address and a port, not `nowhere`
            write it like `127.0.0.1:8090` or `[::1]:8090`
        conf/countersign.yaml:2:19: `metrics.listen` is the address of `listen`; metrics need their own
        conf/countersign.yaml:2:35: `metrics.lsten` is not a known key
            did you mean `listen`?
    "#]],
    );
    yaml(
        "surface: code\nstore: {type: redis, url: redis://x}\n",
        expect![[r#"
        conf/countersign.yaml:1:10: `surface` is `code`, which is not supported by this version of countersign
            remove it; it is refused rather than ignored because scripts would be offered without a sandbox
        conf/countersign.yaml:2:15: `store.type` is `redis`, which is not supported by this version of countersign
            remove it; it is refused rather than ignored because state would be kept on this machine alone
    "#]],
    );
    yaml(
        "surface: []\nstore: {type: memory, path: x.db}\n",
        expect![[r#"
        conf/countersign.yaml:1:10: `surface` must name at least one surface
            write `meta` or `direct`
        conf/countersign.yaml:2:23: `store.path` does not go with `type: memory`
            remove it, or write `type: sqlite`
    "#]],
    );
    yaml(
        "store: {type: sqllite}\nallowed_hosts: ['http://a']\nallowed_origins: ['*', 'null', 'https://a/b']\n",
        expect![[r#"
        conf/countersign.yaml:1:15: `store.type` must be `memory` or `sqlite`, not `sqllite`
            did you mean `sqlite`?
        conf/countersign.yaml:2:17: `allowed_hosts[0]` must be a host or a host and a port, such as `gateway.example.com` or `gateway:8090`
        conf/countersign.yaml:3:19: `allowed_origins[0]` must be a URL that begins with `http://` or `https://`
        conf/countersign.yaml:3:24: `allowed_origins[1]` must be a URL that begins with `http://` or `https://`
        conf/countersign.yaml:3:32: `allowed_origins[2]` must be a URL without a path, such as `https://gateway.example.com`
    "#]],
    );
    yaml(
        "limits: {request_bytes: 10Mi, response_bytes: 5, sessions: 0, sessions_per_principal: -1, parked_per_principal: x,\n  tool_name_length: 4, call_timeout: 120, connect_timeout: 0s}\n",
        expect![[r#"
            conf/countersign.yaml:1:25: `limits.request_bytes` must be a size from `1KiB` to `2GiB`, such as `10MiB`
            conf/countersign.yaml:1:47: `limits.response_bytes` must be a size from `1KiB` to `2GiB`, such as `10MiB`
            conf/countersign.yaml:1:60: `limits.sessions` must be a whole number from 1 to 1000000000
            conf/countersign.yaml:1:87: `limits.sessions_per_principal` must be a whole number from 1 to 1000000000
            conf/countersign.yaml:1:113: `limits.parked_per_principal` must be a whole number from 1 to 1000000000
            conf/countersign.yaml:2:21: `limits.tool_name_length` must be from 16 to 128: MCP allows no more, and an alias needs no less
            conf/countersign.yaml:2:38: `limits.call_timeout` must be a duration from `1ms` to `30d` with its unit, such as `90s`, `10m` or `1h30m`
            conf/countersign.yaml:2:60: `limits.connect_timeout` must be a duration from `1ms` to `30d` with its unit, such as `90s`, `10m` or `1h30m`
        "#]],
    );
    yaml(
        "write_gate: {mode: dry_run}\npins: {mode: warn}\naudit: {type: log}\n",
        expect![[r#"
            conf/countersign.yaml:1:1: `write_gate` is not supported by this version of countersign
                remove it; it is refused rather than ignored because calls would be served without the approval it asks for
            conf/countersign.yaml:2:1: `pins` is not supported by this version of countersign
                remove it; it is refused rather than ignored because changed tools would be served without being noticed
            conf/countersign.yaml:3:1: `audit` is not supported by this version of countersign
                remove it; it is refused rather than ignored because calls would be served without the trail it asks for
        "#]],
    );
    yaml(
        "public_url: ${NOPE}\nname_prefix: ${A\n",
        expect![[r#"
        conf/countersign.yaml:1:13: `public_url` names the variable `NOPE`, which is not set
            set it, or give a default: `${NOPE:-value}`
        conf/countersign.yaml:2:14: `name_prefix` has a `${` without a `}`
            close the reference, or write `$${` for the text `${`
    "#]],
    );
    yaml(
        "- 1\n",
        expect![[r#"
        conf/countersign.yaml:1:1: the file must hold a map, not a list
    "#]],
    );
}

#[test]
fn yaml_that_has_two_readings_is_refused() {
    yaml(
        "listen: 127.0.0.1:1\nlimits: {sessions: 1, sessions: 2}\nlisten: 127.0.0.1:2\n",
        expect![[r#"
        conf/countersign.yaml:2:23: duplicate key `sessions`; it stands on line 2 already
        conf/countersign.yaml:3:1: duplicate key `listen`; it stands on line 1 already
    "#]],
    );
    yaml(
        "listen: [127.0.0.1:1\n",
        expect![[r#"
        conf/countersign.yaml:1:9: not valid YAML: unclosed bracket '['
    "#]],
    );
    yaml(
        "a: 1\n---\nb: 2\n",
        expect![[r#"
        conf/countersign.yaml:3:1: not valid YAML: only one document may stand in it
    "#]],
    );
    yaml(
        "surface: *nothing\n",
        expect![[r#"
        conf/countersign.yaml:1:10: not valid YAML: alias references unknown anchor
    "#]],
    );
    yaml(
        "listen: \"127.0.0.1:1\nsurface: meta\n",
        expect![[r#"
        conf/countersign.yaml:1:9: not valid YAML: unclosed quote
    "#]],
    );
}

#[test]
fn a_yaml_bomb_is_stopped() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..9 {
        let item = format!("*a{}", level - 1);
        writeln!(text, "a{level}: &a{level} [{}]", vec![item; 10].join(", ")).unwrap();
    }
    yaml(
        &text,
        expect![[r#"
        conf/countersign.yaml:4:45: not valid YAML: alias replay limit exceeded: total_replayed_events=10001 > 10000
    "#]],
    );
}
