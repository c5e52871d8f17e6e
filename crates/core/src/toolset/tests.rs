//! Small fleets for the tests of toolsets, and the texts of their grammar.

use std::collections::BTreeMap;
use std::sync::Arc;

use expect_test::expect;

use super::*;
use crate::admit::{Rules, View, World};
use crate::catalogue::{Availability, Catalogue, Naming, Parts, Provider, Server};
use crate::definition::{PromptDefinition, ResourceDefinition, ToolDefinition};
use crate::effect::AnnotationTrust;
use crate::exact::Digest;
use crate::listing::{Capabilities, Listing};
use crate::names::{FamilyName, ServerName};
use crate::secret::Secret;
use crate::server::{AccessRule, Auth, Membership, PrivateNetwork, ServerEntry, Sharing, Start, Transport};
use crate::stages::{Pins, Rights, WriteGate};
use crate::time::Millis;

mod awaiting;
mod idle;
mod presets;
mod reference;
mod selection;
mod why;

/// One server of a fleet, in few words.
#[derive(Debug, Clone, Default)]
pub(crate) struct Member {
    pub(crate) name: String,
    /// Its family; the argument is `cluster`.
    pub(crate) family: Option<String>,
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) trusted: bool,
    pub(crate) awaits: bool,
    pub(crate) access: Vec<(String, String)>,
    /// Name and `readOnlyHint`.
    pub(crate) tools: Vec<(String, Option<bool>)>,
    /// Whether it offers one resource and one prompt.
    pub(crate) offers: bool,
}

pub(crate) fn member(name: &str, tools: &[(&str, Option<bool>)]) -> Member {
    Member {
        name: name.to_owned(),
        tools: tools.iter().map(|(tool, hint)| ((*tool).to_owned(), *hint)).collect(),
        ..Member::default()
    }
}

fn definition((name, hint): &(String, Option<bool>)) -> Arc<ToolDefinition> {
    let hints = hint.map_or(String::new(), |hint| {
        format!(r#","annotations":{{"readOnlyHint":{hint}}}"#)
    });
    let raw = format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}{hints}}}"#);
    Arc::new(ToolDefinition::parse(&raw).unwrap())
}

fn server(member: &Member) -> Server {
    let name = &member.name;
    let labels = member.labels.iter().cloned().collect();
    let access = member.access.iter().map(|(class, glob)| AccessRule {
        class: class.clone(),
        tools: vec![glob.clone()],
    });
    let entry = ServerEntry {
        labels,
        trust: if member.trusted {
            AnnotationTrust::Trusted
        } else {
            AnnotationTrust::Ignored
        },
        access: access.collect(),
        family: member.family.as_ref().map(|family| Membership {
            name: FamilyName::parse(family).unwrap(),
            instance_arg: "cluster".into(),
        }),
        ..plain_entry(name)
    };
    let mut listing = Listing {
        tools: member.tools.iter().map(definition).collect(),
        ..Listing::default()
    };
    if member.offers {
        let resource = format!(r#"{{"uri":"r://{name}","name":"r"}}"#);
        listing.resources = vec![Arc::new(ResourceDefinition::parse_resource(&resource).unwrap())];
        listing.prompts = vec![Arc::new(PromptDefinition::parse(r#"{"name":"greet"}"#).unwrap())];
        listing.capabilities = Capabilities {
            resources: true,
            prompts: true,
            ..Capabilities::default()
        };
    }
    Server {
        entry: Arc::new(entry),
        listing: Arc::new(listing),
        availability: if member.awaits {
            Availability::AuthRequired
        } else {
            Availability::Ready
        },
    }
}

fn plain_entry(name: &str) -> ServerEntry {
    ServerEntry {
        name: ServerName::parse(name).unwrap(),
        labels: BTreeMap::new(),
        tool_prefix: None,
        description: None,
        timeout: None,
        start: Start::Boot,
        trust: AnnotationTrust::Ignored,
        sharing: Sharing::PerPrincipal,
        access: Vec::new(),
        auth: Auth::None,
        private_network: PrivateNetwork::Screened,
        family: None,
        transport: Transport::Http {
            url: Secret::plain("http://127.0.0.1:1/mcp"),
            headers: BTreeMap::new(),
        },
        digest: Digest::of(name.as_bytes()),
    }
}

pub(crate) fn catalogue(fleet: &[Member]) -> Catalogue {
    Catalogue::build(Parts {
        workflows: Arc::default(),
        version: 1,
        naming: Naming {
            prefix: "x".to_owned(),
            max_length: 64,
        },
        servers: fleet.iter().map(server).collect(),
    })
}

/// A world in which nothing is narrowed.
pub(crate) fn world(fleet: &[Member], presets: Vec<Preset>) -> World {
    World {
        catalogue: Arc::new(catalogue(fleet)),
        rules: Arc::new(Rules {
            rights: Rights::Open { because: "a test" },
            pins: Pins::Off { because: "a test" },
            gate: WriteGate::Off { because: "a test" },
            presets: Arc::new(Presets::build(presets).unwrap()),
        }),
        view: View::Whole { because: "a test" },
        now: Millis(0),
    }
}

pub(crate) fn preset(name: &str, include: Vec<Rule>, exclude: Vec<Rule>) -> Preset {
    Preset {
        name: name.into(),
        description: String::new(),
        include,
        exclude,
    }
}

/// The rules as the configuration writes them: `server: a`.
pub(crate) fn rule(text: &str) -> Rule {
    let (key, value) = text.split_once(": ").unwrap();
    match key {
        "tool" => Rule::Tool(value.into()),
        "pattern" => Rule::pattern(value).unwrap(),
        "server" => Rule::Server(value.into()),
        "workflow" => Rule::Workflow(value.into()),
        "readOnly" => Rule::ReadOnly,
        "preset" => Rule::Preset(value.into()),
        "label" => Rule::label(value).unwrap(),
        "access" => Rule::Access(value.into()),
        "effect" => Rule::Effect(Effects::ReadOnly),
        other => panic!("{other}"),
    }
}

pub(crate) fn rules(texts: &[&str]) -> Vec<Rule> {
    texts.iter().map(|text| rule(text)).collect()
}

pub(crate) fn selectors(text: &str) -> Selectors {
    Selectors::parse_header([text]).unwrap()
}

/// Every tool that a world shows, and of a family's the members.
pub(crate) fn shown(world: &World) -> String {
    let tool = |tool: &crate::catalogue::Tool| match &tool.provider {
        Provider::Family(family) => {
            let members: Vec<&str> = family.members.keys().map(ServerName::as_str).collect();
            format!("{}@{}", tool.name, members.join("+"))
        }
        Provider::Server(_) | Provider::Core(_) | Provider::Workflow(_) => tool.name.to_string(),
    };
    let tools: Vec<String> = world.tools().map(tool).collect();
    tools.join(" ")
}

#[test]
fn selectors_are_read_trimmed_and_given_back_as_declared() {
    let read = |lines: &[&str]| Selectors::parse_header(lines.iter().copied()).map(|it| it.to_string());
    assert_eq!(
        read(&["preset:read-only, workflow:incident-triage"]).unwrap(),
        "preset:read-only,workflow:incident-triage"
    );
    assert_eq!(
        read(&[" server:a\t,tool:x_a_b ", "preset:Full"]).unwrap(),
        "server:a,tool:x_a_b,preset:Full"
    );
    // A name may hold what is no blank and no comma.
    assert_eq!(read(&["tool:a:b*[é\"]"]).unwrap(), "tool:a:b*[é\"]");
    let list = Selectors::parse_list(&[" preset:none ", "server:a"]).unwrap();
    assert_eq!(serde_json::to_string(&list).unwrap(), r#"["preset:none","server:a"]"#);
    let most = vec!["server:a"; MOST].join(",");
    assert_eq!(read(&[&most]).unwrap(), most);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of texts is long")]
fn what_is_no_toolset_is_refused_with_the_texts_of_the_contract() {
    let too_many = vec!["server:a"; MOST + 1].join(",");
    let rows: Vec<String> = [
        "",
        " \t ",
        "toolset:x",
        "toolset:",
        "server:a,toolset:x",
        "label:tier=infra",
        "label:",
        "preset:none,garbage",
        "a,,b",
        "preset:a,,tool:b",
        "preset:a,",
        ",",
        "preset:",
        "preset: a",
        "tool:x k8s",
        "Preset:a",
        "presets:a",
        "preset",
        ":a",
        "tool:a\u{a0}b",
        &too_many,
    ]
    .iter()
    .map(|header| Selectors::parse_header([*header]).unwrap_err().to_string())
    .collect();
    expect![[r#"
        toolset [] is empty; use "preset:none" for an agent without tools
        toolset [] is empty; use "preset:none" for an agent without tools
        toolset [toolset:x] selector "toolset:x" is reserved for shared toolsets
        toolset [toolset:] selector "toolset:" is reserved for shared toolsets
        toolset [server:a,toolset:x] selector "toolset:x" is reserved for shared toolsets
        toolset [label:tier=infra] selector "label:tier=infra" is allowed inside presets only
        toolset [label:] selector "label:" is allowed inside presets only
        toolset [preset:none,garbage] selector "garbage" is malformed; expected preset:<name>, server:<name>, workflow:<name> or tool:<name>
        toolset [a,,b] selector "" is malformed; expected preset:<name>, server:<name>, workflow:<name> or tool:<name>
        toolset [preset:a,,tool:b] selector "" is malformed; expected preset:<name>, server:<name>, workflow:<name> or tool:<name>
        toolset [preset:a,] selector "" is malformed; expected preset:<name>, server:<name>, workflow:<name> or tool:<name>
        toolset [,] selector "" is malformed; expected preset:<name>, server:<name>, workflow:<name> or tool:<name>
        toolset [preset:] selector "preset:" is malformed; expected preset:<name>, server:<name>, workflow:<name> or tool:<name>
        toolset [preset: a] selector "preset: a" is malformed; expected preset:<name>, server:<name>, workflow:<name> or tool:<name>
        toolset [tool:x k8s] selector "tool:x k8s" is malformed; expected preset:<name>, server:<name>, workflow:<name> or tool:<name>
        toolset [Preset:a] selector "Preset:a" is malformed; expected preset:<name>, server:<name>, workflow:<name> or tool:<name>
        toolset [presets:a] selector "presets:a" is malformed; expected preset:<name>, server:<name>, workflow:<name> or tool:<name>
        toolset [preset] selector "preset" is malformed; expected preset:<name>, server:<name>, workflow:<name> or tool:<name>
        toolset [:a] selector ":a" is malformed; expected preset:<name>, server:<name>, workflow:<name> or tool:<name>
        toolset [tool:a b] selector "tool:a\u{a0}b" is malformed; expected preset:<name>, server:<name>, workflow:<name> or tool:<name>
        toolset [server:a,server:a,server:a,server:a,server:a,server:a,server:a,server:a,server:a,server:a,server:a,server:a,server:a,server:a,server:a,server:a,server:a,server:a,server:a,server:a,server:a,server:a,server:a,server:a,server:a,server:a,server:a,server:a,server:a,server:a,server:a,server:a,server:a] has 33 selectors, more than the 32 allowed inline; define a preset"#]].assert_eq(&rows.join("\n"));
    assert_eq!(Selectors::parse_list::<&str>(&[]).unwrap_err(), Error::Empty);
    assert_eq!(Selectors::parse_header([]).unwrap_err(), Error::Empty);
    assert_eq!(Selectors::parse_header(["", " "]).unwrap_err(), Error::Empty);
    expect![[
        r#"toolset [] selector "" is malformed; expected preset:<name>, server:<name>, workflow:<name> or tool:<name>"#
    ]]
    .assert_eq(&Selectors::parse_list(&[""]).unwrap_err().to_string());
    expect![[r#"toolset [tool:a,b] selector "tool:a,b" is malformed; expected preset:<name>, server:<name>, workflow:<name> or tool:<name>"#]]
        .assert_eq(&Selectors::parse_list(&["tool:a,b"]).unwrap_err().to_string());
    // One empty line beside others is an empty element, and several lines count as one list.
    expect![[r#"toolset [preset:a,] selector "" is malformed; expected preset:<name>, server:<name>, workflow:<name> or tool:<name>"#]]
        .assert_eq(&Selectors::parse_header(["preset:a", ""]).unwrap_err().to_string());
    let lines = vec!["server:a"; MOST + 1];
    assert!(matches!(
        Selectors::parse_header(lines),
        Err(Error::TooMany { count: 33, .. })
    ));
}

#[test]
fn an_error_repeats_only_so_much_of_what_was_declared() {
    let long = "y".repeat(100_000);
    let error = Selectors::parse_list(&[&long]).unwrap_err().to_string();
    assert!(error.len() < 1000, "{}", error.len());
    let name = format!("tool:{long}");
    assert!(Selectors::parse_list(&[&name]).is_err());
    let many = vec!["tool:z"; 100_000];
    let error = Selectors::parse_list(&many).unwrap_err().to_string();
    assert!(error.len() < 1000 && error.contains("has 100000 selectors"), "{error}");
}

#[test]
fn layers_stand_in_the_order_in_which_they_narrow() {
    let bounds = Bounds::of(Origin::Header, selectors("preset:a"))
        .within(Origin::Argument, selectors("tool:b"))
        .within(Origin::Bound, selectors("server:c"))
        .within(Origin::Key, selectors("server:d,server:e"));
    assert_eq!(
        bounds.to_string(),
        "bound [server:c] key [server:d,server:e] header [preset:a] argument [tool:b]"
    );
    let said = |layer: Option<&Layer>| layer.unwrap().selectors.to_string();
    assert_eq!(said(bounds.narrowest()), "tool:b");
    assert_eq!(said(bounds.bound()), "server:d,server:e");
    assert_eq!(said(bounds.header()), "preset:a");
    let header = Bounds::of(Origin::Header, selectors("preset:a"));
    assert_eq!(header.bound(), None);
}
