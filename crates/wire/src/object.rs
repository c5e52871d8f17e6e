//! One JSON object read shallowly: member names decoded, values kept as raw text, order kept.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::outline::{Member, Outline};
use crate::{scan, skim};

/// A shallow object. Values borrow from the text it was read from.
#[derive(Debug, Clone, Default)]
pub struct Object<'a> {
    members: Members<'a>,
    reading: Reading<'a>,
}

#[derive(Debug, Clone)]
enum Members<'a> {
    Own(Vec<Member<'a>>),
    Kept(&'a [Member<'a>]),
}

/// What is known of the text that an object was read from.
#[derive(Debug, Clone, Copy, Default)]
enum Reading<'a> {
    /// It is JSON; deeper inside, names may stand twice.
    #[default]
    Shallow,
    /// It has one reading, at every depth; what was found by the way.
    Checked(&'a Outline<'a>),
}

/// Why a text is not an object with one reading.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Not a JSON object.
    #[error("expected a JSON object")]
    NotAnObject,
    /// Two members have one name.
    #[error("duplicate key `{0}`")]
    DuplicateKey(String),
}

/// A change to a top-level member; all other bytes stay as they are.
#[derive(Debug, Clone, Copy)]
pub enum Edit<'a> {
    /// Replaces the member's value, or adds the member at the end; the value is raw JSON.
    Set(&'a str, &'a str),
    /// Adds the member at the end unless it is there.
    Default(&'a str, &'a str),
    /// Removes the member.
    Remove(&'a str),
}

impl<'a> Object<'a> {
    /// Reads an object. Duplicate names at this level are refused.
    ///
    /// # Errors
    /// [`Error`]
    pub fn parse(text: &'a str) -> Result<Self, Error> {
        let object = Self::parse_tolerant(text)?;
        match object.duplicate() {
            Some(name) => Err(Error::DuplicateKey(name.to_owned())),
            None => Ok(object),
        }
    }

    /// An object that is a part of a message which [`crate::rpc::outlined`] took in, as the outline has it.
    ///
    /// # Errors
    /// [`Error::NotAnObject`]
    pub fn of_checked(text: &'a str, outline: &'a Outline<'a>) -> Result<Self, Error> {
        let members = match outline.of(text) {
            Some(members) => Members::Kept(members),
            None => Members::Own(skim::members(text).ok_or(Error::NotAnObject)?),
        };
        Ok(Self {
            members,
            reading: Reading::Checked(outline),
        })
    }

    /// Reads a member of this object that is an object itself.
    ///
    /// # Errors
    /// [`Error`]
    pub fn inner(&self, member: &'a RawValue) -> Result<Self, Error> {
        match self.reading {
            Reading::Shallow => Self::parse(member.get()),
            Reading::Checked(outline) => Self::of_checked(member.get(), outline),
        }
    }

    /// As [`Object::parse`], and duplicates pass: what an upstream says twice it says twice.
    pub(crate) fn parse_tolerant(text: &'a str) -> Result<Self, Error> {
        if let Some(members) = scan::members(text) {
            return Ok(Self {
                members: Members::Own(members),
                reading: Reading::Shallow,
            });
        }
        // Half a surrogate pair and a hundred levels pass here. The cause of serde is left out: the one fact that
        // matters to a caller is the kind.
        let mut reader = serde_json::Deserializer::from_str(text);
        let object = Self::deserialize(&mut reader).ok().ok_or(Error::NotAnObject)?;
        reader.end().ok().ok_or(Error::NotAnObject)?;
        Ok(object)
    }

    /// An object of JSON that was read before.
    pub(crate) fn of_read(text: &'a str) -> Result<Self, Error> {
        Ok(Self {
            members: Members::Own(skim::members(text).ok_or(Error::NotAnObject)?),
            reading: Reading::Shallow,
        })
    }

    /// The members.
    pub(crate) fn members(&self) -> &[Member<'a>] {
        match &self.members {
            Members::Own(members) => members,
            Members::Kept(members) => members,
        }
    }

    /// The raw value of a member.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        value_of(self.members(), name)
    }

    /// A member that is a JSON string, decoded.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        self.get(name).and_then(text_of)
    }

    /// All members, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.members().iter().map(|(name, value)| (name.as_ref(), *value))
    }

    /// How many members there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members().len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members().is_empty()
    }

    fn duplicate(&self) -> Option<&str> {
        let names = || self.members().iter().map(|(name, _)| name.as_ref());
        if self.members().len() <= 16 {
            return names()
                .enumerate()
                .find(|(index, name)| names().take(*index).any(|earlier| earlier == *name))
                .map(|(_, name)| name);
        }
        let mut sorted: Vec<&str> = names().collect();
        sorted.sort_unstable();
        sorted
            .iter()
            .zip(sorted.iter().skip(1))
            .find(|(one, next)| one == next)
            .map(|(name, _)| *name)
    }
}

/// The raw value of a member.
pub(crate) fn value_of<'a>(members: &[Member<'a>], name: &str) -> Option<&'a RawValue> {
    members
        .iter()
        .find(|(member, _)| member == name)
        .map(|(_, value)| *value)
}

/// The decoded text of a raw value that is a JSON string.
#[must_use]
pub fn text_of(value: &RawValue) -> Option<Cow<'_, str>> {
    let inside = value.get().strip_prefix('"')?.strip_suffix('"')?;
    if scan::plain(inside.as_bytes()) == inside.len() {
        return Some(Cow::Borrowed(inside));
    }
    serde_json::from_str::<Name<'_>>(value.get()).ok().map(|name| name.0)
}

/// Applies edits to an object's text; bytes of untouched members and their order stay as they are.
///
/// # Errors
/// [`Error`] when the text is not an object.
pub fn edit(text: &str, edits: &[Edit<'_>]) -> Result<String, Error> {
    Object::parse(text).map(|object| apply(text, &object, edits))
}

/// Applies edits to the text that `object` was read from. Where a name stands twice, a removal
/// takes both and a replacement leaves one.
pub(crate) fn apply(text: &str, object: &Object<'_>, edits: &[Edit<'_>]) -> String {
    let mut out = String::with_capacity(text.len() + edits.iter().map(added).sum::<usize>());
    let mut start = text.find('{').map_or(0, |at| at + 1);
    out.push_str(text.get(..start).unwrap_or("{"));
    let mut kept_any = false;
    let mut replaced: Vec<&str> = Vec::new();
    for (name, value) in object.members() {
        let from = offset(text, value.get());
        let to = from + value.get().len();
        // A member's piece begins where the one before it ends: blanks, comma, blanks, name, colon, blanks.
        let lead = text.get(start..from).unwrap_or_default();
        start = to;
        let new = match last_of(edits, name) {
            Some(Edit::Remove(_)) => continue,
            Some(Edit::Set(..)) if replaced.contains(&name.as_ref()) => continue,
            Some(Edit::Set(_, new)) => {
                replaced.push(name);
                *new
            }
            Some(Edit::Default(..)) | None => value.get(),
        };
        out.push_str(if kept_any { lead } else { without_comma(lead) });
        out.push_str(new);
        kept_any = true;
    }
    for (index, change) in edits.iter().enumerate() {
        let (name, value) = match change {
            Edit::Set(name, value) | Edit::Default(name, value) => (*name, *value),
            Edit::Remove(_) => continue,
        };
        let later = edits.iter().skip(index + 1).any(|later| name_in(later) == name);
        if later || object.get(name).is_some() {
            continue;
        }
        if kept_any {
            out.push(',');
        }
        push_quoted(&mut out, name);
        out.push(':');
        out.push_str(value);
        kept_any = true;
    }
    // What follows the last value: blanks, the closing brace, blanks.
    out.push_str(text.get(start..).unwrap_or("}"));
    out
}

fn name_in<'a>(edit: &Edit<'a>) -> &'a str {
    match edit {
        Edit::Set(name, _) | Edit::Default(name, _) | Edit::Remove(name) => name,
    }
}

fn added(edit: &Edit<'_>) -> usize {
    match edit {
        Edit::Set(name, value) | Edit::Default(name, value) => name.len() + value.len() + 8,
        Edit::Remove(_) => 0,
    }
}

/// The last edit of a name decides.
fn last_of<'e, 'a>(edits: &'e [Edit<'a>], name: &str) -> Option<&'e Edit<'a>> {
    edits.iter().rev().find(|edit| name_in(edit) == name)
}

/// Where a part that borrows from `text` begins.
fn offset(text: &str, part: &str) -> usize {
    part.as_ptr().addr().saturating_sub(text.as_ptr().addr())
}

fn without_comma(lead: &str) -> &str {
    lead.trim_start().strip_prefix(',').map_or(lead, str::trim_start)
}

/// A text as a JSON string token.
#[must_use]
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    push_quoted(&mut out, text);
    out
}

/// Appends a text as a JSON string token (RFC 8259 section 7). U+2028 and U+2029 are escaped, so
/// that the token is also safe where a reader counts them as line ends.
pub(crate) fn push_quoted(out: &mut String, text: &str) {
    out.push('"');
    // Names, addresses and most words are plain, which is seen at a glance.
    if scan::is_visible(text) {
        out.push_str(text);
        out.push('"');
        return;
    }
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| matches!(c, '"' | '\\' | '\0'..='\x1F' | '\x7F' | '\u{2028}' | '\u{2029}'))
    {
        let (plain, tail) = rest.split_at(at);
        out.push_str(plain);
        let mut chars = tail.chars();
        match chars.next() {
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some('\n') => out.push_str("\\n"),
            Some('\r') => out.push_str("\\r"),
            Some('\t') => out.push_str("\\t"),
            Some(other) => out.push_str(&format!("\\u{:04x}", u32::from(other))),
            None => {}
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
                let mut members = Vec::with_capacity(8);
                while let Some(Name(name)) = map.next_key::<Name<'de>>()? {
                    members.push((name, map.next_value::<&'de RawValue>()?));
                }
                Ok(Object {
                    members: Members::Own(members),
                    reading: Reading::Shallow,
                })
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

impl Default for Members<'_> {
    fn default() -> Self {
        Self::Kept(&[])
    }
}

/// A string that borrows unless it holds escapes.
struct Name<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Name<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests;
