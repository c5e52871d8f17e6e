//! Values of a workflow: constants with every digit as written, and texts with expressions.

use std::sync::Arc;

use countersign_core::json::{Json, Number};
use countersign_core::workflow::{Shape, Template};

use crate::fields::{Field, Reader};
use crate::tree::{Node, Value};

/// A text that may hold expressions.
pub(super) fn template(reader: &mut Reader<'_>, field: &Field<'_>, file: &Arc<str>) -> Option<Template> {
    let text = reader.text(field)?;
    parsed(reader, field, text, file)
}

fn parsed(reader: &mut Reader<'_>, field: &Field<'_>, text: &str, file: &Arc<str>) -> Option<Template> {
    let at = reader.place(field, file);
    match Template::parse(text, &at) {
        Ok(template) => Some(template),
        Err(fault) => {
            let what = match &fault.expression {
                Some(expression) => format!("expression `{expression}`: {}", fault.what),
                None => fault.what,
            };
            let what = format!("has an error in its template: {what}");
            match fault.help {
                Some(help) => reader.wrong_with_help(field, &what, help),
                None => reader.wrong(field, &what),
            }
            None
        }
    }
}

/// A value whose texts may hold expressions, at any depth.
pub(super) fn shape(reader: &mut Reader<'_>, field: &Field<'_>, file: &Arc<str>) -> Option<Shape> {
    match &field.node.value {
        Value::Text(text) => {
            // Where it is bad an error is told, and the file is set aside; what stands beside it is read all the same.
            let Some(template) = parsed(reader, field, text, file) else {
                return Some(Shape::Constant(Json::Null));
            };
            Some(match template.literal() {
                Some(literal) => Shape::Constant(Json::text(literal)),
                None => Shape::Template(template),
            })
        }
        Value::List(_) => {
            let items = reader.list(field)?;
            // Every item is read, so that every error is told.
            let shapes: Vec<Option<Shape>> = items.iter().map(|item| shape(reader, item, file)).collect();
            Some(list(shapes.into_iter().collect::<Option<_>>()?))
        }
        Value::Map(_) => {
            let entries = reader.entries(field)?;
            let mut shapes = Vec::new();
            for (key, value) in &entries {
                if key.contains("{{") {
                    reader.wrong_key(value, "has an expression in its key", "only values are worked out");
                }
                shapes.push(shape(reader, value, file).map(|shape| (Arc::from(*key), shape)));
            }
            Some(map(shapes.into_iter().collect::<Option<_>>()?))
        }
        Value::Null | Value::Boolean(_) | Value::Number(_) => constant(reader, field).map(Shape::Constant),
    }
}

fn list(shapes: Vec<Shape>) -> Shape {
    let constants: Option<Vec<Json>> = shapes.iter().map(as_constant).collect();
    constants.map_or(Shape::List(shapes), |items| Shape::Constant(Json::List(items.into())))
}

fn map(shapes: Vec<(Arc<str>, Shape)>) -> Shape {
    let constants: Option<Vec<(Arc<str>, Json)>> = shapes
        .iter()
        .map(|(name, shape)| Some((Arc::clone(name), as_constant(shape)?)))
        .collect();
    constants.map_or(Shape::Map(shapes), |members| Shape::Constant(Json::object(members)))
}

fn as_constant(shape: &Shape) -> Option<Json> {
    match shape {
        Shape::Constant(value) => Some(value.clone()),
        Shape::Template(_) | Shape::List(_) | Shape::Map(_) => None,
    }
}

/// A value as it is written; nothing in it is worked out.
pub(super) fn constant(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<Json> {
    let value = json(reader, field.node);
    if value.is_none() {
        reader.wrong(field, "holds a number that JSON cannot say");
    }
    value
}

fn json(reader: &Reader<'_>, node: &Node) -> Option<Json> {
    Some(match &node.value {
        Value::Null => Json::Null,
        Value::Boolean(value) => Json::Bool(*value),
        Value::Text(text) => Json::text(text),
        // The file's own spelling keeps every digit; what the reader of YAML makes of it does not.
        Value::Number(token) => {
            let written = reader.written(&node.span).and_then(Number::parse);
            Json::Number(written.or_else(|| Number::parse(token))?)
        }
        Value::List(items) => Json::List(items.iter().map(|item| json(reader, item)).collect::<Option<_>>()?),
        Value::Map(members) => {
            let members = members
                .iter()
                .map(|member| Some((Arc::from(member.key.as_str()), json(reader, &member.node)?)));
            Json::object(members.collect::<Option<Vec<(Arc<str>, Json)>>>()?)
        }
    })
}
