//! One page of a list: which part is shown, how many match, which filters held.

use std::collections::BTreeMap;

use countersign_core::glob::Glob;
use serde::Serialize;

use super::answer::Failure;
use super::arguments::Window;

/// One page of matches.
#[derive(Debug)]
pub(super) struct Page<T> {
    /// What is shown.
    pub(super) shown: Vec<T>,
    /// How many match.
    pub(super) total: usize,
    /// Whether matches follow behind this page.
    pub(super) truncated: bool,
}

impl<T> Page<T> {
    /// Counts all matches and keeps those in the window.
    pub(super) fn of(matches: impl Iterator<Item = T>, window: Window) -> Self {
        let end = window.offset.saturating_add(window.limit);
        let mut shown = Vec::new();
        let mut total = 0_usize;
        for (place, item) in matches.enumerate() {
            total = place.saturating_add(1);
            if (window.offset..end).contains(&place) {
                shown.push(item);
            }
        }
        Self {
            shown,
            total,
            truncated: total > end,
        }
    }
}

/// The arguments that were in force, echoed so that the model sees what its page means.
#[derive(Debug, Default, Serialize)]
pub(super) struct Filters {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pattern: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) description_filter: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) query: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) case_sensitive: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) include_schema: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) limit: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) offset: Option<usize>,
}

/// What a pattern is matched against.
#[derive(Debug, Clone, Copy)]
pub(super) enum Over {
    /// Exposed names: `*` and `?` do not cross `/`.
    Names,
    /// URIs: a `/` is a character like any other, since every URI has some.
    Uris,
}

impl Over {
    /// A text as globs see it; in a URI a control character that none holds stands for the border `/`.
    pub(super) fn flat(self, text: &str) -> String {
        match self {
            Self::Names => text.to_owned(),
            Self::Uris => text.replace('/', "\u{1}"),
        }
    }
}

impl Filters {
    /// The compiled pattern, if one is given.
    ///
    /// # Errors
    /// `bad_pattern`
    pub(super) fn glob(&self, over: Over) -> Result<Option<Glob>, Failure> {
        let Some(pattern) = &self.pattern else { return Ok(None) };
        let glob = Glob::parse(&over.flat(&self.fold(pattern))).ok().ok_or_else(|| {
            let what = format!(
                "`pattern` `{pattern}` is malformed: `*` and `?` stand for any characters but `/`, `[a-z]` for one of a class, `\\` makes the next one literal"
            );
            Failure::new("bad_pattern", what)
        });
        glob.map(Some)
    }

    /// A text as it is compared: lower case unless the case matters.
    pub(super) fn fold(&self, text: &str) -> String {
        if self.case_sensitive == Some(true) {
            text.to_owned()
        } else {
            text.to_lowercase()
        }
    }

    /// Whether `server` lets this one through.
    pub(super) fn of_server(&self, server: &str) -> bool {
        self.server.as_deref().is_none_or(|wanted| wanted == server)
    }
}

/// The first line of a description, at most 120 characters.
pub(super) fn summary(description: &str) -> String {
    const LONGEST: usize = 120;
    let line = description.trim_start().lines().next().unwrap_or_default().trim_end();
    if line.chars().count() <= LONGEST {
        return line.to_owned();
    }
    let mut cut: String = line.chars().take(LONGEST - 1).collect();
    cut.truncate(cut.trim_end().len());
    cut.push('…');
    cut
}
