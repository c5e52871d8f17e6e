//! Resolution on bit sets against the slow way of asking every rule about every tool, for random fleets (I2).

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::admit::{self, Ask};
use crate::catalogue::Tool;
use crate::definition::Annotations;
use crate::effect::{Classified, Effect};
use crate::exact::Exact;
use crate::principal::{Caller, Endpoint, Principal};
use crate::stages::Toolset;

const SERVERS: [&str; 5] = ["a", "b", "cc", "d", "e"];
const TOOLS: [&str; 5] = ["get", "put", "get_all", "wipe", "cc_get"];

fn fleet_member(name: &'static str) -> impl Strategy<Value = Member> {
    let hint = prop_oneof![Just(None), Just(Some(true)), Just(Some(false))];
    let tools = prop::collection::btree_map(prop::sample::select(&TOOLS[..]), hint, 0..5);
    let family = prop_oneof![
        Just(None),
        Just(Some("fam".to_owned())),
        Just(Some("cc-fam".to_owned()))
    ];
    let labels = prop::collection::btree_map(
        prop::sample::select(vec!["tier", "team"]),
        prop::sample::select(vec!["", "infra", "app"]),
        0..3,
    );
    let access = prop::collection::vec(
        (
            prop::sample::select(vec!["read", "write", "odd"]),
            prop::sample::select(vec!["g*", "*", "w?pe"]),
        ),
        0..2,
    );
    let flags = (any::<bool>(), any::<bool>());
    (tools, family, labels, access, flags).prop_map(move |(tools, family, labels, access, (trusted, offers))| Member {
        name: name.to_owned(),
        family,
        labels: owned(labels),
        trusted,
        awaits: false,
        access: owned(access),
        tools: tools.into_iter().map(|(tool, hint)| (tool.to_owned(), hint)).collect(),
        offers,
    })
}

fn owned<'s>(pairs: impl IntoIterator<Item = (&'s str, &'s str)>) -> Vec<(String, String)> {
    let pairs = pairs.into_iter();
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

pub(super) fn fleet() -> impl Strategy<Value = Vec<Member>> {
    let [a, b, c, d, e] = SERVERS;
    let members = (
        fleet_member(a),
        fleet_member(b),
        fleet_member(c),
        fleet_member(d),
        fleet_member(e),
    );
    (members, 1..=5_usize).prop_map(|((a, b, c, d, e), count)| {
        let mut fleet = vec![a, b, c, d, e];
        fleet.truncate(count);
        fleet
    })
}

fn a_tool() -> impl Strategy<Value = String> {
    let of = |owner: &str, tool: &str| format!("x_{owner}_{tool}");
    prop_oneof![
        4 => (prop::sample::select(&SERVERS[..]), prop::sample::select(&TOOLS[..])).prop_map(move |(s, t)| of(s, t)),
        3 => (prop::sample::select(vec!["fam", "cc-fam"]), prop::sample::select(&TOOLS[..])).prop_map(move |(s, t)| of(s, t)),
        1 => Just("core_server_list".to_owned()),
        1 => Just("x_nobody_get".to_owned()),
    ]
}

fn a_server() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "cc", "d", "e", "fam", "cc-fam", "nobody"]).prop_map(str::to_owned)
}

/// A rule; compositions name presets before the `number`-th, so that none leads back.
fn a_rule(number: Option<usize>) -> BoxedStrategy<Rule> {
    let composed = match number {
        None => Just(Rule::ReadOnly).boxed(),
        Some(number) => (0..=number)
            .prop_map(|place| Rule::Preset(["full", "p0", "p1", "p2", "read-only", "none"][place].into()))
            .boxed(),
    };
    let simple = prop_oneof![
        3 => a_tool().prop_map(|name| Rule::Tool(name.into())),
        3 => a_server().prop_map(|name| Rule::Server(name.into())),
        3 => prop::sample::select(vec!["*", "x_*", "*_get", "x_[ab]_*", "x_fam_?et", "core_*", "x_cc*", "x_a_g*l", "nothing"])
            .prop_map(|glob| Rule::pattern(glob).unwrap()),
        2 => Just(Rule::ReadOnly),
        2 => prop::sample::select(vec!["tier", "tier=", "tier=infra", "team=app"]).prop_map(|label| Rule::label(label).unwrap()),
        1 => prop::sample::select(vec!["read", "write", "odd", "admin", "dangerous"]).prop_map(|class| Rule::Access(class.into())),
        1 => Just(Rule::Effect(Effects::ReadOnly)),
        1 => Just(Rule::Workflow("w".into())),
        2 => composed,
    ];
    simple
        .prop_recursive(2, 6, 3, |inner| prop::collection::vec(inner, 1..4).prop_map(Rule::All))
        .boxed()
}

fn a_preset(number: usize) -> impl Strategy<Value = Preset> {
    let include = prop::collection::vec(a_rule(Some(number)), 0..4);
    let exclude = prop::collection::vec(a_rule(None), 0..3);
    (include, exclude).prop_map(move |(include, exclude)| preset(&format!("p{number}"), include, exclude))
}

pub(super) fn some_presets() -> impl Strategy<Value = Vec<Preset>> {
    (a_preset(0), a_preset(1), a_preset(2), a_preset(3)).prop_map(|(a, b, c, d)| vec![a, b, c, d])
}

pub(super) fn some_selectors() -> impl Strategy<Value = Selectors> {
    let one = prop_oneof![
        4 => prop::sample::select(vec!["p0", "p1", "p2", "p3", "full", "read-only", "none"]).prop_map(|it| format!("preset:{it}")),
        2 => a_server().prop_map(|it| format!("server:{it}")),
        2 => a_tool().prop_map(|it| format!("tool:{it}")),
        1 => Just("workflow:w".to_owned()),
    ];
    prop::collection::vec(one, 1..4).prop_map(|list| Selectors::parse_list(&list).unwrap())
}

/// One tool where one member runs it.
#[derive(Debug)]
struct Place<'c> {
    tool: &'c Tool,
    server: Option<&'c Server>,
    hints: Option<Annotations>,
    original: String,
    classified: Classified,
}

fn places(catalogue: &Catalogue) -> Vec<Place<'_>> {
    let mut places = Vec::new();
    for tool in catalogue.tools() {
        let mut add = |server: Option<&ServerName>, definition: &Arc<ToolDefinition>, classified| {
            places.push(Place {
                tool,
                server: server.map(|server| catalogue.server(server.as_str()).unwrap()),
                hints: definition.annotations.clone(),
                original: definition.name.to_string(),
                classified,
            });
        };
        match &tool.provider {
            Provider::Server(server) => add(Some(server), &tool.definition, tool.classified),
            Provider::Core(_) | Provider::Workflow(_) => add(None, &tool.definition, tool.classified),
            Provider::Family(family) => {
                for (server, member) in &family.members {
                    add(Some(server), &member.definition, member.classified);
                }
            }
        }
    }
    places
}

fn hint(hints: &Option<Annotations>, of: fn(&Annotations) -> Option<bool>) -> bool {
    hints.as_ref().and_then(of) == Some(true)
}

fn class(place: &Place<'_>) -> Option<String> {
    let Some(server) = place.server else {
        let reads = place.classified.effect == Effect::ReadOnly;
        return Some(if reads { "read" } else { "admin" }.to_owned());
    };
    for rule in &server.entry.access {
        if rule
            .tools
            .iter()
            .any(|glob| crate::glob::Glob::parse(glob).unwrap().matches(&place.original))
        {
            return Some(rule.class.clone());
        }
    }
    (server.entry.trust == AnnotationTrust::Trusted).then(|| {
        let reads = hint(&place.hints, |hints| hints.read_only);
        if reads { "read" } else { "write" }.to_owned()
    })
}

/// The slow way: whether one rule selects one tool at one member.
fn selects(rule: &Rule, place: &Place<'_>, presets: &Presets) -> bool {
    let name = place.tool.name.as_str();
    let server = place.server.map(|server| &*server.entry);
    match rule {
        Rule::Tool(said) => name == &**said,
        Rule::Pattern { glob, text: _ } => glob.matches(name),
        Rule::Server(said) => {
            let of_family = match &place.tool.provider {
                Provider::Family(family) => family.family.as_str() == &**said,
                Provider::Server(_) | Provider::Core(_) | Provider::Workflow(_) => false,
            };
            of_family || server.is_some_and(|server| server.name.as_str() == &**said)
        }
        Rule::Workflow(said) => name == format!("workflow_{said}"),
        Rule::ReadOnly => hint(&place.hints, |hints| hints.read_only),
        Rule::Preset(said) => {
            let preset = presets.get(said).unwrap();
            preset.include.iter().any(|rule| selects(rule, place, presets))
                && !preset.exclude.iter().any(|rule| selects(rule, place, presets))
        }
        Rule::Label { key, value } => server.is_some_and(|server| match (server.labels.get(&**key), value) {
            (Some(carried), Some(value)) => **value == **carried,
            (carried, None) => carried.is_some(),
            (None, Some(_)) => false,
        }),
        Rule::Access(said) => class(place).as_deref() == Some(&**said),
        Rule::Effect(Effects::ReadOnly) => place.classified.effect == Effect::ReadOnly,
        Rule::All(rules) => rules.iter().all(|rule| selects(rule, place, presets)),
        Rule::Everything => true,
    }
}

fn selected_by(selector: &Selector, place: &Place<'_>, presets: &Presets) -> bool {
    let rule = match selector {
        Selector::Preset(name) => Rule::Preset(name.clone()),
        Selector::Server(name) => Rule::Server(name.clone()),
        Selector::Workflow(name) => Rule::Workflow(name.clone()),
        Selector::Tool(name) => Rule::Tool(name.clone()),
    };
    selects(&rule, place, presets)
}

/// Name and member of everything that is selected.
pub(super) type Picked = BTreeSet<(String, String)>;

fn slow(world: &World, layers: &[Selectors]) -> Picked {
    let presets = &world.rules.presets;
    let by = |layer: &Selectors, place: &Place<'_>| layer.as_slice().iter().any(|it| selected_by(it, place, presets));
    let mut picked = Picked::new();
    for place in places(&world.catalogue) {
        if layers.iter().all(|layer| by(layer, &place)) {
            let server = place
                .server
                .map_or(String::new(), |server| server.entry.name.to_string());
            picked.insert((place.tool.name.to_string(), server));
        }
    }
    picked
}

/// What a world shows.
pub(super) fn fast(world: &World) -> Picked {
    let mut picked = Picked::new();
    for tool in world.tools() {
        let name = tool.name.to_string();
        let mut servers = tool.servers().peekable();
        if servers.peek().is_none() {
            picked.insert((name, String::new()));
            continue;
        }
        picked.extend(servers.map(|server| (name.clone(), server.to_string())));
    }
    picked
}

const ORIGINS: [Origin; 4] = [Origin::Bound, Origin::Key, Origin::Header, Origin::Argument];

fn narrowed(world: &World, layers: &[Selectors]) -> World {
    let layers = layers.iter().zip(ORIGINS);
    layers.fold(world.clone(), |world, (selectors, origin)| {
        world.narrowed(origin, Ok(selectors.clone()))
    })
}

fn caller(layers: &[Selectors]) -> Caller {
    let unscoped = Toolset::Unscoped { because: "a test" };
    let toolset = layers
        .iter()
        .zip(ORIGINS)
        .fold(unscoped, |toolset, (selectors, origin)| {
            toolset.narrowed(origin, Ok(selectors.clone()))
        });
    Caller {
        toolset,
        ..plain_caller()
    }
}

pub(super) fn plain_caller() -> Caller {
    Caller {
        principal: Arc::new(Principal::local()),
        endpoint: Endpoint::Main,
        toolset: Toolset::Unscoped { because: "a test" },
    }
}

/// The call of a tool on a member, as a caller makes it.
pub(super) fn call((name, server): &(String, String)) -> Ask {
    Ask::Tool {
        name: name.clone(),
        arguments: Exact::object(&format!(r#"{{"cluster":"{server}"}}"#)).unwrap(),
    }
}

fn may(world: &World, layers: &[Selectors], ask: Ask) -> bool {
    admit::judge(world, &caller(layers), ask, admit::Origin::Direct).is_ok()
}

fn resources(world: &World) -> BTreeSet<String> {
    world
        .resources()
        .map(|resource| resource.definition.uri.clone())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn resolution_is_what_the_slow_reference_says(
        fleet in fleet(),
        presets in some_presets(),
        layers in prop::collection::vec(some_selectors(), 1..4),
    ) {
        let world = world(&fleet, presets);
        let within = narrowed(&world, &layers);
        let wanted = slow(&world, &layers);
        prop_assert_eq!(&fast(&within), &wanted);
        let names: BTreeSet<&String> = wanted.iter().map(|(name, _)| name).collect();
        prop_assert_eq!(within.tool_count(), names.len());
        for tool in world.catalogue.tools() {
            prop_assert_eq!(within.tool(tool.name.as_str()).is_some(), names.contains(&tool.name.to_string()));
        }
        // A server is inside with one of its tools; those without tools are inside where each layer selects them.
        for server in world.catalogue.servers() {
            let name = server.entry.name.as_str();
            let tools = |picked: &Picked| picked.iter().any(|(_, server)| server == name);
            if tools(&fast(&world)) {
                prop_assert_eq!(within.shows_server(name), tools(&wanted), "{}", name);
            } else {
                let alone = layers.iter().all(|layer| narrowed(&world, std::slice::from_ref(layer)).shows_server(name));
                prop_assert_eq!(within.shows_server(name), alone, "{}", name);
            }
        }
        // What selects nothing of what the toolsets before it leave is told.
        let (last, before) = layers.split_last().unwrap();
        let before = slow(&world, before);
        let told = within.toolset().unwrap().unmatched();
        for selector in last.as_slice() {
            let alone = Selectors::parse_list(&[selector.to_string()]).unwrap();
            let selects = !slow(&world, std::slice::from_ref(&alone)).is_disjoint(&before);
            if selects || selector.to_string() == "preset:none" {
                prop_assert!(!told.contains(selector), "{} is matched", selector);
            } else if narrowed(&world, &[alone]).servers().next().is_none() {
                prop_assert!(told.contains(selector), "{} is not matched", selector);
            }
        }
    }

    #[test]
    fn i2_narrowing_never_widens(
        fleet in fleet(),
        presets in some_presets(),
        layers in prop::collection::vec(some_selectors(), 1..5),
    ) {
        let world = world(&fleet, presets);
        let (_, fewer) = layers.split_last().unwrap();
        let (wide, narrow) = (narrowed(&world, fewer), narrowed(&world, &layers));
        prop_assert!(fast(&narrow).is_subset(&fast(&wide)));
        prop_assert!(narrow.tool_count() <= wide.tool_count());
        prop_assert!(resources(&narrow).is_subset(&resources(&wide)));
        for server in narrow.servers() {
            prop_assert!(wide.shows_server(server.entry.name.as_str()));
        }
        // Every way in: what may be called, read or got within the narrower may be in the wider, and is shown.
        for asked in fast(&world) {
            let may_narrow = may(&narrow, &layers, call(&asked));
            prop_assert_eq!(may_narrow, fast(&narrow).contains(&asked), "{:?}", asked);
            prop_assert!(!may_narrow || may(&wide, fewer, call(&asked)), "{:?}", asked);
        }
        for server in SERVERS {
            let uri = format!("r://{server}");
            let prompt = || Ask::Prompt { name: format!("x_{server}_greet"), arguments: Exact::empty_object() };
            let read = || Ask::Resource { uri: uri.clone(), server: None };
            prop_assert!(!may(&narrow, &layers, read()) || may(&wide, fewer, read()));
            prop_assert!(!may(&narrow, &layers, prompt()) || may(&wide, fewer, prompt()));
            prop_assert_eq!(may(&narrow, &layers, prompt()), narrow.prompts().any(|it| it.server.as_str() == server));
            prop_assert_eq!(
                may(&narrow, &layers, Ask::Subscribe { uri: uri.clone() }),
                may(&narrow, &layers, read())
            );
        }
    }
}
