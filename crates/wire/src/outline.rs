//! What one pass over a text found of its outer objects, so that their members need not be looked for again.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::skim;

/// A member: its decoded name, and its value as written.
pub(crate) type Member<'a> = (Cow<'a, str>, &'a RawValue);

/// The members of the outer objects of a text.
#[derive(Debug, Clone, Default)]
pub struct Outline<'a> {
    members: Vec<Member<'a>>,
    /// Each object, and where its members begin and end; an outer one after those inside it.
    objects: Vec<(&'a str, usize, usize)>,
}

impl<'a> Outline<'a> {
    /// Takes in an object whose text was checked, and its members.
    pub(crate) fn add(&mut self, object: &'a str, members: impl Iterator<Item = (Cow<'a, str>, &'a str)>) {
        if self.objects.is_empty() {
            self.objects.reserve(8);
            self.members.reserve(16);
        }
        let first = self.members.len();
        self.members
            .extend(members.filter_map(|(name, value)| Some((name, skim::raw(value)?))));
        self.objects.push((object, first, self.members.len()));
    }

    /// The members of an object that is a part of the text; `None` where they were not kept.
    pub(crate) fn of(&self, object: &str) -> Option<&[Member<'a>]> {
        let found = self.objects.iter().find(|(known, ..)| std::ptr::eq(*known, object));
        found.and_then(|(_, first, end)| self.members.get(*first..*end))
    }

    /// The members of the text itself, where it is an object.
    pub(crate) fn root(&self) -> Option<&[Member<'a>]> {
        let (_, first, end) = self.objects.last()?;
        self.members.get(*first..*end)
    }

    /// The members of the only object that was kept.
    pub(crate) fn into_only(self) -> Option<Vec<Member<'a>>> {
        (self.objects.len() == 1).then_some(self.members)
    }
}
