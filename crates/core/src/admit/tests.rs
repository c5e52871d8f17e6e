//! The golden policy matrix and the tables of the decision.

use std::collections::BTreeMap;

use expect_test::{expect, expect_file};

use super::*;
use crate::catalogue::{Availability, Catalogue, Naming, Parts, Provider, Server};
use crate::definition::{PromptDefinition, ResourceDefinition, ToolDefinition};
use crate::effect::{AnnotationTrust, Effect};
use crate::exact::{Digest, Exact};
use crate::listing::{Capabilities, Listing};
use crate::names::ServerName;
use crate::principal::{Authentication, Endpoint};
use crate::secret::Secret;
use crate::server::{ServerEntry, Sharing, Start, Transport};
use crate::stages::Toolset;
use crate::time::Millis;

mod families;
mod toolsets;
mod waiting;

fn server(name: &str, trust: AnnotationTrust, availability: Availability, listing: Listing) -> Server {
    let entry = ServerEntry {
        name: ServerName::parse(name).unwrap(),
        labels: BTreeMap::new(),
        tool_prefix: None,
        description: None,
        timeout: None,
        start: Start::Boot,
        trust,
        sharing: Sharing::PerPrincipal,
        auth: crate::server::Auth::None,
        access: Vec::new(),
        family: None,
        private_network: crate::server::PrivateNetwork::Allowed,
        transport: Transport::Http {
            url: Secret::plain("http://127.0.0.1:1/mcp"),
            headers: BTreeMap::new(),
        },
        digest: Digest::of(name.as_bytes()),
    };
    Server {
        entry: Arc::new(entry),
        listing: Arc::new(listing),
        availability,
    }
}

/// The same three tools on every server: one that says it reads, one that contradicts itself, one that says nothing.
fn listing() -> Listing {
    let tool = |name: &str, annotations: &str| {
        let raw = format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}},"annotations":{annotations}}}"#);
        Arc::new(ToolDefinition::parse(&raw).unwrap())
    };
    Listing {
        tools: vec![
            tool("read", r#"{"readOnlyHint":true}"#),
            tool("torn", r#"{"readOnlyHint":true,"destructiveHint":true}"#),
            // No verb of a name makes a tool safe.
            tool("get_nothing", "{}"),
        ],
        resources: vec![Arc::new(
            ResourceDefinition::parse_resource(r#"{"uri":"shared://one","name":"one"}"#).unwrap(),
        )],
        prompts: vec![Arc::new(PromptDefinition::parse(r#"{"name":"greet"}"#).unwrap())],
        capabilities: Capabilities {
            tools: true,
            resources: true,
            prompts: true,
            ..Capabilities::default()
        },
        ..Listing::default()
    }
}

fn catalogue() -> Catalogue {
    let mut own = listing();
    own.resources.push(
        ResourceDefinition::parse_resource(r#"{"uri":"own://one","name":"one"}"#)
            .unwrap()
            .into(),
    );
    own.templates.push(
        ResourceDefinition::parse_template(r#"{"uriTemplate":"own://{id}/log","name":"log"}"#)
            .unwrap()
            .into(),
    );
    let down = Availability::Unavailable {
        reason: "it left".to_owned(),
    };
    Catalogue::build(Parts {
        workflows: Arc::default(),
        version: 1,
        naming: Naming {
            prefix: "x".to_owned(),
            max_length: 64,
        },
        servers: vec![
            server("trusted", AnnotationTrust::Trusted, Availability::Ready, own),
            server("plain", AnnotationTrust::Ignored, Availability::Ready, listing()),
            server(
                "down",
                AnnotationTrust::Trusted,
                down,
                Listing {
                    resources: Vec::new(),
                    ..listing()
                },
            ),
            server("asleep", AnnotationTrust::Trusted, Availability::Suspended, listing()),
            server("stopped", AnnotationTrust::Trusted, Availability::Stopped, listing()),
        ],
    })
}

fn world(rights: &Rights, gate: &WriteGate) -> World {
    let rules = Rules {
        rights: rights.clone(),
        pins: Pins::Off {
            because: "no tools.lock",
        },
        gate: gate.clone(),
        presets: Arc::default(),
    };
    World {
        catalogue: Arc::new(catalogue()),
        rules: Arc::new(rules),
        view: View::Whole {
            because: "no toolset was asked for",
        },
        now: Millis(0),
    }
}

fn caller(toolset: &Toolset) -> Caller {
    let principal = Arc::new(Principal::of("local", "local", Authentication::LocalOnly));
    Caller {
        principal,
        endpoint: Endpoint::Main,
        toolset: toolset.clone(),
    }
}

fn tool(name: &str) -> Ask {
    Ask::Tool {
        name: name.to_owned(),
        arguments: Exact::empty_object(),
    }
}

fn resource(uri: &str, server: Option<&str>) -> Ask {
    Ask::Resource {
        uri: uri.to_owned(),
        server: server.map(str::to_owned),
    }
}

fn completion(reference: Reference) -> Ask {
    Ask::Complete {
        reference,
        argument: Exact::empty_object(),
        context: None,
    }
}

/// Everything that the matrix asks for: each kind of entry, visible, hidden and unknown.
fn asks() -> Vec<(&'static str, Ask)> {
    let prompt = |name: &str| Ask::Prompt {
        name: name.to_owned(),
        arguments: Exact::empty_object(),
    };
    vec![
        ("tool x_trusted_read", tool("x_trusted_read")),
        ("tool x_trusted_torn", tool("x_trusted_torn")),
        ("tool x_trusted_get_nothing", tool("x_trusted_get_nothing")),
        ("tool x_plain_read", tool("x_plain_read")),
        ("tool x_plain_get_nothing", tool("x_plain_get_nothing")),
        ("tool x_down_read", tool("x_down_read")),
        ("tool x_asleep_read", tool("x_asleep_read")),
        ("tool x_stopped_read", tool("x_stopped_read")),
        ("tool x_nobody_read", tool("x_nobody_read")),
        ("tool read", tool("read")),
        ("tool X_TRUSTED_READ", tool("X_TRUSTED_READ")),
        ("tool core_server_list", tool("core_server_list")),
        ("tool core_server_stop", tool("core_server_stop")),
        ("prompt x_trusted_greet", prompt("x_trusted_greet")),
        ("prompt x_asleep_greet", prompt("x_asleep_greet")),
        ("prompt x_nobody_greet", prompt("x_nobody_greet")),
    ]
}

fn asks_of_resources() -> Vec<(&'static str, Ask)> {
    vec![
        ("resource own://one", resource("own://one", None)),
        ("resource own://7/log", resource("own://7/log", None)),
        ("resource shared://one", resource("shared://one", None)),
        (
            "resource shared://one of plain",
            resource("shared://one", Some("plain")),
        ),
        (
            "resource shared://one of asleep",
            resource("shared://one", Some("asleep")),
        ),
        (
            "resource shared://one of nobody",
            resource("shared://one", Some("nobody")),
        ),
        ("resource other://one", resource("other://one", None)),
        (
            "complete prompt x_trusted_greet",
            completion(Reference::Prompt("x_trusted_greet".to_owned())),
        ),
        (
            "complete prompt x_asleep_greet",
            completion(Reference::Prompt("x_asleep_greet".to_owned())),
        ),
        (
            "complete own://{id}/log",
            completion(Reference::Resource("own://{id}/log".to_owned())),
        ),
        (
            "subscribe own://one",
            Ask::Subscribe {
                uri: "own://one".to_owned(),
            },
        ),
        (
            "subscribe shared://one",
            Ask::Subscribe {
                uri: "shared://one".to_owned(),
            },
        ),
        (
            "unsubscribe own://one",
            Ask::Unsubscribe {
                uri: "own://one".to_owned(),
            },
        ),
    ]
}

fn rights_word(rights: &Rights) -> &'static str {
    match rights {
        Rights::Open { .. } => "open",
    }
}

fn toolset_word(toolset: &Toolset) -> &'static str {
    match toolset {
        Toolset::Unscoped { .. } => "unscoped",
        Toolset::Within(_) => "within",
        Toolset::Bad(_) => "bad",
    }
}

fn gate_word(gate: &WriteGate) -> &'static str {
    match gate {
        WriteGate::Off { .. } => "off",
    }
}

fn row(world: &World, caller: &Caller, ask: Ask, origin: Origin) -> (String, String) {
    match judge(world, caller, ask, origin) {
        Err(refusal) => ("-".to_owned(), format!("refuse {}", refusal.code.word())),
        Ok(judged) => {
            let effect = judged.call().classified().effect.word().to_owned();
            match settle(world, judged) {
                Admission::Proceed(permit) => {
                    let target = match permit.call().target() {
                        Target::Server(server) => server.as_str(),
                        Target::Gateway => "the gateway",
                    };
                    let operation = permit.call().operation();
                    (
                        effect,
                        format!("proceed: {} {} at {target}", operation.method(), operation.subject()),
                    )
                }
            }
        }
    }
}

#[test]
fn the_policy_matrix_is_as_reviewed() {
    let rights = [Rights::Open {
        because: "no authz.yaml",
    }];
    let toolsets = [Toolset::Unscoped {
        because: "no toolset was asked for",
    }];
    let gates = [WriteGate::Off {
        because: "the write gate is not built",
    }];
    // No policy script exists, so the one value of this column says so.
    let scripts = ["none"];
    let columns = |cells: [&str; 8]| {
        let [ask, origin, rights, toolset, gate, script, effect, admission] = cells;
        format!("{ask:<34}{origin:<11}{rights:<8}{toolset:<10}{gate:<6}{script:<8}{effect:<11}{admission}\n")
    };
    let mut text = columns([
        "asked for",
        "origin",
        "rights",
        "toolset",
        "gate",
        "script",
        "effect",
        "admission",
    ]);
    for (rights, toolset, gate, script) in rights.iter().flat_map(|rights| {
        let gates = gates.iter().flat_map(move |gate| scripts.map(|script| (gate, script)));
        toolsets
            .iter()
            .zip(gates)
            .map(move |(toolset, (gate, script))| (rights, toolset, gate, script))
    }) {
        let (world, caller) = (world(rights, gate), caller(toolset));
        for (name, ask) in asks().into_iter().chain(asks_of_resources()) {
            for origin in [Origin::Direct, Origin::MetaTool] {
                let (effect, admission) = row(&world, &caller, ask.clone(), origin);
                let words = [rights_word(rights), toolset_word(toolset), gate_word(gate), script];
                let [rights, toolset, gate, script] = words;
                text += &columns([name, origin.word(), rights, toolset, gate, script, &effect, &admission]);
            }
        }
    }
    expect_file!["policy_matrix.txt"].assert_eq(&text);
}

fn open_world() -> (World, Caller) {
    let world = world(
        &Rights::Open {
            because: "no authz.yaml",
        },
        &WriteGate::Off { because: "not built" },
    );
    (
        world,
        caller(&Toolset::Unscoped {
            because: "no toolset was asked for",
        }),
    )
}

#[test]
fn every_stage_answers_and_says_why() {
    let (world, caller) = open_world();
    let mut text = String::new();
    for name in ["x_trusted_read", "x_plain_read", "core_server_stop"] {
        let judged = judge(&world, &caller, tool(name), Origin::Direct).unwrap();
        let Admission::Proceed(permit) = settle(&world, judged);
        text += &format!("{name}\n");
        for answer in permit.answers() {
            text += &format!("  {}: {} ({})\n", answer.stage, answer.answer, answer.because);
        }
    }
    expect![[r#"
        x_trusted_read
          view: visible (in the catalogue)
          toolset: unscoped (no toolset was asked for)
          rights: allowed (no authz.yaml)
          pin: off (no tools.lock)
          effect: read_only (readOnlyHint of a server with trustAnnotations)
          gate: runs (not built)
        x_plain_read
          view: visible (in the catalogue)
          toolset: unscoped (no toolset was asked for)
          rights: allowed (no authz.yaml)
          pin: off (no tools.lock)
          effect: mutating (nobody has classified it, and unclassified means mutating)
          gate: runs (not built)
        core_server_stop
          view: visible (in the catalogue)
          toolset: unscoped (no toolset was asked for)
          rights: allowed (no authz.yaml)
          pin: off (no tools.lock)
          effect: mutating (declared by the gateway)
          gate: runs (not built)
    "#]]
    .assert_eq(&text);
}

#[test]
fn i3_hidden_and_unknown_are_answered_alike() {
    let (world, caller) = open_world();
    let sentence = |ask: Ask, asked: &str| {
        let refusal = judge(&world, &caller, ask, Origin::Direct).unwrap_err();
        (
            refusal.code,
            refusal.sentence.replace(asked, "<name>"),
            refusal.nearest.iter().any(|name| name.contains("asleep")),
        )
    };
    assert_eq!(
        sentence(tool("x_asleep_read"), "x_asleep_read"),
        sentence(tool("x_nobody_read"), "x_nobody_read")
    );
    let prompt = |name: &str| Ask::Prompt {
        name: name.to_owned(),
        arguments: Exact::empty_object(),
    };
    assert_eq!(
        sentence(prompt("x_asleep_greet"), "x_asleep_greet"),
        sentence(prompt("x_none"), "x_none")
    );
    let of = |server: &str| sentence(resource("shared://one", Some(server)), "shared://one");
    assert_eq!(of("asleep"), of("nobody"));
}

#[test]
fn what_a_stopped_server_offered_is_refused_by_its_name_with_the_way_out() {
    let (world, caller) = open_world();
    let prompt = Ask::Prompt {
        name: "x_stopped_greet".to_owned(),
        arguments: Exact::empty_object(),
    };
    let asks = [
        tool("x_stopped_read"),
        prompt,
        resource("shared://one", Some("stopped")),
    ];
    for ask in asks {
        let refusal = judge(&world, &caller, ask, Origin::Direct).unwrap_err();
        assert_eq!(
            (refusal.code, &*refusal.nearest),
            (Code::ServerStopped, &["stopped".to_owned()][..])
        );
        expect![
            "server stopped is unavailable: it was stopped with core_server_stop; core_server_start starts it again"
        ]
        .assert_eq(&refusal.sentence);
    }
    // What it never had is not found, as anywhere else.
    let refusal = judge(&world, &caller, tool("x_stopped_write"), Origin::Direct).unwrap_err();
    assert_eq!(refusal.code, Code::ToolNotFound);
}

#[test]
fn a_tool_of_a_server_that_was_never_reached_is_not_found_and_the_server_is_named() {
    let (mut world, caller) = open_world();
    let reason = "connection refused".to_owned();
    let down = Availability::Unavailable { reason };
    world.catalogue = Arc::new(Catalogue::build(Parts {
        workflows: Arc::default(),
        version: 1,
        naming: Naming {
            prefix: "x".to_owned(),
            max_length: 64,
        },
        servers: vec![server("gone", AnnotationTrust::Ignored, down, Listing::default())],
    }));
    let sentence = |name| judge(&world, &caller, tool(name), Origin::Direct).unwrap_err().sentence;
    assert_eq!(
        sentence("x_gone_read"),
        "Tool not found: x_gone_read (server gone is unavailable, and its tools are not known: connection refused)"
    );
    assert_eq!(sentence("x_goner_read"), "Tool not found: x_goner_read");
}

#[test]
fn i4_the_permit_is_for_the_call_that_was_judged() {
    let (world, caller) = open_world();
    let arguments =
        Exact::object(r#"{"tool_name":"x_plain_read","name":"core_server_stop","__server":"plain"}"#).unwrap();
    let ask = Ask::Tool {
        name: "x_trusted_read".to_owned(),
        arguments: arguments.clone(),
    };
    let judged = judge(&world, &caller, ask, Origin::MetaTool).unwrap();
    let Admission::Proceed(permit) = settle(&world, judged);
    let (call, _) = permit.into_parts();
    assert_eq!(call.principal(), &*caller.principal);
    assert_eq!(call.target(), &Target::Server(ServerName::parse("trusted").unwrap()));
    assert_eq!(call.operation().subject(), "read");
    assert_eq!(call.operation().arguments(), Some(&arguments));
    assert_eq!(call.origin(), Origin::MetaTool);
}

#[test]
fn i7_only_a_trusted_declaration_makes_a_tool_read_only() {
    let catalogue = catalogue();
    for tool in catalogue.tools() {
        let read_only = tool.classified.effect == Effect::ReadOnly;
        let declared = matches!(tool.provider, Provider::Core(_))
            || matches!(tool.name.as_str(), "x_trusted_read" | "x_down_read");
        assert!(!read_only || declared, "{}", tool.name);
    }
}

#[test]
fn an_ambiguous_resource_names_its_servers_and_the_way_out() {
    let (world, caller) = open_world();
    let refusal = judge(&world, &caller, resource("shared://one", None), Origin::Direct).unwrap_err();
    assert_eq!(refusal.nearest, ["plain", "trusted"]);
    expect!["resource `shared://one` is published by servers plain, trusted; name one with the `server` argument of get_resource"].assert_eq(&refusal.sentence);
}
