//! Foreign peers for tests: upstream servers whose answers are known to the last byte.

pub mod conformance;
pub mod listen;
pub mod quirk;
