//! Requests that toolsets narrow: what is outside is refused by every way in, in the words of the contract (I3).

#![expect(clippy::too_many_lines, reason = "tables of texts are long")]

use super::*;
use crate::refusal::{Detail, Kind};
use crate::toolset::tests::{Member, member, preset, rules, world as world_of};
use crate::toolset::{self, Selectors};

/// `git` and `notes` offer a resource and a prompt each; `k8s` is a family of two; `docs` has no tools.
fn fleet() -> Vec<Member> {
    let mut git = member("git", &[("list", Some(true)), ("push", None)]);
    let mut notes = member("notes", &[("read", Some(true))]);
    let mut docs = member("docs", &[]);
    (git.offers, notes.offers, docs.offers) = (true, true, true);
    let mut k8s_a = member("k8s-a", &[("get", Some(true)), ("delete", None)]);
    let mut k8s_b = member("k8s-b", &[("get", Some(true)), ("delete", None)]);
    for member in [&mut k8s_a, &mut k8s_b] {
        member.family = Some("k8s".to_owned());
    }
    vec![git, notes, docs, k8s_a, k8s_b]
}

fn toolset(declared: &[(toolset::Origin, &str)]) -> Toolset {
    let unscoped = Toolset::Unscoped { because: "a test" };
    declared.iter().fold(unscoped, |toolset, (origin, text)| {
        toolset.narrowed(*origin, Selectors::parse_header([*text]))
    })
}

fn asked(declared: &[(toolset::Origin, &str)], ask: Ask) -> Result<Judged, Refusal> {
    let presets = vec![
        preset("not-b", rules(&["preset: full"]), rules(&["server: k8s-b"])),
        preset("not-git", rules(&["preset: full"]), rules(&["server: git"])),
    ];
    let world = world_of(&fleet(), presets);
    let caller = caller(&toolset(declared));
    let view = View::of(&caller.toolset, &world.catalogue, &world.rules.presets);
    judge(&World { view, ..world }, &caller, ask, Origin::MetaTool)
}

fn said(declared: &[(toolset::Origin, &str)], ask: Ask) -> String {
    match asked(declared, ask) {
        Ok(judged) => {
            let settled = judged.answers.iter().find(|answer| answer.stage == "toolset").unwrap();
            format!("runs ({}: {})", settled.answer, settled.because)
        }
        Err(refusal) => format!("{}: {}", refusal.code.word(), refusal.sentence),
    }
}

fn on(name: &str, cluster: &str) -> Ask {
    Ask::Tool {
        name: name.to_owned(),
        arguments: Exact::object(&format!(r#"{{"cluster":"{cluster}"}}"#)).unwrap(),
    }
}

fn prompt(name: &str) -> Ask {
    Ask::Prompt {
        name: name.to_owned(),
        arguments: Exact::empty_object(),
    }
}

const HEADER: toolset::Origin = toolset::Origin::Header;
const BOUND: toolset::Origin = toolset::Origin::Bound;

#[test]
fn a_tool_outside_the_toolset_is_refused_in_the_words_of_the_contract() {
    let read_only = &[(HEADER, "preset:read-only")][..];
    let both = &[(BOUND, "preset:read-only"), (HEADER, "server:git, server:k8s-a")][..];
    let key = &[(toolset::Origin::Key, "server:git"), (HEADER, "preset:full")][..];
    let cases = [
        (read_only, tool("x_git_list")),
        (read_only, tool("x_git_push")),
        (read_only, tool("core_server_list")),
        (read_only, tool("core_server_stop")),
        (read_only, tool("x_git_pish")),
        (read_only, on("x_k8s_get", "k8s-a")),
        (read_only, on("x_k8s_delete", "k8s-a")),
        (read_only, tool("x_k8s_delete")),
        (&[(HEADER, "preset:none")], tool("x_git_list")),
        (&[(HEADER, "preset:none")], tool("core_server_list")),
        (&[(HEADER, "server:k8s-a")], on("x_k8s_get", "k8s-b")),
        (&[(HEADER, "server:k8s-a")], tool("x_k8s_get")),
        (&[(HEADER, "server:k8s-a")], on("x_k8s_get", "k8s-c")),
        (&[(HEADER, "preset:not-b")], on("x_k8s_get", "k8s-b")),
        (&[(HEADER, "preset:not-b")], on("x_k8s_get", "k8s-a")),
        (&[(BOUND, "preset:read-only")], tool("x_git_push")),
        (&[(BOUND, "server:k8s-a")], on("x_k8s_get", "k8s-b")),
        (both, tool("x_git_list")),
        (both, tool("x_git_push")),
        (both, tool("x_notes_read")),
        (both, on("x_k8s_get", "k8s-b")),
        (both, on("x_k8s_delete", "k8s-a")),
        (key, tool("x_git_push")),
        (key, tool("x_notes_read")),
        (&[(HEADER, "preset:gone")], tool("x_git_list")),
        (&[(HEADER, "preset:gone")], tool("x_nobody_list")),
        (&[(BOUND, "preset:gone"), (HEADER, "server:git")], tool("x_git_list")),
        (&[(HEADER, "")], tool("x_git_list")),
        (&[(BOUND, "server:git"), (HEADER, "garbage")], tool("x_git_list")),
    ];
    let rows: Vec<String> = cases
        .iter()
        .map(|(declared, ask)| {
            let layers: Vec<&str> = declared.iter().map(|(_, text)| *text).collect();
            let Ask::Tool { name, arguments } = ask else { panic!() };
            let said = said(declared, ask.clone());
            format!("[{}] {name} {}\n    {said}", layers.join("] ["), arguments.as_str())
        })
        .collect();
    expect![[r#"
        [preset:read-only] x_git_list {}
            runs (within: header [preset:read-only])
        [preset:read-only] x_git_push {}
            outside_toolset: tool "x_git_push" is outside the toolset [preset:read-only]
        [preset:read-only] core_server_list {}
            runs (within: header [preset:read-only])
        [preset:read-only] core_server_stop {}
            outside_toolset: tool "core_server_stop" is outside the toolset [preset:read-only]
        [preset:read-only] x_git_pish {}
            tool_not_found: Tool not found: x_git_pish
        [preset:read-only] x_k8s_get {"cluster":"k8s-a"}
            runs (within: header [preset:read-only])
        [preset:read-only] x_k8s_delete {"cluster":"k8s-a"}
            outside_toolset: tool "x_k8s_delete" is outside the toolset [preset:read-only]
        [preset:read-only] x_k8s_delete {}
            outside_toolset: tool "x_k8s_delete" is outside the toolset [preset:read-only]
        [preset:none] x_git_list {}
            outside_toolset: tool "x_git_list" is outside the toolset [preset:none]
        [preset:none] core_server_list {}
            outside_toolset: tool "core_server_list" is outside the toolset [preset:none]
        [server:k8s-a] x_k8s_get {"cluster":"k8s-b"}
            outside_toolset: tool "x_k8s_get" on server "k8s-b" is outside the toolset [server:k8s-a]
        [server:k8s-a] x_k8s_get {}
            instance_required: tool x_k8s_get is provided by a family on servers k8s-a; the "cluster" parameter is required
        [server:k8s-a] x_k8s_get {"cluster":"k8s-c"}
            instance_not_available: tool x_k8s_get is not available on server "k8s-c" (available: k8s-a)
        [preset:not-b] x_k8s_get {"cluster":"k8s-b"}
            outside_toolset: tool "x_k8s_get" on server "k8s-b" is outside the toolset [preset:not-b]
        [preset:not-b] x_k8s_get {"cluster":"k8s-a"}
            runs (within: header [preset:not-b])
        [preset:read-only] x_git_push {}
            outside_toolset: tool "x_git_push" is outside the toolset [preset:read-only] bound to the session
        [server:k8s-a] x_k8s_get {"cluster":"k8s-b"}
            outside_toolset: tool "x_k8s_get" on server "k8s-b" is outside the toolset [server:k8s-a] bound to the session
        [preset:read-only] [server:git, server:k8s-a] x_git_list {}
            runs (within: bound [preset:read-only] header [server:git,server:k8s-a])
        [preset:read-only] [server:git, server:k8s-a] x_git_push {}
            outside_toolset: tool "x_git_push" is outside the toolset [preset:read-only] bound to the session
        [preset:read-only] [server:git, server:k8s-a] x_notes_read {}
            outside_toolset: tool "x_notes_read" is outside the toolset [server:git,server:k8s-a]
        [preset:read-only] [server:git, server:k8s-a] x_k8s_get {"cluster":"k8s-b"}
            outside_toolset: tool "x_k8s_get" on server "k8s-b" is outside the toolset [server:git,server:k8s-a]
        [preset:read-only] [server:git, server:k8s-a] x_k8s_delete {"cluster":"k8s-a"}
            outside_toolset: tool "x_k8s_delete" is outside the toolset [preset:read-only] bound to the session
        [server:git] [preset:full] x_git_push {}
            runs (within: key [server:git] header [preset:full])
        [server:git] [preset:full] x_notes_read {}
            outside_toolset: tool "x_notes_read" is outside the toolset [server:git] bound to the session
        [preset:gone] x_git_list {}
            bad_toolset: toolset [preset:gone] names unknown preset "gone"; known presets: read-only, none, full, not-b, not-git
        [preset:gone] x_nobody_list {}
            bad_toolset: toolset [preset:gone] names unknown preset "gone"; known presets: read-only, none, full, not-b, not-git
        [preset:gone] [server:git] x_git_list {}
            bad_toolset: toolset [preset:gone] names unknown preset "gone"; known presets: read-only, none, full, not-b, not-git
        [] x_git_list {}
            bad_toolset: toolset [] is empty; use "preset:none" for an agent without tools
        [server:git] [garbage] x_git_list {}
            bad_toolset: toolset [garbage] selector "garbage" is malformed; expected preset:<name>, server:<name>, workflow:<name> or tool:<name>"#]].assert_eq(&rows.join("\n"));
}

#[test]
fn what_is_refused_says_the_same_as_data() {
    let refusal = asked(
        &[(BOUND, "server:k8s-a"), (HEADER, "preset:full")],
        on("x_k8s_get", "k8s-b"),
    )
    .unwrap_err();
    let Detail::Outside(outside) = refusal.detail else {
        panic!()
    };
    assert_eq!(
        (outside.kind, &*outside.name, outside.bound),
        (Kind::Tool, "x_k8s_get", true)
    );
    assert_eq!(outside.server.unwrap().as_str(), "k8s-b");
    assert_eq!(outside.toolset.to_string(), "server:k8s-a");
    let refusal = asked(&[(HEADER, "server:git")], resource("r://notes", None)).unwrap_err();
    let Detail::Outside(outside) = refusal.detail else {
        panic!()
    };
    assert_eq!(
        (outside.kind, &*outside.name, outside.bound),
        (Kind::Resource, "r://notes", false)
    );
}

#[test]
fn resources_prompts_completions_and_subscriptions_follow_the_servers() {
    let subscribe = |uri: &str| Ask::Subscribe { uri: uri.to_owned() };
    let asks = |server: &str| {
        let uri = format!("r://{server}");
        let name = format!("x_{server}_greet");
        vec![
            resource(&uri, None),
            resource(&uri, Some(server)),
            prompt(&name),
            completion(Reference::Resource(uri.clone())),
            completion(Reference::Prompt(name)),
            subscribe(&uri),
        ]
    };
    let declared = [
        (BOUND, "preset:not-git"),
        (HEADER, "server:notes,server:docs,server:git"),
    ];
    for server in ["notes", "docs"] {
        for ask in asks(server) {
            assert!(asked(&declared, ask.clone()).is_ok(), "{ask:?}");
        }
    }
    let rows: Vec<String> = asks("git").into_iter().map(|ask| said(&declared, ask)).collect();
    expect![[r#"
        outside_toolset: resource "r://git" is outside the toolset [preset:not-git] bound to the session
        outside_toolset: resource "r://git" is outside the toolset [preset:not-git] bound to the session
        outside_toolset: prompt "x_git_greet" is outside the toolset [preset:not-git] bound to the session
        outside_toolset: resource "r://git" is outside the toolset [preset:not-git] bound to the session
        outside_toolset: prompt "x_git_greet" is outside the toolset [preset:not-git] bound to the session
        outside_toolset: resource "r://git" is outside the toolset [preset:not-git] bound to the session"#]]
    .assert_eq(&rows.join("\n"));
    let header = [(HEADER, "server:notes")];
    for (ask, wanted) in [
        (
            resource("r://docs", None),
            r#"outside_toolset: resource "r://docs" is outside the toolset [server:notes]"#,
        ),
        (
            prompt("x_docs_greet"),
            r#"outside_toolset: prompt "x_docs_greet" is outside the toolset [server:notes]"#,
        ),
        (
            resource("r://nobody", None),
            "resource_not_found: Resource not found: r://nobody",
        ),
        (
            prompt("x_nobody_greet"),
            "prompt_not_found: Prompt not found: x_nobody_greet",
        ),
        (
            resource("r://docs", Some("nobody")),
            "resource_not_found: Resource not found: r://docs",
        ),
    ] {
        assert_eq!(said(&header, ask), wanted);
    }
}

#[test]
fn a_task_that_a_caller_began_it_may_follow_and_cancel_whatever_its_next_toolset_is() {
    for declared in [
        [(HEADER, "preset:none")],
        [(HEADER, "preset:gone")],
        [(HEADER, "server:notes")],
    ] {
        for verb in [TaskVerb::Get, TaskVerb::Cancel, TaskVerb::Update, TaskVerb::Watch] {
            let ask = Ask::Task {
                server: ServerName::parse("git").unwrap(),
                task: "1".to_owned(),
                verb,
            };
            assert!(asked(&declared, ask).is_ok(), "{declared:?}");
        }
    }
}

#[test]
fn i3_names_near_an_unknown_one_are_inside_the_toolset() {
    let near = |declared: &str| asked(&[(HEADER, declared)], tool("x_git_lst")).unwrap_err();
    assert_eq!(near("server:git").nearest, ["x_git_list", "x_git_push"]);
    assert_eq!(near("tool:x_git_push").nearest, ["x_git_push"]);
    let none = near("preset:none");
    assert_eq!((none.code, none.nearest.len()), (Code::ToolNotFound, 0));
    // Members that are outside are not offered either.
    let refusal = asked(&[(HEADER, "server:k8s-a")], tool("x_k8s_get")).unwrap_err();
    assert_eq!(refusal.nearest, ["k8s-a"]);
}

#[test]
fn a_resource_that_several_servers_publish_is_read_at_the_only_one_inside() {
    let mut world = open_world().0;
    let inside = |world: &World, declared: &str| {
        let caller = caller(&toolset(&[(HEADER, declared)]));
        let view = View::of(&caller.toolset, &world.catalogue, &world.rules.presets);
        let world = World { view, ..world.clone() };
        match judge(&world, &caller, resource("shared://one", None), Origin::Direct) {
            Ok(judged) => format!("{:?}", judged.call().target()),
            Err(refusal) => refusal.sentence,
        }
    };
    world.catalogue = Arc::new(catalogue());
    assert_eq!(inside(&world, "server:plain"), r#"Server(ServerName("plain"))"#);
    assert_eq!(
        inside(&world, "server:down"),
        r#"resource "shared://one" is outside the toolset [server:down]"#
    );
    assert!(inside(&world, "preset:full").contains("is published by servers plain, trusted"));
}

#[test]
fn nobody_is_judged_in_another_callers_view() {
    let world = world_of(&fleet(), vec![]);
    let view = |toolset: &Toolset| View::of(toolset, &world.catalogue, &world.rules.presets);
    let toolsets = [
        Toolset::Unscoped { because: "a test" },
        toolset(&[(HEADER, "server:git")]),
        toolset(&[(BOUND, "server:git")]),
        toolset(&[(HEADER, "")]),
    ];
    for (one, its) in toolsets.iter().enumerate() {
        for (other, theirs) in toolsets.iter().enumerate() {
            let world = World {
                view: view(its),
                ..world.clone()
            };
            let judged = judge(&world, &caller(theirs), tool("x_git_list"), Origin::Direct);
            let is_bad = its == theirs && matches!(its, Toolset::Bad(_));
            assert_eq!(judged.is_ok(), one == other && !is_bad, "{its:?} {theirs:?}");
        }
    }
}
