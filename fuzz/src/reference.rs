//! A slow second reader of JSON, made of serde's tokens: what the strict readers are compared with.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// How deep arrays and objects may stand in each other (spec 9.3).
const DEPTH: usize = 128;

/// The canonical text of a JSON text that has one reading.
#[must_use]
pub fn canonical(text: &str) -> Option<String> {
    let value: &RawValue = serde_json::from_str(text).ok()?;
    written(value.get(), 0)
}

/// The members of an object, decoded names first; `None` for what is no object or says a name twice.
#[must_use]
pub fn members(text: &str) -> Option<BTreeMap<String, &RawValue>> {
    let Pairs(pairs) = serde_json::from_str(text).ok()?;
    let count = pairs.len();
    let members: BTreeMap<_, _> = pairs.into_iter().collect();
    (members.len() == count).then_some(members)
}

/// The elements of an array.
#[must_use]
pub fn elements(text: &str) -> Option<Vec<&RawValue>> {
    serde_json::from_str(text).ok()
}

fn written(value: &str, depth: usize) -> Option<String> {
    match value.as_bytes().first()? {
        b'{' if depth < DEPTH => {
            let mut parts = Vec::new();
            for (name, member) in members(value)? {
                parts.push(format!("{}:{}", quoted(&name), written(member.get(), depth + 1)?));
            }
            Some(format!("{{{}}}", parts.join(",")))
        }
        b'[' if depth < DEPTH => {
            let items = elements(value)?.into_iter().map(|item| written(item.get(), depth + 1));
            Some(format!("[{}]", items.collect::<Option<Vec<_>>>()?.join(",")))
        }
        b'{' | b'[' => None,
        // Decoding refuses half of a surrogate pair.
        b'"' => serde_json::from_str::<String>(value).ok().map(|text| quoted(&text)),
        _ => Some(value.to_owned()),
    }
}

/// A string with no escape that it does not need: as serde writes it.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

struct Pairs<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Pairs<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Pairs<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<'de>, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Members)
    }
}
