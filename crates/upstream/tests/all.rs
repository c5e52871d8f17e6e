//! Real connections to scripted servers: a small HTTP server in this process, a small Python child.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "helpers of tests fail as tests do"
)]

#[path = "all/http.rs"]
mod http;
#[path = "all/modern.rs"]
mod modern;
#[path = "all/stdio.rs"]
mod stdio;
#[path = "all/support.rs"]
mod support;
