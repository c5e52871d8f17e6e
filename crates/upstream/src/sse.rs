//! The HTTP+SSE transport of 2024-11-05: messages go out by POST and come in on one event stream.

use std::sync::Arc;
use std::time::Duration;

use ::http::{StatusCode, Uri};
use countersign_core::server::Transport;
use http_body_util::{BodyExt, Limited};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::connect::Recipe;
use crate::connection::{Connection, Link as ConnectionLink, TAKEN};
use crate::duplex::{Inbox, Letter, Outbox};
use crate::exchange::{Failure, Unmade};
use crate::http::{self, End, Link, Piece, Stream};
use crate::text::shown;

/// How much of an acknowledgement's body is read, in bytes.
const ACKNOWLEDGEMENT: usize = 64 * 1024;
/// How many requests may wait at once for the server to accept them.
const POSTS: usize = 64;
/// How long one may take to be accepted.
const LONGEST: Duration = Duration::from_secs(600);

/// Opens the stream and waits for the address that messages go to.
///
/// # Errors
/// Why there is none, without any secret.
pub(crate) async fn open(recipe: &Recipe<'_>) -> Result<Arc<Connection>, Unmade> {
    let (Transport::Sse { url, headers } | Transport::Http { url, headers }) = recipe.transport else {
        return Err("it is not an HTTP server".to_owned().into());
    };
    let link = Link::new(recipe.way, url, headers, recipe.credential.clone())?;
    let response = link.get(None, None).await?;
    if !response.status().is_success() {
        return Err(format!("it answered HTTP {}", response.status().as_u16()).into());
    }
    let mut stream = Stream::passing_over(response.into_body(), recipe.way.limit);
    let address = loop {
        match stream.next().await {
            Ok(event) if event.event.as_deref() == Some("endpoint") => break event.data,
            Ok(_) => {}
            Err(_end) => return Err("its event stream names no endpoint".to_owned().into()),
        }
    };
    let endpoint = resolved(link.uri(), address.trim())
        .ok_or_else(|| "the endpoint that it names is not an address of its own".to_owned())?;
    let (outbox, messages) = Outbox::new();
    let connection = Connection::new(recipe.whose.clone(), ConnectionLink::Duplex(outbox), recipe.ending);
    tokio::spawn(run(Arc::clone(&connection), link, endpoint, stream, messages));
    Ok(connection)
}

async fn run(connection: Arc<Connection>, link: Link, endpoint: Uri, stream: Stream, messages: mpsc::Receiver<Letter>) {
    let post = Arc::new(Post { link, endpoint });
    let reason = tokio::select! {
        reason = read(&connection, stream) => Some(reason),
        reason = write(&connection, &post, messages) => Some(reason),
        () = connection.closed() => None,
    };
    if let Some(reason) = reason {
        connection.broke(&reason);
    }
    connection.gone.cancel();
}

async fn read(connection: &Arc<Connection>, mut stream: Stream) -> String {
    let mut inbox = Inbox::new(Arc::clone(connection));
    let limit = stream.limit();
    loop {
        let taken = match stream.piece().await {
            Ok(Piece::Event(event)) => inbox.take(&event.data),
            Ok(Piece::Cut(cut)) => inbox.too_large(limit, &cut),
            Err(End::Closed) => return "its event stream ended".to_owned(),
            Err(End::Unreadable(reason)) => return reason,
        };
        if let Err(reason) = taken {
            return reason;
        }
    }
}

/// Posts messages in their order. Requests are not waited for: a server may take its time to accept one, and that
/// must not hold up the others, nor the cancellation of that very one.
async fn write(connection: &Arc<Connection>, post: &Arc<Post>, mut messages: mpsc::Receiver<Letter>) -> String {
    let mut requests = JoinSet::new();
    loop {
        let letter = tokio::select! {
            letter = messages.recv(), if requests.len() < POSTS => letter,
            Some(posted) = requests.join_next() => match posted {
                Ok(Err(reason)) => return reason,
                Ok(Ok(())) | Err(_) => continue,
            },
        };
        let Some(letter) = letter else {
            return "the connection ended".to_owned();
        };
        let Some(id) = letter.request else {
            match tokio::time::timeout(TAKEN, post.send(letter.text)).await {
                Ok(Ok(())) => continue,
                Ok(Err(failure)) => return failure.reason(),
                Err(_elapsed) => return format!("it did not accept a message within {}", shown(TAKEN)),
            }
        };
        if connection.pending.waits(id) {
            let (connection, post) = (Arc::clone(connection), Arc::clone(post));
            requests.spawn(async move { request(&connection, &post, id, letter.text).await });
        }
    }
}

/// Posts one request.
///
/// # Errors
/// Why the connection is of no use any more.
async fn request(connection: &Connection, post: &Post, id: i64, text: String) -> Result<(), String> {
    // Whoever asked has given up long before; this only bounds what is kept of it.
    let failure = match tokio::time::timeout(LONGEST, post.send(text)).await {
        Ok(Ok(())) | Err(_) => return Ok(()),
        Ok(Err(failure)) => failure,
    };
    let gone = matches!(&failure, Failure::Refused { status, .. } if matches!(*status, StatusCode::NOT_FOUND | StatusCode::GONE));
    if gone {
        connection.pending.deliver(id, Err(Failure::SessionLost));
        return Err("it does not know the session any more".to_owned());
    }
    connection.pending.deliver(id, Err(failure));
    Ok(())
}

/// Where messages go.
#[derive(Debug)]
struct Post {
    link: Link,
    endpoint: Uri,
}

impl Post {
    async fn send(&self, text: String) -> Result<(), Failure> {
        let response = self.link.post_to(&self.endpoint, text).await?;
        let status = response.status();
        Limited::new(response.into_body(), ACKNOWLEDGEMENT).collect().await.ok();
        if status.is_success() {
            Ok(())
        } else {
            Err(http::refused(status))
        }
    }
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
