//! Pure decisions of the gateway: names, exact JSON, the catalogue, and who may call what.
//!
//! Nothing here does IO, reads a clock or knows an async runtime. Everything a decision
//! needs is handed in as a value ([`admit::World`]), and every decision says why.

pub mod admit;
pub mod auth;
pub mod catalogue;
pub mod core_tools;
pub mod definition;
pub mod effect;
pub mod exact;
pub mod glob;
pub mod identity;
pub mod json;
pub mod listing;
pub mod names;
pub mod outcome;
pub mod principal;
pub mod rank;
pub mod redact;
pub mod refusal;
pub mod secret;
pub mod server;
pub mod stages;
pub mod surface;
pub mod time;
pub mod toolset;
pub mod workflow;
