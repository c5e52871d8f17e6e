//! `POST /mcp`: one message or batch of either era, from bytes to response.

use std::sync::Arc;

use countersign_wire::outline::Outline;
use countersign_wire::rpc::{self, Body as Parsed, Fault, Message};
use countersign_wire::version::{Era, Version};
use countersign_wire::{codes, headers as wire_headers, meta};
use http::header::EXPECT;
use http::{HeaderMap, HeaderValue, Request as HttpRequest, Response, StatusCode};
use hyper::body::Incoming;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use super::body::{self, Body, Unread, Waits};
use super::headers::{self, Accepts, Read};
use super::{Connection, MESSAGES, admission, drive, reply};
use crate::answer::Answer;
use crate::auth::Admitted;
use crate::dispatch::{self, Asking, Reply, Request, shown};
use crate::method::Method;
use crate::metrics::SessionEnd;
use crate::running::Finished;
use crate::session::Session;
use crate::sessions::{self, Limits};
use crate::settings::InForce;
use crate::speaker::{Speaker, Stateless};
use crate::surfaces::Surfaces;

/// How many messages one batch may hold.
const BATCH: usize = 100;

/// One POST, its headers read.
struct Post<'r> {
    connection: &'r Arc<Connection>,
    in_force: Arc<InForce>,
    admitted: Admitted,
    headers: &'r HeaderMap,
    read: Read<'r>,
    accepts: Accepts,
    surfaces: Surfaces,
}

/// Answers one POST.
pub(super) async fn answer(
    connection: &Arc<Connection>,
    in_force: Arc<InForce>,
    request: HttpRequest<Incoming>,
) -> Response<Body> {
    let (parts, incoming) = request.into_parts();
    let admitted = match admission::admit(connection, &in_force, &parts.method, &parts.headers).await {
        Ok(admitted) => admitted,
        Err(response) => return *response,
    };
    let post = match Post::read(connection, in_force, admitted, &parts.headers) {
        Ok(post) => post,
        Err(response) => return *response,
    };
    let limit = post.in_force.settings.request_bytes;
    let waits = if parts.headers.contains_key(EXPECT) {
        Waits::Yes
    } else {
        Waits::No
    };
    let bytes = match body::read(incoming, (limit, waits), &connection.alarm).await {
        Ok(bytes) => bytes,
        Err(unread) => return unread_answer(unread, limit, &parts.headers),
    };
    match rpc::outlined(&bytes) {
        Ok((Parsed::One(message), outline)) => post.one(message, &outline).await,
        Ok((Parsed::Batch(messages), outline)) => Box::pin(post.batch(messages, &outline)).await,
        Err(fault) => reply::json(StatusCode::BAD_REQUEST, fault.render()),
    }
}

fn unread_answer(unread: Unread, limit: usize, headers: &HeaderMap) -> Response<Body> {
    match unread {
        Unread::TooLarge => {
            let message = format!("the request body is larger than `limits.request_bytes` ({limit} bytes)");
            reply::error(StatusCode::PAYLOAD_TOO_LARGE, &message)
        }
        Unread::TooSlow => reply::error(StatusCode::REQUEST_TIMEOUT, "the request body took too long to arrive"),
        Unread::Broken => {
            tracing::debug!(
                expects = headers.contains_key(EXPECT),
                "a client went away in the middle of its request"
            );
            reply::error(StatusCode::BAD_REQUEST, "the request body ended early")
        }
    }
}

type Refusal = Box<Response<Body>>;

impl<'r> Post<'r> {
    fn read(
        connection: &'r Arc<Connection>,
        in_force: Arc<InForce>,
        admitted: Admitted,
        headers: &'r HeaderMap,
    ) -> Result<Self, Refusal> {
        let refuse = |status: StatusCode, message: &str| Box::new(reply::error(status, message));
        if let Some(message) = headers::unreadable(headers) {
            return Err(refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
        }
        let accepts = Accepts::of(headers);
        if !accepts.json && !accepts.events {
            let message = "header `accept` must allow `application/json` or `text/event-stream`";
            return Err(refuse(StatusCode::NOT_ACCEPTABLE, message));
        }
        let read = Read::of(headers).map_err(|message| refuse(StatusCode::BAD_REQUEST, &message))?;
        let surfaces = match read.surface {
            None => in_force.surfaces,
            Some(named) => Surfaces::parse(named).map_err(|message| refuse(StatusCode::BAD_REQUEST, &message))?,
        };
        Ok(Self {
            connection,
            in_force,
            admitted,
            headers,
            read,
            accepts,
            surfaces,
        })
    }

    async fn one(&self, message: Message<'_>, outline: &Outline<'_>) -> Response<Body> {
        match message {
            Message::Request { id, method, params } => {
                let request = match Request::read(id, &method, params, outline) {
                    Ok(request) => request,
                    Err(fault) => return reply::json(StatusCode::BAD_REQUEST, fault.render()),
                };
                self.request(&request).await
            }
            Message::Notification { method, params } => self.notification(&method, params),
            Message::Response { id, outcome } => self.response(id, outcome),
        }
    }

    async fn request(&self, request: &Request<'_>) -> Response<Body> {
        let says_modern = request.meta.version.is_some();
        if request.method == "initialize" && !says_modern {
            return self.initialize(request);
        }
        if says_modern || self.read.is_modern() || Method::is_modern_only(request.method) {
            return self.modern(request).await;
        }
        match self.session(Some(request.id)) {
            Ok(session) => self.dispatch(request, Speaker::Session(session)).await,
            Err(response) => *response,
        }
    }

    /// A request of 2026-07-28. A session header means nothing here.
    async fn modern(&self, request: &Request<'_>) -> Response<Body> {
        let checked = match &request.meta.version {
            Some(version) => wire_headers::check_read(self.read.seen, version, request.method, &request.params),
            None => Ok(()),
        };
        match checked.and_then(|()| Stateless::read(&request.meta, None)) {
            Ok(stateless) => self.dispatch(request, Speaker::Stateless(Arc::new(stateless))).await,
            Err(fault) => reply::json(StatusCode::BAD_REQUEST, fault.of(request.id).render()),
        }
    }

    async fn dispatch(&self, request: &Request<'_>, speaker: Speaker) -> Response<Body> {
        // Parameters are mirrored into headers by callers of 2026-07-28 only.
        let headers = (speaker.era() == Era::Modern).then_some(self.headers);
        let asking = self.asking(speaker);
        match dispatch::answer(&asking, request, headers).await {
            Reply::Now(answer) => reply::answer(answer, self.accepts),
            Reply::Listed(listed) => reply::listed(listed, self.accepts),
            Reply::Running(running) => drive::answer(*running, self.accepts, &self.connection.alarm).await,
            Reply::Listen(listen) => {
                if !self.accepts.events {
                    let message = "`subscriptions/listen` is answered as `text/event-stream` only";
                    return reply::fault(StatusCode::NOT_ACCEPTABLE, Some(request.id), message);
                }
                let (sender, messages) = mpsc::channel(MESSAGES);
                // The task ends with its caller or with the gateway.
                drop(tokio::spawn(listen.run(sender, self.connection.stop.clone())));
                let end = self.connection.shared.credentials.streams.enter(&self.admitted);
                reply::events(messages, self.in_force.settings.heartbeat, end)
            }
        }
    }

    fn asking(&self, speaker: Speaker) -> Asking {
        Asking {
            shared: Arc::clone(&self.connection.shared),
            in_force: Arc::clone(&self.in_force),
            caller: self.read.narrowed(self.admitted.caller()),
            surfaces: self.surfaces,
            speaker,
        }
    }

    /// The session that the request names, if it is this caller's.
    fn session(&self, id: Option<&str>) -> Result<Arc<Session>, Refusal> {
        let refuse = |status: StatusCode, message: &str| Box::new(reply::fault(status, id, message));
        if let Some(version) = self.read.seen.version {
            let is_served = Version::parse(version).is_some_and(|version| Version::SERVED.contains(&version));
            if !is_served {
                let fault = Fault {
                    code: codes::INVALID_REQUEST,
                    id: id.map(str::to_owned),
                    ..meta::unsupported(&shown(version))
                };
                return Err(Box::new(reply::json(StatusCode::BAD_REQUEST, fault.render())));
            }
        }
        let Some(named) = self.read.session else {
            let message = "header `mcp-session-id` is missing: send `initialize` first, or the metadata of 2026-07-28";
            return Err(refuse(StatusCode::BAD_REQUEST, message));
        };
        let session = self.connection.session(named, "POST", &self.admitted.caller());
        session.ok_or_else(|| refuse(StatusCode::NOT_FOUND, "session not found: send `initialize` again"))
    }

    fn initialize(&self, request: &Request<'_>) -> Response<Body> {
        let shared = &self.connection.shared;
        if self.read.session.is_some() {
            tracing::info!("`initialize` came with a session id; the id is ignored and a new session opened");
        }
        let opening = match dispatch::initialize(&self.in_force, self.surfaces, request) {
            Ok(opening) => opening,
            Err(fault) => return reply::answer(Answer::fault(Version::NEWEST_LEGACY, request.id, fault), self.accepts),
        };
        let Some(id) = sessions::fresh_id() else {
            return reply::busy(request.id, "the system gives no random numbers for a session id");
        };
        let session = Session::new(id, &self.admitted.caller(), opening.version, opening.abilities);
        let settings = &self.in_force.settings;
        let limits = Limits {
            total: settings.sessions,
            per_principal: settings.sessions_per_principal,
            idle: settings.session_idle_timeout,
        };
        let (session, evicted) = match shared.sessions.open(session, limits) {
            Ok(opened) => opened,
            Err(full) => return reply::busy(request.id, &full.to_string()),
        };
        for old in evicted {
            shared.end_session(&old);
            let reason = "least recently used, and a new session needed its place";
            shared.note_end(&old, "initialize", SessionEnd::Evicted, reason);
        }
        let mut response = reply::answer(Answer::result(request.id, &opening.result), self.accepts);
        if let Ok(id) = HeaderValue::from_str(&session.id) {
            response.headers_mut().insert(headers::SESSION, id);
        }
        response
    }

    fn notification(&self, method: &str, params: Option<&RawValue>) -> Response<Body> {
        let meta = match meta::read(params) {
            Ok(meta) => meta,
            Err(fault) => return reply::json(StatusCode::BAD_REQUEST, fault.render()),
        };
        if meta.version.is_some() || self.read.is_modern() {
            let version = meta.version.as_deref().or(self.read.seen.version).unwrap_or_default();
            // Over HTTP a modern call is taken back by closing its stream, so that nothing is left to do.
            return match wire_headers::check(self.read.seen, version, method, params) {
                Ok(()) => reply::accepted(),
                Err(fault) => reply::json(StatusCode::BAD_REQUEST, fault.render()),
            };
        }
        match self.session(None) {
            Ok(session) => {
                dispatch::notice(&session.calls, method, params);
                reply::accepted()
            }
            Err(response) => *response,
        }
    }

    fn response(&self, id: &RawValue, outcome: Result<&RawValue, &RawValue>) -> Response<Body> {
        if self.read.is_modern() {
            return reply::error(
                StatusCode::BAD_REQUEST,
                "2026-07-28 has no requests to clients, so none can be answered",
            );
        }
        match self.session(None) {
            Ok(session) => {
                if !session.reply(id.get(), outcome) {
                    tracing::debug!("an answer came that nobody awaits");
                }
                reply::accepted()
            }
            Err(response) => *response,
        }
    }

    /// A batch of 2025-03-26: answered in one array. What servers say meanwhile cannot stand in it.
    async fn batch(&self, messages: Vec<Message<'_>>, outline: &Outline<'_>) -> Response<Body> {
        let session = match self.session(None) {
            Ok(session) if rpc::has_batches(session.version) => session,
            Ok(_) => return reply::error(StatusCode::BAD_REQUEST, "the session's protocol version has no batches"),
            Err(response) => return *response,
        };
        if messages.len() > BATCH {
            return reply::error(
                StatusCode::BAD_REQUEST,
                &format!("a batch may hold at most {BATCH} messages"),
            );
        }
        let speaker = Speaker::Session(Arc::clone(&session));
        let asking = self.asking(speaker);
        let answers = futures_util::future::join_all(
            messages
                .into_iter()
                .map(|message| self.batched(&asking, &session, message, outline)),
        );
        let texts: Vec<String> = answers.await.into_iter().flatten().map(|answer| answer.text).collect();
        if texts.is_empty() {
            reply::accepted()
        } else {
            reply::json(StatusCode::OK, format!("[{}]", texts.join(",")))
        }
    }

    async fn batched(
        &self,
        asking: &Asking,
        session: &Session,
        message: Message<'_>,
        outline: &Outline<'_>,
    ) -> Finished {
        match message {
            Message::Request { id, method, params } => {
                let request = match Request::read(id, &method, params, outline) {
                    Ok(request) => request,
                    Err(fault) => return Some(Answer::fault(session.version, id.get(), fault)),
                };
                match dispatch::answer(asking, &request, None).await {
                    Reply::Now(answer) => Some(answer),
                    Reply::Listed(listed) => Some(listed.whole()),
                    Reply::Running(running) => drive::last(*running).await,
                    Reply::Listen(_) => None,
                }
            }
            Message::Notification { method, params } => {
                dispatch::notice(&session.calls, &method, params);
                None
            }
            Message::Response { id, outcome } => {
                session.reply(id.get(), outcome);
                None
            }
        }
    }
}
