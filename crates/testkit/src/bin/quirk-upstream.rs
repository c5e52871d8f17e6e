//! The quirk server as a program: streamable HTTP with `--listen`, stdio without.

use std::sync::Arc;

use anyhow::Result;
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use countersign_testkit::listen::{Options, serve};
use countersign_testkit::quirk::{Quirk, Reply};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

#[tokio::main]
async fn main() -> Result<()> {
    let options = Options::from_args(std::env::args())?;
    let quirk = Arc::new(Quirk::new(options.era));
    match options.listen {
        Some(address) => serve(address, Router::new().route("/mcp", post(answer)).with_state(quirk)).await,
        None => stdio(&quirk).await,
    }
}

async fn stdio(quirk: &Quirk) -> Result<()> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut out = tokio::io::stdout();
    while let Some(line) = lines.next_line().await? {
        if let Reply::Message(message) = quirk.reply(&line, "{}") {
            out.write_all(format!("{message}\n").as_bytes()).await?;
            out.flush().await?;
        }
    }
    Ok(())
}

/// Counts a cancellation when the client closes the connection of a call that hangs.
struct GivenUp(Arc<Quirk>);

impl Drop for GivenUp {
    fn drop(&mut self) {
        self.0.note_cancel();
    }
}

async fn answer(State(quirk): State<Arc<Quirk>>, headers: HeaderMap, body: String) -> Response {
    match quirk.reply(&body, &mcp_headers(&headers)) {
        Reply::Message(message) => {
            let status = if message.contains(r#""code":-32022,"#) {
                StatusCode::BAD_REQUEST
            } else {
                StatusCode::OK
            };
            (status, [(header::CONTENT_TYPE, "application/json")], message).into_response()
        }
        Reply::Nothing => StatusCode::ACCEPTED.into_response(),
        Reply::Never => {
            let _given_up = GivenUp(Arc::clone(&quirk));
            std::future::pending().await
        }
    }
}

/// The headers of MCP, as a JSON object in the order of their names.
fn mcp_headers(headers: &HeaderMap) -> String {
    let mut found: Vec<String> = headers
        .iter()
        .filter(|(name, _)| name.as_str().starts_with("mcp-"))
        .filter_map(|(name, value)| {
            serde_json::to_string(value.to_str().ok()?)
                .ok()
                .map(|value| format!(r#""{name}":{value}"#))
        })
        .collect();
    found.sort();
    format!("{{{}}}", found.join(","))
}
