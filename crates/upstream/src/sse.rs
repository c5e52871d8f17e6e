//! The HTTP+SSE transport of 2024-11-05: messages go out by POST and come in on one event stream.

use std::sync::Arc;

use countersign_core::server::Transport;
use http::Uri;
use http_body_util::{BodyExt, Limited};
use tokio::sync::mpsc;

use crate::connection::{Connection, Link as ConnectionLink, Whose};
use crate::duplex::{Inbox, Outbox};
use crate::ending::Ending;
use crate::exchange::Failure;
use crate::http::{Client, End, Link, Stream};

/// How much of an acknowledgement's body is read, in bytes.
const ACKNOWLEDGEMENT: usize = 64 * 1024;

/// Opens the stream and waits for the address that messages go to.
///
/// # Errors
/// Why there is none, without any secret.
pub(crate) async fn open(
    transport: &Transport,
    client: &Client,
    whose: Whose,
    limit: usize,
    ending: &Ending,
) -> Result<Arc<Connection>, String> {
    let (Transport::Sse { url, headers } | Transport::Http { url, headers }) = transport else {
        return Err("it is not an HTTP server".to_owned());
    };
    let link = Link::new(client, url, headers, limit)?;
    let response = link.get(None, None).await.map_err(Failure::reason)?;
    if !response.status().is_success() {
        return Err(format!("it answered HTTP {}", response.status().as_u16()));
    }
    let mut stream = Stream::new(response.into_body(), limit);
    let address = loop {
        match stream.next().await {
            Ok(event) if event.event.as_deref() == Some("endpoint") => break event.data,
            Ok(_) => {}
            Err(_end) => return Err("its event stream names no endpoint".to_owned()),
        }
    };
    let endpoint = resolved(link.uri(), address.trim())
        .ok_or_else(|| "the endpoint that it names is not an address of its own".to_owned())?;
    let (outbox, messages) = Outbox::new();
    let connection = Connection::new(whose, ConnectionLink::Duplex(outbox), ending);
    tokio::spawn(run(Arc::clone(&connection), link, endpoint, stream, messages));
    Ok(connection)
}

async fn run(connection: Arc<Connection>, link: Link, endpoint: Uri, stream: Stream, messages: mpsc::Receiver<String>) {
    let reason = tokio::select! {
        reason = read(&connection, stream) => Some(reason),
        reason = write(&link, &endpoint, messages) => Some(reason),
        () = connection.closed.cancelled() => None,
    };
    if let Some(reason) = reason {
        connection.broke(&reason);
    }
    connection.gone.cancel();
}

async fn read(connection: &Arc<Connection>, mut stream: Stream) -> String {
    let mut inbox = Inbox::new(Arc::clone(connection));
    loop {
        match stream.next().await {
            Ok(event) => {
                if let Err(reason) = inbox.take(&event.data) {
                    return reason;
                }
            }
            Err(End::Closed) => return "its event stream ended".to_owned(),
            Err(End::Unreadable(reason)) => return reason,
        }
    }
}

async fn write(link: &Link, endpoint: &Uri, mut messages: mpsc::Receiver<String>) -> String {
    while let Some(message) = messages.recv().await {
        let response = match link.post_to(endpoint.clone(), link.headers(None), message).await {
            Ok(response) => response,
            Err(failure) => return failure.reason(),
        };
        let status = response.status();
        Limited::new(response.into_body(), ACKNOWLEDGEMENT).collect().await.ok();
        if !status.is_success() {
            return format!("it answered HTTP {} to a message", status.as_u16());
        }
    }
    "the connection ended".to_owned()
}

/// The address of messages. It must be of the same origin: what the operator wrote down is trusted,
/// what a remote party names is not.
fn resolved(base: &Uri, named: &str) -> Option<Uri> {
    let (scheme, authority) = (base.scheme()?, base.authority()?);
    if named.contains("://") {
        let uri: Uri = named.parse().ok()?;
        return (uri.scheme() == Some(scheme) && uri.authority() == Some(authority)).then_some(uri);
    }
    if named.starts_with("//") || named.is_empty() {
        return None;
    }
    let path = if named.starts_with('/') {
        named.to_owned()
    } else {
        let folder = base.path().rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("{folder}/{named}")
    };
    Uri::builder()
        .scheme(scheme.clone())
        .authority(authority.clone())
        .path_and_query(path)
        .build()
        .ok()
}

#[cfg(test)]
mod tests;
