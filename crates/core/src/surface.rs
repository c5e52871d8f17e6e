//! What `tools/list` shows: the meta-tools or the catalogue itself (spec 2.5).

use serde::{Deserialize, Serialize};

/// One surface. Several may be in force at once; their lists are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Surface {
    /// The meta-tools only.
    Meta,
    /// The narrowed catalogue itself.
    Direct,
}

impl Surface {
    /// The surface of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "meta" => Some(Self::Meta),
            "direct" => Some(Self::Direct),
            _ => None,
        }
    }
}
