//! The lines of a file that are shown with a problem; of a long line only what stands around the mark.

use std::ops::Range;
use std::sync::Arc;

use miette::{MietteError, MietteSpanContents, NamedSource, SourceCode, SourceSpan, SpanContents};

/// Lines that are longer are cut, in bytes. A whole catalogue may stand on one line, with credentials that are none of
/// the problem's business.
const LONGEST_LINE: usize = 160;

/// How much of a long line is shown on either side of the mark, in bytes.
const AROUND: usize = 40;

/// How much of a long line is marked, in bytes.
const MARKED: usize = 60;

/// A file to show excerpts of.
#[derive(Clone)]
pub(super) struct Excerpt(Box<NamedSource<Arc<str>>>);

impl Excerpt {
    pub(super) fn new(name: &str, text: &Arc<str>) -> Self {
        Self(Box::new(NamedSource::new(name, Arc::clone(text))))
    }

    fn text(&self) -> &str {
        self.0.inner()
    }

    /// The part of a place that is marked.
    pub(super) fn marked(&self, span: &Range<usize>) -> Range<usize> {
        let line = self.line(span.start);
        if line.len() <= LONGEST_LINE {
            return span.clone();
        }
        let end = span.end.min(line.end).min(span.start + MARKED);
        span.start..self.boundary(end).max(span.start)
    }

    fn line(&self, at: usize) -> Range<usize> {
        let at = self.boundary(at);
        let (before, after) = self.text().split_at(at);
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let end = after.find('\n').map_or(self.text().len(), |newline| at + newline);
        start..end
    }

    /// The nearest place at or before this one that is between two characters.
    fn boundary(&self, at: usize) -> usize {
        let mut at = at.min(self.text().len());
        while !self.text().is_char_boundary(at) {
            at -= 1;
        }
        at
    }
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let whole = self.0.read_span(span, before, after)?;
        let is_short = |line: &[u8]| line.len() <= LONGEST_LINE;
        if whole.data().split(|byte| *byte == b'\n').all(is_short) {
            return Ok(whole);
        }
        let line = self.line(span.offset());
        let start = self.boundary(span.offset().saturating_sub(AROUND)).max(line.start);
        let end = self.boundary((span.offset() + span.len() + AROUND).min(line.end));
        let number = self.text().get(..line.start).unwrap_or_default().matches('\n').count();
        let column = self
            .text()
            .get(line.start..span.offset())
            .unwrap_or_default()
            .chars()
            .count();
        let data = self.text().get(start..end).unwrap_or_default();
        Ok(Box::new(MietteSpanContents::new_named(
            self.0.name().to_owned(),
            data.as_bytes(),
            (start, data.len()).into(),
            number,
            column,
            1,
        )))
    }
}
