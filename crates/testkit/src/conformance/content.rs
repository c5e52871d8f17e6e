//! Fixed content blocks and the tools that answer nothing else.

use rmcp::model::{CallToolResult, ErrorData};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A PNG of one red pixel.
pub(crate) const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8/5+hHgAHggJ/PchI7wAAAABJRU5ErkJggg==";
/// A WAV header without samples.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

/// The typed form of a JSON text written in this crate.
pub(crate) fn typed<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// The typed form of a complete result; `rmcp` takes the mark away for a legacy peer.
pub(crate) fn complete<T: DeserializeOwned>(mut result: Value) -> Result<T, ErrorData> {
    if let Some(members) = result.as_object_mut() {
        members.insert("resultType".to_owned(), json!("complete"));
    }
    typed(result)
}

/// A result of one text block.
pub(crate) fn text(text: &str) -> Result<CallToolResult, ErrorData> {
    complete(json!({"content": [{"type": "text", "text": text}]}))
}

/// A result that says the tool failed.
pub(crate) fn failure(text: &str) -> Result<CallToolResult, ErrorData> {
    complete(json!({"content": [{"type": "text", "text": text}], "isError": true}))
}

/// The answer of a tool that always answers the same; `None`: not such a tool.
pub(crate) fn fixed(name: &str) -> Option<Result<CallToolResult, ErrorData>> {
    Some(match name {
        "test_simple_text" => text("This is a simple text response for testing."),
        "test_image_content" => complete(json!({"content": [{"type": "image", "data": PNG, "mimeType": "image/png"}]})),
        "test_audio_content" => complete(json!({"content": [{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]})),
        "test_embedded_resource" => complete(json!({"content": [{"type": "resource", "resource": {
            "uri": "test://embedded-resource", "mimeType": "text/plain", "text": "This is an embedded resource content."
        }}]})),
        "test_multiple_content_types" => complete(json!({"content": [
            {"type": "text", "text": "Multiple content types test:"},
            {"type": "image", "data": PNG, "mimeType": "image/png"},
            {"type": "resource", "resource": {
                "uri": "test://mixed-content-resource", "mimeType": "application/json", "text": r#"{"test":"data","value":123}"#
            }}
        ]})),
        "test_error_handling" => failure("This tool intentionally returns an error for testing"),
        "json_schema_2020_12_tool" => text("The arguments are not looked at."),
        "test_header_parameters" => text("The headers agree with the arguments."),
        "test_changing_tool" => text("Listed or not, it answers."),
        _ => return None,
    })
}
