//! The arguments of the gateway's own tools: what is unknown or of a wrong type is named.

use countersign_core::core_tools::CoreTool;
use serde_json::{Map, Value};

use super::Trouble;

/// The arguments of one call, all of them allowed.
pub(super) struct Arguments {
    tool: CoreTool,
    given: Map<String, Value>,
}

impl Arguments {
    /// Reads an object that may have only the `allowed` members.
    ///
    /// # Errors
    /// The first member that is not allowed.
    pub(super) fn read(tool: CoreTool, text: &str, allowed: &[&str]) -> Result<Self, Trouble> {
        // The arguments of a recorded call are an object.
        let given: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
        let arguments = Self { tool, given };
        match arguments.given.keys().find(|name| !allowed.contains(&name.as_str())) {
            None => Ok(arguments),
            Some(unknown) if allowed.is_empty() => {
                Err(arguments.bad(format_args!("unknown argument `{unknown}`; it takes none")))
            }
            Some(unknown) => Err(arguments.bad(format_args!(
                "unknown argument `{unknown}`; allowed arguments: {}",
                allowed.join(", ")
            ))),
        }
    }

    /// The name of a server.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn server(&self) -> Result<&str, Trouble> {
        let server = self.given.get("server").and_then(Value::as_str);
        server.ok_or_else(|| self.bad(format_args!("`server` is required and must be a string")))
    }

    /// A count from 1 to `most`; `default` where none is given.
    ///
    /// # Errors
    /// When it is something else.
    pub(super) fn limit(&self, default: usize, most: usize) -> Result<usize, Trouble> {
        let Some(given) = self.given.get("limit") else {
            return Ok(default);
        };
        let limit = given.as_u64().and_then(|limit| usize::try_from(limit).ok());
        limit
            .filter(|limit| (1..=most).contains(limit))
            .ok_or_else(|| self.bad(format_args!("`limit` must be a whole number from 1 to {most}")))
    }

    /// How many are passed over; none where nothing is given.
    ///
    /// # Errors
    /// When it is no count.
    pub(super) fn offset(&self) -> Result<usize, Trouble> {
        let Some(given) = self.given.get("offset") else {
            return Ok(0);
        };
        let offset = given.as_u64().and_then(|offset| usize::try_from(offset).ok());
        offset.ok_or_else(|| self.bad(format_args!("`offset` must be a whole number from 0")))
    }

    /// A string that is needed.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn text(&self, name: &str) -> Result<&str, Trouble> {
        let text = self.given.get(name).and_then(Value::as_str);
        text.ok_or_else(|| self.bad(format_args!("`{name}` is required and must be a string")))
    }

    /// A string that may be left out.
    ///
    /// # Errors
    /// When it is something else.
    pub(super) fn optional(&self, name: &str) -> Result<Option<&str>, Trouble> {
        match self.given.get(name) {
            None => Ok(None),
            Some(given) => match given.as_str() {
                Some(text) => Ok(Some(text)),
                None => Err(self.bad(format_args!("`{name}` must be a string"))),
            },
        }
    }

    pub(super) fn bad(&self, what: std::fmt::Arguments<'_>) -> Trouble {
        Trouble {
            code: "bad_arguments",
            message: format!("{}: {what}", self.tool.name()),
        }
    }
}
