//! The log: to stderr, as text or JSON, filtered by `RUST_LOG`.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;

use crate::args::LogFormat;
use crate::failure::Failure;

/// What the gateway logs when `RUST_LOG` is not set.
pub(crate) const USUAL: &str = "info";
/// What commands log whose own output is for a person.
pub(crate) const QUIET: &str = "warn";

/// Starts logging; `filter` holds where `RUST_LOG` is not set.
pub(crate) fn start(format: LogFormat, filter: &str) -> Result<(), Failure> {
    let filter = match std::env::var("RUST_LOG") {
        Ok(text) if !text.is_empty() => EnvFilter::try_new(&text).map_err(|error| {
            Failure::configuration(
                format_args!("RUST_LOG is `{text}`: {error}"),
                "use a level such as `info`, or `countersign_engine=debug,info`",
            )
        })?,
        Ok(_) | Err(_) => EnvFilter::new(filter),
    };
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        // A log that nobody reads any more would be told of on stderr, and that panics where stderr is what broke.
        .log_internal_errors(false)
        .with_ansi(io::stderr().is_terminal());
    match format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
    Ok(())
}
