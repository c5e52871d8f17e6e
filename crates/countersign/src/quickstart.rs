//! `countersign quickstart`: a configuration with two sample servers, the gateway in front, and what to do with it.

mod files;
mod guide;

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::args::Quickstart;
use crate::failure::Failure;
use crate::folder;
use crate::gateway::{Gateway, Stop};
use crate::out::{self, Format};

/// Prepares the folder where it is not there yet, serves it, and says how to use it.
pub(crate) async fn run(flags: Quickstart, format: Format) -> Result<(), Failure> {
    let dir = dir(flags.dir)?;
    let notices = files::prepare(&dir, flags.listen)?;
    let config = folder::load(&dir)?;
    let stop = Stop::on_signals()?;
    let gateway = Gateway::bind(dir, config, flags.listen)
        .await
        .map_err(|failure| hint(failure, flags.listen))?;
    let running = gateway.start(&stop.token)?;
    out::say(&format!("countersign: listening on {}", gateway.url()));
    tokio::select! {
        guide = guide::Guide::of(&gateway, &running, notices) => {
            // Whoever does not read the guide to its end still wants the gateway, and its children want an end in order.
            if let Err(failure) = out::emit(format, &guide.json(), || guide.text()) {
                tracing::debug!(?failure, "the guide was not read");
            }
        }
        () = stop.token.cancelled() => {}
    }
    gateway.serve(running, stop).await
}

fn dir(flag: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let dir = flag.or_else(folder::quickstart).ok_or_else(|| {
        Failure::configuration(
            "this user has no home folder to keep quickstart's files in",
            "name a folder with --dir",
        )
    })?;
    std::path::absolute(&dir).map_err(|error| {
        Failure::configuration(
            format_args!("`{}` cannot be used: {error}", dir.display()),
            "name another folder with --dir",
        )
    })
}

/// The most likely reason why a second start finds its address in use is that the first one still runs.
fn hint(failure: Failure, listen: Option<SocketAddr>) -> Failure {
    if listen.is_none() && matches!(failure, Failure::Failed(_)) {
        out::say(
            "countersign: is another quickstart still running? Its folder is set up for one address, which clients know.",
        );
    }
    failure
}
