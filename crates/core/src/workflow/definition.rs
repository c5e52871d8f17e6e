//! The tool that a workflow is offered as.

use std::sync::Arc;

use super::Draft;
use crate::definition::ToolDefinition;
use crate::json::Json;

/// What every run answers.
const OUTPUT: &str = concat!(
    r#"{"type":"object","properties":{"execution_id":{"type":"string"},"workflow":{"type":"string"},"#,
    r#""status":{"type":"string","enum":["completed","failed","parked"]},"output":{},"#,
    r#""steps":{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"},"tool":{"type":"string"},"#,
    r#""status":{"type":"string","enum":["completed","failed","skipped","outcome_unknown","cancelled","running"]},"#,
    r#""duration_ms":{"type":"integer","minimum":0},"error":{"type":"string"}},"required":["id","status","duration_ms"]}},"#,
    r#""error":{"type":"object","properties":{"step":{"type":"string"},"message":{"type":"string"}},"#,
    r#""required":["message"]},"code":{"type":"string"},"message":{"type":"string"}},"required":["workflow","status","steps"]}"#
);

/// The definitions of a workflow that only reads, and of one that does not.
#[expect(
    clippy::expect_used,
    reason = "the definition is written here, of parts that were checked, and a test reads every kind of it"
)]
pub(super) fn of(draft: &Draft, exposed: &Arc<str>) -> (ToolDefinition, ToolDefinition) {
    let parse = |hint: &str| {
        let raw = format!(
            r#"{{"name":{},"description":{},"inputSchema":{},"outputSchema":{OUTPUT},"annotations":{{"readOnlyHint":{hint}}}}}"#,
            Json::Text(Arc::clone(exposed)).to_text(),
            Json::text(&draft.description).to_text(),
            input(draft).to_text(),
        );
        ToolDefinition::parse(&raw).expect("a workflow's definition is valid")
    };
    (parse("true"), parse("false"))
}

fn input(draft: &Draft) -> Json {
    let properties = draft.arguments.iter().map(|argument| {
        let kind = argument.kind.map(|kind| ("type", Json::text(kind.word())));
        let description = argument.description.as_deref();
        let members = kind
            .into_iter()
            .chain(description.map(|text| ("description", Json::text(text))))
            .chain(argument.default.clone().map(|value| ("default", value)));
        (Arc::clone(&argument.name), Json::object(members))
    });
    let required = draft.arguments.iter().filter(|argument| argument.required);
    let required: Vec<Json> = required
        .map(|argument| Json::Text(Arc::clone(&argument.name)))
        .collect();
    let mut schema = vec![
        ("type", Json::text("object")),
        ("properties", Json::object(properties)),
        ("additionalProperties", Json::Bool(false)),
    ];
    if !required.is_empty() {
        schema.push(("required", Json::List(required.into())));
    }
    Json::object(schema)
}
