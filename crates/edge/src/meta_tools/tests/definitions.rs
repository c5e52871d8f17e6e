//! What the meta-tools publish, and that their answers keep to it.

use serde_json::Value;

use super::super::{MetaTool, find, rendered};
use super::{answered, published};

#[test]
fn every_meta_tool_is_published_once_in_order_and_found_by_its_name() {
    let all: Vec<Value> = serde_json::from_str(rendered()).unwrap();
    let names: Vec<&str> = all
        .iter()
        .map(|definition| definition["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, MetaTool::ALL.iter().map(|tool| tool.name()).collect::<Vec<_>>());
    for tool in MetaTool::ALL {
        assert_eq!(find(tool.name()), Some(*tool));
    }
    assert_eq!(find("List_tools"), None);
}

#[test]
fn every_meta_tool_has_texts_four_hints_and_strict_arguments() {
    for tool in MetaTool::ALL {
        let definition = published(*tool);
        for text in ["title", "description"] {
            assert!(!definition[text].as_str().unwrap().is_empty(), "{definition}");
        }
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(definition["annotations"][hint].is_boolean(), "{} {hint}", tool.name());
        }
        assert_eq!(definition["inputSchema"]["additionalProperties"], false);
        let mut taken: Vec<&str> = tool.arguments().to_vec();
        taken.sort_unstable();
        let shown: Vec<&String> = definition["inputSchema"]["properties"]
            .as_object()
            .unwrap()
            .keys()
            .collect();
        assert_eq!(shown, taken, "{}", tool.name());
    }
    let call = published(MetaTool::CallTool);
    assert_eq!(call["annotations"]["destructiveHint"], true);
    assert_eq!(call["annotations"]["readOnlyHint"], false);
}

#[test]
fn every_schema_is_a_schema_and_only_call_tool_has_no_output_schema() {
    for tool in MetaTool::ALL {
        let definition = published(*tool);
        for schema in ["inputSchema", "outputSchema"] {
            match definition.get(schema) {
                Some(schema) => drop(jsonschema::draft202012::new(schema).unwrap()),
                None => assert_eq!((*tool, schema), (MetaTool::CallTool, "outputSchema")),
            }
        }
    }
}

#[test]
fn half_an_answer_keeps_to_no_schema() {
    for tool in MetaTool::ALL {
        let Some(schema) = published(*tool).get("outputSchema").cloned() else {
            continue;
        };
        for half in [
            "{}",
            r#"{"code":"x"}"#,
            r#"{"name":"x"}"#,
            r#"{"filters":{},"total":1}"#,
            "[]",
        ] {
            let half: Value = serde_json::from_str(half).unwrap();
            assert!(
                !jsonschema::draft202012::is_valid(&schema, &half),
                "{} {half}",
                tool.name()
            );
        }
    }
}

#[test]
fn answers_keep_to_their_schemas_and_texts_hold_the_same_json_compact() {
    let cases = [
        ("list_tools", "{}"),
        ("list_tools", r#"{"limit":1,"offset":1}"#),
        ("list_tools", r#"{"offset":1000}"#),
        ("filter_tools", r#"{"query":"add a note","include_schema":true}"#),
        (
            "filter_tools",
            r#"{"pattern":"x_files_*","labels":{"team":"docs"},"description_filter":"file"}"#,
        ),
        ("filter_tools", r#"{"pattern":"nothing"}"#),
        ("describe_tool", r#"{"name":"x_files_read_file"}"#),
        ("describe_tool", r#"{"name":"core_server_list"}"#),
        ("list_core_tools", "{}"),
        ("list_core_tools", r#"{"include_schema":false}"#),
        ("list_resources", "{}"),
        ("filter_resources", r#"{"pattern":"file:///docs/*"}"#),
        ("describe_resource", r#"{"uri":"file:///docs/a.md"}"#),
        ("describe_resource", r#"{"uri":"file:///docs/{name}"}"#),
        ("list_prompts", "{}"),
        ("filter_prompts", r#"{"server":"notes"}"#),
        ("describe_prompt", r#"{"name":"x_files_review"}"#),
        ("describe_prompt", r#"{"name":"x_notes_plan"}"#),
    ];
    for (name, arguments) in cases {
        let input = jsonschema::draft202012::new(&published(find(name).unwrap())["inputSchema"]).unwrap();
        assert!(
            input.is_valid(&serde_json::from_str(arguments).unwrap()),
            "{name} {arguments}"
        );
        let raw = answered(name, arguments);
        let result: Value = serde_json::from_str(&raw).unwrap();
        assert!(result.get("isError").is_none(), "{name} {arguments}: {raw}");
        let structured = &result["structuredContent"];
        let output = jsonschema::draft202012::new(&published(find(name).unwrap())["outputSchema"]).unwrap();
        let problems: Vec<String> = output.iter_errors(structured).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{name} {arguments}: {problems:?}\n{raw}");
        assert_eq!(result["content"].as_array().unwrap().len(), 1);
        let text = result["content"][0]["text"].as_str().unwrap();
        let members: serde_json::Map<String, Value> = serde_json::from_str(text).unwrap();
        assert_eq!(&Value::Object(members), structured, "{name}");
        assert!(!text.contains("\": ") && !text.contains(", \""), "{text}");
    }
}
