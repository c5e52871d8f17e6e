//! What the benchmark's server and its load generator share: protocol, catalogue, latency summaries.

pub mod catalog;
pub mod latency;
pub mod proto;
