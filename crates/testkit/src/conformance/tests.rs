//! Tests of `conformance`: the definitions are complete, and each listed tool is answered.

use rmcp::model::{ClientCapabilities, InputResponses, JsonObject};

use super::asking::{Given, step};
use super::{Era, Fixture, content};

#[test]
fn every_listed_tool_has_an_answer() {
    let fixture = Fixture::new(Era::Both).unwrap();
    let reporting = [
        "test_tool_with_logging",
        "test_logging_tool",
        "test_tool_with_progress",
        "test_reconnection",
        "test_trigger_tool_change",
        "test_trigger_prompt_change",
        "test_trigger_resource_update",
    ];
    let given = Given {
        arguments: &JsonObject::new(),
        answers: &InputResponses::new(),
        state: None,
        abilities: &ClientCapabilities::default(),
        states: &fixture.0.states,
    };
    for tool in &fixture.0.definitions.tools {
        let name = tool.name.as_ref();
        let answered = content::fixed(name).is_some_and(|answer| answer.is_ok())
            || step(name, &given).is_some()
            || reporting.contains(&name);
        assert!(answered, "{name}");
    }
}
