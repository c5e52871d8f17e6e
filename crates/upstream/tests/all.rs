//! Real connections to scripted servers: over HTTP in this process, over pipes with a small child.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "helpers of tests fail as tests do"
)]

#[path = "all/auth.rs"]
mod auth;
#[path = "all/authority.rs"]
mod authority;
#[path = "all/faults.rs"]
mod faults;
#[path = "all/http.rs"]
mod http;
#[path = "all/modern.rs"]
mod modern;
#[path = "all/peer.rs"]
mod peer;
#[path = "all/stdio.rs"]
mod stdio;
#[path = "all/support.rs"]
mod support;
