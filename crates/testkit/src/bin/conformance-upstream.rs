//! The conformance fixture as a program: streamable HTTP with `--listen`, stdio without.

use std::sync::Arc;

use anyhow::Result;
use countersign_testkit::conformance::Fixture;
use countersign_testkit::listen::{Options, serve};
use rmcp::ServiceExt as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

#[tokio::main]
async fn main() -> Result<()> {
    let options = Options::from_args(std::env::args())?;
    let fixture = Fixture::new(options.era)?;
    let Some(address) = options.listen else {
        fixture.serve(rmcp::transport::stdio()).await?.waiting().await?;
        return Ok(());
    };
    let config = StreamableHttpServerConfig::default();
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(fixture.clone()), sessions, config);
    serve(address, axum::Router::new().nest_service("/mcp", service)).await
}
