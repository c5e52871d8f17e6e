//! MCP as bytes and values: JSON-RPC, both eras, header rules, SSE framing. No sockets.
//!
//! Envelopes are read and params and results stay raw text (`RawValue`): what an upstream
//! says reaches the caller byte for byte (I11).

pub mod authored;
pub mod bridge;
pub mod codes;
pub mod cut;
pub mod headers;
pub mod meta;
pub mod object;
pub mod outline;
pub mod param_headers;
pub mod questions;
pub mod rpc;
mod scan;
mod skim;
pub mod sse;
pub mod version;
