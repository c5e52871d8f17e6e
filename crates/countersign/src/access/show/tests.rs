//! The table of `countersign access`, as a person sees it.

use countersign_config::At;
use countersign_core::effect::{Effect, Source};
use countersign_core::toolset::Selectors;
use expect_test::expect;

use super::super::report::{Member, Narrows, Totals};
use super::*;
use crate::scene::{Layer, Whom};

fn at(file: &str, line: usize, path: &str) -> Option<At> {
    Some(At {
        file: file.to_owned(),
        line,
        column: 1,
        path: path.to_owned(),
    })
}

fn layer(selector: &str) -> Layer {
    Layer {
        origin: "key",
        toolset: Selectors::parse_header([selector]).unwrap(),
        from: None,
        answer: "selects",
        selector: Some(selector.to_owned()),
        rules: Vec::new(),
    }
}

fn row(tool: &str, server: Option<&str>, effect: Effect) -> Row {
    Row {
        tool: tool.to_owned(),
        kind: "tool",
        server: server.map(str::to_owned),
        effect,
        effect_source: Source::Undeclared,
        on_call: "runs".to_owned(),
        members: Vec::new(),
        selected_by: vec![layer("server:k8s")],
    }
}

fn server_row(server: &str, availability: Availability) -> ServerRow {
    ServerRow {
        server: server.to_owned(),
        family: None,
        availability,
        tools: 1,
        shown: 0,
        inside: false,
        could_be_inside: None,
        from: at("mcp.json", 3, "servers.x"),
    }
}

fn example() -> Report {
    let mut family = row("x_k8s_get", Some("k8s"), Effect::ReadOnly);
    family.members = ["eu", "us"]
        .map(|server| Member {
            server: server.to_owned(),
            effect: Effect::ReadOnly,
            on_call: "runs".to_owned(),
            selected_by: Vec::new(),
        })
        .into();
    let mut core = row("core_server_list", None, Effect::ReadOnly);
    core.selected_by = Vec::new();
    let mut waiting = server_row("chat", Availability::AuthRequired);
    waiting.could_be_inside = Some(false);
    let down = Availability::Unavailable {
        reason: "it\nleft \u{1b}[31m".to_owned(),
    };
    Report {
        whom: Whom {
            name: "ci".to_owned(),
            subject: "builder".to_owned(),
            connection: "ci".to_owned(),
            authentication: "key",
            roles: Vec::new(),
            plan: None,
            from: None,
        },
        toolsets: vec![Narrows {
            origin: "key",
            toolset: Some("server:k8s".to_owned()),
            from: at("identities.yaml", 6, "keys[0].toolset"),
        }],
        refusal: None,
        totals: Totals {
            tools: 3,
            hidden_tools: 12,
            read_only: 2,
            mutating: 1,
            resources: 1,
            hidden_prompts: 1,
            ..Totals::default()
        },
        tools: vec![family, row("x_notes_add", Some("notes"), Effect::Mutating), core],
        servers: vec![
            waiting,
            server_row("gone", down),
            server_row("notes", Availability::Ready),
        ],
        unmatched: vec!["server:other".to_owned()],
    }
}

#[test]
fn the_table_shows_tools_servers_and_what_is_hidden() {
    expect![[r#"
        ci (a key of builder)
          within key [server:k8s]  identities.yaml:6 keys[0].toolset

        TOOL              SERVER        EFFECT     ON CALL  SELECTED BY
        x_k8s_get         k8s (eu, us)  read_only  runs     key server:k8s
        x_notes_add       notes         mutating   runs     key server:k8s
        core_server_list  -             read_only  runs     -

        3 tools (12 hidden): 2 read-only, 1 mutating; 1 resource, 0 prompts (1 hidden)
        selects nothing: server:other

        SERVER  STATE                                                   SHOWN        WHERE
        chat    waits for a sign-in; the toolset selects nothing of it  0 of 1 tool  mcp.json:3 servers.x
        gone    unavailable: it left �[31m                              0 of 1 tool  mcp.json:3 servers.x
        notes   ready                                                   0 of 1 tool  mcp.json:3 servers.x
    "#]]
    .assert_eq(&report(&example()));
}

#[test]
fn a_toolset_that_cannot_be_used_serves_nothing_and_says_so() {
    let mut refused = example();
    refused.refusal = Some("toolset [preset:x] names unknown preset \"x\"".to_owned());
    refused.tools.clear();
    refused.servers.clear();
    refused.unmatched.clear();
    refused.totals = Totals::default();
    expect![[r#"
        ci (a key of builder)
          within key [server:k8s]  identities.yaml:6 keys[0].toolset

        Nothing is served: toolset [preset:x] names unknown preset "x"

        0 tools: 0 read-only, 0 mutating; 0 resources, 0 prompts
    "#]]
    .assert_eq(&report(&refused));
}
