//! What a sample answers, and the reading of arguments that names what is wrong.

use countersign_wire::codes;
use countersign_wire::rpc::Fault;
use serde_json::{Map, Value, json};

/// A JSON object.
pub(super) type Members = Map<String, Value>;

/// A protocol error about parameters.
pub(super) fn fault(code: i64, message: impl Into<String>) -> Fault {
    Fault {
        code,
        message: message.into(),
        data: None,
        id: None,
    }
}

/// A method that this server does not have.
pub(super) fn no_such_method(method: &str) -> Fault {
    fault(codes::METHOD_NOT_FOUND, format!("method `{method}` is not known"))
}

/// A result of a tool: the same value as structured content and as text.
pub(super) fn structured(value: &Value) -> Value {
    json!({"content": [{"type": "text", "text": value.to_string()}], "structuredContent": value})
}

/// A result that says what went wrong, for the model to mend.
pub(super) fn tool_error(message: &str) -> Value {
    json!({"content": [{"type": "text", "text": message}], "isError": true})
}

/// Arguments of one tool: every one is asked for by name, and none may be left over.
#[derive(Debug)]
pub(super) struct Arguments {
    members: Members,
}

impl Arguments {
    pub(super) fn new(members: Members) -> Self {
        Self { members }
    }

    /// An optional text; null counts as absent.
    pub(super) fn optional_text(&mut self, name: &str) -> Result<Option<String>, String> {
        match self.members.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                Err(format!("argument `{name}` must be a string"))
            }
        }
    }

    /// A text that must be there and hold something, at most `limit` characters.
    pub(super) fn text(&mut self, name: &str, limit: usize) -> Result<String, String> {
        let text = self
            .optional_text(name)?
            .ok_or_else(|| format!("argument `{name}` is required"))?;
        if text.trim().is_empty() {
            return Err(format!("argument `{name}` must not be empty"));
        }
        if text.chars().count() > limit {
            return Err(format!("argument `{name}` is longer than {limit} characters"));
        }
        Ok(text)
    }

    /// Refuses arguments that the tool does not know.
    pub(super) fn end(self) -> Result<(), String> {
        match self.members.keys().next() {
            None => Ok(()),
            Some(name) => Err(format!("argument `{name}` is not known")),
        }
    }
}

/// `arguments` out of the parameters; null and absent count as none.
pub(super) fn arguments(params: &mut Members) -> Result<Arguments, Fault> {
    match params.remove("arguments") {
        None | Some(Value::Null) => Ok(Arguments::new(Members::new())),
        Some(Value::Object(members)) => Ok(Arguments::new(members)),
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            Err(fault(codes::INVALID_PARAMS, "`arguments` must be an object"))
        }
    }
}
