//! Names are looked up, and collisions refused.

mod next;

use std::collections::BTreeMap;
use std::sync::Arc;

use expect_test::expect;
use proptest::prelude::*;

use super::*;
use crate::definition::{Problem, PromptDefinition, ResourceDefinition, ToolDefinition};
use crate::effect::AnnotationTrust;
use crate::exact::Digest;
use crate::listing::Capabilities;
use crate::secret::Secret;
use crate::server::{Sharing, Start, Transport};

mod families;
mod workflows;

fn entry(name: &str, tool_prefix: Option<&str>) -> ServerEntry {
    ServerEntry {
        name: ServerName::parse(name).unwrap(),
        labels: BTreeMap::new(),
        tool_prefix: tool_prefix.map(str::to_owned),
        description: None,
        timeout: None,
        start: Start::Boot,
        trust: AnnotationTrust::Ignored,
        sharing: Sharing::PerPrincipal,
        auth: crate::server::Auth::None,
        access: Vec::new(),
        family: None,
        private_network: crate::server::PrivateNetwork::Allowed,
        transport: Transport::Http {
            url: Secret::plain("http://127.0.0.1:1/mcp"),
            headers: BTreeMap::new(),
        },
        digest: Digest::of(name.as_bytes()),
    }
}

fn tool_definition(name: &str) -> Arc<ToolDefinition> {
    let name = serde_json::Value::from(name);
    let raw = format!(r#"{{"name":{name},"inputSchema":{{"type":"object"}}}}"#);
    Arc::new(ToolDefinition::parse(&raw).unwrap())
}

fn server(name: &str, tool_prefix: Option<&str>, tools: &[&str]) -> Server {
    let listing = Listing {
        tools: tools.iter().map(|name| tool_definition(name)).collect(),
        capabilities: Capabilities {
            tools: true,
            ..Capabilities::default()
        },
        ..Listing::default()
    };
    Server {
        entry: Arc::new(entry(name, tool_prefix)),
        listing: Arc::new(listing),
        availability: Availability::Ready,
    }
}

fn listed(name: &str, listing: Listing) -> Server {
    Server {
        entry: Arc::new(entry(name, None)),
        listing: Arc::new(listing),
        availability: Availability::Ready,
    }
}

fn naming() -> Naming {
    Naming {
        prefix: "x".to_owned(),
        max_length: 64,
    }
}

fn build(servers: Vec<Server>) -> Catalogue {
    Catalogue::build(Parts {
        workflows: Arc::default(),
        version: 7,
        naming: naming(),
        servers,
    })
}

fn upstream_names(catalogue: &Catalogue) -> Vec<&str> {
    let upstream = catalogue
        .tools()
        .iter()
        .filter(|tool| matches!(tool.provider, Provider::Server(_)));
    upstream.map(|tool| tool.name.as_str()).collect()
}

fn findings(catalogue: &Catalogue) -> Vec<String> {
    let text = |f: &Finding| {
        let servers: Vec<&str> = f.servers.iter().map(ServerName::as_str).collect();
        let (subject, kind) = (f.subject.as_deref().unwrap_or("-"), f.kind.word());
        format!("{}/{subject} {kind}: {}; {}", servers.join("+"), f.what, f.way_out)
    };
    catalogue.findings().iter().map(text).collect()
}

#[test]
fn servers_stand_by_name_and_tools_in_their_own_order_and_core_tools_last() {
    let catalogue = build(vec![server("b", None, &["z", "a"]), server("a", None, &["m"])]);
    let names: Vec<&str> = catalogue.tools().iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names[..4], ["x_a_m", "x_b_z", "x_b_a", "core_server_list"]);
    assert_eq!(catalogue.version(), 7);
    assert!(catalogue.server("b").is_some() && catalogue.server("c").is_none());
}

#[test]
fn b037_two_origins_of_one_name_are_both_refused_and_named() {
    let catalogue = build(vec![server("a", None, &["b_c", "d"]), server("a_b", None, &["c", "e"])]);
    assert_eq!(upstream_names(&catalogue), ["x_a_d", "x_a_b_e"]);
    assert!(catalogue.tool("x_a_b_c").is_none());
    expect![[r#"
        [
            "a/b_c name_conflict: exposed name `x_a_b_c` is claimed by `b_c` of server `a` and `c` of server `a_b`, so none of them is served; give server `a` another `toolPrefix`, or server `a_b` another `toolPrefix`",
            "a_b/c name_conflict: exposed name `x_a_b_c` is claimed by `b_c` of server `a` and `c` of server `a_b`, so none of them is served; give server `a` another `toolPrefix`, or server `a_b` another `toolPrefix`",
        ]
    "#]].assert_debug_eq(&findings(&catalogue));
}

const LONG: &str = "tttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt";

/// `name_prefix`, `toolPrefix`, server, tool.
const NAMED: &[(&str, Option<&str>, &str, &str)] = &[
    ("x", None, "srv", "tool"),
    ("x", None, "srv", "srv_tool"),
    ("x", None, "srv", "srvtool"),
    ("x", None, "srv", "srv_"),
    ("x", Some("gh"), "github", "list"),
    ("x", Some("gh"), "github", "gh_list"),
    ("x", Some("gh"), "github", "github_list"),
    ("x", Some(""), "srv", "tool"),
    ("", None, "srv", "tool"),
    ("", None, "srv", "srv_tool"),
    ("x", None, "my.srv-1", "a.b-c"),
    ("x", None, "srv", "über tool"),
    ("x", None, "srv", "a/b"),
    ("x", None, "srv", ""),
    ("x", Some(""), "srv", ""),
    ("x", None, "srv", LONG),
    ("x", Some(""), "srv", LONG),
    (
        "x",
        None,
        "a-server-name-of-forty-characters-12345678",
        "a_tool_name_of_forty_characters_12345678",
    ),
];

#[test]
fn names_of_one_tool() {
    let rows: Vec<String> = NAMED
        .iter()
        .map(|(prefix, tool_prefix, server_name, tool)| {
            let naming = Naming {
                prefix: (*prefix).to_owned(),
                max_length: 64,
            };
            let servers = vec![server(server_name, *tool_prefix, &[tool])];
            let catalogue = Catalogue::build(Parts {
                workflows: Arc::default(),
                version: 1,
                naming,
                servers,
            });
            format!(
                "{prefix:?} {tool_prefix:?} {server_name} {tool:.24} -> {}",
                upstream_names(&catalogue).join(" ")
            )
        })
        .collect();
    expect![[r#"
        "x" None srv tool -> x_srv_tool
        "x" None srv srv_tool -> x_srv_tool
        "x" None srv srvtool -> x_srv_srvtool
        "x" None srv srv_ -> x_srv_
        "x" Some("gh") github list -> x_gh_list
        "x" Some("gh") github gh_list -> x_gh_list
        "x" Some("gh") github github_list -> x_gh_github_list
        "x" Some("") srv tool -> tool
        "" None srv tool -> srv_tool
        "" None srv srv_tool -> srv_tool
        "x" None my.srv-1 a.b-c -> x_my.srv-1_a.b-c
        "x" None srv über tool -> x_srv__ber_tool_41c7bbb8
        "x" None srv a/b -> x_srv_a_b_0b5c8e07
        "x" None srv  -> x_srv__70750adc
        "x" Some("") srv  -> _70750adc
        "x" None srv tttttttttttttttttttttttt -> x_srv_ttttttttttttttttttttttttttttttttttttttttttttttttt_af711406
        "x" Some("") srv tttttttttttttttttttttttt -> ttttttttttttttttttttttttttttttttttttttttttttttttttttttt_af711406
        "x" None a-server-name-of-forty-characters-12345678 a_tool_name_of_forty_cha -> x_a-server-name-of-forty-characters-12345678_a_tool_nam_a000d396"#]].assert_eq(&rows.join("\n"));
}

#[test]
fn b036_names_fit_whatever_the_limit() {
    for max_length in [1, 8, 9, 10, 24, 64, 128, 1000] {
        let naming = Naming {
            prefix: "x".to_owned(),
            max_length,
        };
        let servers = vec![server(&"s".repeat(40), None, &[&"t".repeat(40), &"u".repeat(128), "v"])];
        let catalogue = Catalogue::build(Parts {
            workflows: Arc::default(),
            version: 1,
            naming,
            servers,
        });
        for name in upstream_names(&catalogue) {
            assert!(
                (1..=max_length.min(128)).contains(&name.len()),
                "{name} at {max_length}"
            );
        }
        if max_length >= 8 {
            assert_eq!(upstream_names(&catalogue).len(), 3);
        }
    }
}

#[test]
fn names_that_only_case_or_compatible_letters_tell_apart_are_set_aside() {
    let catalogue = build(vec![
        server("a", None, &["get", "Get", "put"]),
        server("b", None, &["Ü", "ü"]),
    ]);
    assert_eq!(upstream_names(&catalogue), ["x_a_put"]);
    assert_eq!(catalogue.findings().len(), 4);
}

#[test]
fn what_is_bad_in_a_listing_is_found_and_the_rest_is_served() {
    let listing = Listing {
        tools: ["t", "t", "dеlete", "ok"]
            .iter()
            .map(|name| tool_definition(name))
            .collect(),
        prompts: ["p", "p"].iter().map(|name| prompt_definition(name)).collect(),
        problems: vec![Problem {
            name: "#3".to_owned(),
            what: "the definition is null, not an object".to_owned(),
        }],
        ..Listing::default()
    };
    let bare = server(
        "bare",
        Some(""),
        &["list_tools", "core_x", "Workflow_y", "Call_Tool", "core", "fine"],
    );
    let catalogue = build(vec![listed("a", listing), bare]);
    assert_eq!(upstream_names(&catalogue), ["x_a_t", "x_a_ok", "core", "fine"]);
    assert_eq!(catalogue.prompts().len(), 1);
    assert!(catalogue.prompt("x_a_p").is_some());
    expect![[r#"
        [
            "a/#3 bad_definition: set aside: the definition is null, not an object; mend the definition at its server",
            "a/dеlete mixed_scripts: set aside: its name mixes scripts whose letters look alike; rename it at its server",
            "a/p listed_twice: listed more than once; the first one is served; give each a name of its own at its server",
            "a/t listed_twice: listed more than once; the first one is served; give each a name of its own at its server",
            "bare/Call_Tool reserved_name: set aside: its exposed name `Call_Tool` is the name of a meta-tool; give the server a `toolPrefix`",
            "bare/Workflow_y reserved_name: set aside: its exposed name `Workflow_y` begins with `workflow_`, which is kept for workflows; give the server a `toolPrefix`",
            "bare/core_x reserved_name: set aside: its exposed name `core_x` begins with `core_`, which is kept for the gateway's own tools; give the server a `toolPrefix`",
            "bare/list_tools reserved_name: set aside: its exposed name `list_tools` is the name of a meta-tool; give the server a `toolPrefix`",
        ]
    "#]].assert_debug_eq(&findings(&catalogue));
}

#[test]
fn every_meta_tool_name_is_reserved() {
    let catalogue = build(vec![server("bare", Some(""), &naming::RESERVED)]);
    assert_eq!(upstream_names(&catalogue), [""; 0]);
    assert_eq!(catalogue.findings().len(), naming::RESERVED.len());
}

#[test]
fn suspended_and_stopped_servers_offer_nothing_and_unavailable_ones_keep_their_listing() {
    let names = |availability: Availability| {
        let mut server = server("a", None, &["t"]);
        server.availability = availability;
        upstream_names(&build(vec![server])).len()
    };
    assert_eq!(names(Availability::Ready), 1);
    assert_eq!(
        names(Availability::Unavailable {
            reason: "down".to_owned()
        }),
        1
    );
    assert_eq!(names(Availability::Suspended), 0);
    assert_eq!(names(Availability::Stopped), 0);
}

fn prompt_definition(name: &str) -> Arc<PromptDefinition> {
    Arc::new(PromptDefinition::parse(&format!(r#"{{"name":"{name}"}}"#)).unwrap())
}

fn resources(name: &str, uris: &[&str], templates: &[&str]) -> Server {
    let resource = |uri: &&str| {
        let raw = format!(r#"{{"uri":"{uri}","name":"n"}}"#);
        Arc::new(ResourceDefinition::parse_resource(&raw).unwrap())
    };
    let template = |uri: &&str| {
        let raw = format!(r#"{{"uriTemplate":"{uri}","name":"n"}}"#);
        Arc::new(ResourceDefinition::parse_template(&raw).unwrap())
    };
    listed(
        name,
        Listing {
            resources: uris.iter().map(resource).collect(),
            templates: templates.iter().map(template).collect(),
            capabilities: Capabilities {
                resources: true,
                ..Capabilities::default()
            },
            ..Listing::default()
        },
    )
}

#[test]
fn owners_of_uris() {
    let catalogue = build(vec![
        resources("a", &["file:///x", "both://1"], &["a://{id}/end", "any://{+path}"]),
        resources("b", &["both://1"], &["b://{x}{?q}", "any://{id}", "broken://{id"]),
        server("c", None, &["t"]),
    ]);
    let uris = [
        "file:///x",
        "both://1",
        "a://1/end",
        "a://1/2/end",
        "a:///end",
        "a://1/end/",
        "a://{id}/end",
        "b://1?q=2/3",
        "b://",
        "any://1",
        "any://1/2",
        "any://",
        "broken://1",
        "nobody://1",
        "",
    ];
    let rows: Vec<String> = uris
        .iter()
        .map(|uri| format!("{uri:14} {:?}", catalogue.owner(uri)))
        .collect();
    expect![[r#"
        file:///x      One(ServerName("a"))
        both://1       Many([ServerName("a"), ServerName("b")])
        a://1/end      One(ServerName("a"))
        a://1/2/end    Nobody
        a:///end       Nobody
        a://1/end/     Nobody
        a://{id}/end   One(ServerName("a"))
        b://1?q=2/3    One(ServerName("b"))
        b://           Nobody
        any://1        Many([ServerName("a"), ServerName("b")])
        any://1/2      One(ServerName("a"))
        any://         One(ServerName("a"))
        broken://1     Nobody
        nobody://1     Nobody
                       Nobody"#]]
    .assert_eq(&rows.join("\n"));
    let only = build(vec![resources("a", &[], &[]), server("c", None, &["t"])]);
    assert_eq!(only.owner("nobody://1"), Owner::One(ServerName::parse("a").unwrap()));
}

/// A server whose tool names an app, by one key or the other.
fn app(name: &str, meta: &str) -> Server {
    let raw = format!(r#"{{"name":"show","inputSchema":{{"type":"object"}},"_meta":{meta}}}"#);
    let tools = vec![Arc::new(ToolDefinition::parse(&raw).expect("a definition"))];
    listed(
        name,
        Listing {
            tools,
            ..Listing::default()
        },
    )
}

#[test]
fn an_app_is_read_from_the_server_whose_tool_names_it() {
    let nested = r#"{"ui":{"resourceUri":"ui://clock"}}"#;
    let one = build(vec![app("a", nested), app("b", r#"{"ui/resourceUri":"ui://map"}"#)]);
    let owner = |catalogue: &Catalogue, uri: &str| match catalogue.owner(uri) {
        Owner::One(server) => server.to_string(),
        Owner::Many(servers) => format!("{} servers", servers.len()),
        Owner::Nobody => "nobody".to_owned(),
    };
    assert_eq!(
        (owner(&one, "ui://clock"), owner(&one, "ui://map")),
        ("a".to_owned(), "b".to_owned())
    );
    assert_eq!(owner(&one, "ui://none"), "nobody");
    assert!(findings(&one).is_empty());
    let two = build(vec![app("a", nested), app("b", nested)]);
    assert_eq!(owner(&two, "ui://clock"), "2 servers");
    let found = findings(&two).join("\n");
    assert!(
        found.contains("server `b` publishes this app too") && found.contains("server `a`"),
        "{found}"
    );
}

#[test]
fn a_change_is_what_callers_see_and_nothing_else() {
    let one = build(vec![server("a", None, &["t", "u"])]);
    let same = |servers: Vec<Server>| one.shows_same_tools(&build(servers));
    assert!(same(vec![server("a", None, &["t", "u"]), server("empty", None, &[])]));
    assert!(!same(vec![server("a", None, &["u", "t"])]));
    assert!(!same(vec![server("a", None, &["t"])]));
    assert!(!same(vec![server("a", Some("p"), &["t", "u"])]));
    let same = |left, right| build(vec![left]).shows_same_resources(&build(vec![right]));
    let other = resources("a", &["x:1"], &[]);
    assert!(same(other.clone(), other.clone()));
    assert!(!same(other.clone(), resources("b", &["x:1"], &[])));
    assert!(!same(other, resources("a", &[], &["x:1"])));
    let prompts = |names: &[&str]| {
        let listing = Listing {
            prompts: names.iter().map(|name| prompt_definition(name)).collect(),
            ..Listing::default()
        };
        build(vec![listed("a", listing)])
    };
    assert!(prompts(&["p"]).shows_same_prompts(&prompts(&["p"])));
    assert!(!prompts(&["p"]).shows_same_prompts(&prompts(&["q"])));
}

#[test]
fn nearest_names_of_a_name_that_was_not_found() {
    let catalogue = build(vec![
        server(
            "github",
            None,
            &[
                "create_issue",
                "list_issues",
                "create_pull_request",
                "merge_pull_request",
                "get_me",
            ],
        ),
        server("k8s", None, &["list_pods", "delete_pod"]),
    ]);
    let asked = [
        "create_issue",
        "x_github_create_isue",
        "github.createIssue",
        "pull_request",
        "x_k8s_list_pod",
        "list",
        "core_servers_list",
        "X_K8S_LIST_PODS",
        "zzz",
        "",
        "délete_pod",
        "merge",
    ];
    let rows: Vec<String> = asked
        .iter()
        .map(|name| format!("{name}: {}", catalogue.nearest_tools(name, 3).join(" ")))
        .collect();
    expect![[r#"
        create_issue: x_github_create_issue
        x_github_create_isue: x_github_create_issue x_github_get_me x_github_list_issues
        github.createIssue: x_github_create_issue x_github_list_issues x_github_create_pull_request
        pull_request: x_github_create_pull_request x_github_merge_pull_request
        x_k8s_list_pod: x_k8s_list_pods x_k8s_delete_pod
        list: core_server_list core_workflow_list x_github_list_issues
        core_servers_list: core_server_list core_server_get core_server_start
        X_K8S_LIST_PODS: x_k8s_list_pods x_k8s_delete_pod
        zzz: 
        : 
        délete_pod: x_k8s_delete_pod
        merge: "#]]
    .assert_eq(&rows.join("\n"));
}

fn part() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[ab_]{1,4}", 1 => "[aB./ é_]{0,6}", 1 => "[ab_]{60,70}"]
}

/// Servers by name, each with its `toolPrefix` and its tools.
type Fleet = BTreeMap<String, (Option<String>, Vec<String>)>;

fn fleet() -> impl Strategy<Value = Fleet> {
    let prefix = prop_oneof![3 => Just(None), 1 => "[ab_]{0,3}".prop_map(Some)];
    prop::collection::btree_map("[ab][ab_]{0,3}", (prefix, prop::collection::vec(part(), 0..6)), 0..5)
}

fn assemble(fleet: &Fleet, prefix: &str) -> Catalogue {
    let servers = fleet.iter().map(|(name, (tool_prefix, tools))| {
        let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
        server(name, tool_prefix.as_deref(), &tools)
    });
    let naming = Naming {
        prefix: prefix.to_owned(),
        max_length: 32,
    };
    Catalogue::build(Parts {
        workflows: Arc::default(),
        version: 1,
        naming,
        servers: servers.collect(),
    })
}

fn rendered(tool: &Tool) -> String {
    let mut text = String::new();
    tool.write_to(&mut text);
    text
}

fn origin(tool: &Tool) -> (String, String) {
    let server = match &tool.provider {
        Provider::Server(server) => server.to_string(),
        Provider::Family(family) => family.family.to_string(),
        Provider::Core(_) | Provider::Workflow(_) => String::new(),
    };
    (server, tool.definition.name.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn i9_every_exposed_name_is_sound_and_leads_to_its_own_entry(fleet in fleet(), prefix in "x?") {
        let catalogue = assemble(&fleet, &prefix);
        let mut names = std::collections::BTreeSet::new();
        for tool in catalogue.tools() {
            let name = tool.name.as_str();
            prop_assert!(names.insert(name.to_lowercase()), "{} is used twice", name);
            prop_assert!((1..=32).contains(&name.len()), "{}", name);
            prop_assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c)), "{}", name);
            let found = catalogue.tool(name).unwrap();
            prop_assert_eq!(origin(found), origin(tool));
            let rendered: serde_json::Value = serde_json::from_str(&rendered(tool)).unwrap();
            prop_assert_eq!(rendered["name"].as_str(), Some(name));
        }
        // Nothing is lost in silence: a tool is served or there is a finding for it.
        for (server, (_, tools)) in &fleet {
            for tool in tools {
                let served = catalogue.tools().iter().any(|t| origin(t) == (server.clone(), tool.clone()));
                let found = catalogue.findings().iter().any(|f| f.is_about(server) && f.subject.as_deref().unwrap_or_default() == tool);
                prop_assert!(served || found, "{} of {} is gone", tool, server);
            }
        }
    }

    #[test]
    fn b038_names_never_depend_on_how_many_servers_exist(fleet in fleet(), more in fleet()) {
        let few = assemble(&fleet, "x");
        let mut all = more;
        all.extend(fleet);
        let many = assemble(&all, "x");
        for tool in few.tools() {
            // Another server may take a name away from both, and never changes one.
            for other in many.tools().iter().filter(|other| origin(other) == origin(tool)) {
                prop_assert_eq!(&other.name, &tool.name);
            }
        }
    }

    #[test]
    fn b037_an_underscore_anywhere_never_leads_to_another_server(left in "[ab_]{1,3}", middle in "[ab_]{1,3}", right in "[ab_]{1,3}") {
        let (one, two) = (format!("s{left}"), format!("s{left}_{middle}"));
        let catalogue = build(vec![
            server(&one, None, &[&format!("{middle}_{right}"), "only_one"]),
            server(&two, None, &[&right, "only_two"]),
        ]);
        let contested = format!("x_{two}_{right}");
        if let Some(tool) = catalogue.tool(&contested) {
            // It is unambiguous only when the rule against doubling gave one of them another name.
            let holders = catalogue.tools().iter().filter(|t| t.name == tool.name).count();
            prop_assert_eq!(holders, 1);
        } else {
            prop_assert!(catalogue.findings().len() >= 2);
        }
        let (first, second) = (format!("x_{one}_only_one"), format!("x_{two}_only_two"));
        prop_assert!(catalogue.tool(&first).is_some() && catalogue.tool(&second).is_some());
    }

    #[test]
    fn no_uri_and_no_template_panic(uri in any::<String>(), template in "[{}a/:+?é]{1,12}") {
        let quoted = serde_json::to_string(&template).unwrap();
        let definition = ResourceDefinition::parse_template(&format!(r#"{{"uriTemplate":{quoted},"name":"n"}}"#)).unwrap();
        let listing = Listing { templates: vec![definition.into()], ..Listing::default() };
        let catalogue = build(vec![listed("a", listing)]);
        let _owner = catalogue.owner(&uri);
        let _nearest = catalogue.nearest_tools(&uri, 3);
        prop_assert_ne!(catalogue.owner(&template), Owner::Nobody);
    }
}
