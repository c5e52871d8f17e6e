//! Calls of a family's tool: one member runs it, and the argument that names it goes no further.

use proptest::prelude::*;

use super::*;
use crate::names::FamilyName;
use crate::server::Membership;

const TOOL: &str = "x_k8s_pods";

/// Servers of one family whose first three agree on `pods`; `d` publishes another one, `z` is no member.
fn world_of(argument: &str) -> World {
    let pods = |description: &str| {
        let raw = format!(r#"{{"name":"pods","description":"{description}","inputSchema":{{"type":"object"}}}}"#);
        Listing {
            tools: vec![Arc::new(ToolDefinition::parse(&raw).unwrap())],
            ..Listing::default()
        }
    };
    let member = |name: &str, availability, listing| {
        let mut server = server(name, AnnotationTrust::Ignored, availability, listing);
        let mut entry = (*server.entry).clone();
        entry.family = Some(Membership {
            name: FamilyName::parse("k8s").unwrap(),
            instance_arg: argument.into(),
        });
        server.entry = Arc::new(entry);
        server
    };
    let reason = "it left".to_owned();
    let servers = vec![
        member("a", Availability::Ready, pods("D")),
        member("b.1", Availability::Unavailable { reason }, pods("D")),
        member("c_2", Availability::Ready, pods("D")),
        member("d", Availability::Ready, pods("other")),
        member("e", Availability::Stopped, pods("D")),
        member("f", Availability::Suspended, pods("D")),
        server("z", AnnotationTrust::Ignored, Availability::Ready, pods("D")),
    ];
    let (mut world, _) = open_world();
    world.catalogue = Arc::new(Catalogue::build(Parts {
        workflows: Arc::default(),
        version: 1,
        naming: Naming {
            prefix: "x".to_owned(),
            max_length: 64,
        },
        servers,
    }));
    world
}

/// The members that the surface names.
const MEMBERS: [&str; 3] = ["a", "b.1", "c_2"];

fn judged(world: &World, arguments: &str) -> Result<ExactCall, Refusal> {
    let (_, caller) = open_world();
    let ask = Ask::Tool {
        name: TOOL.to_owned(),
        arguments: Exact::object(arguments).unwrap(),
    };
    let judged = judge(world, &caller, ask, Origin::MetaTool)?;
    let Admission::Proceed(permit) = settle(world, judged);
    Ok(permit.into_parts().0)
}

#[test]
fn the_two_refusals_name_the_servers_and_nothing_is_guessed() {
    let world = world_of("cluster");
    let long = "é".repeat(200);
    let cases = [
        "{}".to_owned(),
        r#"{"Cluster":"a"}"#.to_owned(),
        r#"{"args":{"cluster":"a"}}"#.to_owned(),
        r#"{"cluster":null}"#.to_owned(),
        r#"{"cluster":1}"#.to_owned(),
        r#"{"cluster":true}"#.to_owned(),
        r#"{"cluster":["a"]}"#.to_owned(),
        r#"{"cluster":{"a":1}}"#.to_owned(),
        r#"{"cluster":""}"#.to_owned(),
        r#"{"cluster":"A"}"#.to_owned(),
        r#"{"cluster":" a"}"#.to_owned(),
        r#"{"cluster":"a\u0000"}"#.to_owned(),
        r#"{"cluster":"a\",\"b"}"#.to_owned(),
        r#"{"cluster":"d"}"#.to_owned(),
        r#"{"cluster":"e"}"#.to_owned(),
        r#"{"cluster":"f"}"#.to_owned(),
        r#"{"cluster":"z"}"#.to_owned(),
        r#"{"cluster":"k8s"}"#.to_owned(),
        format!(r#"{{"cluster":"{long}"}}"#),
    ];
    let mut text = String::new();
    for arguments in &cases {
        let refusal = judged(&world, arguments).unwrap_err();
        assert_eq!(refusal.nearest, MEMBERS, "{arguments}");
        let sentence = refusal.sentence.replace(&"é".repeat(128), "<128 é>");
        text += &format!(
            "{} {}: {sentence}\n",
            arguments.replace(&long, "<200 é>"),
            refusal.code.word()
        );
    }
    expect![[r#"
        {} instance_required: tool x_k8s_pods is provided by a family on servers a, b.1, c_2; the "cluster" parameter is required
        {"Cluster":"a"} instance_required: tool x_k8s_pods is provided by a family on servers a, b.1, c_2; the "cluster" parameter is required
        {"args":{"cluster":"a"}} instance_required: tool x_k8s_pods is provided by a family on servers a, b.1, c_2; the "cluster" parameter is required
        {"cluster":null} instance_required: tool x_k8s_pods is provided by a family on servers a, b.1, c_2; the "cluster" parameter must be a string, not null
        {"cluster":1} instance_required: tool x_k8s_pods is provided by a family on servers a, b.1, c_2; the "cluster" parameter must be a string, not a number
        {"cluster":true} instance_required: tool x_k8s_pods is provided by a family on servers a, b.1, c_2; the "cluster" parameter must be a string, not a boolean
        {"cluster":["a"]} instance_required: tool x_k8s_pods is provided by a family on servers a, b.1, c_2; the "cluster" parameter must be a string, not an array
        {"cluster":{"a":1}} instance_required: tool x_k8s_pods is provided by a family on servers a, b.1, c_2; the "cluster" parameter must be a string, not an object
        {"cluster":""} instance_not_available: tool x_k8s_pods is not available on server "" (available: a, b.1, c_2)
        {"cluster":"A"} instance_not_available: tool x_k8s_pods is not available on server "A" (available: a, b.1, c_2)
        {"cluster":" a"} instance_not_available: tool x_k8s_pods is not available on server " a" (available: a, b.1, c_2)
        {"cluster":"a\u0000"} instance_not_available: tool x_k8s_pods is not available on server "a\u0000" (available: a, b.1, c_2)
        {"cluster":"a\",\"b"} instance_not_available: tool x_k8s_pods is not available on server "a\",\"b" (available: a, b.1, c_2)
        {"cluster":"d"} instance_not_available: tool x_k8s_pods is not available on server "d" (available: a, b.1, c_2)
        {"cluster":"e"} instance_not_available: tool x_k8s_pods is not available on server "e" (available: a, b.1, c_2)
        {"cluster":"f"} instance_not_available: tool x_k8s_pods is not available on server "f" (available: a, b.1, c_2)
        {"cluster":"z"} instance_not_available: tool x_k8s_pods is not available on server "z" (available: a, b.1, c_2)
        {"cluster":"k8s"} instance_not_available: tool x_k8s_pods is not available on server "k8s" (available: a, b.1, c_2)
        {"cluster":"<200 é>"} instance_not_available: tool x_k8s_pods is not available on server "<128 é>" (available: a, b.1, c_2)
    "#]].assert_eq(&text);
}

#[test]
fn a_name_that_json_can_spell_in_two_ways_is_one_name() {
    let world = world_of("cluster");
    for arguments in [r#"{"cluster":"a"}"#, r#"{"cl\u0075ster":"\u0061"}"#] {
        let call = judged(&world, arguments).unwrap();
        assert_eq!(call.target(), &Target::Server(ServerName::parse("a").unwrap()));
        assert_eq!(call.operation().arguments(), Some(&Exact::empty_object()));
    }
}

/// Names of arguments that other readers of JSON stumble over.
fn argument() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("cluster".to_owned()),
        Just(String::new()),
        Just("__proto__".to_owned()),
        Just("a\"b\\".to_owned()),
        Just("\u{0}".to_owned()),
        Just("n".repeat(200)),
        any::<String>(),
    ]
}

/// What a caller may send for it, as JSON.
fn value() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::{Value, json};
    let servers = prop::sample::select(vec!["a", "b.1", "c_2", "d", "e", "f", "z", "k8s", "A", ""]);
    prop_oneof![
        6 => servers.prop_map(Value::from),
        1 => any::<String>().prop_map(Value::from),
        1 => prop_oneof![Just(Value::Null), Just(json!(7)), Just(json!(["a"])), Just(json!({"a": "a"}))],
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn i4_a_family_s_call_runs_on_the_server_that_it_names_without_the_argument(
        argument in argument(),
        value in prop::option::weighted(0.9, value()),
        others in prop::collection::btree_map(any::<String>(), value(), 0..4),
    ) {
        let world = world_of(&argument);
        let rest: serde_json::Map<_, _> = others.into_iter().filter(|(name, _)| *name != argument).collect();
        let mut sent = rest.clone();
        sent.extend(value.clone().map(|value| (argument.clone(), value)));
        let named = value.as_ref().and_then(serde_json::Value::as_str).filter(|name| MEMBERS.contains(name));
        match (judged(&world, &serde_json::Value::from(sent).to_string()), named) {
            (Ok(call), Some(named)) => {
                prop_assert_eq!(call.target(), &Target::Server(ServerName::parse(named).unwrap()));
                let Operation::CallTool { definition, arguments } = call.operation() else {
                    return Err(TestCaseError::fail("another operation"));
                };
                // The member's own tool, and what is judged, recorded and sent is all that was sent but the argument.
                prop_assert_eq!(definition, &world.catalogue.server(named).unwrap().listing.tools[0]);
                let rest = serde_json::Value::from(rest).to_string();
                prop_assert_eq!(arguments, &Exact::object(&rest).unwrap());
            }
            (Err(refusal), None) => {
                let is_text = value.as_ref().is_some_and(serde_json::Value::is_string);
                let code = if is_text { Code::InstanceNotAvailable } else { Code::InstanceRequired };
                prop_assert_eq!(refusal.code, code);
                prop_assert_eq!(refusal.nearest, MEMBERS);
            }
            (judged, named) => prop_assert!(false, "{:?} {:?}", judged, named),
        }
    }
}
