//! The binary: the command line, and the wiring of all crates.

mod access;
mod args;
mod check;
mod explain;
mod failure;
mod folder;
mod gateway;
mod import;
mod logs;
mod out;
mod quickstart;
mod reload;
mod sample;
mod scene;
mod serve;
mod tools;
mod warden;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use args::{Command, LowArgs};
use failure::Failure;

/// A call makes dozens of small allocations; see `docs/decisions/mimalloc.md`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args = LowArgs::parse();
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if let Some(report) = failure.report() {
                out::say(format!("{report:?}").trim_end());
            }
            ExitCode::from(failure.exit_code())
        }
    }
}

fn run(args: LowArgs) -> Result<(), Failure> {
    let format = args.output;
    match args.command {
        Command::Quickstart(flags) => {
            logs::start(args.log_format, logs::QUIET)?;
            wait(quickstart::run(flags, format))
        }
        Command::Serve(flags) => {
            logs::start(args.log_format, logs::USUAL)?;
            wait(serve::http(flags))
        }
        Command::Stdio(flags) => {
            logs::start(args.log_format, logs::USUAL)?;
            wait(serve::stdio(flags))
        }
        Command::Import(flags) => import::run(&flags, format),
        Command::Check(flags) => wait(check::run(flags, format)),
        Command::Explain(flags) => wait(explain::run(flags, format)),
        Command::Access(flags) => wait(access::run(flags, format)),
        Command::Tools(flags) => {
            logs::start(args.log_format, logs::QUIET)?;
            wait(tools::run(flags, format))
        }
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut LowArgs::command(), "countersign", &mut script);
            out::print(&String::from_utf8_lossy(&script))
        }
        Command::Warden => {
            warden::run();
            Ok(())
        }
        Command::Sample(sample) => sample::run(match sample {
            args::Sample::Notes { file } => sample::Sample::Notes(file),
            args::Sample::Clock => sample::Sample::Clock,
        }),
    }
}

/// Runs a command to its end. A read of stdin cannot be taken back, so no thread is waited for: whatever
/// must end in order has ended with the command.
fn wait(command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Runtime::new().map_err(|error| {
        Failure::failed(
            format_args!("cannot start worker threads: {error}"),
            "check the limits of this process",
        )
    })?;
    let end = runtime.block_on(command);
    runtime.shutdown_background();
    end
}
