//! From an entry to a connection whose handshake is done: the era is probed, then settled.

mod handshake;

use std::sync::Arc;
use std::time::Duration;

use countersign_core::server::Transport;
use countersign_wire::version::Era;
use tokio::time::Instant;

use crate::auth::Credential;
use crate::connection::{Connection, Link, Whose};
use crate::ending::Ending;
use crate::exchange::Unmade;
use crate::http::{Link as HttpLink, Way};
use crate::text::shown;
use crate::{sse, stdio, watch};
use handshake::{Initialized, Probed, Refused, initialize, probe};

/// How long a session may take to be deleted at the server.
const FAREWELL: Duration = Duration::from_secs(2);

/// What a connection is made from.
#[derive(Debug)]
pub(crate) struct Recipe<'a> {
    /// How the server is reached.
    pub(crate) transport: &'a Transport,
    /// Whose connection it becomes.
    pub(crate) whose: Whose,
    /// The era that the server spoke before; `None` before the first time.
    pub(crate) era: Option<Era>,
    /// How it is reached over HTTP.
    pub(crate) way: Way<'a>,
    /// What its requests are signed with, where the principal has a credential of its own.
    pub(crate) credential: Option<Credential>,
    /// How long everything may take.
    pub(crate) timeout: Duration,
    /// Ends what comes of it.
    pub(crate) ending: &'a Ending,
}

/// Connects.
///
/// # Errors
/// Why not, without any secret.
pub(crate) async fn connect(recipe: &Recipe<'_>) -> Result<Arc<Connection>, Unmade> {
    let work = async {
        match recipe.transport {
            Transport::Stdio { .. } => over_pipes(recipe).await.map_err(Unmade::from),
            Transport::Http { .. } => over_http(recipe).await,
            Transport::Sse { .. } => over_sse(recipe).await,
        }
    };
    let connection = tokio::time::timeout(recipe.timeout, work)
        .await
        .map_err(|_elapsed| format!("it did not answer within {}", shown(recipe.timeout)))??;
    watch::begin(&connection);
    Ok(connection)
}

/// A connection whose handshake is under way; dropped before it is done, it ends.
struct Fresh(Option<Arc<Connection>>);

impl Fresh {
    fn of(connection: Arc<Connection>) -> Self {
        Self(Some(connection))
    }

    fn done(mut self) -> Result<Arc<Connection>, String> {
        self.0.take().ok_or_else(|| "the connection ended".to_owned())
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        if let Some(connection) = self.0.take() {
            connection.end("the handshake was not completed");
        }
    }
}

async fn over_pipes(recipe: &Recipe<'_>) -> Result<Arc<Connection>, String> {
    let begun = Instant::now();
    if recipe.era == Some(Era::Legacy) {
        let (connection, fresh) = child(recipe)?;
        return settled(initialize(&connection, recipe.timeout).await, fresh);
    }
    let (first, fresh) = child(recipe)?;
    let mut probing = Box::pin(probe(&first, recipe.timeout));
    let probed = match tokio::time::timeout(recipe.timeout / 3, &mut probing).await {
        Ok(probed) => probed,
        // A slow start and a server that says nothing more look alike, so a second child is asked the
        // other question; whichever answers first is kept.
        Err(_elapsed) => {
            let (second, fresh_second) = child(recipe)?;
            let mut initializing = Box::pin(initialize(&second, rest(recipe, begun)));
            tokio::select! {
                done = &mut initializing => return settled(done, fresh_second),
                probed = &mut probing => match probed {
                    Probed::Modern(facts) => Probed::Modern(facts),
                    Probed::Legacy | Probed::Silent(_) | Probed::Unusable(_) | Probed::SignIn(_) => {
                        drop(fresh);
                        return settled(initializing.await, fresh_second);
                    }
                },
            }
        }
    };
    match probed {
        Probed::Modern(facts) => {
            first.settle(facts);
            return fresh.done();
        }
        // It said no and lives: the same child takes `initialize`.
        Probed::Legacy if !first.closed.is_cancelled() => {
            let done = initialize(&first, rest(recipe, begun)).await;
            if done.is_ok() || !first.closed.is_cancelled() {
                return settled(done, fresh);
            }
        }
        Probed::Unusable(reason) | Probed::SignIn(reason) => return Err(reason),
        // Some servers of the legacy era end when the first message is not `initialize`: that child
        // was thrown away, and the next one gets what it expects.
        Probed::Legacy | Probed::Silent(_) => {}
    }
    drop(fresh);
    let (connection, fresh) = child(recipe)?;
    settled(initialize(&connection, rest(recipe, begun)).await, fresh)
}

fn child(recipe: &Recipe<'_>) -> Result<(Arc<Connection>, Fresh), String> {
    let connection = stdio::start(recipe.transport, recipe.whose.clone(), recipe.way.limit, recipe.ending)?;
    let fresh = Fresh::of(Arc::clone(&connection));
    Ok((connection, fresh))
}

fn settled(done: Result<Initialized, Refused>, fresh: Fresh) -> Result<Arc<Connection>, String> {
    match done {
        Ok(Initialized) => fresh.done(),
        Err(refused) => Err(refused.into_reason()),
    }
}

async fn over_http(recipe: &Recipe<'_>) -> Result<Arc<Connection>, Unmade> {
    let Transport::Http { url, headers } = recipe.transport else {
        return Err("it is not an HTTP server".to_owned().into());
    };
    let begun = Instant::now();
    let link = HttpLink::new(recipe.way, url, headers, recipe.credential.clone())?;
    let connection = Connection::new(recipe.whose.clone(), Link::Http(Box::new(link)), recipe.ending);
    recipe.ending.spawn(farewell(Arc::clone(&connection)));
    let fresh = Fresh::of(Arc::clone(&connection));
    if recipe.era != Some(Era::Legacy) {
        match probe(&connection, recipe.timeout / 2).await {
            Probed::Modern(facts) => {
                connection.settle(facts);
                return Ok(fresh.done()?);
            }
            Probed::Unusable(reason) => return Err(reason.into()),
            Probed::SignIn(reason) => return Err(Unmade::SignIn(reason)),
            Probed::Legacy | Probed::Silent(_) => {}
        }
    }
    match initialize(&connection, rest(recipe, begun)).await {
        Ok(Initialized) => Ok(fresh.done()?),
        // A.4 of the MCP notes: a server of 2024-11-05 knows no POST at this address.
        Err(refused) if refused.is_no_such_endpoint() => {
            drop(fresh);
            over_sse(recipe).await.map_err(|_reason| refused.into_unmade())
        }
        Err(refused) => Err(refused.into_unmade()),
    }
}

async fn over_sse(recipe: &Recipe<'_>) -> Result<Arc<Connection>, Unmade> {
    let begun = Instant::now();
    let connection = sse::open(recipe).await?;
    let fresh = Fresh::of(Arc::clone(&connection));
    match initialize(&connection, rest(recipe, begun)).await {
        Ok(Initialized) => Ok(fresh.done()?),
        Err(refused) => Err(refused.into_unmade()),
    }
}

fn rest(recipe: &Recipe<'_>, begun: Instant) -> Duration {
    recipe.timeout.saturating_sub(begun.elapsed())
}

/// Deletes the session at the server when the connection ends.
async fn farewell(connection: Arc<Connection>) {
    connection.closed().await;
    if let Link::Http(link) = &connection.link
        && link.has_session()
        && tokio::time::timeout(FAREWELL, link.delete(connection.version()))
            .await
            .is_err()
    {
        tracing::debug!(server = %connection.server, "the session could not be deleted in time");
    }
    connection.gone.cancel();
}
