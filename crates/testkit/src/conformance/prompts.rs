//! The prompts of the fixture.

use rmcp::model::{ErrorData, GetPromptResult, JsonObject};
use serde_json::{Value, json};

use super::content::{PNG, complete};

/// The messages of a prompt that asks nothing first.
pub(crate) fn messages(name: &str, arguments: &JsonObject) -> Result<GetPromptResult, ErrorData> {
    let word = |key: &str| {
        arguments
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    match name {
        "test_simple_prompt" => user(&[json!({"type": "text", "text": "This is a simple prompt for testing."})]),
        "test_prompt_with_arguments" => user(&[json!({
            "type": "text",
            "text": format!("Prompt with arguments: arg1='{}', arg2='{}'", word("arg1"), word("arg2"))
        })]),
        "test_prompt_with_embedded_resource" => user(&[
            json!({"type": "resource", "resource": {
                "uri": word("resourceUri"), "mimeType": "text/plain", "text": "Embedded resource content for testing."
            }}),
            json!({"type": "text", "text": "Please process the embedded resource above."}),
        ]),
        "test_prompt_with_image" => user(&[
            json!({"type": "image", "data": PNG, "mimeType": "image/png"}),
            json!({"type": "text", "text": "Please analyze the image above."}),
        ]),
        "test_changing_prompt" => user(&[json!({"type": "text", "text": "Listed or not, it answers."})]),
        other => Err(ErrorData::invalid_params(format!("unknown prompt `{other}`"), None)),
    }
}

/// A prompt whose blocks are all said by the user.
pub(crate) fn user(blocks: &[Value]) -> Result<GetPromptResult, ErrorData> {
    let messages: Vec<Value> = blocks
        .iter()
        .map(|block| json!({"role": "user", "content": block}))
        .collect();
    complete(json!({"messages": messages}))
}
