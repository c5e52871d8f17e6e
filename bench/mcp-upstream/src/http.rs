//! The server over streamable HTTP.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bench_common::proto::{self, Era, Message, code};
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Body, Frame, Incoming, SizeHint},
    header::{self, HeaderMap, HeaderName, HeaderValue},
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;

use crate::{
    HttpArgs,
    handler::{Handler, Parts, Reply},
    questions::{Questions, Waiting},
    sessions::Sessions,
};

const MAX_BODY: usize = 16 * 1024 * 1024;
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const SSE: HeaderValue = HeaderValue::from_static("text/event-stream");
const KEEP_ALIVE: Duration = Duration::from_secs(15);

struct State {
    handler: Handler,
    sessions: Sessions,
    questions: Questions,
    args: HttpArgs,
}

/// Serves `args.servers` servers on consecutive ports, each with tools of its own.
pub(crate) async fn serve(args: HttpArgs) -> anyhow::Result<()> {
    let mut servers = tokio::task::JoinSet::new();
    for number in 0..args.servers {
        let mut listen = args.listen;
        listen.set_port(listen.port() + number);
        let listener = TcpListener::bind(listen).await?;
        let first = usize::from(number) * args.common.tools;
        let state = Arc::new(State {
            handler: args.common.handler(first),
            sessions: Sessions::new(args.max_sessions),
            questions: Questions::default(),
            args: args.clone(),
        });
        servers.spawn(accept(listener, state));
    }
    eprintln!(
        "mcp-upstream: {} servers with {} tools each, the first on http://{}{}",
        args.servers, args.common.tools, args.listen, args.path
    );
    while let Some(ended) = servers.join_next().await {
        ended?;
    }
    Ok(())
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    loop {
        let (stream, _) = match listener.accept().await {
            Ok(s) => s,
            Err(e) => {
                eprintln!("mcp-upstream: accept: {e}");
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            }
        };
        // A connection without it is slower, not wrong.
        let _ = stream.set_nodelay(true);
        let state = state.clone();
        tokio::spawn(async move {
            let service = service_fn(|req| {
                let state = &state;
                async move { Ok::<_, Infallible>(route(state, req).await) }
            });
            // A client that goes away is no concern of the server's.
            let _ = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .pipeline_flush(true)
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn route(state: &State, req: Request<Incoming>) -> Response<Out> {
    let path = req.uri().path();
    if path == "/health" {
        return plain(StatusCode::OK, "ok");
    }
    if path != state.args.path {
        return plain(StatusCode::NOT_FOUND, "not found");
    }
    if !origin_is_local(req.headers()) {
        return plain(StatusCode::FORBIDDEN, "origin not allowed");
    }
    match *req.method() {
        Method::POST => post(state, req).await,
        Method::DELETE => match session_header(req.headers()) {
            Some(id) if state.sessions.remove(id) => plain(StatusCode::NO_CONTENT, ""),
            Some(_) => plain(StatusCode::NOT_FOUND, "unknown session"),
            None => plain(StatusCode::METHOD_NOT_ALLOWED, ""),
        },
        Method::GET if state.args.get_stream => {
            let mut r = Response::new(Out::KeepAlive(Box::pin(tokio::time::sleep(KEEP_ALIVE))));
            r.headers_mut().insert(header::CONTENT_TYPE, SSE);
            r
        }
        _ => {
            let mut r = plain(StatusCode::METHOD_NOT_ALLOWED, "");
            let allow = HeaderValue::from_static("POST, DELETE");
            r.headers_mut().insert(header::ALLOW, allow);
            r
        }
    }
}

async fn post(state: &State, req: Request<Incoming>) -> Response<Out> {
    let (head, body) = req.into_parts();
    let Ok(body) = Limited::new(body, MAX_BODY).collect().await else {
        return plain(StatusCode::PAYLOAD_TOO_LARGE, "body too large");
    };
    let body = body.to_bytes();
    let Ok(msg) = serde_json::from_slice::<Message<'_>>(&body) else {
        let reply = Reply::error(400, None, code::PARSE, "Parse error");
        return respond(reply, false, None);
    };

    let headers = &head.headers;
    let version = headers.get(proto::HDR_VERSION).and_then(|v| v.to_str().ok());
    let era = match msg.method.as_deref() {
        Some("initialize") => Era::Legacy,
        _ => Handler::era(version),
    };
    let is_initialize = era == Era::Legacy && msg.method.as_deref() == Some("initialize");

    if era == Era::Modern {
        if let Err(text) = check_headers(headers, version, &msg) {
            let reply = Reply::error(400, msg.id, code::HEADER_MISMATCH, &text);
            return respond(reply, false, None);
        }
    } else if !state.args.no_sessions && !is_initialize {
        match session_header(headers) {
            None => return plain(StatusCode::BAD_REQUEST, "missing Mcp-Session-Id"),
            Some(id) if !state.sessions.contains(id) => {
                return plain(StatusCode::NOT_FOUND, "unknown session");
            }
            Some(_) => {}
        }
    }

    if msg.method.is_none() && msg.id.is_some_and(|id| state.questions.answered(id)) {
        return plain(StatusCode::ACCEPTED, "");
    }
    let mut reply = state.handler.handle(&msg, era);
    if reply.asks
        && let Some(message) = reply.message.take()
    {
        return ask(state, message);
    }
    let session = if reply.initialized && !state.args.no_sessions {
        match state.sessions.create() {
            Some(id) => Some(id),
            None => return plain(StatusCode::SERVICE_UNAVAILABLE, "too many sessions"),
        }
    } else {
        None
    };
    if !reply.delay.is_zero() {
        tokio::time::sleep(reply.delay).await;
    }
    let sse = state.args.sse || wants_only_sse(headers);
    respond(reply, sse, session)
}

/// A stream that asks, and ends with the message when the answer is there.
fn ask(state: &State, message: Parts) -> Response<Out> {
    let (question, waiting) = state.questions.ask();
    let mut r = Response::new(Out::Ask {
        question: Some(question),
        waiting,
        message: Some(message),
    });
    r.headers_mut().insert(header::CONTENT_TYPE, SSE);
    r
}

fn respond(reply: Reply, sse: bool, session: Option<HeaderValue>) -> Response<Out> {
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let Some(message) = reply.message else {
        return plain(status, "");
    };
    let (out, content_type) = if sse && status == StatusCode::OK {
        (Out::event(message), SSE)
    } else {
        (Out::json(message), JSON)
    };
    let mut r = Response::new(out);
    *r.status_mut() = status;
    r.headers_mut().insert(header::CONTENT_TYPE, content_type);
    if let Some(id) = session {
        r.headers_mut().insert(HeaderName::from_static(proto::HDR_SESSION), id);
    }
    r
}

fn plain(status: StatusCode, text: &'static str) -> Response<Out> {
    let mut r = Response::new(Out::json(Parts([
        Bytes::from_static(text.as_bytes()),
        Bytes::new(),
        Bytes::new(),
    ])));
    *r.status_mut() = status;
    r
}

/// 2026-07-28: the mirrored headers must be there and match the body.
fn check_headers(headers: &HeaderMap, version: Option<&str>, msg: &Message<'_>) -> Result<(), String> {
    let Some(method) = msg.method.as_deref() else {
        return Ok(());
    };
    if msg.id.is_none() {
        return Ok(());
    }
    let in_body = proto::meta_version(msg.params);
    if in_body.as_deref() != version {
        return Err("Header mismatch: MCP-Protocol-Version".into());
    }
    let get = |name: &str| headers.get(name).and_then(|v| v.to_str().ok());
    if get(proto::HDR_METHOD) != Some(method) {
        return Err("Header mismatch: Mcp-Method".into());
    }
    if method == "tools/call" {
        #[derive(serde::Deserialize)]
        struct Name<'a> {
            #[serde(borrow)]
            name: std::borrow::Cow<'a, str>,
        }
        let name = msg.params.and_then(|p| serde_json::from_str::<Name<'_>>(p.get()).ok());
        if name.as_ref().map(|n| n.name.as_ref()) != get(proto::HDR_NAME) {
            return Err("Header mismatch: Mcp-Name".into());
        }
    }
    Ok(())
}

fn wants_only_sse(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|v| v.to_str().ok());
    accept.is_some_and(|a| a.contains("text/event-stream") && !a.contains("application/json") && !a.contains("*/*"))
}

fn origin_is_local(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else {
        return true;
    };
    let Some((_, host)) = origin.to_str().ok().and_then(|o| o.split_once("://")) else {
        return false;
    };
    let host = match host.rsplit_once(':') {
        Some((h, port)) if port.bytes().all(|b| b.is_ascii_digit()) => h,
        _ => host,
    };
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}

fn session_header(headers: &HeaderMap) -> Option<&[u8]> {
    headers.get(proto::HDR_SESSION).map(HeaderValue::as_bytes)
}

/// Response body: a few ready parts, an idle event stream, or a stream that asks first.
enum Out {
    Parts {
        parts: [Bytes; 5],
        next: usize,
    },
    KeepAlive(Pin<Box<tokio::time::Sleep>>),
    Ask {
        question: Option<Bytes>,
        waiting: Waiting,
        message: Option<Parts>,
    },
}

impl Out {
    fn json(Parts([a, b, c]): Parts) -> Self {
        Out::Parts {
            parts: [a, b, c, Bytes::new(), Bytes::new()],
            next: 0,
        }
    }

    fn event(Parts([a, b, c]): Parts) -> Self {
        let open = Bytes::from_static(b"event: message\ndata: ");
        let close = Bytes::from_static(b"\n\n");
        Out::Parts {
            parts: [open, a, b, c, close],
            next: 0,
        }
    }
}

impl Body for Out {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Out::Parts { parts, next } => {
                while let Some(part) = parts.get_mut(*next) {
                    *next += 1;
                    if !part.is_empty() {
                        return Poll::Ready(Some(Ok(Frame::data(std::mem::take(part)))));
                    }
                }
                Poll::Ready(None)
            }
            Out::Ask {
                question,
                waiting,
                message,
            } => {
                if let Some(question) = question.take() {
                    return Poll::Ready(Some(Ok(Frame::data(question))));
                }
                if message.is_none() {
                    return Poll::Ready(None);
                }
                std::task::ready!(waiting.poll_answered(cx));
                let message = message.take().map(|Parts(parts)| parts.concat()).unwrap_or_default();
                let event = [&b"event: message\ndata: "[..], &message, b"\n\n"].concat();
                Poll::Ready(Some(Ok(Frame::data(Bytes::from(event)))))
            }
            Out::KeepAlive(sleep) => {
                std::task::ready!(sleep.as_mut().poll(cx));
                let next = tokio::time::Instant::now() + KEEP_ALIVE;
                sleep.as_mut().reset(next);
                Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b": ping\n\n")))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Out::Parts { parts, next } => parts[*next..].iter().all(Bytes::is_empty),
            Out::KeepAlive(_) | Out::Ask { .. } => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Out::Parts { parts, next } => SizeHint::with_exact(parts[*next..].iter().map(|b| b.len() as u64).sum()),
            Out::KeepAlive(_) | Out::Ask { .. } => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_local_origins_pass() {
        let mut h = HeaderMap::new();
        assert!(origin_is_local(&h));
        for (origin, ok) in [
            ("http://localhost:3000", true),
            ("http://127.0.0.1", true),
            ("http://evil.example", false),
            ("http://localhost.evil.example:80", false),
            ("null", false),
        ] {
            h.insert(header::ORIGIN, HeaderValue::from_str(origin).unwrap());
            assert_eq!(origin_is_local(&h), ok, "{origin}");
        }
    }
}
