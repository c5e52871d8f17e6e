//! A snapshot that is built from the one before equals one that is built from nothing.

use std::sync::Arc;

use proptest::prelude::*;

use super::super::*;
use super::{build, listed, naming};
use crate::definition::ToolDefinition;

/// Name, and words of the description.
type Words = (String, Vec<String>);

fn words() -> impl Strategy<Value = Words> {
    let word = prop::sample::select(vec![
        "invoice",
        "invoices",
        "billing",
        "pod",
        "pods",
        "logs",
        "pullRequest",
        "approve",
        "x",
    ]);
    let described = prop::collection::vec(word.prop_map(str::to_owned), 0..5);
    ("[a-d]{1,2}", described)
}

/// Servers by name: whether each offers its tools, a label, and the tools.
type Fleet = BTreeMap<String, (bool, bool, Vec<Words>)>;

fn fleet() -> impl Strategy<Value = Fleet> {
    let tools = prop::collection::vec(words(), 0..5);
    prop::collection::btree_map("[ab][ab_]{0,1}", (any::<bool>(), any::<bool>(), tools), 0..5)
}

fn definition((name, words): &Words) -> Arc<ToolDefinition> {
    let raw = format!(
        r#"{{"name":"{name}","description":"{}","inputSchema":{{"type":"object","properties":{{"{}":{{}}}}}}}}"#,
        words.join(" "),
        words.first().map_or("none", String::as_str)
    );
    Arc::new(ToolDefinition::parse(&raw).unwrap())
}

fn parts(fleet: &Fleet) -> Parts {
    let server = |(name, (offered, labelled, tools)): (&String, &(bool, bool, Vec<Words>))| {
        let listing = Listing {
            tools: tools.iter().map(definition).collect(),
            ..Listing::default()
        };
        let mut server = listed(name, listing);
        if *labelled {
            Arc::make_mut(&mut server.entry)
                .labels
                .insert("team".to_owned(), "billing".to_owned());
        }
        if !*offered {
            server.availability = Availability::Suspended;
        }
        server
    };
    Parts {
        workflows: Arc::default(),
        version: 3,
        naming: naming(),
        servers: fleet.iter().map(server).collect(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_snapshot_built_from_any_other_equals_one_built_from_nothing(before in fleet(), after in fleet(), query in "[a-d ]{0,4}(invoice|pods?|pull request|billing| x )?") {
        let full = Catalogue::build(parts(&after));
        let next = Catalogue::build(parts(&before)).next(parts(&after));
        // Everything that a snapshot holds is shown by its debug text, the index included.
        prop_assert_eq!(format!("{next:?}"), format!("{full:?}"));
        prop_assert_eq!(next.index().search(&query), full.index().search(&query));
        prop_assert_eq!(next.shows_same_tools(&full), true);
        let again = full.next(parts(&after));
        prop_assert_eq!(format!("{again:?}"), format!("{full:?}"));
    }
}

fn many(change: impl Fn(&mut Vec<Words>)) -> Server {
    let mut tools: Vec<Words> = (0..600)
        .map(|number| (format!("t{number}"), vec![format!("word{}", number % 7)]))
        .collect();
    change(&mut tools);
    let listing = Listing {
        tools: tools.iter().map(definition).collect(),
        ..Listing::default()
    };
    listed("many", listing)
}

#[test]
fn changes_of_one_large_server_give_what_a_whole_build_gives() {
    let before = build(vec![many(|_| {})]);
    let changes: [fn(&mut Vec<Words>); 4] = [
        |tools| tools[300].1 = vec!["changed".to_owned()],
        |tools| drop(tools.remove(0)),
        |tools| tools.insert(256, ("new".to_owned(), vec!["word1".to_owned()])),
        |tools| tools.truncate(256),
    ];
    for change in changes {
        let (next, full) = (
            before.next(Parts {
                workflows: Arc::default(),
                version: 7,
                naming: naming(),
                servers: vec![many(change)],
            }),
            build(vec![many(change)]),
        );
        assert!(format!("{next:?}") == format!("{full:?}"));
        assert_eq!(
            next.index().search("word1 changed"),
            full.index().search("word1 changed")
        );
    }
}
