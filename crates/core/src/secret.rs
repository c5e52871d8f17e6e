//! Text that may hold a credential: it never prints (I10).

use std::fmt;

/// A value that came from a reference (`${…}`), or that may hold one.
///
/// `Debug` prints `[secret]` when any part came from a reference. There is no `Display`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Secret {
    text: String,
    plain: bool,
}

impl Secret {
    /// Text that an operator wrote as is; it may be shown.
    #[must_use]
    pub fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            plain: true,
        }
    }

    /// Text with at least one part that came from a reference; it is never shown.
    #[must_use]
    pub fn hidden(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            plain: false,
        }
    }

    /// The text itself, for the one place that sends it on.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// What a person may see: the text, or `[secret]`.
    #[must_use]
    pub fn shown(&self) -> &str {
        if self.plain { &self.text } else { "[secret]" }
    }

    /// Whether the text may not be shown.
    #[must_use]
    pub fn is_hidden(&self) -> bool {
        !self.plain
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.plain {
            write!(f, "{:?}", self.text)
        } else {
            f.write_str("[secret]")
        }
    }
}
