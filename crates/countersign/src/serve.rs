//! `countersign serve` and `countersign stdio`.

use crate::args::{Serve, Stdio};
use crate::failure::Failure;
use crate::folder;
use crate::gateway::{self, Gateway, Stop};
use crate::out;

/// The gateway over HTTP.
pub(crate) async fn http(flags: Serve) -> Result<(), Failure> {
    let dir = folder::existing(flags.folder.config)?;
    let config = folder::load(&dir)?;
    let stop = Stop::on_signals()?;
    let gateway = Gateway::bind(dir, config, flags.listen).await?;
    let running = gateway.start(&stop.token)?;
    out::say(&format!("countersign: listening on {}", gateway.url()));
    gateway.serve(running, stop).await
}

/// The gateway for one client over stdin and stdout.
pub(crate) async fn stdio(flags: Stdio) -> Result<(), Failure> {
    let dir = folder::existing(flags.folder.config)?;
    let config = folder::load(&dir)?;
    let stop = Stop::on_signals()?;
    gateway::serve_stdio(dir, config, flags.toolset, stop).await
}
