//! Lists and the meta-tools that read the catalogue, at 20, 1,000 and 5,000 tools.

#![expect(
    clippy::indexing_slicing,
    clippy::expect_used,
    reason = "a benchmark stops at its first surprise"
)]

#[path = "../../core/benches/shared/synthetic.rs"]
mod synthetic;

use std::sync::Arc;

use countersign_core::admit::{Rules, View, World};
use countersign_core::catalogue::{Catalogue, PAGE};
use countersign_core::exact::Exact;
use countersign_core::stages::{Pins, Rights, WriteGate};
use countersign_core::time::Millis;
use countersign_edge::measured;
use divan::{Bencher, black_box};

const SIZES: [usize; 3] = [20, 1000, 5000];

fn main() {
    divan::main();
}

fn world(tools: usize) -> World {
    let rules = Rules {
        rights: Rights::Open { because: "open" },
        pins: Pins::Off { because: "off" },
        gate: WriteGate::Off { because: "off" },
        presets: Arc::default(),
    };
    World {
        catalogue: Arc::new(Catalogue::build(synthetic::parts(tools, 50.min(tools)))),
        rules: Arc::new(rules),
        view: View::Whole { because: "unscoped" },
        now: Millis(0),
    }
}

fn meta_tool(bencher: Bencher<'_, '_>, tools: usize, tool: &str, arguments: &str) {
    let world = world(tools);
    let arguments = Exact::object(arguments).expect("valid arguments");
    bencher.bench(|| measured::meta_tool(black_box(tool), &world, &arguments).expect("an answer"));
}

/// All pages, written anew: what the first caller after a change costs.
#[divan::bench(args = SIZES)]
fn render_all_pages_of_tools(bencher: Bencher<'_, '_>, tools: usize) {
    let world = world(tools);
    bencher.bench(|| {
        let pages = world.catalogue.tools().len().div_ceil(PAGE);
        let sizes = (0..pages).map(|page| measured::page_of_tools(&world, page).len());
        sizes.sum::<usize>()
    });
}

#[divan::bench(args = SIZES)]
fn list_tools(bencher: Bencher<'_, '_>, tools: usize) {
    meta_tool(bencher, tools, "list_tools", "{}");
}

#[divan::bench(args = SIZES)]
fn filter_tools_by_query(bencher: Bencher<'_, '_>, tools: usize) {
    let arguments = r#"{"query":"approve the affected invoices of the billing ledger, permissio"}"#;
    meta_tool(bencher, tools, "filter_tools", arguments);
}

#[divan::bench(args = SIZES)]
fn filter_tools_by_pattern(bencher: Bencher<'_, '_>, tools: usize) {
    meta_tool(bencher, tools, "filter_tools", r#"{"pattern":"*_billing_*_Invoice_*"}"#);
}

#[divan::bench(args = SIZES)]
fn filter_tools_by_description(bencher: Bencher<'_, '_>, tools: usize) {
    meta_tool(
        bencher,
        tools,
        "filter_tools",
        r#"{"description_filter":"people and leave"}"#,
    );
}

#[divan::bench(args = SIZES)]
fn describe_tool(bencher: Bencher<'_, '_>, tools: usize) {
    let arguments = r#"{"name":"x_server00_crm_create_record_0000"}"#;
    meta_tool(bencher, tools, "describe_tool", arguments);
}
