//! The command line as it is typed; each command resolves its own part (`folder`, `tools::Target`).

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use countersign_core::toolset::{self, Selectors};

use crate::out::Format;

/// The MCP gateway where agents ask and people countersign.
#[derive(Debug, Parser)]
#[command(name = "countersign", version, propagate_version = false, max_term_width = 100)]
pub(crate) struct LowArgs {
    /// Format of what is printed on stdout.
    #[arg(long, global = true, value_enum, default_value_t = Format::Table, value_name = "FORMAT")]
    pub(crate) output: Format,
    /// Format of the log on stderr; `RUST_LOG` chooses what is logged.
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text, value_name = "FORMAT")]
    pub(crate) log_format: LogFormat,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Format of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// One readable line an event.
    Text,
    /// One JSON object an event.
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start with embedded sample servers, and say how to connect a client.
    Quickstart(Quickstart),
    /// Serve MCP over streamable HTTP.
    Serve(Serve),
    /// Serve one local MCP client over stdin and stdout.
    Stdio(Stdio),
    /// Take over the servers from Claude Desktop, Claude Code, Cursor or VS Code settings.
    Import(Import),
    /// Check all configuration files.
    Check(Check),
    /// Show what would become of one call: every stage's answer, and the line that decided.
    Explain(Explain),
    /// Show what a caller can discover and call.
    Access(Access),
    /// Use the gateway's tools from the terminal.
    #[command(subcommand)]
    Tools(Tools),
    /// Print the completion script of a shell.
    Completions {
        /// The shell.
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Run one of quickstart's sample servers over stdin and stdout.
    #[command(subcommand, hide = true)]
    Sample(Sample),
    /// End the servers of a gateway that was killed; started by the gateway itself.
    #[command(hide = true)]
    Warden,
}

/// Which configuration folder.
#[derive(Debug, Args)]
pub(crate) struct Folder {
    /// The configuration folder. Without it: $COUNTERSIGN_CONFIG, then ./countersign, then the
    /// user's configuration folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Stdio {
    #[command(flatten)]
    pub(crate) folder: Folder,
    /// Narrow every request to these selectors, with commas between them: `preset:<name>`,
    /// `server:<name>`, `workflow:<name>` or `tool:<name>`.
    #[arg(long, value_name = "SELECTORS", value_parser = selectors)]
    pub(crate) toolset: Option<Selectors>,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) folder: Folder,
    /// Address to listen on, in place of `listen` in countersign.yaml.
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<SocketAddr>,
}

#[derive(Debug, Args)]
pub(crate) struct Quickstart {
    /// Folder for the generated configuration and the samples' data. Without it: a folder in the
    /// user's data folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Address to listen on, in place of `listen` in the generated countersign.yaml.
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<SocketAddr>,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The settings file of the other client.
    pub(crate) file: PathBuf,
    /// The configuration folder that gets the new mcp.json. Without it: as for `serve`.
    #[arg(long, value_name = "DIR", conflicts_with = "stdout")]
    pub(crate) dir: Option<PathBuf>,
    /// Print the new mcp.json and write nothing.
    #[arg(long)]
    pub(crate) stdout: bool,
    /// Replace an mcp.json that exists.
    #[arg(long, conflicts_with = "stdout")]
    pub(crate) force: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Tools {
    /// List the tools that the gateway offers.
    List {
        #[command(flatten)]
        target: Target,
    },
    /// Show one tool: what it does and which arguments it takes.
    Describe {
        /// The tool's name as listed.
        name: String,
        #[command(flatten)]
        target: Target,
    },
    /// Call a tool and print its result.
    Call {
        /// The tool's name as listed.
        name: String,
        /// The arguments, a JSON object.
        #[arg(long, value_name = "JSON", default_value = "{}")]
        args: String,
        #[command(flatten)]
        target: Target,
    },
}

/// Which gateway.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// The gateway's MCP address.
    #[arg(long, value_name = "URL", conflicts_with = "config")]
    pub(crate) url: Option<String>,
    /// The configuration folder whose `listen` names the gateway. Without both: as for `serve`,
    /// then quickstart's folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Sample {
    /// A notes store.
    Notes {
        /// The file that keeps the notes.
        #[arg(long, value_name = "FILE")]
        file: PathBuf,
    },
    /// A clock.
    Clock,
}

fn selectors(text: &str) -> Result<Selectors, toolset::Error> {
    Selectors::parse_header([text])
}

#[cfg(test)]
mod tests;

/// Flags of `check`.
#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) folder: Folder,
    /// Also start the servers, and show what they publish now and what a person should mend there.
    #[arg(long)]
    pub(crate) live: bool,
}

/// Whose request.
#[derive(Debug, clap::Args)]
pub(crate) struct Whose {
    #[command(flatten)]
    pub(crate) folder: Folder,
    /// Who asks: `local`, the name or the subject of a key, `SUBJECT@ISSUER`, or `session:ID`. Without
    /// identities.yaml everybody is `local`.
    #[arg(long = "as", value_name = "WHO")]
    pub(crate) who: Option<String>,
    /// The toolset that the request declares, as in the header `X-Countersign-Toolset`.
    #[arg(long, value_name = "SELECTORS")]
    pub(crate) toolset: Option<String>,
}

/// Flags of `explain`.
#[derive(Debug, clap::Args)]
pub(crate) struct Explain {
    #[command(flatten)]
    pub(crate) whose: Whose,
    /// The tool, by the name that callers use.
    #[arg(required_unless_present = "preset", conflicts_with = "preset")]
    pub(crate) tool: Option<String>,
    /// The arguments of the call, a JSON object.
    #[arg(long, value_name = "JSON", default_value = "{}", conflicts_with = "preset")]
    pub(crate) args: String,
    /// Show what each rule of this preset matches, in place of a call.
    #[arg(long, value_name = "NAME", conflicts_with = "toolset")]
    pub(crate) preset: Option<String>,
}

/// Flags of `access`.
#[derive(Debug, clap::Args)]
pub(crate) struct Access {
    #[command(flatten)]
    pub(crate) whose: Whose,
}
