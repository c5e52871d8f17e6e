//! The tools that need something from the client, as pure steps: given the answers so far, ask again or be done.
//!
//! One step serves both eras: a modern client gets the questions as an `input_required` result, a legacy client as requests of the server.

use rmcp::model::{
    CallToolResult, ClientCapabilities, ErrorData, InputRequests, InputResponses, JsonObject, RequestStateCodec,
};
use serde_json::{Value, json};

use super::content::{text, typed};

/// What the fixture knows when it takes a step.
#[derive(Debug)]
pub(crate) struct Given<'a> {
    /// The tool's or prompt's own arguments.
    pub(crate) arguments: &'a JsonObject,
    /// The answers to the questions of the step before.
    pub(crate) answers: &'a InputResponses,
    /// The state that came back with the answers.
    pub(crate) state: Option<&'a str>,
    /// What this client can be asked.
    pub(crate) abilities: &'a ClientCapabilities,
    /// Seals and opens states.
    pub(crate) states: &'a RequestStateCodec,
}

/// The outcome of a step.
#[derive(Debug)]
pub(crate) enum Step {
    /// All is known.
    Done(CallToolResult),
    /// These questions must be answered first.
    Ask(InputRequests, Option<String>),
}

/// The next step of an asking tool; `None`: the tool asks nothing.
pub(crate) fn step(name: &str, given: &Given<'_>) -> Option<Result<Step, ErrorData>> {
    Some(match name {
        "test_sampling" => sampling(given),
        "test_elicitation" => elicitation(given),
        "test_elicitation_sep1034_defaults" => form(
            given,
            "Please look over the defaults",
            &defaults(),
            "Elicitation completed",
        ),
        "test_elicitation_sep1330_enums" => form(given, "Please choose", &enums(), "Elicitation completed"),
        "test_streaming_elicitation" => one_name(given, "user_name"),
        "test_missing_capability" => missing_capability(given),
        "test_input_required_result_elicitation" => one_name(given, "user_name"),
        "test_input_required_result_sampling" => capital(given),
        "test_input_required_result_list_roots" => roots(given),
        "test_input_required_result_request_state" | "test_input_required_result_tampered_state" => confirm(given),
        "test_input_required_result_multiple_inputs" => three(given),
        "test_input_required_result_multi_round" => two_rounds(given),
        "test_input_required_result_capabilities" => declared_only(given),
        _ => return None,
    })
}

/// The question that `test_input_required_result_prompt` asks, or the context it was given.
pub(crate) fn prompt_context(answers: &InputResponses) -> Result<Result<String, InputRequests>, ErrorData> {
    if let Some(context) = accepted(answers, "user_context", "context") {
        return Ok(Ok(context));
    }
    let schema = json!({"type": "object", "properties": {"context": {"type": "string"}}, "required": ["context"]});
    questions(json!({"user_context": ask_user("What context should the prompt use?", &schema)})).map(Err)
}

fn sampling(given: &Given<'_>) -> Result<Step, ErrorData> {
    match said_by_model(given.answers, "sample") {
        Some(said) => text(&format!("LLM response: {said}")).map(Step::Done),
        None => {
            let prompt = given.arguments.get("prompt").and_then(Value::as_str).unwrap_or("Hello");
            ask(json!({"sample": ask_model(prompt, 100)}), None)
        }
    }
}

fn elicitation(given: &Given<'_>) -> Result<Step, ErrorData> {
    let schema = json!({
        "type": "object",
        "properties": {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"}
        },
        "required": ["username", "email"]
    });
    let message = given
        .arguments
        .get("message")
        .and_then(Value::as_str)
        .unwrap_or("Please answer");
    form(given, message, &schema, "User response")
}

fn form(given: &Given<'_>, message: &str, schema: &Value, prefix: &str) -> Result<Step, ErrorData> {
    let Some(answer) = given.answers.get("form").filter(|answer| answer.is_object()) else {
        return ask(json!({"form": ask_user(message, schema)}), None);
    };
    let action = answer.get("action").and_then(Value::as_str).unwrap_or("cancel");
    let content = answer.get("content").unwrap_or(&Value::Null);
    text(&format!("{prefix}: action={action}, content={content}")).map(Step::Done)
}

fn one_name(given: &Given<'_>, key: &str) -> Result<Step, ErrorData> {
    match accepted(given.answers, key, "name") {
        Some(name) => text(&format!("Hello, {name}!")).map(Step::Done),
        None => ask(json!({key: ask_user("What is your name?", &name_schema("name"))}), None),
    }
}

fn missing_capability(given: &Given<'_>) -> Result<Step, ErrorData> {
    if given.abilities.sampling.is_none() {
        let required: ClientCapabilities = typed(json!({"sampling": {}}))?;
        return Err(ErrorData::missing_required_client_capability(required));
    }
    sampling(given)
}

fn capital(given: &Given<'_>) -> Result<Step, ErrorData> {
    match said_by_model(given.answers, "capital_question") {
        Some(said) => text(&said).map(Step::Done),
        None => ask(
            json!({"capital_question": ask_model("What is the capital of France?", 100)}),
            None,
        ),
    }
}

fn roots(given: &Given<'_>) -> Result<Step, ErrorData> {
    match given.answers.get("client_roots").and_then(|answer| answer.get("roots")) {
        Some(roots) => text(&format!("The client's roots: {roots}")).map(Step::Done),
        None => ask(json!({"client_roots": {"method": "roots/list", "params": {}}}), None),
    }
}

fn confirm(given: &Given<'_>) -> Result<Step, ErrorData> {
    let opened = opened(given)?;
    if opened.as_deref() == Some("confirm") && given.answers.get("confirm").is_some_and(Value::is_object) {
        return text("state-ok").map(Step::Done);
    }
    let schema = json!({"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]});
    ask(
        json!({"confirm": ask_user("Please confirm", &schema)}),
        Some(given.states.seal(b"confirm")),
    )
}

fn three(given: &Given<'_>) -> Result<Step, ErrorData> {
    let opened = opened(given)?;
    let name = accepted(given.answers, "user_name", "name");
    let greeting = said_by_model(given.answers, "greeting");
    let roots = given.answers.get("client_roots").and_then(|answer| answer.get("roots"));
    if let (Some("three"), Some(name), Some(greeting), Some(roots)) = (opened.as_deref(), name, greeting, roots) {
        return text(&format!("{greeting} ({name}, roots {roots})")).map(Step::Done);
    }
    let all = json!({
        "user_name": ask_user("What is your name?", &name_schema("name")),
        "greeting": ask_model("Generate a greeting", 50),
        "client_roots": {"method": "roots/list", "params": {}}
    });
    ask(all, Some(given.states.seal(b"three")))
}

fn two_rounds(given: &Given<'_>) -> Result<Step, ErrorData> {
    let opened = opened(given)?.unwrap_or_default();
    let name = opened.strip_prefix("name=").map(str::to_owned);
    if let (Some(name), Some(color)) = (&name, accepted(given.answers, "step2", "color")) {
        return text(&format!("{name} likes {color}")).map(Step::Done);
    }
    let name = name.or_else(|| accepted(given.answers, "step1", "name").filter(|_| opened == "round-1"));
    match name {
        Some(name) => ask(
            json!({"step2": ask_user("Step 2: What is your favorite color?", &name_schema("color"))}),
            Some(given.states.seal(format!("name={name}").as_bytes())),
        ),
        None => ask(
            json!({"step1": ask_user("Step 1: What is your name?", &name_schema("name"))}),
            Some(given.states.seal(b"round-1")),
        ),
    }
}

fn declared_only(given: &Given<'_>) -> Result<Step, ErrorData> {
    if !given.answers.is_empty() {
        return text("Declared-capability input answered.").map(Step::Done);
    }
    let mut wanted = serde_json::Map::new();
    if given.abilities.sampling.is_some() {
        wanted.insert("sample".to_owned(), ask_model("Say something", 20));
    }
    if given.abilities.elicitation.is_some() {
        wanted.insert(
            "user_name".to_owned(),
            ask_user("What is your name?", &name_schema("name")),
        );
    }
    if given.abilities.roots.is_some() {
        // A legacy session cannot tell what one caller of a gateway declared, and its questions go out one by one in
        // the order of their keys: sampling, which the suite's client declares, has to come first.
        wanted.insert(
            "workspace_roots".to_owned(),
            json!({"method": "roots/list", "params": {}}),
        );
    }
    if wanted.is_empty() {
        return text("This client can be asked nothing.").map(Step::Done);
    }
    ask(Value::Object(wanted), None)
}

/// The payload of the state that came back; a state we did not seal is the client's fault.
fn opened(given: &Given<'_>) -> Result<Option<String>, ErrorData> {
    let Some(sealed) = given.state else { return Ok(None) };
    let payload = given
        .states
        .open(sealed)
        .map_err(|error| ErrorData::invalid_params(format!("requestState is not ours: {error}"), None))?;
    String::from_utf8(payload)
        .map(Some)
        .map_err(|error| ErrorData::invalid_params(error.to_string(), None))
}

fn ask(wanted: Value, state: Option<String>) -> Result<Step, ErrorData> {
    questions(wanted).map(|wanted| Step::Ask(wanted, state))
}

fn questions(wanted: Value) -> Result<InputRequests, ErrorData> {
    typed(wanted)
}

fn ask_user(message: &str, schema: &Value) -> Value {
    json!({"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}})
}

fn ask_model(prompt: &str, most: u32) -> Value {
    json!({"method": "sampling/createMessage", "params": {
        "messages": [{"role": "user", "content": {"type": "text", "text": prompt}}],
        "maxTokens": most
    }})
}

fn name_schema(field: &str) -> Value {
    json!({"type": "object", "properties": {field: {"type": "string"}}, "required": [field]})
}

/// A string field of an accepted form.
fn accepted(answers: &InputResponses, key: &str, field: &str) -> Option<String> {
    let answer = answers.get(key)?;
    let accepted = answer.get("action").and_then(Value::as_str) == Some("accept");
    answer
        .get("content")?
        .get(field)?
        .as_str()
        .filter(|_| accepted)
        .map(str::to_owned)
}

/// The text of a sampling answer; its content may be one block or a list.
fn said_by_model(answers: &InputResponses, key: &str) -> Option<String> {
    let content = answers.get(key)?.get("content")?;
    let block = content.as_array().and_then(|blocks| blocks.first()).unwrap_or(content);
    block.get("text")?.as_str().map(str::to_owned)
}

fn defaults() -> Value {
    json!({"type": "object", "properties": {
        "name": {"type": "string", "description": "User's name", "default": "John Doe"},
        "age": {"type": "integer", "description": "User's age", "default": 30},
        "score": {"type": "number", "description": "User's score", "default": 95.5},
        "status": {"type": "string", "description": "User's status", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "description": "Is the user verified?", "default": true}
    }})
}

fn enums() -> Value {
    let titled = |word: &str| {
        json!([
            {"const": "value1", "title": format!("First {word}")},
            {"const": "value2", "title": format!("Second {word}")},
            {"const": "value3", "title": format!("Third {word}")}
        ])
    };
    let plain = json!(["option1", "option2", "option3"]);
    json!({"type": "object", "properties": {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled("Option")},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}}
    }})
}
