//! A fast MCP server for benchmarks.
//!
//! It answers `initialize`, `server/discover`, `ping`, `tools/list` and
//! `tools/call` over streamable HTTP or stdio, for the handshake revisions
//! (2025-03-26, 2025-06-18, 2025-11-25) and for the stateless revision
//! (2026-07-28), both on the same endpoint.

mod handler;
mod http;
mod questions;
mod sessions;
mod stdio;

use std::{net::SocketAddr, time::Duration};

use clap::{Args, Parser, Subcommand};

#[derive(Parser)]
#[command(version, about = "A fast MCP server for benchmarks")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve streamable HTTP.
    Http(HttpArgs),
    /// Serve newline-delimited JSON on standard input and output.
    Stdio(CommonArgs),
    /// Print the catalogue as JSON and stop.
    Catalog(CommonArgs),
}

#[derive(Args, Clone)]
pub(crate) struct CommonArgs {
    /// Number of tools to expose.
    #[arg(long, default_value_t = 20)]
    pub(crate) tools: usize,
    /// Tools in one page of tools/list; 0 puts all of them in one page.
    #[arg(long, default_value_t = 0)]
    pub(crate) page_size: usize,
    /// Delay added to every tools/call, in microseconds.
    #[arg(long, default_value_t = 0)]
    pub(crate) delay_us: u64,
    /// Name to report in serverInfo.
    #[arg(long, default_value = "mcp-upstream")]
    pub(crate) name: String,
    /// Refuse the 2026-07-28 revision, as an older server would.
    #[arg(long)]
    pub(crate) legacy_only: bool,
}

#[derive(Args, Clone)]
pub(crate) struct HttpArgs {
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    /// Address to listen on.
    #[arg(long, default_value = "127.0.0.1:9100")]
    pub(crate) listen: SocketAddr,
    /// Path of the MCP endpoint.
    #[arg(long, default_value = "/mcp")]
    pub(crate) path: String,
    /// Servers, on ports from that of `--listen` on, each with `--tools` tools of its own.
    #[arg(long, default_value_t = 1)]
    pub(crate) servers: u16,
    /// Worker threads.
    #[arg(long, default_value_t = 1)]
    pub(crate) threads: usize,
    /// Do not issue or check session ids.
    #[arg(long)]
    pub(crate) no_sessions: bool,
    /// Most sessions to keep; `initialize` past this is refused with 503.
    #[arg(long, default_value_t = 100_000)]
    pub(crate) max_sessions: usize,
    /// Answer requests with an event stream instead of plain JSON.
    #[arg(long)]
    pub(crate) sse: bool,
    /// Offer the GET event stream of the handshake revisions (default: 405).
    #[arg(long)]
    pub(crate) get_stream: bool,
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Http(args) => {
            let mut builder = if args.threads > 1 {
                let mut b = tokio::runtime::Builder::new_multi_thread();
                b.worker_threads(args.threads);
                b
            } else {
                tokio::runtime::Builder::new_current_thread()
            };
            builder.enable_all().build()?.block_on(http::serve(args))
        }
        Command::Stdio(args) => tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?
            .block_on(stdio::serve(args)),
        Command::Catalog(args) => {
            let tools = bench_common::catalog::catalog(0, args.tools);
            println!("{}", serde_json::to_string_pretty(&tools)?);
            Ok(())
        }
    }
}

impl CommonArgs {
    fn handler(&self, first: usize) -> handler::Handler {
        handler::Handler::new(&handler::Options {
            first,
            tools: self.tools,
            page_size: self.page_size,
            delay: Duration::from_micros(self.delay_us),
            name: self.name.clone(),
            legacy_only: self.legacy_only,
        })
    }
}
