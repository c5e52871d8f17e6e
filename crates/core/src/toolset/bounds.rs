//! The toolsets that hold for one request, in the order in which they narrow.

use std::fmt;

use super::Selectors;

/// Where a toolset comes from; each narrows what the ones before leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// The binding of the Session.
    Bound,
    /// The API key.
    Key,
    /// The specialist.
    Specialist,
    /// The request: its header, the flag or `_meta` of stdio.
    Header,
    /// The argument `toolset` of a meta-tool.
    Argument,
}

impl Origin {
    /// Whether the caller itself declared it; the others hold whatever the caller declares.
    #[must_use]
    pub fn is_declared(self) -> bool {
        match self {
            Self::Bound | Self::Key | Self::Specialist => false,
            Self::Header | Self::Argument => true,
        }
    }

    /// The word used in the trail.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Bound => "bound",
            Self::Key => "key",
            Self::Specialist => "specialist",
            Self::Header => "header",
            Self::Argument => "argument",
        }
    }
}

/// One toolset that holds for a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Layer {
    /// Where it comes from.
    pub origin: Origin,
    /// What it says.
    pub selectors: Selectors,
}

/// The toolsets that hold for one request.
///
/// INVARIANT: at least one, in the order of [`Origin`]; `of` and `within` alone make one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Bounds {
    layers: Vec<Layer>,
}

impl Bounds {
    /// One toolset.
    #[must_use]
    pub fn of(origin: Origin, selectors: Selectors) -> Self {
        let layers = vec![Layer { origin, selectors }];
        Self { layers }
    }

    /// The same and one more, which narrows further.
    #[must_use]
    pub fn within(&self, origin: Origin, selectors: Selectors) -> Self {
        let mut layers = self.layers.clone();
        let place = layers.partition_point(|layer| layer.origin <= origin);
        layers.insert(place, Layer { origin, selectors });
        Self { layers }
    }

    /// The toolsets, in the order in which they narrow.
    #[must_use]
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The narrowest one: what an answer names as its toolset.
    #[must_use]
    pub fn narrowest(&self) -> Option<&Layer> {
        self.layers.last()
    }

    /// The narrowest of those that the caller did not declare itself: what an answer names as the bound toolset.
    #[must_use]
    pub fn bound(&self) -> Option<&Layer> {
        self.layers.iter().rev().find(|layer| !layer.origin.is_declared())
    }

    /// What the request itself declared: the header's, and not the argument's.
    #[must_use]
    pub fn header(&self) -> Option<&Layer> {
        self.layers.iter().rev().find(|layer| layer.origin == Origin::Header)
    }
}

/// As the trail tells it: `bound [preset:a] header [tool:b]`.
impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, layer) in self.layers.iter().enumerate() {
            let blank = if place == 0 { "" } else { " " };
            write!(f, "{blank}{} [{}]", layer.origin.word(), layer.selectors)?;
        }
        Ok(())
    }
}
