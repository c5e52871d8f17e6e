//! What holds for every input of the parsers; each law panics where it is broken.
#![forbid(unsafe_code)]

pub mod exact;
pub mod framing;
pub mod globs;
pub mod mcp_json;
pub mod reference;
pub mod sse;
pub mod template;
