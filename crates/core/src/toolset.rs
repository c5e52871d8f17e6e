//! What a request is narrowed to: selectors, presets, and what of a catalogue they select (spec 3).
//!
//! A toolset never widens: every later one resolves within the earlier ones (I2), and one that cannot be
//! read is an error, never the whole catalogue.

mod access;
mod awaiting;
mod bits;
mod bounds;
mod choice;
mod error;
mod idle;
mod narrowed;
mod preset;
mod resolve;
mod selector;
mod slots;
mod why;

pub use bounds::{Bounds, Layer, Origin};
pub use error::Error;
pub use idle::idle_rules;
pub use narrowed::Narrowed;
pub use preset::{Effects, Flaw, FlawKind, List, Place, Preset, Presets, Rule};
pub use resolve::narrow;
pub use selector::{MOST, Selector, Selectors};
pub use why::{Picked, Reason, Reasons, Said, Step, Verdict};

pub(crate) use awaiting::{could_select_of, unable};
pub(crate) use slots::Slots;

#[cfg(test)]
pub(crate) mod tests;
