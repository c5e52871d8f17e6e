//! What a workflow takes: declared in its file, published as a schema, checked before a run begins.

use std::sync::Arc;

use crate::json::Json;

/// One argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// Its name.
    pub name: Arc<str>,
    /// What it is; anything, without one.
    pub kind: Option<Kind>,
    /// Whether a run needs it.
    pub required: bool,
    /// `description`
    pub description: Option<String>,
    /// What it is when none is given.
    pub default: Option<Json>,
}

/// The type of an argument, in the words of JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `string`
    String,
    /// `number`
    Number,
    /// `integer`
    Integer,
    /// `boolean`
    Boolean,
    /// `object`
    Object,
    /// `array`
    Array,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 6] = [
        Self::String,
        Self::Number,
        Self::Integer,
        Self::Boolean,
        Self::Object,
        Self::Array,
    ];

    /// The word of JSON Schema.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Integer => "integer",
            Self::Boolean => "boolean",
            Self::Object => "object",
            Self::Array => "array",
        }
    }

    /// Whether a value is of this kind. `1.0` is an integer, as JSON Schema has it.
    #[must_use]
    pub fn fits(self, value: &Json) -> bool {
        match (self, value) {
            (Self::String, Json::Text(_))
            | (Self::Number, Json::Number(_))
            | (Self::Boolean, Json::Bool(_))
            | (Self::Object, Json::Map(_))
            | (Self::Array, Json::List(_)) => true,
            (Self::Integer, Json::Number(number)) => {
                let token = number.as_str();
                let is_whole = !token.contains(['.', 'e', 'E']);
                is_whole
                    || token
                        .parse::<f64>()
                        .is_ok_and(|float| float.fract() == 0.0 && float.is_finite())
            }
            (
                Self::String | Self::Number | Self::Integer | Self::Boolean | Self::Object | Self::Array,
                Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::List(_) | Json::Map(_),
            ) => false,
        }
    }
}

/// The input of a run. Arguments that are not given and have no default are null, so that every declared one can be named.
pub(super) fn read(declared: &[Argument], given: &Json) -> Result<Json, String> {
    let Json::Map(members) = given else {
        return Err(format!("the arguments must be an object, not {}", given.kind()));
    };
    let mut wrong = Vec::new();
    for name in members.keys() {
        if !declared.iter().any(|argument| argument.name == *name) {
            let known: Vec<String> = declared.iter().map(|argument| format!("`{}`", argument.name)).collect();
            let known = if known.is_empty() {
                "it takes none".to_owned()
            } else {
                format!("it takes {}", known.join(", "))
            };
            wrong.push(format!("unknown argument `{}`; {known}", super::template::shown(name)));
        }
    }
    let mut input = Vec::with_capacity(declared.len());
    for argument in declared {
        let value = match (members.get(&argument.name), &argument.default) {
            (Some(value), _) => {
                if let Some(kind) = argument.kind.filter(|kind| !kind.fits(value)) {
                    let found = value.kind();
                    wrong.push(format!(
                        "`{}` must be of type {}, not {found}",
                        argument.name,
                        kind.word()
                    ));
                }
                value.clone()
            }
            (None, Some(default)) => default.clone(),
            (None, None) => {
                if argument.required {
                    wrong.push(format!("`{}` is required", argument.name));
                }
                Json::Null
            }
        };
        input.push((Arc::clone(&argument.name), value));
    }
    if wrong.is_empty() {
        Ok(Json::object(input))
    } else {
        Err(wrong.join("; "))
    }
}
