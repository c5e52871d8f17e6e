//! Families: one surface, members looked up, and a finding for whatever does not fit (spec 2.4).

#![expect(clippy::too_many_lines, reason = "tables of texts are long")]

use super::*;
use crate::effect::Effect;
use crate::names::FamilyName;
use crate::server::Membership;

/// One member: its name, its `instanceArg`, and its tools as JSON.
fn member(name: &str, argument: &str, tools: &[&str]) -> Server {
    let listing = Listing {
        tools: tools
            .iter()
            .map(|raw| Arc::new(ToolDefinition::parse(raw).unwrap()))
            .collect(),
        ..Listing::default()
    };
    let mut server = listed(name, listing);
    let mut entry = entry(name, None);
    entry.family = Some(Membership {
        name: FamilyName::parse("k8s").unwrap(),
        instance_arg: argument.into(),
    });
    server.entry = Arc::new(entry);
    server
}

fn with(mut server: Server, change: impl FnOnce(&mut ServerEntry)) -> Server {
    let mut entry = (*server.entry).clone();
    change(&mut entry);
    server.entry = Arc::new(entry);
    server
}

fn pods(description: &str) -> String {
    format!(
        r#"{{"name":"pods","description":"{description}","inputSchema":{{"type":"object","properties":{{"ns":{{"type":"string"}}}},"required":["ns"]}}}}"#
    )
}

const LOGS: &str = r#"{"name":"logs","inputSchema":{"type":"object"}}"#;

/// `name (server of the entry): members`.
fn served(catalogue: &Catalogue) -> String {
    let rows: Vec<String> = catalogue
        .tools()
        .iter()
        .filter_map(|tool| {
            let servers: Vec<&str> = tool.servers().map(ServerName::as_str).collect();
            let (owner, _) = origin(tool);
            (!servers.is_empty()).then(|| format!("{} ({owner}): {}", tool.name, servers.join(", ")))
        })
        .collect();
    rows.join("\n") + "\n"
}

fn shown(catalogue: &Catalogue, name: &str) -> String {
    catalogue.tool(name).unwrap().definition.renamed(name)
}

#[test]
fn members_that_agree_are_one_surface_with_the_argument_in_front() {
    let catalogue = build(vec![
        member("prod", "cluster", &[&pods("Lists pods."), LOGS]),
        member("dev", "cluster", &[&pods("Lists pods.")]),
        server("aaa", None, &["t"]),
    ]);
    expect![[r#"
        x_aaa_t (aaa): aaa
        x_k8s_pods (k8s): dev, prod
        x_k8s_logs (k8s): prod
    "#]]
    .assert_eq(&served(&catalogue));
    assert_eq!(findings(&catalogue), [""; 0]);
    expect![[r#"{"name":"x_k8s_pods","description":"Lists pods.","inputSchema":{"type":"object","properties":{"cluster":{"type":"string","description":"The server of family `k8s` that runs the call.","enum":["dev","prod"]},"ns":{"type":"string"}},"required":["cluster","ns"]}}"#]]
    .assert_eq(&shown(&catalogue, "x_k8s_pods"));
    expect![[r#"{"name":"x_k8s_logs","inputSchema":{"properties":{"cluster":{"type":"string","description":"The server of family `k8s` that runs the call.","enum":["prod"]}},"required":["cluster"],"type":"object"}}"#]]
    .assert_eq(&shown(&catalogue, "x_k8s_logs"));
}

#[test]
fn the_largest_group_keeps_the_surface_and_a_tie_goes_to_the_first_server_by_name() {
    let (old, new) = (pods("Old."), pods("New."));
    let cases: [(&str, Vec<(&str, &str)>); 4] = [
        ("two against one", vec![("a", &old), ("b", &new), ("c", &new)]),
        ("one against one", vec![("b", &new), ("a", &old)]),
        (
            "two against two",
            vec![("a", &old), ("b", &new), ("c", &new), ("d", &old)],
        ),
        ("three ways", vec![("c", &old), ("b", &new), ("a", LOGS)]),
    ];
    let mut text = String::new();
    for (what, members) in cases {
        let catalogue = build(
            members
                .iter()
                .map(|(name, tool)| member(name, "cluster", &[tool]))
                .collect(),
        );
        text.push_str(&format!("-- {what}\n{}", served(&catalogue)));
        for finding in findings(&catalogue) {
            text.push_str(&format!("{finding}\n"));
        }
    }
    expect![[r#"
        -- two against one
        x_a_pods (a): a
        x_k8s_pods (k8s): b, c
        a/pods family_differs: server a differs from servers b, c in `description`: family `k8s` keeps the tool for servers b, c, while server a serves it under its own name; run the same version of the server everywhere, or take the server out of the family
        -- one against one
        x_b_pods (b): b
        x_k8s_pods (k8s): a
        b/pods family_differs: server b differs from server a in `description`: family `k8s` keeps the tool for server a, while server b serves it under its own name; run the same version of the server everywhere, or take the server out of the family
        -- two against two
        x_b_pods (b): b
        x_c_pods (c): c
        x_k8s_pods (k8s): a, d
        b+c/pods family_differs: servers b, c differ from servers a, d in `description`: family `k8s` keeps the tool for servers a, d, while servers b, c serve it under their own names; run the same version of the server everywhere, or take the server out of the family
        -- three ways
        x_c_pods (c): c
        x_k8s_logs (k8s): a
        x_k8s_pods (k8s): b
        c/pods family_differs: server c differs from server b in `description`: family `k8s` keeps the tool for server b, while server c serves it under its own name; run the same version of the server everywhere, or take the server out of the family
    "#]].assert_eq(&text);
}

#[test]
fn a_finding_names_each_field_that_differs() {
    let base = r#"{"name":"t","title":"T","description":"D","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"_meta":{"a":1}}"#;
    let others = [
        base.replace("\"T\"", "\"U\""),
        base.replace("\"D\"", "\"E\""),
        base.replace(r#"{"type":"object"}"#, r#"{"type":"object","x":1}"#),
        base.replace("true", "false"),
        base.replace("\"title\":\"T\",", ""),
        base.replace("\"_meta\"", "\"outputSchema\":{\"type\":\"object\"},\"_meta\""),
        base.replace("\"a\":1", "\"a\":2"),
        base.replace("\"_meta\"", "\"icons\":[],\"x\""),
        // Only written differently.
        base.replace(r#"{"type":"object"}"#, "{ \"ty\\u0070e\" : \"object\" }"),
    ];
    let rows: Vec<String> = others
        .iter()
        .flat_map(|other| {
            let catalogue = build(vec![member("a", "c", &[base]), member("b", "c", &[other])]);
            findings(&catalogue)
        })
        .collect();
    expect![[r#"
        b/t family_differs: server b differs from server a in `title`: family `k8s` keeps the tool for server a, while server b serves it under its own name; run the same version of the server everywhere, or take the server out of the family
        b/t family_differs: server b differs from server a in `description`: family `k8s` keeps the tool for server a, while server b serves it under its own name; run the same version of the server everywhere, or take the server out of the family
        b/t family_differs: server b differs from server a in `inputSchema`: family `k8s` keeps the tool for server a, while server b serves it under its own name; run the same version of the server everywhere, or take the server out of the family
        b/t family_differs: server b differs from server a in `annotations`: family `k8s` keeps the tool for server a, while server b serves it under its own name; run the same version of the server everywhere, or take the server out of the family
        b/t family_differs: server b differs from server a in `title`: family `k8s` keeps the tool for server a, while server b serves it under its own name; run the same version of the server everywhere, or take the server out of the family
        b/t family_differs: server b differs from server a in `outputSchema`: family `k8s` keeps the tool for server a, while server b serves it under its own name; run the same version of the server everywhere, or take the server out of the family
        b/t family_detail_differs: server b differs from server a in `_meta`: family `k8s` shows what server a publishes; nothing, when the difference does not matter to callers; else run the same version everywhere
        b/t family_detail_differs: server b differs from server a in `_meta`, `icons`, `x`: family `k8s` shows what server a publishes; nothing, when the difference does not matter to callers; else run the same version everywhere"#]].assert_eq(&rows.join("\n"));
}

#[test]
fn what_cannot_take_the_argument_stays_with_its_servers() {
    let schema = |schema: &str| format!(r#"{{"name":"t","inputSchema":{{"type":"object",{schema}}}}}"#);
    let cases = [
        r#""properties":{"cluster":{}}"#,
        r#""properties":{"clust\u0065r":{}}"#,
        r#""required":["cluster"]"#,
        r#""required":{}"#,
        r#""allOf":[{"properties":{"cluster":{}}}]"#,
        r#""anyOf":[{"required":["a"]},{"required":["b"]}]"#,
        r#""oneOf":[{"additionalProperties":false}]"#,
        r#""additionalProperties":false,"unevaluatedProperties":false"#,
        r##""$ref":"#/$defs/a","$defs":{"a":{"properties":{"b":{"properties":{"cluster":{}}}}}}"##,
        r##""$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"properties":{"cluster":{}}}}"##,
        r##""$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#"}]}}"##,
        r##""$ref":"#anchor""##,
        r#""maxProperties":2"#,
        r#""propertyNames":{"maxLength":1}"#,
        r#""patternProperties":{"^c":{"type":"number"}}"#,
        r#""patternProperties":{}"#,
        r#""dependentRequired":{"cluster":["a"]}"#,
        r#""dependentSchemas":{"a":{"maxProperties":1}}"#,
        r#""if":true,"not":{"properties":{"cluster":{}}}"#,
        r#""properties":{"a":{"properties":{"cluster":{}},"maxProperties":1}}"#,
    ];
    let rows: Vec<String> = cases
        .iter()
        .map(|case| {
            let raw = schema(case);
            let catalogue = build(vec![member("a", "cluster", &[&raw]), member("b", "cluster", &[&raw])]);
            let names = upstream_names(&catalogue).join(" ");
            let found: Vec<&str> = catalogue
                .findings()
                .iter()
                .map(|finding| finding.what.as_str())
                .collect();
            format!(
                "{case}\n  {} {}",
                if names.is_empty() { "family" } else { &names },
                found.join(" ")
            )
        })
        .collect();
    expect![[r##"
        "properties":{"cluster":{}}
          x_a_t x_b_t the tool cannot stand on the surface of family `k8s`: its own schema has a property `cluster`; it is served under the names of its servers
        "properties":{"clust\u0065r":{}}
          x_a_t x_b_t the tool cannot stand on the surface of family `k8s`: its own schema has a property `cluster`; it is served under the names of its servers
        "required":["cluster"]
          x_a_t x_b_t the tool cannot stand on the surface of family `k8s`: its own schema has a property `cluster`; it is served under the names of its servers
        "required":{}
          x_a_t x_b_t the tool cannot stand on the surface of family `k8s`: its schema may refuse one more argument: `required` is not a list; it is served under the names of its servers
        "allOf":[{"properties":{"cluster":{}}}]
          x_a_t x_b_t the tool cannot stand on the surface of family `k8s`: its own schema has a property `cluster`; it is served under the names of its servers
        "anyOf":[{"required":["a"]},{"required":["b"]}]
          family 
        "oneOf":[{"additionalProperties":false}]
          x_a_t x_b_t the tool cannot stand on the surface of family `k8s`: its schema may refuse one more argument: it says `additionalProperties`; it is served under the names of its servers
        "additionalProperties":false,"unevaluatedProperties":false
          family 
        "$ref":"#/$defs/a","$defs":{"a":{"properties":{"b":{"properties":{"cluster":{}}}}}}
          family 
        "$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"properties":{"cluster":{}}}}
          x_a_t x_b_t the tool cannot stand on the surface of family `k8s`: its own schema has a property `cluster`; it is served under the names of its servers
        "$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#"}]}}
          family 
        "$ref":"#anchor"
          x_a_t x_b_t the tool cannot stand on the surface of family `k8s`: its schema may refuse one more argument: it says `$ref`; it is served under the names of its servers
        "maxProperties":2
          x_a_t x_b_t the tool cannot stand on the surface of family `k8s`: its schema may refuse one more argument: it says `maxProperties`; it is served under the names of its servers
        "propertyNames":{"maxLength":1}
          x_a_t x_b_t the tool cannot stand on the surface of family `k8s`: its schema may refuse one more argument: it says `propertyNames`; it is served under the names of its servers
        "patternProperties":{"^c":{"type":"number"}}
          x_a_t x_b_t the tool cannot stand on the surface of family `k8s`: its schema may refuse one more argument: it says `patternProperties`; it is served under the names of its servers
        "patternProperties":{}
          family 
        "dependentRequired":{"cluster":["a"]}
          x_a_t x_b_t the tool cannot stand on the surface of family `k8s`: its own schema has a property `cluster`; it is served under the names of its servers
        "dependentSchemas":{"a":{"maxProperties":1}}
          x_a_t x_b_t the tool cannot stand on the surface of family `k8s`: its schema may refuse one more argument: it says `maxProperties`; it is served under the names of its servers
        "if":true,"not":{"properties":{"cluster":{}}}
          x_a_t x_b_t the tool cannot stand on the surface of family `k8s`: its own schema has a property `cluster`; it is served under the names of its servers
        "properties":{"a":{"properties":{"cluster":{}},"maxProperties":1}}
          family "##]].assert_eq(&rows.join("\n"));
}

#[test]
fn members_that_disagree_on_the_argument_serve_what_they_share_themselves() {
    let catalogue = build(vec![
        member("a", "cluster", &[&pods("D"), LOGS]),
        member("b", "site", &[&pods("D")]),
        member("c", "cluster", &[LOGS]),
    ]);
    expect![[r#"
        x_a_pods (a): a
        x_b_pods (b): b
        x_k8s_logs (k8s): a, c
    "#]]
    .assert_eq(&served(&catalogue));
    expect!["a+b/pods family_argument_differs: members of family `k8s` do not agree on `instanceArg`: `cluster` on server a, `site` on server b; the tool is served under the names of its servers; give every member of family `k8s` the same `instanceArg`"].assert_eq(&findings(&catalogue).join("\n"));
}

#[test]
fn names_of_a_family_follow_the_rules_of_names() {
    let tool = |name: &str| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#);
    let tools = ["k8s_get", "k8sget", "a b", LONG].map(tool);
    let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
    let catalogue = build(vec![
        with(member("a", "c", &tools), |entry| {
            entry.tool_prefix = Some("other".to_owned())
        }),
        member("b", "c", &tools),
    ]);
    expect![[r#"
        x_k8s_get (k8s): a, b
        x_k8s_k8sget (k8s): a, b
        x_k8s_a_b_536a1fdd (k8s): a, b
        x_k8s_ttttttttttttttttttttttttttttttttttttttttttttttttt_77780e59 (k8s): a, b
    "#]]
    .assert_eq(&served(&catalogue));
    assert_eq!(findings(&catalogue), [""; 0]);
}

#[test]
fn a_member_that_falls_back_has_its_prefix_unless_it_is_the_family_s_name() {
    for (prefix, name) in [
        (Some("p"), "x_p_pods"),
        (Some("k8s"), "x_c_pods"),
        (Some(""), "pods"),
        (None, "x_c_pods"),
    ] {
        let catalogue = build(vec![
            member("a", "cluster", &[&pods("D")]),
            member("b", "cluster", &[&pods("D")]),
            with(member("c", "cluster", &[&pods("E")]), |entry| {
                entry.tool_prefix = prefix.map(str::to_owned)
            }),
        ]);
        assert_eq!(upstream_names(&catalogue), [name]);
        assert!(catalogue.tool("x_k8s_pods").is_some());
    }
}

#[test]
fn i9_a_surface_and_a_server_that_claim_one_name_are_both_refused_and_named() {
    let catalogue = build(vec![
        member("a", "c", &[LOGS]),
        server("k8s_logs", None, &["x"]),
        server("other", Some("k8s"), &["logs", "Logs", "fine"]),
    ]);
    assert_eq!(
        served(&catalogue),
        "x_k8s_logs_x (k8s_logs): k8s_logs\nx_k8s_fine (other): other\n"
    );
    expect![[r#"
        a/logs name_alike: exposed name `x_k8s_logs` reads like another one: `logs` of server `other` and `Logs` of server `other` and `logs` of family `k8s`, so none of them is served; give server `other` another `toolPrefix`, or family `k8s` another name
        other/Logs name_alike: exposed name `x_k8s_Logs` reads like another one: `logs` of server `other` and `Logs` of server `other` and `logs` of family `k8s`, so none of them is served; give server `other` another `toolPrefix`, or family `k8s` another name
        other/logs name_alike: exposed name `x_k8s_logs` reads like another one: `logs` of server `other` and `Logs` of server `other` and `logs` of family `k8s`, so none of them is served; give server `other` another `toolPrefix`, or family `k8s` another name"#]].assert_eq(&findings(&catalogue).join("\n"));
}

#[test]
fn members_that_are_down_keep_their_place_and_stopped_ones_do_not() {
    let with_b = |availability: Availability| {
        let mut b = member("b", "c", &[LOGS]);
        b.availability = availability;
        served(&build(vec![member("a", "c", &[LOGS]), b]))
    };
    let reason = "down".to_owned();
    assert_eq!(with_b(Availability::Unavailable { reason }), "x_k8s_logs (k8s): a, b\n");
    assert_eq!(with_b(Availability::Stopped), "x_k8s_logs (k8s): a\n");
    assert_eq!(with_b(Availability::Suspended), "x_k8s_logs (k8s): a\n");
}

#[test]
fn i7_a_surface_is_read_only_when_every_member_is_trusted_to_say_so() {
    let reads = r#"{"name":"t","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#;
    let trusted = |name| {
        with(member(name, "c", &[reads]), |entry| {
            entry.trust = AnnotationTrust::Trusted
        })
    };
    let effects = |servers: Vec<Server>| {
        let catalogue = build(servers);
        let tool = catalogue.tool("x_k8s_t").unwrap();
        let Provider::Family(family) = &tool.provider else {
            panic!("no family")
        };
        let members: Vec<Effect> = family.members.values().map(|member| member.classified.effect).collect();
        (tool.classified.effect, members)
    };
    let (reads_only, mutates) = (Effect::ReadOnly, Effect::Mutating);
    assert_eq!(
        effects(vec![trusted("a"), trusted("b")]),
        (reads_only, vec![reads_only, reads_only])
    );
    let mixed = vec![trusted("a"), member("b", "c", &[reads])];
    assert_eq!(effects(mixed), (mutates, vec![reads_only, mutates]));
}

#[test]
fn search_finds_a_family_by_the_labels_of_any_member() {
    let label = |server, value: &str| {
        with(server, |entry| {
            entry.labels.insert("env".to_owned(), value.to_owned());
        })
    };
    let catalogue = build(vec![
        label(member("a", "c", &[LOGS]), "production"),
        label(member("b", "c", &[LOGS]), "staging"),
        server("z", None, &["t"]),
    ]);
    let best = |query: &str| {
        let hit = catalogue.index().search(query).first().copied().unwrap();
        catalogue.tools()[hit.document].name.to_string()
    };
    assert_eq!(
        (best("staging"), best("production")),
        ("x_k8s_logs".to_owned(), "x_k8s_logs".to_owned())
    );
}

/// Members by name, each with a choice of definition for each of two tools.
type Members = BTreeMap<String, (bool, Vec<u8>)>;

fn members() -> impl Strategy<Value = Members> {
    let choices = prop::collection::vec(0..4_u8, 2);
    prop::collection::btree_map("[a-d][a-c]?", (prop::bool::weighted(0.9), choices), 1..7)
}

fn fleet_of(members: &Members) -> Vec<Server> {
    let server = |(name, (agrees, choices)): (&String, &(bool, Vec<u8>))| {
        let tools: Vec<String> = choices
            .iter()
            .enumerate()
            .filter(|(_, choice)| **choice > 0)
            .map(|(at, choice)| pods(&format!("D{choice}")).replace("pods", &format!("t{at}")))
            .collect();
        let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
        member(name, if *agrees { "cluster" } else { "site" }, &tools)
    };
    members.iter().map(server).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_family_does_not_depend_on_the_order_of_its_members(members in members(), turn in 0..7_usize) {
        let mut servers = fleet_of(&members);
        let one = build(servers.clone());
        servers.reverse();
        let at = turn % servers.len();
        servers.rotate_left(at);
        let other = build(servers);
        prop_assert!(one.shows_same_tools(&other));
        prop_assert_eq!(one.findings(), other.findings());
        prop_assert_eq!(served(&one), served(&other));
    }

    #[test]
    fn a_snapshot_built_on_another_has_the_same_families(before in members(), after in members()) {
        let parts = |version, members| Parts { workflows: Arc::default(), version, naming: naming(), servers: fleet_of(members) };
        let mut first = fleet_of(&before);
        let old = build(first.clone());
        // Servers that stay keep their very definitions, as they do between two snapshots of the engine.
        let mut next = parts(8, &after);
        first.retain(|server| after.get(server.entry.name.as_str()) == before.get(server.entry.name.as_str()));
        next.servers.retain(|server| first.iter().all(|kept| kept.entry.name != server.entry.name));
        next.servers.extend(first);
        let (whole, on_top) = (Catalogue::build(next.clone()), old.next(next));
        prop_assert!(whole.shows_same_tools(&on_top));
        prop_assert_eq!(whole.findings(), on_top.findings());
        prop_assert_eq!(served(&whole), served(&on_top));
    }

    #[test]
    fn every_tool_of_every_member_is_served_once_and_what_left_the_surface_has_a_finding(members in members()) {
        let servers = fleet_of(&members);
        let catalogue = build(servers.clone());
        for server in &servers {
            let name = server.entry.name.as_str();
            for definition in &server.listing.tools {
                let mut of_it = catalogue.tools().iter().filter(|tool| {
                    tool.definition.name == definition.name && tool.servers().any(|it| it.as_str() == name)
                });
                let tool = of_it.next().unwrap();
                prop_assert!(of_it.next().is_none());
                match &tool.provider {
                    // A member runs its own definition, and all that stand together agree.
                    Provider::Family(family) => {
                        prop_assert_eq!(&family.members[name].definition, definition);
                        prop_assert!(family.members.values().all(|it| it.definition.digest == definition.digest));
                    }
                    Provider::Server(server) => {
                        prop_assert_eq!(server.as_str(), name);
                        let subject = Some(definition.name.to_string());
                        prop_assert!(catalogue.findings().iter().any(|f| f.is_about(name) && f.subject == subject));
                    }
                    Provider::Core(_) | Provider::Workflow(_) => prop_assert!(false),
                }
            }
        }
    }
}
