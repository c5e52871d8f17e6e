//! The HTTP listeners: connections taken in, served and ended.

mod admission;
mod alarm;
mod bell;
mod bindings;
mod body;
mod drive;
mod form;
mod headers;
mod lanes;
mod page;
mod post;
mod reply;
mod routes;
mod sign_in;
mod streams;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use countersign_core::principal::Caller;
use countersign_engine::Refused;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use self::alarm::{Alarm, HeadTimer};
use self::bell::Ringing;
use self::lanes::Lanes;
use crate::guard::Own;
use crate::notify;
use crate::session::Session;
use crate::sessions;
use crate::shared::Shared;

/// How long a client may take for the head of its next request. Idle connections end by it too, so it is
/// longer than clients keep theirs.
const HEAD_TIMEOUT: Duration = Duration::from_secs(300);

/// How long calls under way have to end when the gateway stops.
const GRACE: Duration = Duration::from_secs(10);

/// How many bytes of a request's head are taken in.
const HEAD_BYTES: usize = 96 * 1024;

/// How many messages wait for a client that reads slowly.
const MESSAGES: usize = 64;

/// One connection, as its requests see it.
#[derive(Debug)]
struct Connection {
    shared: Arc<Shared>,
    own: Own,
    routes: Routes,
    stop: CancellationToken,
    alarm: Arc<Alarm>,
    /// The address at which the connection reached the listener.
    reached: SocketAddr,
    /// The other end of the connection.
    peer: SocketAddr,
}

impl Connection {
    /// The session of that id, if it is this caller's at this endpoint; if not, the trail has it.
    fn session(&self, id: &str, method: &str, caller: &Caller) -> Option<Arc<Session>> {
        let session = self.shared.sessions.find(id, caller);
        if session.is_none() {
            self.shared.engine.note(Refused {
                principal: caller.principal.key().to_string(),
                kind: "session_refused",
                method: method.to_owned(),
                subject: "session".to_owned(),
                reason: "no session of this principal at this endpoint has the id".to_owned(),
            });
        }
        session
    }

    /// Puts it into the trail that a stream was asked for which this session does not have.
    fn note_unknown_event(&self, session: &Session) {
        tracing::info!("a stream cannot be taken up again; its client gets a fresh one");
        self.shared.engine.note(Refused {
            principal: session.principal.to_string(),
            kind: "stream_refused",
            method: "GET".to_owned(),
            subject: "last-event-id".to_owned(),
            reason: "no stream of this session that is still kept has the event".to_owned(),
        });
    }
}

/// Which routes a listener has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Routes {
    /// `/mcp` and the probes.
    Main,
    /// `/metrics`
    Metrics,
    /// The pages for people alone.
    People,
}

/// Serves until `stop`.
pub(crate) async fn serve(
    shared: &Arc<Shared>,
    listener: TcpListener,
    metrics: Option<TcpListener>,
    stop: CancellationToken,
) -> io::Result<()> {
    let open = Arc::clone(shared);
    let pump = notify::pump(
        Arc::clone(shared),
        shared.engine.changes(),
        move || open.sessions.all(),
        stop.clone(),
    );
    let pump = tokio::spawn(pump);
    let expiry = tokio::spawn(sessions::expire(Arc::clone(shared), stop.clone()));
    // They end when this is over: after the connections, and after the calls that are parked.
    let lanes = Lanes::start()?;
    let main = accept(shared, &lanes, (listener, Routes::Main), &stop);
    match metrics {
        Some(metrics) => {
            let (main, metrics) = tokio::join!(main, accept(shared, &lanes, (metrics, Routes::Metrics), &stop));
            main.and(metrics)?;
        }
        None => main.await?,
    }
    pump.abort();
    expiry.abort();
    shared.parking.end(GRACE).await;
    Ok(())
}

/// Serves the pages for people, and nothing else, until `stop`.
pub(crate) async fn serve_people(
    shared: &Arc<Shared>,
    listener: TcpListener,
    stop: CancellationToken,
) -> io::Result<()> {
    let lanes = Lanes::start()?;
    accept(shared, &lanes, (listener, Routes::People), &stop).await
}

async fn accept(
    shared: &Arc<Shared>,
    lanes: &Lanes,
    (listener, routes): (TcpListener, Routes),
    stop: &CancellationToken,
) -> io::Result<()> {
    let address = listener.local_addr()?;
    // Every connection holds a sender; when the last one is gone the receiver knows.
    let (alive, mut ended) = mpsc::channel::<Infallible>(1);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                let connection = connection(shared, &stream, (address, peer), routes, stop);
                let alive = alive.clone();
                let serving = lanes.serve(stream, |stream| async move {
                    serve_connection(Arc::new(connection), stream).await;
                    drop(alive);
                });
                if let Err(error) = serving {
                    tracing::warn!(%error, "a connection could not be taken in");
                }
            }
            Err(error) => {
                // Out of descriptors, or a client that is gone already: neither ends the listener.
                tracing::warn!(%error, "a connection could not be taken in");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    drop((listener, alive));
    let sessions = shared.sessions.all();
    if routes == Routes::Main && !sessions.is_empty() {
        tracing::info!(sessions = sessions.len(), "sessions end because the gateway stops");
    }
    for session in sessions {
        session.close_stream();
    }
    if tokio::time::timeout(GRACE, ended.recv()).await.is_err() {
        tracing::warn!("connections that did not end in time are dropped");
    }
    Ok(())
}

fn connection(
    shared: &Arc<Shared>,
    stream: &TcpStream,
    (listener, peer): (SocketAddr, SocketAddr),
    routes: Routes,
    stop: &CancellationToken,
) -> Connection {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY cannot be set");
    }
    let reached = stream.local_addr().unwrap_or(listener);
    Connection {
        shared: Arc::clone(shared),
        own: Own::of(reached),
        routes,
        stop: stop.clone(),
        alarm: Arc::default(),
        reached,
        peer,
    }
}

async fn serve_connection(connection: Arc<Connection>, stream: TcpStream) {
    let stop = connection.stop.clone();
    let timer = HeadTimer(Arc::clone(&connection.alarm));
    let service = service_fn(move |request| {
        let connection = Arc::clone(&connection);
        async move { Ok::<_, Infallible>(routes::answer(&connection, request).await) }
    });
    let serving = http1::Builder::new()
        .timer(timer)
        .header_read_timeout(HEAD_TIMEOUT)
        // Its limit of headers is left as it is, `headers::COUNT`: one that is set makes it fill its tables anew
        // for every request.
        .max_header_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut serving = Ringing::new(Box::pin(serving));
    let ended = tokio::select! {
        biased;
        ended = &mut serving => ended,
        () = stop.cancelled() => {
            serving.get_mut().as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
