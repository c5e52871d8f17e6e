//! What the meta-tools say of the toolset that they answer within.

use std::sync::Arc;

use countersign_core::admit::World;
use countersign_core::catalogue::{Availability, Server};
use countersign_core::listing::Listing;
use countersign_core::names::FamilyName;
use countersign_core::server::Membership;
use countersign_core::toolset::{Origin, Selectors};
use serde_json::{Value, json};

use super::super::find;
use super::{answered_in, entry, files, notes, published, world, world_of};

/// A world within toolsets, in the order in which they narrow.
fn within(world: &World, toolsets: &[(Origin, &str)]) -> World {
    toolsets.iter().fold(world.clone(), |world, (origin, text)| {
        world.narrowed(*origin, Selectors::parse_header([*text]))
    })
}

/// The structured answer, which keeps to the published schema.
fn told(world: &World, name: &str, arguments: &str) -> Value {
    let result: Value = serde_json::from_str(&answered_in(world, name, arguments)).unwrap();
    let told = result["structuredContent"].clone();
    let schema = published(find(name).unwrap())["outputSchema"].clone();
    assert!(jsonschema::draft202012::is_valid(&schema, &told), "{told}");
    told
}

fn names(told: &Value) -> Vec<&str> {
    let tools = told["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

/// A server that waits for a sign-in.
fn waiting(name: &str) -> Server {
    let mut entry = (*entry(name, &[("team", "mail")])).clone();
    entry.family = Some(Membership {
        name: FamilyName::parse("mail").unwrap(),
        instance_arg: "account".into(),
    });
    Server {
        entry: Arc::new(entry),
        listing: Arc::new(Listing::default()),
        availability: Availability::AuthRequired,
    }
}

#[test]
fn only_lists_within_a_toolset_name_one_and_each_the_narrowest() {
    let open = told(&world(), "filter_tools", "{}");
    for member in ["toolset", "toolset_bound", "toolset_unmatched", "presets", "note"] {
        assert!(open.get(member).is_none(), "{open}");
    }
    let bound = (Origin::Bound, "server:files");
    let header = (Origin::Header, "preset:full,server:nowhere");
    let cases = [
        (vec![bound], json!(["server:files"]), json!(["server:files"])),
        (vec![header], json!(["preset:full", "server:nowhere"]), Value::Null),
        (
            vec![bound, header],
            json!(["preset:full", "server:nowhere"]),
            json!(["server:files"]),
        ),
        (
            vec![bound, header, (Origin::Argument, "tool:x_files_read_file")],
            json!(["tool:x_files_read_file"]),
            json!(["server:files"]),
        ),
    ];
    for (toolsets, declared, bound) in cases {
        let world = within(&world(), &toolsets);
        let filtered = told(&world, "filter_tools", "{}");
        assert_eq!(filtered["toolset"], declared, "{toolsets:?}");
        assert_eq!(filtered["toolset_bound"], bound, "{toolsets:?}");
        let listed = told(&world, "list_tools", "{}");
        assert_eq!(listed["toolset"], declared, "{toolsets:?}");
        assert!(listed.get("toolset_bound").is_none(), "{listed}");
        assert_eq!(listed["total"], listed["total_tools"], "{listed}");
    }
}

#[test]
fn unmatched_selectors_are_those_of_the_narrowest_toolset_and_none_is_never_one() {
    let told_of = |toolsets: &[(Origin, &str)]| told(&within(&world(), toolsets), "list_tools", "{}");
    let header = told_of(&[(Origin::Header, "server:files,server:nowhere,tool:x_none,preset:none")]);
    assert_eq!(header["toolset_unmatched"], json!(["server:nowhere", "tool:x_none"]));
    let narrower = told_of(&[(Origin::Bound, "server:files"), (Origin::Header, "server:notes")]);
    assert_eq!(narrower["toolset_unmatched"], json!(["server:notes"]));
    assert_eq!((&narrower["total"], &narrower["tools"]), (&json!(0), &json!([])));
    assert_eq!(
        narrower["note"],
        "the toolset [server:notes] selects no tool; nothing that you can reach matches server:notes"
    );
    let none = told_of(&[(Origin::Header, "preset:none")]);
    assert!(none.get("toolset_unmatched").is_none(), "{none}");
    assert_eq!(none["note"], "the toolset [preset:none] selects no tool");
}

#[test]
fn servers_that_wait_for_a_sign_in_are_named_with_the_way_out_and_are_not_narrowed() {
    let world = world_of(vec![files(), waiting("mail-ada"), waiting("mail-bob")]);
    let listed = told(&world, "list_tools", r#"{"limit":1}"#);
    let entry = |name: &str| {
        json!({"name":name,"status":"auth_required","auth_tool":"core_auth_login",
            "tool_prefix":format!("x_{name}_"),"family":"mail"})
    };
    assert_eq!(
        listed["servers_requiring_auth"],
        json!([entry("mail-ada"), entry("mail-bob")])
    );
    assert!(listed.get("servers_unavailable").is_none(), "{listed}");
    assert!(listed.get("toolset_requiring_auth").is_none(), "{listed}");
    let narrow = within(&world, &[(Origin::Header, "server:files,tool:x_mail-ada_send")]);
    let listed = told(&narrow, "list_tools", "{}");
    assert_eq!(
        listed["servers_requiring_auth"],
        json!([entry("mail-ada"), entry("mail-bob")])
    );
    let mut unlocked = entry("mail-ada");
    unlocked.as_object_mut().unwrap().remove("status");
    assert_eq!(listed["toolset_requiring_auth"], json!([unlocked]));
    let core = told(&narrow, "list_core_tools", "{}");
    assert!(core.get("servers_requiring_auth").is_none(), "{core}");
    for (pattern, expected) in [
        ("x_mail-ada_*", vec!["mail-ada"]),
        ("X_MAIL-ADA_s*", vec!["mail-ada"]),
        ("x_mail_*", vec!["mail-ada", "mail-bob"]),
        ("x_files_*", vec![]),
        ("*send", vec!["mail-ada", "mail-bob"]),
    ] {
        let filtered = told(&world, "filter_tools", &json!({"pattern":pattern}).to_string());
        let shown: Vec<&str> = filtered["servers_requiring_auth"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|server| server["name"].as_str().unwrap())
            .collect();
        assert_eq!(shown, expected, "{pattern}");
    }
}

#[test]
fn a_toolset_pages_and_ranks_what_it_selects_alone() {
    let world = within(&world(), &[(Origin::Header, "preset:read-only")]);
    let whole = told(&world, "list_tools", r#"{"limit":500}"#);
    let total = usize::try_from(whole["total"].as_u64().unwrap()).unwrap();
    assert_eq!((names(&whole).len(), whole["truncated"] == json!(true)), (total, false));
    assert!(names(&whole).contains(&"x_files_read_file") && !names(&whole).contains(&"x_files_Write_File"));
    let first = told(&world, "list_tools", r#"{"limit":2}"#);
    let second = told(&world, "list_tools", r#"{"limit":2,"offset":2}"#);
    assert_eq!([names(&first), names(&second)].concat(), names(&whole)[..4]);
    assert_eq!((&first["total"], &first["truncated"]), (&json!(total), &json!(true)));
    let ranked = told(&world, "filter_tools", r#"{"query":"write a file to the notebook"}"#);
    assert!(
        names(&ranked)
            .iter()
            .all(|name| !name.contains("Write") && !name.contains("notes")),
        "{ranked}"
    );
}

#[test]
fn what_is_outside_is_told_apart_from_what_is_not_there() {
    let world = within(&world(), &[(Origin::Bound, "server:notes")]);
    let refused = told(&world, "describe_tool", r#"{"name":"x_files_read_file"}"#);
    assert_eq!(
        refused,
        json!({"code":"outside_toolset","tool":"x_files_read_file","toolset":["server:notes"],"bound":true,
            "message":"tool \"x_files_read_file\" is outside the toolset [server:notes] bound to the session"})
    );
    let unknown = told(&world, "describe_tool", r#"{"name":"x_files_read_fil"}"#);
    assert_eq!(unknown["code"], "tool_not_found");
    assert!(unknown.get("nearest").is_none(), "{unknown}");
    let prompt = told(&world, "describe_prompt", r#"{"name":"x_files_review"}"#);
    assert_eq!(
        (&prompt["code"], &prompt["prompt"]),
        (&json!("outside_toolset"), &json!("x_files_review"))
    );
    let resource = told(&world, "describe_resource", r#"{"uri":"file:///docs/a.md"}"#);
    assert_eq!(
        (&resource["code"], &resource["resource"]),
        (&json!("outside_toolset"), &json!("file:///docs/a.md"))
    );
    // Two servers publish it, of which the toolset shows one.
    let shared = told(&world, "describe_resource", r#"{"uri":"shared://one"}"#);
    assert_eq!(shared["server"], "notes");
    let hidden = told(&world, "list_prompts", r#"{"server":"files"}"#);
    assert_eq!(
        hidden["message"],
        "server \"files\" is outside the toolset [server:notes] bound to the session"
    );
    let slip = told(&world, "list_prompts", r#"{"server":"file"}"#);
    assert_eq!(slip["servers"], json!(["notes"]));
}

#[test]
fn a_server_that_is_down_is_named_where_the_toolset_could_select_its_tools() {
    let down = |name: &str| Server {
        entry: entry(name, &[]),
        listing: Arc::new(Listing::default()),
        availability: Availability::Unavailable {
            reason: "gone".to_owned(),
        },
    };
    let world = world_of(vec![files(), notes(), down("mail"), down("news")]);
    let shown = |toolset: &str| {
        let told = told(&within(&world, &[(Origin::Header, toolset)]), "list_tools", "{}");
        let servers = told["servers_unavailable"].as_array().cloned().unwrap_or_default();
        let names = servers
            .iter()
            .filter_map(|server| server["server"].as_str().map(str::to_owned));
        names.collect::<Vec<_>>()
    };
    assert_eq!(shown("server:files"), [""; 0]);
    assert_eq!(shown("server:mail"), ["mail"]);
    assert_eq!(shown("tool:x_news_read"), ["news"]);
    assert_eq!(shown("preset:read-only"), ["mail", "news"]);
}
