//! What a tool answered, as steps after it see it: structured content, else JSON text, else text (spec 7).

use crate::exact;
use crate::json::Json;

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// Whether it succeeded.
    pub success: bool,
    /// What it answered.
    pub value: Json,
    /// What it says of its failure.
    pub error: Option<String>,
}

/// How much of a tool's own error is repeated, in characters.
const REPEATED: usize = 2_000;

/// Reads the result of `tools/call`.
///
/// # Errors
/// Why it has no single reading.
pub fn read_result(result: &str) -> Result<Answered, String> {
    let (mut structured, mut content, mut failed) = (None, None, false);
    let read = exact::walk(result, |seen| match (seen.depth, seen.key) {
        (1, "structuredContent") if seen.value != "null" => structured = Some(seen.value),
        (1, "content") => content = Some(seen.value),
        (1, "isError") => failed = seen.value == "true",
        _ => {}
    });
    read.map_err(|error| format!("its result has no single reading: {error}"))?;
    let content = content.map(Json::parse).transpose();
    let content = content.map_err(|error| format!("its content has no single reading: {error}"))?;
    let text = content.as_ref().map(text_of).unwrap_or_default();
    let value = match structured.map(Json::parse) {
        Some(Ok(value)) => value,
        Some(Err(error)) => return Err(format!("its structured content has no single reading: {error}")),
        None => Json::parse(&text).unwrap_or_else(|_no_json| Json::text(&text)),
    };
    let error = failed.then(|| {
        let told = said_by(&value).unwrap_or_else(|| if text.is_empty() { value.to_text() } else { text });
        told.chars().take(REPEATED).collect()
    });
    Ok(Answered {
        success: !failed,
        value,
        error,
    })
}

/// The sentence in what the gateway itself says of a failure: of a call, or of a run of a workflow.
fn said_by(value: &Json) -> Option<String> {
    let message = value
        .member("message")
        .or_else(|| value.member("error")?.member("message"))?;
    match message {
        Json::Text(message) => Some(message.to_string()),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::List(_) | Json::Map(_) => None,
    }
}

/// The texts among the blocks, a line each.
fn text_of(content: &Json) -> String {
    let Json::List(blocks) = content else {
        return String::new();
    };
    let texts = blocks.iter().filter_map(|block| match block.member("text") {
        Some(Json::Text(text)) => Some(&**text),
        Some(Json::Null | Json::Bool(_) | Json::Number(_) | Json::List(_) | Json::Map(_)) | None => None,
    });
    texts.collect::<Vec<&str>>().join("\n")
}
