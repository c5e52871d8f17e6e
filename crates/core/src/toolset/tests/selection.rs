//! What selectors and presets select, case by case.

#![expect(clippy::too_many_lines, reason = "tables of texts are long")]

use super::world as fleet_world;
use super::*;

/// Two servers, a family with one member that publishes another `logs`, and one without tools.
fn fleet() -> Vec<Member> {
    let mut k8s_a = member(
        "k8s-a",
        &[("get", Some(true)), ("apply", Some(false)), ("logs", Some(true))],
    );
    let mut k8s_b = member("k8s-b", &[("get", Some(true)), ("apply", Some(false)), ("logs", None)]);
    for member in [&mut k8s_a, &mut k8s_b] {
        member.family = Some("k8s".to_owned());
    }
    k8s_a.labels = vec![
        ("tier".to_owned(), "infra".to_owned()),
        ("blank".to_owned(), String::new()),
    ];
    k8s_b.labels = vec![("tier".to_owned(), "app".to_owned())];
    k8s_b.offers = true;
    let mut git = member("git", &[("list", Some(true)), ("push", None), ("wipe", Some(false))]);
    git.access = vec![
        ("dangerous".to_owned(), "wipe".to_owned()),
        ("read".to_owned(), "l*".to_owned()),
    ];
    let mut notes = member(
        "notes",
        &[("read", Some(true)), ("both", Some(true)), ("add", Some(false))],
    );
    notes.trusted = true;
    notes.labels = vec![("tier".to_owned(), "infra".to_owned())];
    let mut docs = member("docs", &[]);
    docs.offers = true;
    docs.labels = vec![("tier".to_owned(), "infra".to_owned())];
    vec![k8s_a, k8s_b, git, notes, docs]
}

fn presets() -> Vec<Preset> {
    vec![
        preset("infra", rules(&["label: tier=infra"]), rules(&["pattern: *_apply"])),
        preset(
            "safe",
            rules(&["preset: infra", "tool: x_git_list"]),
            rules(&["server: k8s-a"]),
        ),
        preset("union", rules(&["server: git", "readOnly: true"]), vec![]),
        preset("blank", rules(&["label: blank="]), vec![]),
        preset("present", rules(&["label: blank"]), vec![]),
        preset("classes", rules(&["access: read"]), vec![]),
        preset("danger", rules(&["access: dangerous"]), vec![]),
        preset("admin", rules(&["access: admin"]), vec![]),
        preset("writes", rules(&["access: write"]), vec![]),
        preset("effect", rules(&["effect: read_only"]), rules(&["pattern: core_*"])),
        preset(
            "both",
            vec![Rule::All(rules(&["server: k8s", "readOnly: true", "label: tier=app"]))],
            vec![],
        ),
        preset("not-b", rules(&["server: k8s"]), rules(&["server: k8s-b"])),
        preset("star", rules(&["pattern: *"]), vec![]),
        preset("empty", vec![], rules(&["server: git"])),
    ]
}

fn asked(declared: &str) -> World {
    world(&fleet(), presets()).narrowed(Origin::Header, Selectors::parse_header([declared]))
}

/// The gateway's own tools grow in number, so that only their first one is said.
fn without_core(shown: &str) -> String {
    let is_core = |name: &str| name.starts_with("core_");
    let own = shown.split(' ').filter(|name| is_core(name)).take(1);
    let others = shown.split(' ').filter(|name| !is_core(name));
    others.chain(own).collect::<Vec<_>>().join(" ")
}

#[test]
fn selectors_select() {
    let declared = [
        "preset:none",
        "server:git",
        "server:k8s",
        "server:k8s-b",
        "server:K8S",
        "server:docs",
        "tool:x_git_list",
        "tool:x_k8s_get, tool:core_server_list",
        "tool:list",
        "workflow:triage",
        "preset:read-only",
        "preset:infra",
        "preset:safe",
        "preset:union",
        "preset:blank",
        "preset:present",
        "preset:classes",
        "preset:danger",
        "preset:admin",
        "preset:writes",
        "preset:effect",
        "preset:both",
        "preset:not-b",
        "preset:empty",
        "server:git,tool:x_git_none,preset:none,server:nobody,preset:empty",
    ];
    let rows: Vec<String> = declared
        .iter()
        .map(|declared| {
            let world = asked(declared);
            let narrowed = world.toolset().unwrap();
            let unmatched: Vec<String> = narrowed.unmatched().iter().map(ToString::to_string).collect();
            let servers: Vec<&str> = world.servers().map(|server| server.entry.name.as_str()).collect();
            let mut row = format!("{declared}: {}", without_core(&shown(&world)));
            row += &format!("\n    inside: {}", servers.join(" "));
            if !unmatched.is_empty() {
                row += &format!("\n    unmatched: {}", unmatched.join(" "));
            }
            row
        })
        .collect();
    expect![[r#"
        preset:none: 
            inside: 
        server:git: x_git_list x_git_push x_git_wipe
            inside: git
        server:k8s: x_k8s_get@k8s-a+k8s-b x_k8s_apply@k8s-a+k8s-b x_k8s_logs@k8s-a
            inside: k8s-a k8s-b
        server:k8s-b: x_k8s-b_logs x_k8s_get@k8s-b x_k8s_apply@k8s-b
            inside: k8s-b
        server:K8S: 
            inside: 
            unmatched: server:K8S
        server:docs: 
            inside: docs
        tool:x_git_list: x_git_list
            inside: git
        tool:x_k8s_get, tool:core_server_list: x_k8s_get@k8s-a+k8s-b core_server_list
            inside: k8s-a k8s-b
        tool:list: 
            inside: 
            unmatched: tool:list
        workflow:triage: 
            inside: 
            unmatched: workflow:triage
        preset:read-only: x_git_list x_notes_read x_notes_both x_k8s_get@k8s-a+k8s-b x_k8s_logs@k8s-a core_server_list
            inside: git k8s-a k8s-b notes
        preset:infra: x_notes_read x_notes_both x_notes_add x_k8s_get@k8s-a x_k8s_logs@k8s-a
            inside: docs k8s-a notes
        preset:safe: x_git_list x_notes_read x_notes_both x_notes_add
            inside: docs git notes
        preset:union: x_git_list x_git_push x_git_wipe x_notes_read x_notes_both x_k8s_get@k8s-a+k8s-b x_k8s_logs@k8s-a core_server_list
            inside: git k8s-a k8s-b notes
        preset:blank: x_k8s_get@k8s-a x_k8s_apply@k8s-a x_k8s_logs@k8s-a
            inside: k8s-a
        preset:present: x_k8s_get@k8s-a x_k8s_apply@k8s-a x_k8s_logs@k8s-a
            inside: k8s-a
        preset:classes: x_git_list x_notes_read x_notes_both core_server_list
            inside: git notes
        preset:danger: x_git_wipe
            inside: git
        preset:admin: core_server_start
            inside: 
        preset:writes: x_notes_add
            inside: notes
        preset:effect: x_notes_read x_notes_both
            inside: notes
        preset:both: x_k8s_get@k8s-b
            inside: k8s-b
        preset:not-b: x_k8s_get@k8s-a x_k8s_apply@k8s-a x_k8s_logs@k8s-a
            inside: k8s-a
        preset:empty: 
            inside: 
            unmatched: preset:empty
        server:git,tool:x_git_none,preset:none,server:nobody,preset:empty: x_git_list x_git_push x_git_wipe
            inside: git
            unmatched: tool:x_git_none server:nobody preset:empty"#]].assert_eq(&rows.join("\n"));
}

#[test]
fn full_is_the_whole_catalogue_and_servers_without_tools_are_inside_where_they_are_selected() {
    let whole = world(&fleet(), presets());
    let full = asked("preset:full");
    assert_eq!(shown(&full), shown(&whole));
    assert_eq!(full.tool_count(), whole.tool_count());
    assert_eq!(full.servers().count(), whole.servers().count());
    let inside = |declared: &str| asked(declared).shows_server("docs");
    for (declared, is_inside) in [
        ("preset:full", true),
        ("server:docs", true),
        ("preset:infra", true),
        ("preset:safe", true),
        // A pattern is about tools, and this server has none.
        ("preset:star", false),
        ("preset:read-only", false),
        ("server:git", false),
        ("preset:none", false),
    ] {
        assert_eq!(inside(declared), is_inside, "{declared}");
    }
    let world = asked("server:docs");
    assert_eq!((world.tool_count(), shown(&world)), (0, String::new()));
    assert_eq!(world.resources().count(), 1);
    assert_eq!(world.prompts().count(), 1);
    assert_eq!(world.toolset().unwrap().unmatched(), []);
    // Excluding the server leaves it out.
    let out = vec![preset("out", rules(&["preset: full"]), rules(&["server: docs"]))];
    let world = fleet_world(&fleet(), out).narrowed(Origin::Header, Ok(selectors("preset:out")));
    assert!(!world.shows_server("docs") && world.shows_server("git"));
}

#[test]
fn a_family_is_shown_with_the_members_that_are_selected() {
    let world = asked("server:k8s-b");
    let tool = world.tool("x_k8s_get").unwrap();
    let schema = &tool.definition.input_schema;
    assert!(schema.contains(r#""enum":["k8s-b"]"#), "{schema}");
    assert_eq!(tool.servers().map(ServerName::as_str).collect::<Vec<_>>(), ["k8s-b"]);
    // A second look gives the same; a tool that is left whole is the catalogue's own.
    assert!(std::ptr::eq(tool, world.tool("x_k8s_get").unwrap()));
    let world = asked("server:k8s");
    let tool = world.tool("x_k8s_get").unwrap();
    assert!(std::ptr::eq(tool, world.catalogue.tool("x_k8s_get").unwrap()));
}

#[test]
fn toolsets_narrow_within_each_other_and_asking_for_more_is_no_error() {
    let world = fleet_world(&fleet(), presets());
    let bound = world.narrowed(Origin::Bound, Ok(selectors("preset:read-only")));
    let header = bound.narrowed(Origin::Header, Ok(selectors("server:git,server:notes,server:docs")));
    assert_eq!(shown(&header), "x_git_list x_notes_read x_notes_both");
    // The server without tools is inside the header's toolset alone.
    assert!(!header.shows_server("docs"));
    let argument = header.narrowed(
        Origin::Argument,
        Ok(selectors("preset:full,tool:x_git_push,server:k8s")),
    );
    assert_eq!(shown(&argument), shown(&header));
    let unmatched: Vec<String> = argument
        .toolset()
        .unwrap()
        .unmatched()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(unmatched, ["tool:x_git_push", "server:k8s"]);
    let nothing = header.narrowed(Origin::Argument, Ok(selectors("preset:none")));
    assert_eq!(nothing.tool_count(), 0);
    // In whatever order they become known.
    let other = world
        .narrowed(Origin::Header, Ok(selectors("server:git,server:notes,server:docs")))
        .narrowed(Origin::Bound, Ok(selectors("preset:read-only")));
    assert_eq!(shown(&other), shown(&header));
}

#[test]
fn an_unknown_preset_is_refused_with_every_preset_there_is() {
    let world = asked("server:git,preset:foo,preset:bar");
    expect![[r#"toolset [server:git,preset:foo,preset:bar] names unknown preset "foo"; known presets: read-only, none, full, admin, blank, both, classes, danger, effect, empty, infra, not-b, present, safe, star, union, writes"#]]
        .assert_eq(&world.refused().unwrap().to_string());
    assert_eq!(
        (world.tool_count(), world.tools().count(), world.servers().count()),
        (0, 0, 0)
    );
    assert!(world.tool("x_git_list").is_none());
    // What is bad stays bad, whatever narrows it.
    let further = world.narrowed(Origin::Argument, Ok(selectors("preset:full")));
    assert_eq!(further.refused(), world.refused());
    let bound = fleet_world(&fleet(), presets()).narrowed(Origin::Bound, Ok(selectors("preset:gone")));
    let header = bound.narrowed(Origin::Header, Ok(selectors("server:git")));
    assert!(
        header
            .refused()
            .unwrap()
            .to_string()
            .contains("[preset:gone] names unknown preset")
    );
}

#[test]
fn a_label_counts_as_it_is_now() {
    let mut fleet = fleet();
    let presets = presets();
    let now = |fleet: &[Member]| {
        shown(&world(fleet, presets.clone()).narrowed(Origin::Header, Ok(selectors("preset:infra"))))
    };
    assert_eq!(
        now(&fleet),
        "x_notes_read x_notes_both x_notes_add x_k8s_get@k8s-a x_k8s_logs@k8s-a"
    );
    fleet[3].labels.clear();
    fleet[1].labels = vec![("tier".to_owned(), "infra".to_owned())];
    assert_eq!(now(&fleet), "x_k8s-b_logs x_k8s_get@k8s-a+k8s-b x_k8s_logs@k8s-a");
}

#[test]
fn b062_globs_of_presets_answer_as_go_answers() {
    let cases: serde_json::Value = serde_json::from_str(include_str!("../../glob/cases.json")).unwrap();
    let names = world(&fleet(), vec![]);
    let mut tried = 0;
    for case in cases.as_array().unwrap() {
        let pattern = case["pattern"].as_str().unwrap();
        let Ok(rule) = Rule::pattern(pattern) else {
            assert!(case["error"].as_bool().unwrap(), "{pattern} was refused");
            continue;
        };
        assert!(!case["error"].as_bool().unwrap(), "{pattern} was accepted");
        // A tool of that very name: exposed names hold no other characters.
        let name = case["name"].as_str().unwrap();
        if let Some(tool) = plain(name) {
            let fleet = [member_with_bare_name(tool)];
            let world = fleet_world(&fleet, vec![preset("p", vec![rule.clone()], vec![])]);
            let world = with_bare_names(world, &fleet);
            let Some(exposed) = world
                .catalogue
                .tools()
                .iter()
                .find(|it| it.definition.name.as_str() == tool)
            else {
                continue;
            };
            assert_eq!(exposed.name.as_str(), name);
            let narrowed = world.narrowed(Origin::Header, Ok(selectors("preset:p")));
            assert_eq!(
                narrowed.tool(name).is_some(),
                case["match"].as_bool().unwrap(),
                "{pattern} on {name}"
            );
            tried += 1;
        }
        // And over a whole catalogue, as the matcher itself says.
        let Rule::Pattern { glob, .. } = &rule else { continue };
        let world = fleet_world(&fleet(), vec![preset("p", vec![rule.clone()], vec![])]);
        let world = world.narrowed(Origin::Header, Ok(selectors("preset:p")));
        let wanted = names.tools().filter(|tool| glob.matches(tool.name.as_str())).count();
        assert_eq!(world.tool_count(), wanted, "{pattern}");
    }
    assert!(tried > 100, "only {tried} names are names of tools");
}

/// The text, when it may be an exposed name as it is.
fn plain(text: &str) -> Option<&str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    let is_name = !text.is_empty() && text.chars().all(is_plain);
    (is_name && !text.starts_with("core_")).then_some(text)
}

fn member_with_bare_name(tool: &str) -> Member {
    member("only", &[(tool, None)])
}

/// The same world whose one server has an empty `toolPrefix`.
fn with_bare_names(world: World, fleet: &[Member]) -> World {
    let mut servers: Vec<Server> = fleet.iter().map(server).collect();
    for server in &mut servers {
        Arc::make_mut(&mut server.entry).tool_prefix = Some(String::new());
    }
    let catalogue = Catalogue::build(Parts {
        workflows: Arc::default(),
        version: 1,
        naming: Naming {
            prefix: "x".to_owned(),
            max_length: 64,
        },
        servers,
    });
    World {
        catalogue: Arc::new(catalogue),
        ..world
    }
}
