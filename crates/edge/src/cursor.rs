//! Cursors of lists: opaque to callers, bound to one list of one snapshot.

/// Which list a cursor belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum List {
    Tools,
    Prompts,
    Resources,
    Templates,
}

impl List {
    fn letter(self) -> &'static str {
        match self {
            Self::Tools => "t",
            Self::Prompts => "p",
            Self::Resources => "r",
            Self::Templates => "m",
        }
    }

    /// The member of the result that holds the list.
    pub(crate) fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }
}

/// Why a cursor leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    /// The gateway never made it, or made it for another list.
    #[error("`params.cursor` is none of this list's cursors; list again without it")]
    Unknown,
    /// The list has changed since.
    #[error("the list has changed since `params.cursor` was made; list again without it")]
    Stale,
}

/// The cursor of a page.
pub(crate) fn encode(list: List, version: u64, page: usize) -> String {
    format!("{}{version:x}-{page:x}", list.letter())
}

/// The page of a cursor.
pub(crate) fn decode(list: List, version: u64, cursor: &str) -> Result<usize, Error> {
    let rest = cursor.strip_prefix(list.letter()).ok_or(Error::Unknown)?;
    let (made_for, page) = rest.split_once('-').ok_or(Error::Unknown)?;
    let made_for = u64::from_str_radix(made_for, 16).ok().ok_or(Error::Unknown)?;
    let page = usize::from_str_radix(page, 16).ok().ok_or(Error::Unknown)?;
    // Only the one way in which the gateway writes a cursor is a cursor.
    if encode(list, made_for, page) != cursor {
        return Err(Error::Unknown);
    }
    if made_for == version {
        Ok(page)
    } else {
        Err(Error::Stale)
    }
}

#[cfg(test)]
mod tests {
    use super::{Error, List, decode, encode};

    #[test]
    fn cursor_leads_to_its_page_of_its_list_and_snapshot_only() {
        let cursor = encode(List::Tools, 31, 2);
        assert_eq!(decode(List::Tools, 31, &cursor), Ok(2));
        assert_eq!(decode(List::Tools, 32, &cursor), Err(Error::Stale));
        assert_eq!(decode(List::Prompts, 31, &cursor), Err(Error::Unknown));
    }

    #[test]
    fn anything_else_is_no_cursor() {
        for wrong in [
            "",
            "t",
            "t-",
            "1f-2",
            "t1f-+2",
            "t01f-2",
            "t1F-2",
            "t1f-2 ",
            "tffffffffffffffffff-1",
            "ü",
        ] {
            assert_eq!(decode(List::Tools, 31, wrong), Err(Error::Unknown), "{wrong}");
        }
    }
}
