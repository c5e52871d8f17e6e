//! Pages that are rendered once equal what a plain rendering gives.

use std::sync::Arc;

use countersign_core::admit::{Rules, View, World};
use countersign_core::catalogue::{Catalogue, PAGE};
use countersign_core::core_tools::CoreTool;
use countersign_core::stages::{Pins, Rights, WriteGate};
use countersign_core::time::Millis;
use countersign_core::toolset::{Origin, Selectors};
use countersign_wire::version::Era;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{inner, rendered, version};
use crate::cursor::{self, List};
use crate::meta_tools;
use crate::pages::{Key, Pages};
use crate::settings::{InForce, Settings};

#[path = "../../../../core/benches/shared/synthetic.rs"]
mod synthetic;

#[derive(serde::Deserialize)]
struct Page<'a> {
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
    #[serde(rename = "nextCursor")]
    next: Option<String>,
}

fn key(page: usize, meta: bool, direct: bool, era: Era) -> Key {
    let list = List::Tools;
    Key {
        list,
        page,
        meta,
        direct,
        apps: true,
        era,
    }
}

fn world(catalogue: Catalogue) -> World {
    let because = "a test";
    World {
        catalogue: Arc::new(catalogue),
        rules: Arc::new(Rules {
            rights: Rights::Open { because },
            pins: Pins::Off { because },
            gate: WriteGate::Off { because },
            presets: Arc::default(),
        }),
        view: View::Whole { because },
        now: Millis(0),
    }
}

/// The result of a page, without what stands around it.
fn result(rendered: &str) -> &str {
    rendered
        .strip_prefix(r#","result":"#)
        .and_then(|rest| rest.strip_suffix('}'))
        .unwrap()
}

#[test]
fn five_thousand_tools_of_fifty_servers_are_listed_in_order_in_both_eras() {
    let mut parts = synthetic::parts(5000, 50);
    let in_order: Vec<String> = parts
        .servers
        .iter()
        .map(|server| server.entry.name.to_string())
        .collect();
    parts.servers.reverse();
    let world = world(Catalogue::build(parts));
    let catalogue = &world.catalogue;
    let in_force = Arc::new(InForce::new(Settings::default(), &crate::auth::Memory::new()));
    let pages = Pages::default();
    let plain: Vec<String> = catalogue
        .tools()
        .iter()
        .map(|tool| tool.definition.renamed(tool.name.as_str()))
        .collect();
    assert_eq!(plain.len(), 5000 + CoreTool::ALL.len(), "with the gateway's own");
    for era in [Era::Legacy, Era::Modern] {
        let (mut listed, mut page) = (Vec::new(), 0);
        loop {
            let key = key(page, false, true, era);
            let render = || rendered(&world, key, version(&world), &in_force.server_info);
            let bytes = pages.page(catalogue, &in_force, key, render);
            assert_eq!(bytes, render(), "what is kept is what rendering gives");
            let read: Page<'_> = serde_json::from_str(result(std::str::from_utf8(&bytes).unwrap())).unwrap();
            assert!(read.tools.len() <= PAGE);
            listed.extend(read.tools.iter().map(|tool| tool.get().to_owned()));
            let Some(next) = read.next else { break };
            page = cursor::decode(List::Tools, catalogue.version(), &next).unwrap();
        }
        assert!(
            listed == plain,
            "{era:?}: every tool once, byte for byte, in the catalogue's order"
        );
    }
    let servers = catalogue.tools().iter().flat_map(|tool| tool.servers());
    let mut servers: Vec<String> = servers.map(ToString::to_string).collect();
    servers.dedup();
    assert_eq!(servers, in_order);
    let wanted = &catalogue.tools()[4321];
    let hits = catalogue.index().search("invoices 4321 of leave");
    assert_eq!(catalogue.tools()[hits[0].document].name, wanted.name);
    for tool in catalogue.tools() {
        let found = catalogue.tool(tool.name.as_str()).unwrap();
        assert!(Arc::ptr_eq(&found.definition, &tool.definition), "{}", tool.name);
    }
}

#[test]
fn surfaces_say_what_stands_on_the_first_page() {
    let world = world(Catalogue::build(synthetic::parts(3, 1)));
    let count = |meta, direct| {
        let text = rendered(&world, key(0, meta, direct, Era::Legacy), 1, "{}");
        let value: Value = serde_json::from_str(result(&text)).unwrap();
        value["tools"].as_array().unwrap().len()
    };
    let own = serde_json::from_str::<Vec<Value>>(meta_tools::rendered())
        .unwrap()
        .len();
    assert_eq!(
        (count(true, false), count(false, true), count(true, true)),
        (own, 3 + CoreTool::ALL.len(), own + 3 + CoreTool::ALL.len())
    );
    let both = rendered(&world, key(0, true, true, Era::Legacy), 1, "{}");
    assert!(both.starts_with(&format!(r#","result":{{"tools":[{},{{"#, inner(meta_tools::rendered()))));
}

#[test]
fn both_eras_differ_in_what_surrounds_a_list_alone() {
    let world = world(Catalogue::build(synthetic::parts(1, 1)));
    let of = |era| rendered(&world, key(0, false, true, era), 1, r#"{"name":"g"}"#);
    let (legacy, modern) = (of(Era::Legacy), of(Era::Modern));
    let head = legacy.strip_suffix("}}").unwrap();
    let more = r#","resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"g"}}}}"#;
    assert_eq!(modern, [head, more].concat());
}

#[test]
fn lists_of_nothing_are_empty() {
    let world = world(Catalogue::build(synthetic::parts(1, 1)));
    for (list, member) in [
        (List::Prompts, "prompts"),
        (List::Resources, "resources"),
        (List::Templates, "resourceTemplates"),
    ] {
        let key = Key {
            list,
            ..key(0, false, true, Era::Legacy)
        };
        assert_eq!(
            rendered(&world, key, 1, "{}"),
            format!(r#","result":{{"{member}":[]}}}}"#)
        );
    }
}

#[test]
fn a_toolset_has_pages_of_its_own_and_cursors_that_lead_nowhere_else() {
    let whole = world(Catalogue::build(synthetic::parts(5000, 50)));
    let narrowed = |text: &str| whole.narrowed(Origin::Header, Selectors::parse_header([text]));
    let servers: Vec<String> = whole
        .catalogue
        .servers()
        .iter()
        .step_by(2)
        .map(|server| format!("server:{}", server.entry.name))
        .collect();
    let (some, full) = (narrowed(&servers.join(",")), narrowed("preset:full"));
    let wanted: Vec<String> = some
        .tools()
        .map(|tool| tool.definition.renamed(tool.name.as_str()))
        .collect();
    assert!(wanted.len() > PAGE && wanted.len() < 5000, "{}", wanted.len());
    let in_force = Arc::new(InForce::new(Settings::default(), &crate::auth::Memory::new()));
    let pages = Pages::default();
    let (mut listed, mut page) = (Vec::new(), 0);
    loop {
        let key = key(page, false, true, Era::Legacy);
        let View::Narrowed(of) = &some.view else {
            panic!("it is narrowed")
        };
        let render = || rendered(&some, key, version(&some), "{}");
        let bytes = pages.narrowed(of, &in_force, key, render);
        let again = pages.narrowed(of, &in_force, key, || panic!("it is rendered once"));
        assert_eq!(bytes.as_ptr(), again.as_ptr(), "the same bytes");
        let read: Page<'_> = serde_json::from_str(result(std::str::from_utf8(&bytes).unwrap())).unwrap();
        listed.extend(read.tools.iter().map(|tool| tool.get().to_owned()));
        let Some(next) = read.next else { break };
        page = cursor::decode(List::Tools, version(&some), &next).unwrap();
        for other in [&whole, &full] {
            assert_eq!(
                cursor::decode(List::Tools, version(other), &next),
                Err(cursor::Error::Stale)
            );
        }
    }
    assert!(listed == wanted, "every selected tool once, in the catalogue's order");
}
