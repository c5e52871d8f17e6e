//! The log: to stderr, as text or JSON, filtered by `RUST_LOG`.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;

use crate::args::LogFormat;
use crate::failure::Failure;

/// What the gateway logs when `RUST_LOG` is not set.
pub(crate) const USUAL: &str = "info";
/// What commands log whose own output is for a person.
pub(crate) const QUIET: &str = "warn";

/// Modules of others that write addresses of servers to the log, which may hold credentials (I10).
const CARELESS: &str = "hyper_util";

/// Starts logging; `filter` holds where `RUST_LOG` is not set.
pub(crate) fn start(format: LogFormat, filter: &str) -> Result<(), Failure> {
    let filter = match std::env::var("RUST_LOG") {
        Ok(text) if !text.is_empty() => wanted(&text)?,
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

/// What `RUST_LOG` asks for, short of what would show secrets.
fn wanted(text: &str) -> Result<EnvFilter, Failure> {
    let filter = EnvFilter::try_new(text).map_err(|error| {
        Failure::configuration(
            format_args!("RUST_LOG is `{text}`: {error}"),
            "use a level such as `info`, or `countersign_engine=debug,info`",
        )
    })?;
    match format!("{CARELESS}=warn").parse() {
        Ok(directive) => Ok(filter.add_directive(directive)),
        Err(_error) => Ok(filter),
    }
}

#[cfg(test)]
mod tests {
    use super::wanted;

    #[test]
    fn i10_no_level_makes_the_http_client_log_addresses() {
        for text in ["trace", "hyper_util=trace", "debug,countersign=trace"] {
            let filter = wanted(text).unwrap().to_string();
            assert!(filter.contains("hyper_util=warn"), "{text}: {filter}");
            assert!(!filter.contains("hyper_util=trace"), "{text}: {filter}");
        }
        assert!(wanted("a=b=c").is_err());
    }
}
