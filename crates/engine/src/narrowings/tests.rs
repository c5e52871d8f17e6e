//! What was narrowed once is known again, for the same snapshot and the same presets alone.

use countersign_core::catalogue::{Naming, Parts};
use countersign_core::toolset::{Origin, Preset, Rule, Selectors};

use super::*;

fn catalogue() -> Arc<Catalogue> {
    Arc::new(Catalogue::build(Parts {
        workflows: Arc::default(),
        version: 1,
        naming: Naming {
            prefix: "x".to_owned(),
            max_length: 64,
        },
        servers: Vec::new(),
    }))
}

fn within(declared: &str) -> Toolset {
    Toolset::Unscoped { because: "a test" }.narrowed(Origin::Header, Selectors::parse_header([declared]))
}

fn narrowed(view: View) -> Arc<Narrowed> {
    match view {
        View::Narrowed(narrowed) => narrowed,
        other @ (View::Whole { .. } | View::Refused(_)) => panic!("{other:?}"),
    }
}

#[test]
fn equal_toolsets_are_narrowed_once() {
    let narrowings = Narrowings::default();
    let (catalogue, presets) = (catalogue(), Arc::default());
    let view = |declared: &str| narrowed(narrowings.view(&within(declared), &catalogue, &presets));
    let first = view("preset:read-only, tool:core_events");
    assert!(Arc::ptr_eq(&first, &view("preset:read-only,tool:core_events")));
    assert!(!Arc::ptr_eq(&first, &view("tool:core_events,preset:read-only")));
    // The same toolset in another place is another one: it is told of differently.
    let bound = Toolset::Unscoped { because: "a test" }.narrowed(
        Origin::Bound,
        Selectors::parse_header(["preset:read-only,tool:core_events"]),
    );
    let bound = narrowed(narrowings.view(&bound, &catalogue, &presets));
    assert!(!Arc::ptr_eq(&first, &bound));
}

#[test]
fn another_snapshot_and_other_presets_are_narrowed_anew() {
    let narrowings = Narrowings::default();
    let (first, second, presets) = (catalogue(), catalogue(), Arc::default());
    let of = |catalogue: &Arc<Catalogue>, presets: &Arc<Presets>| {
        narrowings.view(&within("preset:full"), catalogue, presets)
    };
    let one = narrowed(of(&first, &presets));
    assert!(!Arc::ptr_eq(&one, &narrowed(of(&second, &presets))));
    let other = Arc::new(Presets::build(Vec::new()).unwrap());
    assert!(!Arc::ptr_eq(&one, &narrowed(of(&first, &other))));
    assert!(Arc::ptr_eq(&one, &narrowed(of(&first, &presets))));
}

#[test]
fn a_preset_that_is_redefined_counts_from_the_next_request_on() {
    let narrowings = Narrowings::default();
    let catalogue = catalogue();
    let preset = |tool: &str| {
        let preset = Preset {
            name: "mine".into(),
            description: String::new(),
            include: vec![Rule::Tool(tool.into())],
            exclude: Vec::new(),
        };
        Arc::new(Presets::build(vec![preset]).unwrap())
    };
    let count = |presets: &Arc<Presets>| narrowed(narrowings.view(&within("preset:mine"), &catalogue, presets)).count();
    assert_eq!(count(&preset("core_events")), 1);
    assert_eq!(count(&preset("core_gone")), 0);
    // What is not there is refused, and that is not kept either.
    let unknown = narrowings.view(&within("preset:mine"), &catalogue, &Arc::default());
    assert!(matches!(unknown, View::Refused(_)));
}

#[test]
fn only_so_many_are_kept_and_none_of_a_snapshot_that_is_no_more() {
    let narrowings = Narrowings::default();
    let (first, presets) = (catalogue(), Arc::default());
    for number in 0..KEPT + 10 {
        drop(narrowings.view(&within(&format!("tool:t{number}")), &first, &presets));
        assert!(narrowings.kept.load().len() <= KEPT);
    }
    let newest = within(&format!("tool:t{}", KEPT + 9));
    let again = |toolset: &Toolset| narrowed(narrowings.view(toolset, &first, &presets));
    assert!(Arc::ptr_eq(&again(&newest), &again(&newest)));
    drop(first);
    let second = catalogue();
    drop(narrowings.view(&within("preset:none"), &second, &presets));
    assert_eq!(narrowings.kept.load().len(), 1);
}

#[test]
fn without_a_toolset_nothing_is_kept() {
    let narrowings = Narrowings::default();
    let (catalogue, presets) = (catalogue(), Arc::default());
    let unscoped = Toolset::Unscoped { because: "a test" };
    let view = narrowings.view(&unscoped, &catalogue, &presets);
    assert!(matches!(view, View::Whole { because: "a test" }));
    assert!(matches!(
        narrowings.view(&within(""), &catalogue, &presets),
        View::Refused(_)
    ));
    assert!(narrowings.kept.load().is_empty());
}
