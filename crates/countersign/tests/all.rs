//! The real binary, driven as a person would.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "all of this is test code; the lints' own exception knows test functions only"
)]
#![cfg(unix)]

#[path = "all/commands.rs"]
mod commands;
#[path = "all/documents.rs"]
mod documents;
#[path = "all/explain.rs"]
mod explain;
#[path = "all/families.rs"]
mod families;
#[path = "all/quickstart.rs"]
mod quickstart;
#[path = "all/running.rs"]
mod running;
#[path = "all/serve.rs"]
mod serve;
#[path = "all/tools.rs"]
mod tools;
