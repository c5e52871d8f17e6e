//! Catalogue build, name resolution, ranking and the whole decision, at 20, 1,000 and 5,000 tools.

#![expect(
    clippy::indexing_slicing,
    clippy::expect_used,
    reason = "a benchmark stops at its first surprise"
)]

#[path = "shared/synthetic.rs"]
mod synthetic;

use std::sync::Arc;

use countersign_core::admit::{self, Admission, Ask, Origin, Rules, View, World};
use countersign_core::catalogue::{Catalogue, Parts};
use countersign_core::definition::ToolDefinition;
use countersign_core::exact::Exact;
use countersign_core::principal::{Caller, Endpoint, Principal};
use countersign_core::stages::{Pins, Rights, Toolset, WriteGate};
use countersign_core::time::Millis;
use countersign_core::toolset::{self, Bounds, Preset, Presets, Rule, Selectors};
use divan::{Bencher, black_box};

const SIZES: [usize; 3] = [20, 1000, 5000];

fn main() {
    divan::main();
}

/// The tools come from 50 servers where there are that many.
fn parts(tools: usize) -> Parts {
    synthetic::parts(tools, 50.min(tools))
}

fn name_in_the_middle(catalogue: &Catalogue) -> String {
    catalogue.tools()[catalogue.tools().len() / 2].name.to_string()
}

#[divan::bench]
fn parse_one_definition(bencher: Bencher<'_, '_>) {
    let raw = synthetic::tool(123);
    bencher.bench(|| ToolDefinition::parse(black_box(&raw)));
}

#[divan::bench(args = SIZES)]
fn build_catalogue(bencher: Bencher<'_, '_>, tools: usize) {
    let parts = parts(tools);
    bencher.with_inputs(|| parts.clone()).bench_values(Catalogue::build);
}

/// One server listed other tools than before.
#[divan::bench(args = SIZES)]
fn next_catalogue_after_one_server_changed(bencher: Bencher<'_, '_>, tools: usize) {
    let before = Catalogue::build(parts(tools));
    let mut changed = parts(tools);
    let listing = Arc::make_mut(&mut changed.servers[7].listing);
    listing.tools[0] = Arc::new(ToolDefinition::parse(&synthetic::tool(9999)).expect("a valid tool"));
    bencher
        .with_inputs(|| changed.clone())
        .bench_values(|parts| before.next(parts));
}

#[divan::bench(args = SIZES)]
fn resolve_a_name(bencher: Bencher<'_, '_>, tools: usize) {
    let catalogue = Catalogue::build(parts(tools));
    let name = name_in_the_middle(&catalogue);
    bencher.bench(|| catalogue.tool(black_box(&name)));
}

#[divan::bench(args = SIZES)]
fn resolve_an_unknown_name_to_its_nearest(bencher: Bencher<'_, '_>, tools: usize) {
    let catalogue = Catalogue::build(parts(tools));
    bencher.bench(|| catalogue.nearest_tools(black_box("x_server10_billing_aprove_invoice"), 3));
}

/// Words that all tools have, words of one in ten, and a word that none has as it is spelled.
#[divan::bench(args = SIZES)]
fn rank_a_query(bencher: Bencher<'_, '_>, tools: usize) {
    let catalogue = Catalogue::build(parts(tools));
    bencher.bench(|| {
        catalogue.index().search(black_box(
            "approve the affected invoices of the billing ledger, permissio",
        ))
    });
}

/// From the view to the gate: judge and settle.
#[divan::bench(args = SIZES)]
fn decide(bencher: Bencher<'_, '_>, tools: usize) {
    let catalogue = Arc::new(Catalogue::build(parts(tools)));
    let ask = Ask::Tool {
        name: name_in_the_middle(&catalogue),
        arguments: Exact::empty_object(),
    };
    let rules = Rules {
        rights: Rights::Open { because: "open" },
        pins: Pins::Off { because: "off" },
        gate: WriteGate::Off { because: "off" },
        presets: Arc::default(),
    };
    let world = World {
        catalogue,
        rules: Arc::new(rules),
        view: View::Whole { because: "unscoped" },
        now: Millis(0),
    };
    let caller = Caller {
        principal: Arc::new(Principal::local()),
        endpoint: Endpoint::Main,
        toolset: Toolset::Unscoped { because: "unscoped" },
    };
    bencher.with_inputs(|| ask.clone()).bench_values(|ask| {
        let judged = admit::judge(&world, &caller, ask, Origin::Direct).expect("a known name");
        let Admission::Proceed(permit) = admit::settle(&world, judged);
        permit
    });
}

/// 20 presets: servers by name and label, globs from both ends, hints, compositions and excludes.
fn presets() -> Arc<Presets> {
    let presets = (0..20).map(|number| {
        let mut include = vec![
            Rule::Server(format!("server{number:02}").into()),
            Rule::pattern(&format!("x_server{number:02}_*")).expect("a glob"),
            Rule::label("team=platform").expect("a label"),
        ];
        if number % 4 == 1 {
            include.push(Rule::ReadOnly);
            include.push(Rule::Preset(format!("p{}", number - 1).into()));
        }
        let exclude = vec![
            Rule::pattern(&format!("*_{number:04}")).expect("a glob"),
            Rule::pattern("*_delete_*").expect("a glob"),
        ];
        Preset {
            name: format!("p{number}").into(),
            description: String::new(),
            include,
            exclude,
        }
    });
    Arc::new(Presets::build(presets.collect()).expect("sound presets"))
}

fn bounds(declared: &str) -> Arc<Bounds> {
    let selectors = Selectors::parse_header([declared]).expect("selectors");
    Arc::new(Bounds::of(toolset::Origin::Header, selectors))
}

/// Every preset at once: what the first request of a toolset costs.
#[divan::bench(args = SIZES)]
fn resolve_a_toolset_of_20_presets(bencher: Bencher<'_, '_>, tools: usize) {
    let catalogue = Catalogue::build(parts(tools));
    let presets = presets();
    let all: Vec<String> = (0..20).map(|number| format!("preset:p{number}")).collect();
    let bounds = bounds(&all.join(","));
    bencher.bench(|| toolset::narrow(&catalogue, &presets, black_box(&bounds)));
}

/// What one of them costs, and a tool and a server.
#[divan::bench(args = SIZES)]
fn resolve_a_small_toolset(bencher: Bencher<'_, '_>, tools: usize) {
    let catalogue = Catalogue::build(parts(tools));
    let presets = presets();
    let name = name_in_the_middle(&catalogue);
    let bounds = bounds(&format!("preset:p1,server:server07,tool:{name}"));
    bencher.bench(|| toolset::narrow(&catalogue, &presets, black_box(&bounds)));
}

/// As `decide`, within a toolset that is known already.
#[divan::bench(args = SIZES)]
fn decide_within_a_toolset(bencher: Bencher<'_, '_>, tools: usize) {
    let catalogue = Arc::new(Catalogue::build(parts(tools)));
    let name = name_in_the_middle(&catalogue);
    let bounds = bounds(&format!("preset:p1,preset:p2,tool:{name}"));
    let toolset = Toolset::Within(bounds);
    let presets = presets();
    let world = World {
        view: View::of(&toolset, &catalogue, &presets),
        catalogue,
        rules: Arc::new(Rules {
            rights: Rights::Open { because: "open" },
            pins: Pins::Off { because: "off" },
            gate: WriteGate::Off { because: "off" },
            presets,
        }),
        now: Millis(0),
    };
    let caller = Caller {
        principal: Arc::new(Principal::local()),
        endpoint: Endpoint::Main,
        toolset,
    };
    let ask = Ask::Tool {
        name,
        arguments: Exact::empty_object(),
    };
    bencher
        .with_inputs(|| ask.clone())
        .bench_values(|ask| admit::judge(&world, &caller, ask, Origin::Direct).expect("inside"));
}

/// All tools that a toolset leaves, as lists read them.
#[divan::bench(args = SIZES)]
fn list_within_a_toolset(bencher: Bencher<'_, '_>, tools: usize) {
    let catalogue = Arc::new(Catalogue::build(parts(tools)));
    let presets = presets();
    let toolset = Toolset::Within(bounds("preset:p1,preset:p2"));
    let world = World {
        view: View::of(&toolset, &catalogue, &presets),
        catalogue,
        rules: Arc::new(Rules {
            rights: Rights::Open { because: "open" },
            pins: Pins::Off { because: "off" },
            gate: WriteGate::Off { because: "off" },
            presets,
        }),
        now: Millis(0),
    };
    bencher.bench(|| black_box(&world).tools().count());
}

const ARGUMENTS: &str = r#"{"status":"open","invoice_id":"inv-2026-000123","limit":50,"fields":["id","total","currency"],"since":"2026-01-01T00:00:00Z"}"#;

#[divan::bench]
fn parse_arguments() -> Option<Exact> {
    Exact::object(black_box(ARGUMENTS)).ok()
}

/// Arguments with 64 KiB of text.
#[divan::bench]
fn parse_large_arguments(bencher: Bencher<'_, '_>) {
    let arguments = format!(r#"{{"text":"{}"}}"#, "lorem ipsum ".repeat(5461));
    bencher.bench(|| Exact::object(black_box(&arguments)));
}
