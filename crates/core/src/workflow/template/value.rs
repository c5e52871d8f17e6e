//! Values on their way into the machine and back. Arrays and objects stay what they were, and so does a number that the
//! machine's own numbers cannot hold.

use std::fmt;
use std::sync::Arc;

use minijinja::value::{Enumerator, Object, ObjectRepr, Value, ValueKind};

use super::LARGEST;
use crate::json::{Json, Number};

/// How deep a value that an expression made may be.
const DEPTH: usize = 64;

/// An array or object of ours.
#[derive(Debug)]
struct Tree(Json);

impl Object for Tree {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        match &self.0 {
            Json::List(_) => ObjectRepr::Seq,
            Json::Map(_) => ObjectRepr::Map,
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => ObjectRepr::Plain,
        }
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match &self.0 {
            Json::List(items) => items.get(key.as_usize()?).map(of),
            Json::Map(members) => members.get(key.as_str()?).map(of),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => None,
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        match &self.0 {
            Json::List(items) => Enumerator::Seq(items.len()),
            Json::Map(members) => {
                Enumerator::Values(members.keys().map(|name| Value::from(Arc::clone(name))).collect())
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => Enumerator::NonEnumerable,
        }
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_text())
    }
}

/// A number with more digits than the machine's numbers keep. It passes whole; nothing can be reckoned with it.
#[derive(Debug)]
struct Digits(Number);

impl Object for Digits {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

/// A value for the machine.
pub(super) fn of(value: &Json) -> Value {
    match value {
        Json::Null => Value::from(()),
        Json::Bool(value) => Value::from(*value),
        Json::Number(number) => of_number(number),
        Json::Text(text) => Value::from(Arc::clone(text)),
        Json::List(_) | Json::Map(_) => Value::from_object(Tree(value.clone())),
    }
}

fn of_number(number: &Number) -> Value {
    let token = number.as_str();
    if !token.contains(['.', 'e', 'E']) && token != "-0" {
        if let Ok(number) = token.parse::<i64>() {
            return Value::from(number);
        }
        if let Ok(number) = token.parse::<i128>() {
            return Value::from(number);
        }
    } else if let Some(float) = token.parse::<f64>().ok().filter(|float| float.is_finite())
        && number_of(float).is_some_and(|kept| kept.is_same_as(number))
    {
        return Value::from(float);
    }
    Value::from_object(Digits(number.clone()))
}

/// The shortest token of a double.
fn number_of(float: f64) -> Option<Number> {
    let number = serde_json::Number::from_f64(float)?;
    Number::parse(&number.to_string())
}

/// What the machine answered.
///
/// # Errors
/// For what JSON cannot say, and for more than any call should carry.
pub(super) fn read(value: &Value) -> Result<Json, String> {
    let mut left = LARGEST;
    read_at(value, 0, &mut left)
}

fn read_at(value: &Value, depth: usize, left: &mut usize) -> Result<Json, String> {
    if depth > DEPTH {
        return Err(format!("its value is nested deeper than {DEPTH} levels"));
    }
    // Lists can be made that are much longer than what they are made of.
    let cost = 16 + value.as_str().map_or(0, str::len);
    *left = left
        .checked_sub(cost)
        .ok_or_else(|| format!("its value is larger than {} MiB", LARGEST >> 20))?;
    if let Some(tree) = value.downcast_object_ref::<Tree>() {
        return Ok(tree.0.clone());
    }
    if let Some(digits) = value.downcast_object_ref::<Digits>() {
        return Ok(Json::Number(digits.0.clone()));
    }
    #[expect(clippy::wildcard_enum_match_arm, reason = "another crate's open list")]
    match value.kind() {
        ValueKind::None => Ok(Json::Null),
        ValueKind::Bool => Ok(Json::Bool(value.is_true())),
        ValueKind::Number => number(value),
        ValueKind::String => Ok(Json::text(value.as_str().unwrap_or_default())),
        ValueKind::Seq | ValueKind::Iterable => {
            let items = value.try_iter().map_err(|error| error.to_string())?;
            let items: Result<Vec<Json>, String> = items.map(|item| read_at(&item, depth + 1, left)).collect();
            Ok(Json::List(items?.into()))
        }
        ValueKind::Map => {
            let keys = value.try_iter().map_err(|error| error.to_string())?;
            let members = keys.map(|key| {
                let name = key.as_str().ok_or("a key of its map is no string")?;
                let value = value.get_item(&key).map_err(|error| error.to_string())?;
                Ok((Arc::<str>::from(name), read_at(&value, depth + 1, left)?))
            });
            Ok(Json::object(members.collect::<Result<Vec<_>, String>>()?))
        }
        ValueKind::Undefined => Err("its value is undefined".to_owned()),
        other => Err(format!("its value is {other}, which JSON cannot say")),
    }
}

fn number(value: &Value) -> Result<Json, String> {
    let unsayable = || "its value is a number that JSON cannot say".to_owned();
    if value.is_integer() {
        let number = i128::try_from(value.clone()).map_err(|_error| unsayable())?;
        return Ok(Json::Number(number.into()));
    }
    let float = f64::try_from(value.clone()).map_err(|_error| unsayable())?;
    number_of(float).map(Json::Number).ok_or_else(unsayable)
}
