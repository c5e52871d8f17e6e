//! Keys that other clients write.

use expect_test::expect;

use super::one;
use crate::load::tests::{json, read, warned};

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
