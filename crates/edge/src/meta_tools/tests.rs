//! The meta-tools over a small catalogue: answers against their schemas, errors in full, raw bytes.

mod definitions;
mod errors;
mod forward;
mod lists;
mod texts;
mod toolsets;

use std::collections::BTreeMap;
use std::sync::Arc;

use countersign_core::admit::{self, Rules, World};
use countersign_core::catalogue::{Availability, Catalogue, Naming, Parts, Server};
use countersign_core::definition::{PromptDefinition, ResourceDefinition, ToolDefinition};
use countersign_core::effect::AnnotationTrust;
use countersign_core::exact::{Digest, Exact};
use countersign_core::listing::{Capabilities, Listing};
use countersign_core::names::ServerName;
use countersign_core::secret::Secret;
use countersign_core::server::{EnvMode, ServerEntry, Sharing, Start, Transport};
use countersign_core::stages::{Pins, Rights, WriteGate};
use countersign_core::time::Millis;
use serde_json::Value;

use super::{MetaTool, Way, answer, find};

/// A schema as no serializer of ours would write it: blanks, order, integers beyond 64 bits and doubles.
const ODD_SCHEMA: &str = r#"{ "type":"object", "properties":{"path":{"type":"string"}, "mode": {"type":"integer","default":9007199254740993,"maximum": 123456789012345678901234567890}}, "required":["path","mode"], "x-vendor": 1E+2 }"#;

fn tool(raw: &str) -> Arc<ToolDefinition> {
    Arc::new(ToolDefinition::parse(raw).unwrap())
}

fn entry(name: &str, labels: &[(&str, &str)]) -> Arc<ServerEntry> {
    let labels: BTreeMap<String, String> = labels
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    Arc::new(ServerEntry {
        name: ServerName::parse(name).unwrap(),
        labels,
        tool_prefix: None,
        description: None,
        timeout: None,
        start: Start::Boot,
        trust: AnnotationTrust::Trusted,
        sharing: Sharing::PerPrincipal,
        auth: countersign_core::server::Auth::None,
        access: Vec::new(),
        family: None,
        private_network: countersign_core::server::PrivateNetwork::Allowed,
        transport: Transport::Stdio {
            command: Secret::plain("true"),
            args: Vec::new(),
            env: BTreeMap::new(),
            env_mode: EnvMode::Clean,
            env_passthrough: Vec::new(),
            cwd: None,
        },
        digest: Digest::of(name.as_bytes()),
    })
}

fn files() -> Server {
    let odd = format!(
        r#"{{"name":"read_file","title":"Read a file","description":"Reads a file.\nMore lines follow.","inputSchema":{ODD_SCHEMA},"outputSchema":{{"type": "object"}},"annotations":{{"readOnlyHint": true,"x-vendor":9007199254740993}}}}"#
    );
    let listing = Listing {
        protocol: "2025-11-25".to_owned(),
        capabilities: Capabilities { tools: true, resources: true, prompts: true, ..Capabilities::default() },
        tools: vec![
            tool(&odd),
            tool(r#"{"name":"Write_File","description":"Writes a file.","inputSchema":{"type":"object"}}"#),
            tool(
                r#"{"name":"poll","description":"For the page.","inputSchema":{"type":"object"},"_meta":{"ui":{"visibility":["app"]}}}"#,
            ),
        ],
        resources: vec![
            ResourceDefinition::parse_resource(
                r#"{"uri":"file:///docs/a.md","name":"a.md","title":"A","description":"The first.\nLong.","mimeType":"text/markdown","size": 9007199254740993}"#,
            )
            .unwrap().into(),
            ResourceDefinition::parse_resource(r#"{"uri":"shared://one","name":"one"}"#).unwrap().into(),
        ],
        templates: vec![
            ResourceDefinition::parse_template(r#"{"uriTemplate":"file:///docs/{name}","name":"doc"}"#).unwrap().into(),
        ],
        prompts: vec![
            PromptDefinition::parse(
                r#"{"name":"review","title":"Review","description":"Reviews a file.","arguments":[{"name":"path","required":true},{"name":"tone"}]}"#,
            )
            .unwrap().into(),
        ],
        ..Listing::default()
    };
    Server {
        entry: entry("files", &[("team", "docs"), ("zone", "eu")]),
        listing: Arc::new(listing),
        availability: Availability::Ready,
    }
}

fn notes() -> Server {
    let listing = Listing {
        protocol: "2026-07-28".to_owned(),
        capabilities: Capabilities {
            tools: true,
            resources: true,
            prompts: true,
            ..Capabilities::default()
        },
        tools: vec![tool(
            r#"{"name":"add","description":"Adds a note to the notebook.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}"#,
        )],
        resources: vec![
            ResourceDefinition::parse_resource(r#"{"uri":"shared://one","name":"one"}"#)
                .unwrap()
                .into(),
        ],
        prompts: vec![PromptDefinition::parse(r#"{"name":"plan"}"#).unwrap().into()],
        ..Listing::default()
    };
    Server {
        entry: entry("notes", &[("team", "notes")]),
        listing: Arc::new(listing),
        availability: Availability::Unavailable {
            reason: "connection refused".to_owned(),
        },
    }
}

fn world_of(servers: Vec<Server>) -> World {
    let naming = Naming {
        prefix: "x".to_owned(),
        max_length: 64,
    };
    World {
        catalogue: Arc::new(Catalogue::build(Parts {
            workflows: Arc::default(),
            version: 1,
            naming,
            servers,
        })),
        rules: Arc::new(Rules {
            rights: Rights::Open { because: "a test" },
            pins: Pins::Off { because: "a test" },
            gate: WriteGate::Off { because: "a test" },
            presets: Arc::default(),
        }),
        view: admit::View::Whole { because: "a test" },
        now: Millis(0),
    }
}

fn world() -> World {
    world_of(vec![files(), notes()])
}

/// The `CallToolResult` of a meta-tool that reads the snapshot, as raw JSON.
fn answered_in(world: &World, name: &str, arguments: &str) -> String {
    let Way::Read(read) = find(name).unwrap().way() else {
        panic!("{name} calls")
    };
    let result = super::within_toolset(read, world, &Exact::object(arguments).unwrap());
    result.map_or_else(|failure| failure.render(), |structured| answer::own(&structured))
}

fn answered(name: &str, arguments: &str) -> String {
    answered_in(&world(), name, arguments)
}

fn structured(name: &str, arguments: &str) -> Value {
    let result: Value = serde_json::from_str(&answered(name, arguments)).unwrap();
    assert!(result.get("isError").is_none(), "{result}");
    result["structuredContent"].clone()
}

/// The names in a list, in order.
fn names(name: &str, arguments: &str) -> Vec<String> {
    let answer = structured(name, arguments);
    let list = ["tools", "resources", "prompts"]
        .iter()
        .find_map(|list| answer[list].as_array())
        .unwrap();
    list.iter()
        .map(|entry| entry["name"].as_str().unwrap().to_owned())
        .collect()
}

/// The definition of one meta-tool as published.
fn published(tool: MetaTool) -> Value {
    let all: Vec<Value> = serde_json::from_str(super::rendered()).unwrap();
    all.into_iter()
        .find(|definition| definition["name"] == tool.name())
        .unwrap()
}
