//! HTTP and stdio servers in front of the engine: both eras, sessions, meta-tools, health, metrics.
//!
//! Every request passes the guard (Host and Origin) before anything of it is parsed, and every
//! call goes through [`countersign_engine::Engine::call`]; nothing here can reach a server.

mod abilities;
mod answer;
mod auth;
mod calls;
mod cursor;
mod dispatch;
mod edge;
mod guard;
mod hearer;
mod http;
mod levels;
mod listen;
#[doc(hidden)]
pub mod measured;
mod meta_tools;
mod method;
mod metrics;
mod notify;
mod pages;
mod parking;
mod replay;
mod running;
mod session;
mod sessions;
mod settings;
mod shared;
mod speaker;
mod stdio;
mod surfaces;
mod tasks;
mod toolsets;
mod under_way;
mod watches;

pub use edge::{Edge, Reload, serve, serve_stdio};
pub use settings::Settings;
