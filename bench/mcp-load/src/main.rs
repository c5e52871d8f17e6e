//! A closed-loop load generator for MCP over streamable HTTP.
//!
//! Every session has its own TCP connection and sends its next request when the
//! answer to the last one is complete. The result is one JSON object on
//! standard output.

mod client;
mod coldstart;
mod cpu;
mod hold;
mod run;

use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

#[derive(Parser)]
#[command(version, about = "A closed-loop load generator for MCP over streamable HTTP")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// tools/call, directly or through a meta-tool.
    Call(CallArgs),
    /// tools/list, following every page.
    List(LoadArgs),
    /// Session set-up: connect, initialize, initialized, tools/list.
    Init(LoadArgs),
    /// Start a server and measure the time to its first good tools/list.
    Coldstart(ColdstartArgs),
    /// Open sessions, or calls that wait for a person, and hold them until standard input ends.
    Hold(HoldArgs),
    /// Print one tools/list answer (for checking a set-up by eye).
    Show(TargetArgs),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Expect {
    /// The text of the result must be the message that was sent.
    Equal,
    /// The message must occur somewhere in the result.
    Contain,
    /// Any result without an error is good.
    Any,
}

#[derive(Args, Clone)]
pub(crate) struct TargetArgs {
    /// URL of the MCP endpoint; plain http only.
    #[arg(long)]
    pub(crate) url: String,
    /// Protocol revision. 2026-07-28 and later send no initialize.
    #[arg(long, default_value = "2025-06-18")]
    pub(crate) protocol: String,
    /// Extra request header, as 'Name: value'. May be repeated.
    #[arg(long = "header", short = 'H')]
    pub(crate) headers: Vec<String>,
    /// Longest wait for one answer, in seconds.
    #[arg(long, default_value_t = 30.0)]
    pub(crate) timeout: f64,
}

#[derive(Args, Clone)]
pub(crate) struct LoadArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Concurrent sessions.
    #[arg(long, short, default_value_t = 1)]
    pub(crate) concurrency: usize,
    /// Stop after this many seconds.
    #[arg(long, short, default_value_t = 5.0)]
    pub(crate) duration: f64,
    /// Stop after this many measured requests (0: no such limit).
    #[arg(long, short, default_value_t = 0)]
    pub(crate) requests: u64,
    /// Seconds of load before measuring starts.
    #[arg(long, default_value_t = 0.5)]
    pub(crate) warmup: f64,
    /// Worker threads.
    #[arg(long, default_value_t = 1)]
    pub(crate) threads: usize,
    /// Processes whose processor time while measuring is reported.
    #[arg(long, value_delimiter = ',')]
    pub(crate) cpu_of: Vec<u32>,
}

#[derive(Args, Clone)]
pub(crate) struct HoldArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// How many.
    #[arg(long, default_value_t = 1000)]
    pub(crate) count: usize,
    /// Keep the connection of each session open as well.
    #[arg(long)]
    pub(crate) connected: bool,
    /// Call this tool, which asks something, instead of opening sessions; from 2026-07-28 on.
    #[arg(long)]
    pub(crate) ask: Option<String>,
}

#[derive(Args, Clone)]
pub(crate) struct CallArgs {
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    /// Tool to call.
    #[arg(long, default_value = "echo")]
    pub(crate) tool: String,
    /// Arguments as a JSON object. The string "$MESSAGE" in it is replaced by
    /// the payload; without one, any result counts as good.
    #[arg(long, default_value = r#"{"message":"$MESSAGE"}"#)]
    pub(crate) args: String,
    /// Bytes of payload.
    #[arg(long, default_value_t = 64)]
    pub(crate) payload: usize,
    /// How to check the result.
    #[arg(long, value_enum, default_value = "equal")]
    pub(crate) expect: Expect,
    /// Call through this meta-tool (for example call_tool).
    #[arg(long)]
    pub(crate) meta_tool: Option<String>,
    /// Argument of the meta-tool that takes the tool's name.
    #[arg(long, default_value = "name")]
    pub(crate) meta_name: String,
    /// Argument of the meta-tool that takes the tool's arguments.
    #[arg(long, default_value = "arguments")]
    pub(crate) meta_args: String,
    /// Further arguments of the meta-tool, as a JSON object.
    #[arg(long)]
    pub(crate) meta_extra: Option<String>,
    /// Do not send tools/list when a session starts.
    #[arg(long)]
    pub(crate) no_list: bool,
}

#[derive(Args, Clone)]
pub(crate) struct ColdstartArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// How many times to start it.
    #[arg(long, default_value_t = 5)]
    pub(crate) runs: usize,
    /// Fewest tools that count as a good answer.
    #[arg(long, default_value_t = 1)]
    pub(crate) min_tools: usize,
    /// Give up on a start after this many seconds.
    #[arg(long, default_value_t = 60.0)]
    pub(crate) give_up: f64,
    /// File for the server's output.
    #[arg(long)]
    pub(crate) log: Option<std::path::PathBuf>,
    /// The server's command line.
    #[arg(trailing_var_arg = true, required = true)]
    pub(crate) command: Vec<String>,
}

fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    let threads = match &cli.command {
        Command::Call(c) => c.load.threads,
        Command::List(l) | Command::Init(l) => l.threads,
        Command::Coldstart(_) | Command::Hold(_) | Command::Show(_) => 1,
    };
    let mut builder = if threads > 1 {
        let mut b = tokio::runtime::Builder::new_multi_thread();
        b.worker_threads(threads);
        b
    } else {
        tokio::runtime::Builder::new_current_thread()
    };
    builder.enable_all().build()?.block_on(async {
        match cli.command {
            Command::Call(args) => run::call(args).await,
            Command::List(args) => run::list(args).await,
            Command::Init(args) => run::init(args).await,
            Command::Coldstart(args) => coldstart::run(args).await,
            Command::Hold(args) => hold::run(args).await,
            Command::Show(args) => show(args).await,
        }
    })
}

async fn show(args: TargetArgs) -> anyhow::Result<()> {
    let mut session = client::Session::open(&client::Target::new(&args)?).await?;
    println!("{}", session.rpc("tools/list", None, "{}").await?.text()?);
    Ok(())
}

impl TargetArgs {
    pub(crate) fn timeout(&self) -> Duration {
        Duration::from_secs_f64(self.timeout)
    }
}
