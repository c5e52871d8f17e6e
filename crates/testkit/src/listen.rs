//! The command line and the socket that the fixture programs share.

use std::io::Write as _;
use std::net::SocketAddr;

use anyhow::{Context as _, bail};

use crate::conformance::Era;

/// What a fixture program was asked to do.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where to listen; `None`: serve one client on stdin and stdout.
    pub listen: Option<SocketAddr>,
    /// Which protocol family to speak.
    pub era: Era,
}

impl Options {
    /// The options of the command line: `[--listen 127.0.0.1:PORT] [--era legacy|modern|both]`.
    ///
    /// # Errors
    /// For an unknown flag or a bad value.
    pub fn from_args(args: impl Iterator<Item = String>) -> anyhow::Result<Self> {
        let mut options = Self {
            listen: None,
            era: Era::Both,
        };
        let mut args = args.skip(1);
        while let Some(flag) = args.next() {
            let value = args.next().with_context(|| format!("`{flag}` wants a value"))?;
            match flag.as_str() {
                "--listen" => options.listen = Some(value.parse().with_context(|| format!("`{value}` is no address"))?),
                "--era" => options.era = Era::from_word(&value)?,
                other => bail!("unknown flag `{other}`; known: --listen, --era"),
            }
        }
        Ok(options)
    }
}

/// Binds, prints `listening on http://ADDRESS/mcp` on standard output and serves until the process ends.
///
/// # Errors
/// When the address cannot be bound or the listener fails.
pub async fn serve(address: SocketAddr, router: axum::Router) -> anyhow::Result<()> {
    use axum::serve::ListenerExt as _;
    let listener = tokio::net::TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address}"))?;
    let bound = listener.local_addr()?;
    writeln!(std::io::stdout(), "listening on http://{bound}/mcp")?;
    // Small answers must not wait for Nagle's algorithm.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    axum::serve(listener, router).await?;
    Ok(())
}
