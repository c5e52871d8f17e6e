//! The resources of the fixture.

use rmcp::model::{ErrorData, ReadResourceResult};
use serde_json::{Value, json};

use super::changes::WATCHED;
use super::content::{PNG, complete};

/// The contents at a URI, or the protocol's "resource not found".
pub(crate) fn contents(uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let found = match uri {
        "test://static-text" => text(uri, "text/plain", "This is the content of the static text resource."),
        "test://static-binary" => json!({"uri": uri, "mimeType": "image/png", "blob": PNG}),
        WATCHED => text(uri, "text/plain", "Watched resource content"),
        other => {
            let id = other
                .strip_prefix("test://template/")
                .and_then(|rest| rest.strip_suffix("/data"));
            let Some(id) = id.filter(|id| !id.contains('/')) else {
                return Err(ErrorData::resource_not_found(
                    format!("resource not found: {uri}"),
                    Some(json!({"uri": uri})),
                ));
            };
            let data = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
            text(uri, "application/json", &data.to_string())
        }
    };
    complete(json!({"contents": [found]}))
}

fn text(uri: &str, mime: &str, text: &str) -> Value {
    json!({"uri": uri, "mimeType": mime, "text": text})
}
