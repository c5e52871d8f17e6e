//! Families in the catalogue file: shapes, names, and what the members say together.

use expect_test::expect;

use super::one;
use crate::load::tests::{json, read, warned};

fn members(entries: &[(&str, &str)]) -> String {
    let entries: Vec<String> = entries
        .iter()
        .map(|(name, family)| format!("\"{name}\": {{\"command\": \"x\", \"family\": {family}}}"))
        .collect();
    format!("{{\"mcpServers\": {{\n{}\n}}}}", entries.join(",\n"))
}

#[test]
fn families_of_a_wrong_shape_are_refused_at_their_place() {
    json(
        &members(&[
            ("a", "\"clusters\""),
            ("b", "{}"),
            ("c", r#"{"name": "f", "instancArg": "x"}"#),
            ("d", r#"{"name": "-f", "instanceArg": "a b"}"#),
            ("e", r#"{"name": 1, "instanceArg": ""}"#),
            ("f", r#"{"name": "g", "instanceArg": "x", "instance_arg": "x"}"#),
            ("g", r#"{"name": "${A}", "instanceArg": ["x"], "member": "x"}"#),
            ("h", "null"),
        ]),
        expect![[r#"
            conf/mcp.json:2:33: server `a`: `family` must be a map, not a string
            conf/mcp.json:3:33: server `b`: `family` needs a `name` and an `instanceArg`
                write `{"name": "clusters", "instanceArg": "cluster"}`
            conf/mcp.json:4:33: server `c`: `family` needs a `name` and an `instanceArg`
                write `{"name": "clusters", "instanceArg": "cluster"}`
            conf/mcp.json:4:47: server `c`: `family.instancArg` is not a known key
                did you mean `instanceArg`?
            conf/mcp.json:5:42: server `d`: `family.name` is a name that is not allowed
                use 1 to 64 letters, digits, `.`, `_` or `-`, beginning with a letter or a digit
            conf/mcp.json:5:63: server `d`: `family.instanceArg` cannot be the name of an argument
                use 1 to 64 letters, digits, `_`, `-` or `.`
            conf/mcp.json:6:42: server `e`: `family.name` must be a string, not a number
                put the value in double quotes
            conf/mcp.json:6:60: server `e`: `family.instanceArg` cannot be the name of an argument
                use 1 to 64 letters, digits, `_`, `-` or `.`
            conf/mcp.json:7:33: server `f`: `family` names family `g`, and a server has that name (line 8, column 1)
                give the family or the server another name
            conf/mcp.json:7:67: server `f`: `family.instance_arg` says the same as `family.instanceArg`
                keep one of the two
            conf/mcp.json:8:42: server `g`: `family.name` must not hold a reference: its value is shown to callers
                write the value itself, or `$${` for the text `${`
            conf/mcp.json:8:65: server `g`: `family.instanceArg` must be a string, not a list
            conf/mcp.json:8:72: server `g`: `family.member` is not a known key
                known here: `name`, `instanceArg`, `instance_arg`
            conf/mcp.json:9:33: server `h`: `family` must be a map, not null
        "#]],
    );
}

#[test]
fn a_family_and_a_server_may_not_share_a_name() {
    let family = |name: &str| format!(r#"{{"name": "{name}", "instanceArg": "cluster"}}"#);
    let (own, other, alike) = (family("prod"), family("dev"), family("DEV"));
    json(
        &members(&[("prod", &own), ("stage", &other), ("dev", &other)]),
        expect![[r#"
            conf/mcp.json:2:36: server `prod`: `family` names family `prod`, and a server has that name (line 2, column 1)
                give the family or the server another name
            conf/mcp.json:3:37: server `stage`: `family` names family `dev`, and a server has that name (line 4, column 1)
                give the family or the server another name
            conf/mcp.json:4:35: server `dev`: `family` names family `dev`, and a server has that name (line 4, column 1)
                give the family or the server another name
        "#]],
    );
    warned(
        &members(&[("prod", &alike), ("dev", &alike)]),
        expect![[r#"
        warning: conf/mcp.json:2:26: server `prod`: `family` names family `DEV`, which differs from server `dev` only in upper and lower case
        warning: conf/mcp.json:3:25: server `dev`: `family` names family `DEV`, which differs from server `dev` only in upper and lower case
    "#]],
    );
    let site = r#"{"name": "DEV", "instance_arg": "site"}"#;
    let small = family("Dev");
    warned(
        &members(&[("a", &alike), ("b", &alike), ("c", site), ("d", &small)]),
        expect![[r#"
            warning: conf/mcp.json:4:23: server `c`: `family` calls the argument `site`, while server `a` (line 2, column 23) calls it `cluster`; tools that both have stay under the names of their servers
            warning: conf/mcp.json:5:23: server `d`: `family` names family `Dev`, which differs from family `DEV` of server `a` only in upper and lower case
        "#]],
    );
}

#[test]
fn a_family_is_part_of_the_entry_and_of_its_digest() {
    let digest = |family: &str| {
        let config = read(&[("mcp.json", &one(&format!(r#"{{"command": "x"{family}}}"#)))]).unwrap();
        (
            config.servers[0].digest,
            config.servers[0].family.clone(),
            config.shown["servers"]["s"]["family"].clone(),
        )
    };
    let (none, absent, shown) = digest("");
    assert!(absent.is_none() && shown.is_null());
    let (first, membership, shown) = digest(r#", "family": {"name": "f", "instanceArg": "x"}"#);
    let membership = membership.unwrap();
    assert_eq!((membership.name.as_str(), &*membership.instance_arg), ("f", "x"));
    assert_eq!(shown, serde_json::json!({"name": "f", "instanceArg": "x"}));
    let (second, ..) = digest(r#", "family": {"name": "f", "instanceArg": "y"}"#);
    assert!(none != first && first != second);
    assert_eq!(first, digest(r#", "family": {"name": "f", "instance_arg": "x"}"#).0);
}
