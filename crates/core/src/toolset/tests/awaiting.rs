//! What is said of servers that wait for a sign-in, against what is so once they are signed in to.

#![expect(clippy::too_many_lines, reason = "tables of texts are long")]

use proptest::prelude::*;

use super::reference::{Picked, call, fast, fleet, plain_caller, some_presets, some_selectors};
use super::*;
use crate::admit::{self, Ask};
use crate::exact::Exact;
use crate::principal::Caller;
use crate::refusal::{Code, Refusal};
use crate::stages::Toolset;

fn refused(world: &World, toolset: &Toolset, ask: Ask) -> Result<(), Refusal> {
    let caller = Caller {
        toolset: toolset.clone(),
        ..plain_caller()
    };
    let view = View::of(toolset, &world.catalogue, &world.rules.presets);
    let world = World { view, ..world.clone() };
    admit::judge(&world, &caller, ask, admit::Origin::MetaTool).map(|_| ())
}

fn within(declared: &str) -> Toolset {
    Toolset::Unscoped { because: "a test" }.narrowed(Origin::Header, Selectors::parse_header([declared]))
}

fn tool(name: &str, arguments: &str) -> Ask {
    Ask::Tool {
        name: name.to_owned(),
        arguments: Exact::object(arguments).unwrap(),
    }
}

/// `git` and `k8s-b` wait; `k8s-a` is signed in to; `git-hub` needs no sign-in.
fn waiting_fleet() -> Vec<Member> {
    let mut git = member("git", &[("list", Some(true))]);
    git.awaits = true;
    git.labels = vec![("tier".to_owned(), "infra".to_owned())];
    let mut k8s_a = member("k8s-a", &[("get", None)]);
    let mut k8s_b = member("k8s-b", &[("get", None)]);
    k8s_b.awaits = true;
    for member in [&mut k8s_a, &mut k8s_b] {
        member.family = Some("k8s".to_owned());
    }
    let mut lonely = member("lonely", &[("get", None)]);
    lonely.family = Some("alone".to_owned());
    lonely.awaits = true;
    vec![git, k8s_a, k8s_b, lonely, member("git_hub", &[("list", None)])]
}

#[test]
fn a_call_that_the_toolset_could_select_asks_for_the_sign_in_and_any_other_is_refused() {
    let presets = || {
        vec![
            preset("infra", rules(&["label: tier=infra"]), rules(&["pattern: *_wipe"])),
            preset("hinted", rules(&["server: git"]), rules(&["readOnly: true"])),
            preset("not-git", rules(&["preset: full"]), rules(&["server: git"])),
            preset("not-k8s", rules(&["preset: full"]), rules(&["server: k8s"])),
            preset("none-of-x", rules(&["preset: full"]), rules(&["pattern: x_git_*"])),
        ]
    };
    let cases = [
        ("", "x_git_list", "{}"),
        ("server:git", "x_git_list", "{}"),
        ("tool:x_git_list", "x_git_list", "{}"),
        ("tool:x_git_list", "x_git_other", "{}"),
        ("preset:full", "x_git_list", "{}"),
        ("preset:read-only", "x_git_list", "{}"),
        ("preset:none", "x_git_list", "{}"),
        ("preset:infra", "x_git_list", "{}"),
        ("preset:infra", "x_git_wipe", "{}"),
        ("preset:hinted", "x_git_list", "{}"),
        ("preset:not-git", "x_git_list", "{}"),
        ("preset:none-of-x", "x_git_list", "{}"),
        // The longest beginning counts, and that server needs no sign-in.
        ("server:git", "x_git_hub_none", "{}"),
        ("", "x_git_hub_none", "{}"),
        ("", "x_gi_list", "{}"),
        ("", "workflow_list", "{}"),
        // A family: the member that the argument names.
        ("", "x_k8s_get", r#"{"cluster":"k8s-b"}"#),
        ("", "x_k8s_get", r#"{"cluster":"k8s-c"}"#),
        ("server:k8s", "x_k8s_get", r#"{"cluster":"k8s-b"}"#),
        ("server:k8s-b", "x_k8s_other", r#"{"cluster":"k8s-b"}"#),
        ("server:k8s-a", "x_k8s_get", r#"{"cluster":"k8s-b"}"#),
        ("server:k8s-a", "x_k8s_other", r#"{"cluster":"k8s-b"}"#),
        ("preset:not-k8s", "x_k8s_other", r#"{"cluster":"k8s-b"}"#),
        ("preset:not-k8s", "x_k8s-b_other", "{}"),
        ("server:k8s", "x_k8s-b_other", "{}"),
        ("", "x_alone_get", "{}"),
        ("", "x_alone_get", r#"{"cluster":"lonely"}"#),
        ("server:git", "x_alone_get", "{}"),
        ("", "x_lonely_get", "{}"),
    ];
    let world = world(&waiting_fleet(), presets());
    let rows: Vec<String> = cases
        .iter()
        .map(|(declared, name, arguments)| {
            let toolset = match *declared {
                "" => Toolset::Unscoped { because: "a test" },
                declared => within(declared),
            };
            let refusal = refused(&world, &toolset, tool(name, arguments)).unwrap_err();
            format!(
                "[{declared}] {name} {arguments}: {} — {}",
                refusal.code.word(),
                refusal.sentence
            )
        })
        .collect();
    expect![[r#"
        [] x_git_list {}: auth_required — auth_required: server git waits for your sign-in
        [server:git] x_git_list {}: auth_required — auth_required: server git waits for your sign-in
        [tool:x_git_list] x_git_list {}: auth_required — auth_required: server git waits for your sign-in
        [tool:x_git_list] x_git_other {}: outside_toolset — tool "x_git_other" is outside the toolset [tool:x_git_list]
        [preset:full] x_git_list {}: auth_required — auth_required: server git waits for your sign-in
        [preset:read-only] x_git_list {}: auth_required — auth_required: server git waits for your sign-in
        [preset:none] x_git_list {}: outside_toolset — tool "x_git_list" is outside the toolset [preset:none]
        [preset:infra] x_git_list {}: auth_required — auth_required: server git waits for your sign-in
        [preset:infra] x_git_wipe {}: outside_toolset — tool "x_git_wipe" is outside the toolset [preset:infra]
        [preset:hinted] x_git_list {}: auth_required — auth_required: server git waits for your sign-in
        [preset:not-git] x_git_list {}: outside_toolset — tool "x_git_list" is outside the toolset [preset:not-git]
        [preset:none-of-x] x_git_list {}: outside_toolset — tool "x_git_list" is outside the toolset [preset:none-of-x]
        [server:git] x_git_hub_none {}: tool_not_found — Tool not found: x_git_hub_none
        [] x_git_hub_none {}: tool_not_found — Tool not found: x_git_hub_none
        [] x_gi_list {}: tool_not_found — Tool not found: x_gi_list
        [] workflow_list {}: tool_not_found — Tool not found: workflow_list
        [] x_k8s_get {"cluster":"k8s-b"}: auth_required — auth_required: server k8s-b waits for your sign-in
        [] x_k8s_get {"cluster":"k8s-c"}: instance_not_available — tool x_k8s_get is not available on server "k8s-c" (available: k8s-a)
        [server:k8s] x_k8s_get {"cluster":"k8s-b"}: auth_required — auth_required: server k8s-b waits for your sign-in
        [server:k8s-b] x_k8s_other {"cluster":"k8s-b"}: auth_required — auth_required: server k8s-b waits for your sign-in
        [server:k8s-a] x_k8s_get {"cluster":"k8s-b"}: outside_toolset — tool "x_k8s_get" on server "k8s-b" is outside the toolset [server:k8s-a]
        [server:k8s-a] x_k8s_other {"cluster":"k8s-b"}: outside_toolset — tool "x_k8s_other" on server "k8s-b" is outside the toolset [server:k8s-a]
        [preset:not-k8s] x_k8s_other {"cluster":"k8s-b"}: outside_toolset — tool "x_k8s_other" on server "k8s-b" is outside the toolset [preset:not-k8s]
        [preset:not-k8s] x_k8s-b_other {}: auth_required — auth_required: server k8s-b waits for your sign-in
        [server:k8s] x_k8s-b_other {}: outside_toolset — tool "x_k8s-b_other" is outside the toolset [server:k8s]
        [] x_alone_get {}: instance_required — tool x_alone_get may be provided by a family on servers lonely, which wait for your sign-in; the "cluster" parameter is required
        [] x_alone_get {"cluster":"lonely"}: auth_required — auth_required: server lonely waits for your sign-in
        [server:git] x_alone_get {}: tool_not_found — Tool not found: x_alone_get
        [] x_lonely_get {}: auth_required — auth_required: server lonely waits for your sign-in"#]].assert_eq(&rows.join("\n"));
}

#[test]
fn the_servers_whose_sign_in_would_make_more_resolve_are_told() {
    let presets = vec![
        preset("infra", rules(&["label: tier=infra"]), vec![]),
        preset("globbed", rules(&["pattern: x_k8s_*", "pattern: x_gi*_list"]), vec![]),
        preset("gone", rules(&["label: tier=infra"]), rules(&["pattern: x_git_*"])),
        preset(
            "left",
            rules(&["label: tier=infra"]),
            rules(&["pattern: x_git_l*", "readOnly: true"]),
        ),
        preset("named", rules(&["tool: x_git_list"]), rules(&["pattern: x_git_l*"])),
        preset("effect", rules(&["effect: read_only"]), vec![]),
        preset("class", rules(&["access: read"]), vec![]),
        preset(
            "both",
            vec![Rule::All(rules(&["server: k8s", "pattern: x_git*"]))],
            vec![],
        ),
    ];
    let world = world(&waiting_fleet(), presets);
    let declared = [
        "preset:none",
        "preset:full",
        "preset:read-only",
        "server:git",
        "server:k8s",
        "server:k8s-a",
        "server:k8s-b",
        "tool:x_git_list",
        "tool:x_git_hub_list",
        "tool:x_k8s_get",
        "tool:x_alone_get,server:k8s-b",
        "preset:infra",
        "preset:globbed",
        "preset:gone",
        "preset:left",
        "preset:named",
        "preset:effect",
        "preset:class",
        "preset:both",
        "workflow:w",
    ];
    let rows: Vec<String> = declared
        .iter()
        .map(|declared| {
            let world = world.narrowed(Origin::Header, Ok(selectors(declared)));
            let servers: Vec<&str> = world
                .toolset()
                .unwrap()
                .requiring_auth()
                .iter()
                .map(ServerName::as_str)
                .collect();
            format!("{declared}: {}", servers.join(" "))
        })
        .collect();
    expect![[r#"
        preset:none: 
        preset:full: git k8s-b lonely
        preset:read-only: git k8s-b lonely
        server:git: git
        server:k8s: k8s-b
        server:k8s-a: 
        server:k8s-b: k8s-b
        tool:x_git_list: git
        tool:x_git_hub_list: 
        tool:x_k8s_get: k8s-b
        tool:x_alone_get,server:k8s-b: k8s-b lonely
        preset:infra: git
        preset:globbed: git k8s-b
        preset:gone: 
        preset:left: git
        preset:named: 
        preset:effect: 
        preset:class: 
        preset:both: 
        workflow:w: "#]]
    .assert_eq(&rows.join("\n"));
    // Every toolset must be able to select it.
    let both = world
        .narrowed(Origin::Bound, Ok(selectors("preset:infra")))
        .narrowed(Origin::Header, Ok(selectors("server:k8s,tool:x_git_list")));
    assert_eq!(both.toolset().unwrap().requiring_auth().len(), 1);
}

/// Whether a rule depends on what is published only after the sign-in.
fn is_open(rule: &Rule, presets: &[Preset]) -> bool {
    match rule {
        Rule::ReadOnly | Rule::Access(_) | Rule::Effect(_) => true,
        Rule::All(rules) => rules.iter().any(|rule| is_open(rule, presets)),
        Rule::Preset(name) => {
            &**name == "read-only"
                || presets.iter().any(|preset| {
                    preset.name == *name
                        && preset
                            .include
                            .iter()
                            .chain(&preset.exclude)
                            .any(|rule| is_open(rule, presets))
                })
        }
        Rule::Tool(_)
        | Rule::Pattern { .. }
        | Rule::Server(_)
        | Rule::Workflow(_)
        | Rule::Label { .. }
        | Rule::Everything => false,
    }
}

/// What each server runs that waits for the sign-in in `fleet`, once it is signed in to.
fn after_sign_in(fleet: &[Member], presets: &[Preset], toolset: &Toolset) -> (World, Picked, Picked) {
    let signed_in: Vec<Member> = fleet
        .iter()
        .cloned()
        .map(|member| Member {
            awaits: false,
            ..member
        })
        .collect();
    let world = world(&signed_in, presets.to_vec());
    let view = View::of(toolset, &world.catalogue, &world.rules.presets);
    let within = World { view, ..world.clone() };
    let awaits = |server: &str| fleet.iter().any(|member| member.awaits && member.name == server);
    let of_waiting = |picked: Picked| picked.into_iter().filter(|(_, server)| awaits(server)).collect();
    let (all, selected) = (of_waiting(fast(&world)), of_waiting(fast(&within)));
    (world, all, selected)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn what_the_toolset_selects_after_the_sign_in_was_promised_before_it(
        fleet in fleet(),
        awaits in prop::collection::vec(any::<bool>(), 5),
        presets in some_presets(),
        layers in prop::collection::vec(some_selectors(), 1..3),
    ) {
        let fleet: Vec<Member> = fleet.into_iter().zip(awaits).map(|(member, awaits)| Member { awaits, ..member }).collect();
        let toolset = layers.iter().zip([Origin::Bound, Origin::Header]).fold(
            Toolset::Unscoped { because: "a test" },
            |toolset, (selectors, origin)| toolset.narrowed(origin, Ok(selectors.clone())),
        );
        let before = world(&fleet, presets.clone());
        let view = View::of(&toolset, &before.catalogue, &before.rules.presets);
        let narrowed = World { view, ..before.clone() };
        let told: Vec<&str> = narrowed.toolset().unwrap().requiring_auth().iter().map(ServerName::as_str).collect();
        let (_, all, selected) = after_sign_in(&fleet, &presets, &toolset);
        let mut named = layers.iter().flat_map(Selectors::presets);
        let is_open = named.any(|name| is_open(&Rule::Preset(name.into()), &presets));
        for asked in all {
            let refusal = refused(&before, &toolset, call(&asked));
            // Who publishes the same name elsewhere is called there.
            let Err(refusal) = refusal else { continue };
            let asks = refusal.code == Code::AuthRequired;
            if selected.contains(&asked) {
                prop_assert!(asks, "{:?} was refused: {}", asked, refusal.sentence);
                prop_assert!(told.contains(&&*asked.1), "{:?} is selected, and {:?} was told", asked, told);
            } else if !is_open {
                // Names, servers and labels are known before the sign-in, so nothing is promised in vain.
                prop_assert!(!asks, "{:?} is not selected", asked);
            }
        }
    }
}
