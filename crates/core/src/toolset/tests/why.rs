//! What explanations are made of, against the resolution itself.

use proptest::prelude::*;

use super::reference::{fleet, some_presets, some_selectors};
use super::*;
use crate::catalogue::Tool;

fn bounds(layers: &[&Selectors]) -> Bounds {
    let origins = [Origin::Key, Origin::Header, Origin::Argument];
    let mut layers = layers.iter().zip(origins);
    let (first, origin) = layers.next().unwrap();
    layers.fold(Bounds::of(origin, (*first).clone()), |bounds, (selectors, origin)| {
        bounds.within(origin, (*selectors).clone())
    })
}

/// A reason in one line: `key server:a=Selected` and the rules behind it.
fn line(reason: &Reason<'_>) -> String {
    let deciding = reason.deciding().unwrap();
    let rules: Vec<String> = deciding
        .rules
        .iter()
        .map(|step| format!("{step} ({})", step.rule))
        .collect();
    let origin = reason.layer.origin.word();
    let said = format!("{origin} {}: {:?}", deciding.selector, reason.verdict());
    [vec![said], rules].concat().join(" > ")
}

fn hub() -> (Catalogue, Presets) {
    let mut git = member("git", &[("list", Some(true)), ("push", None), ("delete", None)]);
    git.labels = vec![("tier".to_owned(), "infra".to_owned())];
    let mut waiting = member("chat", &[]);
    waiting.awaits = true;
    let mut members = [member("eu", &[("get", None)]), member("us", &[("get", None)])];
    for member in &mut members {
        member.family = Some("k8s".to_owned());
    }
    let [eu, us] = members;
    let presets = Presets::build(vec![
        preset(
            "infra",
            rules(&["server: git", "server: k8s"]),
            rules(&["pattern: *_delete", "server: us"]),
        ),
        preset(
            "safe",
            rules(&["tool: core_server_list", "preset: infra"]),
            rules(&["pattern: *_push"]),
        ),
        preset(
            "talk",
            rules(&["server: chat"]),
            rules(&["readOnly: true", "pattern: *_shout"]),
        ),
        preset(
            "both",
            vec![Rule::All(rules(&["server: git", "readOnly: true"]))],
            Vec::new(),
        ),
    ]);
    (catalogue(&[git, waiting, eu, us]), presets.unwrap())
}

#[test]
fn the_selector_and_the_rules_that_decide_are_named() {
    let (catalogue, presets) = hub();
    let server = |name: &str| ServerName::parse(name).unwrap();
    let (eu, us) = (server("eu"), server("us"));
    let cases: [(&str, &str, Option<&ServerName>); 12] = [
        ("server:git", "x_git_push", None),
        ("server:other,tool:x_git_push", "x_git_push", None),
        ("preset:infra", "x_git_push", None),
        ("preset:infra", "x_git_delete", None),
        ("preset:safe", "x_git_list", None),
        ("preset:safe", "x_git_push", None),
        ("preset:safe", "x_git_delete", None),
        ("preset:infra", "x_k8s_get", None),
        ("preset:infra", "x_k8s_get", Some(&us)),
        ("preset:safe", "x_k8s_get", Some(&eu)),
        ("preset:both,preset:read-only", "x_git_list", None),
        ("preset:none", "x_git_list", None),
    ];
    let rows: Vec<String> = cases
        .iter()
        .map(|(declared, name, member)| {
            let bounds = bounds(&[&selectors(declared)]);
            let reasons = Reasons::of(&catalogue, &presets, &bounds).unwrap();
            let place = catalogue.place(name).unwrap();
            let member_text = member.map_or(String::new(), |member| format!("@{member}"));
            format!("{name}{member_text}: {}", line(&reasons.of_tool(place, *member)[0]))
        })
        .collect();
    expect![[r#"
        x_git_push: key server:git: Selected
        x_git_push: key tool:x_git_push: Selected
        x_git_push: key preset:infra: Selected > infra include[0] (server: git)
        x_git_delete: key preset:infra: LeftOut > infra exclude[0] (pattern: *_delete)
        x_git_list: key preset:safe: Selected > safe include[1] (preset: infra) > infra include[0] (server: git)
        x_git_push: key preset:safe: LeftOut > safe exclude[0] (pattern: *_push)
        x_git_delete: key preset:safe: LeftOut > safe include[1] (preset: infra) > infra exclude[0] (pattern: *_delete)
        x_k8s_get: key preset:infra: Selected > infra include[1] (server: k8s)
        x_k8s_get@us: key preset:infra: LeftOut > infra exclude[1] (server: us)
        x_k8s_get@eu: key preset:safe: Selected > safe include[1] (preset: infra) > infra include[1] (server: k8s)
        x_git_list: key preset:both: Selected > both include[0] (all: [server: git, readOnly: true])
        x_git_list: key preset:none: Unselected"#]]
    .assert_eq(&rows.join("\n"));
}

#[test]
fn what_a_server_may_publish_after_a_sign_in_is_told_in_three_values() {
    let (catalogue, presets) = hub();
    let rows: Vec<String> = [
        ("preset:talk", "x_chat_say"),
        ("preset:talk", "x_chat_shout"),
        ("preset:read-only", "x_chat_say"),
        ("server:chat", "x_chat_say"),
        ("server:git", "x_chat_say"),
    ]
    .iter()
    .map(|(declared, name)| {
        let bounds = bounds(&[&selectors(declared)]);
        let reasons = Reasons::of(&catalogue, &presets, &bounds).unwrap();
        format!("{name}: {}", line(&reasons.of_awaited("chat", name)[0]))
    })
    .collect();
    expect![[r#"
        x_chat_say: key preset:talk: Possible > talk include[0] (server: chat)
        x_chat_shout: key preset:talk: LeftOut > talk exclude[1] (pattern: *_shout)
        x_chat_say: key preset:read-only: Possible > read-only include[0] (readOnly: true)
        x_chat_say: key server:chat: Selected
        x_chat_say: key server:git: Unselected"#]]
    .assert_eq(&rows.join("\n"));
}

#[test]
fn b062_what_each_rule_picks_is_told() {
    let (catalogue, presets) = hub();
    let bounds = bounds(&[&selectors("preset:talk,preset:infra")]);
    let reasons = Reasons::of(&catalogue, &presets, &bounds).unwrap();
    let rows: Vec<String> = [
        ("infra", List::Include),
        ("infra", List::Exclude),
        ("talk", List::Include),
    ]
    .into_iter()
    .flat_map(|(name, list)| (0..2).map(move |number| (name, list, number)))
    .map(|(name, list, number)| {
        let picked = reasons.picked_by_rule(name, list, number);
        format!("{name} {list:?} {number}: {picked:?}")
    })
    .collect();
    expect![[r#"
        infra Include 0: Some(Picked { tools: [("x_git_list", [ServerName("git")]), ("x_git_push", [ServerName("git")]), ("x_git_delete", [ServerName("git")])], servers: [], awaiting: [] })
        infra Include 1: Some(Picked { tools: [("x_k8s_get", [ServerName("eu"), ServerName("us")])], servers: [], awaiting: [] })
        infra Exclude 0: Some(Picked { tools: [("x_git_delete", [ServerName("git")])], servers: [], awaiting: [ServerName("chat")] })
        infra Exclude 1: Some(Picked { tools: [("x_k8s_get", [ServerName("us")])], servers: [], awaiting: [] })
        talk Include 0: Some(Picked { tools: [], servers: [], awaiting: [ServerName("chat")] })
        talk Include 1: None"#]]
    .assert_eq(&rows.join("\n"));
    assert_eq!(reasons.picked_by_rule("safe", List::Include, 0), None);
}

fn is_selected(reasons: &[Reason<'_>]) -> bool {
    reasons.iter().all(|reason| reason.verdict() == Verdict::Selected)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// An explanation never says another thing than what is done.
    #[test]
    fn reasons_agree_with_the_resolution(
        fleet in fleet(),
        presets in some_presets(),
        first in some_selectors(),
        second in some_selectors(),
    ) {
        let catalogue = catalogue(&fleet);
        let presets = Presets::build(presets).unwrap();
        let bounds = Arc::new(bounds(&[&first, &second]));
        let narrowed = narrow(&catalogue, &presets, &bounds).unwrap();
        let reasons = Reasons::of(&catalogue, &presets, &bounds).unwrap();
        for (place, tool) in catalogue.tools().iter().enumerate() {
            for (number, server) in Tool::servers(tool).enumerate() {
                let said = reasons.of_tool(place, Some(server));
                prop_assert_eq!(is_selected(&said), narrowed.has_member(&catalogue, place, number), "{} {:?}", tool.name, said);
            }
            if tool.servers().next().is_none() {
                prop_assert_eq!(is_selected(&reasons.of_tool(place, None)), narrowed.has_tool(place), "{}", tool.name);
            }
        }
    }

    /// Nor of what is not known yet.
    #[test]
    fn reasons_agree_on_servers_that_wait_for_a_sign_in(
        mut fleet in fleet(),
        presets in some_presets(),
        declared in some_selectors(),
    ) {
        fleet[0].awaits = true;
        let catalogue = catalogue(&fleet);
        let presets = Presets::build(presets).unwrap();
        let bounds = bounds(&[&declared]);
        let reasons = Reasons::of(&catalogue, &presets, &bounds).unwrap();
        let server = catalogue.server("a").unwrap();
        for name in ["x_a_get", "x_a_put_it", "x_a_wipe"] {
            let said = reasons.of_awaited("a", name);
            let able = said.iter().all(|reason| reason.verdict() >= Verdict::Possible);
            prop_assert_eq!(able, unable(&presets, &bounds, (&server.entry, false), name).is_none(), "{} {:?}", name, said);
        }
    }
}
