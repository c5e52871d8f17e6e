//! `x-mcp-header`: parameters mirrored into `Mcp-Param-<Name>` headers (SEP-2243).

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::headers::{decode, encode, mismatch};
use crate::object::{Object, text_of};
use crate::rpc::Fault;

mod number;

/// The annotation of a property.
const ANNOTATION: &str = "x-mcp-header";
/// How many parameters of one tool may be mirrored: an upstream chooses them, and each is a header of every call.
const MAX_HEADERS: usize = 64;
/// Begins the header of every mirrored parameter.
const PREFIX: &str = "Mcp-Param-";

/// One mirrored parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamHeader {
    /// The header without `Mcp-Param-`.
    pub name: String,
    /// The way to it through `properties`.
    pub path: Vec<String>,
}

impl ParamHeader {
    /// The whole header name.
    #[must_use]
    pub fn header(&self) -> String {
        [PREFIX, &self.name].concat()
    }
}

/// The mirrored parameters of an input schema, in no order that means anything.
///
/// # Errors
/// What is wrong with an annotation: not a token, duplicate ignoring case, not a string, integer
/// or boolean property, not reachable through `properties` only.
pub fn of_schema(input_schema: &str) -> Result<Vec<ParamHeader>, String> {
    // Nearly no schema has annotations: build no tree for the others. A name written with escapes has a backslash.
    if !input_schema.contains(ANNOTATION) && !input_schema.contains('\\') {
        return Ok(Vec::new());
    }
    let schema: Value =
        serde_json::from_str(input_schema).map_err(|error| format!("the input schema is not JSON: {error}"))?;
    let Value::Object(root) = &schema else {
        return Err("the input schema is not an object".to_owned());
    };
    let mut found = Vec::new();
    if root.contains_key(ANNOTATION) {
        return Err(format!(
            "`{ANNOTATION}` stands at the root of the schema and not at a property"
        ));
    }
    walk(root, &Way::Properties(&[]), &mut found)?;
    if found.len() > MAX_HEADERS {
        return Err(format!("more than {MAX_HEADERS} parameters have `{ANNOTATION}`"));
    }
    for (index, header) in found.iter().enumerate() {
        if found
            .iter()
            .take(index)
            .any(|earlier| earlier.name.eq_ignore_ascii_case(&header.name))
        {
            return Err(format!("`{ANNOTATION}` `{}` stands at two properties", header.name));
        }
    }
    Ok(found)
}

/// How a schema was reached.
enum Way<'a> {
    /// Through `properties` only, by these names.
    Properties(&'a [String]),
    /// Through something else, so that it may not be mirrored.
    Elsewhere,
}

fn walk(schema: &Map<String, Value>, way: &Way<'_>, found: &mut Vec<ParamHeader>) -> Result<(), String> {
    if let Some(annotation) = schema.get(ANNOTATION) {
        match way {
            Way::Properties([]) => {}
            Way::Properties(path) => found.push(annotated(annotation, schema, path)?),
            Way::Elsewhere => {
                return Err(format!(
                    "`{ANNOTATION}` stands at a schema that is not reached through `properties` only"
                ));
            }
        }
    }
    for (keyword, value) in schema {
        match keyword.as_str() {
            // Data, not schemas.
            ANNOTATION | "default" | "const" | "enum" | "examples" | "required" | "dependentRequired" => {}
            "properties" => {
                let Value::Object(properties) = value else { continue };
                for (name, property) in properties {
                    match way {
                        Way::Properties(path) => {
                            let mut path = path.to_vec();
                            path.push(name.clone());
                            walk_any(property, &Way::Properties(&path), found)?;
                        }
                        Way::Elsewhere => walk_any(property, &Way::Elsewhere, found)?,
                    }
                }
            }
            "$defs" | "definitions" | "patternProperties" | "dependentSchemas" | "dependencies" => {
                let Value::Object(schemas) = value else { continue };
                schemas
                    .values()
                    .try_for_each(|schema| walk_any(schema, &Way::Elsewhere, found))?;
            }
            _ => walk_any(value, &Way::Elsewhere, found)?,
        }
    }
    Ok(())
}

fn walk_any(value: &Value, way: &Way<'_>, found: &mut Vec<ParamHeader>) -> Result<(), String> {
    match value {
        Value::Object(schema) => walk(schema, way, found),
        Value::Array(items) => items.iter().try_for_each(|item| walk_any(item, &Way::Elsewhere, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn annotated(annotation: &Value, schema: &Map<String, Value>, path: &[String]) -> Result<ParamHeader, String> {
    let place = path.join(".");
    let name = annotation
        .as_str()
        .ok_or_else(|| format!("`{ANNOTATION}` of `{place}` is not a string"))?;
    if name.is_empty() || !name.bytes().all(is_token_byte) {
        return Err(format!(
            "`{ANNOTATION}` `{name}` of `{place}` is not a header name (RFC 9110 section 5.6.2)"
        ));
    }
    let mirrored = |name: &str| matches!(name, "string" | "integer" | "boolean");
    let fits = match schema.get("type") {
        Some(Value::String(one)) => mirrored(one),
        // A parameter that may be null besides has no header when it is.
        Some(Value::Array(two)) => match two.as_slice() {
            [Value::String(one), Value::String(null)] | [Value::String(null), Value::String(one)] if null == "null" => {
                mirrored(one)
            }
            _ => false,
        },
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => false,
    };
    if !fits {
        return Err(format!(
            "`{ANNOTATION}` stands at `{place}`, whose type is not string, integer or boolean"
        ));
    }
    Ok(ParamHeader {
        name: name.to_owned(),
        path: path.to_vec(),
    })
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// A parameter's value as it is mirrored.
enum Mirrored<'a> {
    Text(Cow<'a, str>),
    /// A number or boolean token as written.
    Token(&'a str),
}

/// The headers for some arguments: full header name and value; absent and null parameters have none.
#[must_use]
pub fn for_arguments(headers: &[ParamHeader], arguments: &str) -> Vec<(String, String)> {
    let value = |header: &ParamHeader| match mirrored(arguments, &header.path)? {
        Mirrored::Text(text) => Some((header.header(), encode(&text))),
        Mirrored::Token(token) => Some((header.header(), token.to_owned())),
    };
    headers.iter().filter_map(value).collect()
}

fn mirrored<'a>(arguments: &'a str, path: &[String]) -> Option<Mirrored<'a>> {
    let (last, way) = path.split_last()?;
    let mut object = Object::parse(arguments).ok()?;
    for name in way {
        object = Object::parse(object.get(name)?.get()).ok()?;
    }
    let raw = object.get(last)?;
    match raw.get().as_bytes().first()? {
        b'"' => text_of(raw).map(Mirrored::Text),
        b'-' | b'0'..=b'9' | b't' | b'f' => Some(Mirrored::Token(raw.get())),
        _ => None,
    }
}

/// Checks a caller's `Mcp-Param-*` headers against the arguments; integers compare as numbers.
/// `seen` answers a full header name, ignoring case, with the value as sent.
///
/// # Errors
/// `-32020` naming the header, when one is missing, surplus, undecodable or differs.
pub fn check(headers: &[ParamHeader], arguments: &str, seen: &dyn Fn(&str) -> Option<String>) -> Result<(), Fault> {
    headers.iter().try_for_each(|header| {
        let name = header.header();
        let place = header.path.join(".");
        let differs = || mismatch(format!("header `{name}` differs from argument `{place}`"));
        match (mirrored(arguments, &header.path), seen(&name)) {
            (None, None) => Ok(()),
            (None, Some(_)) => Err(mismatch(format!("header `{name}` is given, argument `{place}` is not"))),
            (Some(_), None) => Err(mismatch(format!(
                "header `{name}` is missing; it must mirror argument `{place}`"
            ))),
            (Some(value), Some(given)) => {
                let given = decode(given.trim_matches([' ', '\t']))
                    .ok_or_else(|| mismatch(format!("header `{name}` does not decode")))?;
                let equal = match value {
                    Mirrored::Text(text) => text == given,
                    Mirrored::Token(token) => token == given || number::equal(token, &given),
                };
                if equal { Ok(()) } else { Err(differs()) }
            }
        }
    })
}

#[cfg(test)]
mod tests;
