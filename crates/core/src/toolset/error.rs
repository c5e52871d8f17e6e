//! Why a toolset cannot be used. The texts are contract: agents relay them as they are.

use super::selector::MOST;

/// Why a toolset cannot be used. `toolset` is the list as it was declared, joined with commas.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Nothing was declared where a toolset was announced.
    #[error("toolset [] is empty; use \"preset:none\" for an agent without tools")]
    Empty,
    /// More selectors than may stand inline.
    #[error("toolset [{toolset}] has {count} selectors, more than the {most} allowed inline; define a preset", most = MOST)]
    TooMany {
        /// The list as declared.
        toolset: String,
        /// How many there are.
        count: usize,
    },
    /// `toolset:<name>`, which means nothing yet.
    #[error("toolset [{toolset}] selector {selector:?} is reserved for shared toolsets")]
    Reserved {
        /// The list as declared.
        toolset: String,
        /// The selector.
        selector: String,
    },
    /// `label:<key>=<value>`, which only the rules of presets may say.
    #[error("toolset [{toolset}] selector {selector:?} is allowed inside presets only")]
    PresetsOnly {
        /// The list as declared.
        toolset: String,
        /// The selector.
        selector: String,
    },
    /// Nothing that a selector may be.
    #[error(
        "toolset [{toolset}] selector {selector:?} is malformed; expected preset:<name>, server:<name>, workflow:<name> or tool:<name>"
    )]
    Malformed {
        /// The list as declared.
        toolset: String,
        /// The selector.
        selector: String,
    },
    /// A preset that neither the configuration nor the gateway defines.
    #[error("toolset [{toolset}] names unknown preset {preset:?}; known presets: {}", known.join(", "))]
    UnknownPreset {
        /// The list as declared.
        toolset: String,
        /// The preset's name.
        preset: String,
        /// Every preset there is, the built-in ones first.
        known: Vec<String>,
    },
}
