//! A complaint about a configuration file: where, what, and the way out.

mod excerpt;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use miette::{Diagnostic, LabeledSpan, SourceCode};

use excerpt::Excerpt;

/// One complaint about one file.
///
/// Its text is one line, `file:line:column: what`, with the key named in `what`. A value that
/// came from a reference is never part of it.
#[derive(Clone)]
pub struct Problem {
    /// The file as the operator knows it.
    pub file: Arc<str>,
    /// Where in the file; absent when the file as a whole is meant.
    pub place: Option<Place>,
    /// What is wrong, in lower case.
    pub what: String,
    /// The nearest valid key, or another way out.
    pub help: Option<String>,
    /// Whether it stops loading.
    pub severity: Severity,
    excerpt: Option<Excerpt>,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The bytes that are meant, after a byte order mark.
    pub span: Range<usize>,
}

/// Whether a problem stops loading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Nothing of the folder is applied.
    Error,
    /// The folder is applied; the operator should look.
    Warning,
}

/// At least one error, with the warnings found beside it, in the order of files and lines.
#[derive(Debug, Clone)]
pub struct Problems(Vec<Problem>);

/// One file's text under the name that problems give it.
#[derive(Clone)]
pub(crate) struct Source {
    /// The file as the operator knows it.
    pub(crate) name: String,
    /// Its text, without a byte order mark.
    pub(crate) text: Arc<str>,
}

impl Problem {
    /// A problem of a file as a whole.
    pub(crate) fn of_file(file: &str, what: String) -> Self {
        Self {
            file: Arc::from(file),
            place: None,
            what,
            help: None,
            severity: Severity::Error,
            excerpt: None,
        }
    }

    /// The same problem with a way out.
    #[must_use]
    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same problem as a warning.
    #[must_use]
    pub(crate) fn into_warning(mut self) -> Self {
        self.severity = Severity::Warning;
        self
    }
}

impl Problems {
    /// The problems, when at least one of them is an error; otherwise they are given back as warnings.
    pub(crate) fn if_any_error(mut found: Vec<Problem>) -> Result<Vec<Problem>, Self> {
        let start = |problem: &Problem| problem.place.as_ref().map_or(0, |place| place.span.start);
        found.sort_by(|a, b| a.file.cmp(&b.file).then(start(a).cmp(&start(b))));
        if found.iter().any(|problem| problem.severity == Severity::Error) {
            Err(Self(found))
        } else {
            Ok(found)
        }
    }

    /// The problems one by one.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.0.iter()
    }

    /// How many of them are errors.
    #[must_use]
    pub fn errors(&self) -> usize {
        self.0
            .iter()
            .filter(|problem| problem.severity == Severity::Error)
            .count()
    }
}

impl<'a> IntoIterator for &'a Problems {
    type Item = &'a Problem;
    type IntoIter = std::slice::Iter<'a, Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl Source {
    /// A problem at some bytes of this file.
    pub(crate) fn problem(&self, span: Range<usize>, what: impl Into<String>) -> Problem {
        Problem {
            file: Arc::from(self.name.as_str()),
            place: Some(self.place(span)),
            what: what.into(),
            help: None,
            severity: Severity::Error,
            excerpt: Some(Excerpt::new(&self.name, &self.text)),
        }
    }

    /// Line and column of some bytes. Bytes outside the text count as its end.
    pub(crate) fn place(&self, span: Range<usize>) -> Place {
        let mut start = span.start.min(self.text.len());
        while !self.text.is_char_boundary(start) {
            start -= 1;
        }
        let before = self.text.get(..start).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        Place {
            line,
            column,
            span: start..span.end.min(self.text.len()).max(start),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{}:{}:{}: {}", self.file, place.line, place.column, self.what),
            None => write!(f, "{}: {}", self.file, self.what),
        }
    }
}

/// The file's text stays out: it may hold credentials that are written as they are.
impl fmt::Debug for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.severity)?;
        match &self.help {
            Some(help) => write!(f, " (help: {help})"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl std::error::Error for Problem {}

impl Diagnostic for Problem {
    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help
            .as_ref()
            .map(|help| -> Box<dyn fmt::Display + 'a> { Box::new(help) })
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.excerpt.as_ref().map(|excerpt| -> &dyn SourceCode { excerpt })
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let place = self.place.as_ref()?;
        let span = self
            .excerpt
            .as_ref()
            .map_or_else(|| place.span.clone(), |excerpt| excerpt.marked(&place.span));
        let label = LabeledSpan::new_primary_with_span(Some("here".to_owned()), span);
        Some(Box::new(std::iter::once(label)))
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.errors() {
            1 => f.write_str("the configuration has an error"),
            count => write!(f, "the configuration has {count} errors"),
        }
    }
}

impl std::error::Error for Problems {}

impl Diagnostic for Problems {
    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(self.0.iter().map(|problem| -> &dyn Diagnostic { problem })))
    }
}
