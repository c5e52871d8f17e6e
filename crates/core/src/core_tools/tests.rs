//! Every core tool is a sound definition.

use super::*;

#[test]
fn every_core_tool_has_schemas_and_all_four_hints() {
    for core in CoreTool::ALL {
        let definition = core.definition();
        assert_eq!(definition.name.as_str(), core.name());
        assert!(!definition.description.contains("  "), "{}", definition.description);
        let hints = definition.annotations.clone().unwrap();
        assert_eq!(hints.read_only, Some(core.classified().effect == Effect::ReadOnly));
        assert!(hints.destructive.is_some() && hints.idempotent.is_some() && hints.open_world.is_some());
        let input: serde_json::Value = serde_json::from_str(&definition.input_schema).unwrap();
        assert_eq!(input["additionalProperties"], serde_json::Value::Bool(false));
        let output: serde_json::Value = serde_json::from_str(definition.output_schema.as_deref().unwrap()).unwrap();
        assert_eq!(output["type"], "object");
        for required in output["required"].as_array().unwrap() {
            assert!(
                output["properties"].get(required.as_str().unwrap()).is_some(),
                "{} {required}",
                core.name()
            );
        }
    }
}

#[test]
fn arguments_of_core_tools() {
    let parameters: Vec<String> = CoreTool::ALL
        .iter()
        .map(|core| format!("{}({})", core.name(), core.definition().parameters.join(", ")))
        .collect();
    expect_test::expect![[r#"
        core_server_list()
        core_server_get(server)
        core_server_status(server)
        core_server_start(server)
        core_server_stop(server)
        core_server_restart(server)
        core_workflow_list(limit, offset)
        core_workflow_get(workflow)
        core_workflow_validate(workflow)
        core_workflow_execution_list(workflow, status, limit, offset)
        core_workflow_execution_get(execution_id)
        core_config_get()
        core_events(limit)
        core_auth_login(server)
        core_auth_logout(server)"#]]
    .assert_eq(&parameters.join("\n"));
}
