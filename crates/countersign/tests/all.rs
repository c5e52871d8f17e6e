//! The real binary, driven as a person would.

#[path = "all/commands.rs"]
mod commands;
#[path = "all/quickstart.rs"]
mod quickstart;
#[path = "all/running.rs"]
mod running;
#[path = "all/serve.rs"]
mod serve;
#[path = "all/tools.rs"]
mod tools;
