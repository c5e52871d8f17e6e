//! Protocol versions and the two eras.

/// A revision of the protocol that the gateway speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// 2024-11-05: towards upstreams only.
    V2024_11_05,
    /// 2025-03-26
    V2025_03_26,
    /// 2025-06-18
    V2025_06_18,
    /// 2025-11-25
    V2025_11_25,
    /// 2026-07-28
    V2026_07_28,
}

/// How a revision carries its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Era {
    /// `initialize` and a session.
    Legacy,
    /// Stateless, with metadata in every request.
    Modern,
}

impl Version {
    /// Revisions served to callers, oldest first.
    pub const SERVED: &[Self] = &[
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];

    /// The newest revision that has sessions.
    pub const NEWEST_LEGACY: Self = Self::V2025_11_25;

    /// The revision of that date.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "2024-11-05" => Some(Self::V2024_11_05),
            "2025-03-26" => Some(Self::V2025_03_26),
            "2025-06-18" => Some(Self::V2025_06_18),
            "2025-11-25" => Some(Self::V2025_11_25),
            "2026-07-28" => Some(Self::V2026_07_28),
            _ => None,
        }
    }

    /// The date.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Its era.
    #[must_use]
    pub fn era(self) -> Era {
        match self {
            Self::V2026_07_28 => Era::Modern,
            Self::V2024_11_05 | Self::V2025_03_26 | Self::V2025_06_18 | Self::V2025_11_25 => Era::Legacy,
        }
    }
}
