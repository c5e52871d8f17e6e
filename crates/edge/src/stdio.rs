//! One client over a pair of pipes: a JSON-RPC message per line, both eras on one pipe.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use countersign_core::principal::Caller;
use countersign_core::toolset::{Origin, Selectors};
use countersign_wire::codes;
use countersign_wire::outline::Outline;
use countersign_wire::rpc::{self, Body, Fault, Message};
use countersign_wire::version::Version;
use serde_json::value::RawValue;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::answer::Answer;
use crate::calls::Calls;
use crate::dispatch::{self, Asking, Reply, Request};
use crate::hearer::Hearer;
use crate::method::Method;
use crate::notify;
use crate::running::{Road, Running, Step};
use crate::session::Session;
use crate::shared::Shared;
use crate::speaker::{Speaker, Stateless};

/// How many messages wait for a client that reads slowly.
const MESSAGES: usize = 256;

/// How long calls under way have to end after the input has ended.
const GRACE: Duration = Duration::from_secs(3);

/// The one pipe and all that is known of its client.
struct Pipe {
    shared: Arc<Shared>,
    out: mpsc::Sender<String>,
    /// The session that `initialize` opened; a later `initialize` replaces it.
    session: Arc<Mutex<Option<Arc<Session>>>>,
    /// The modern calls under way.
    calls: Arc<Calls>,
    stop: CancellationToken,
    tasks: JoinSet<()>,
    /// What every request is narrowed to.
    declared: Option<Selectors>,
}

/// Serves until the input ends or `stop`.
pub(crate) async fn serve(
    shared: &Arc<Shared>,
    declared: Option<Selectors>,
    (stdin, stdout): (impl AsyncRead + Unpin + Send, impl AsyncWrite + Unpin + Send + 'static),
    stop: CancellationToken,
) -> io::Result<()> {
    let (out, messages) = mpsc::channel(MESSAGES);
    let writer = tokio::spawn(write(stdout, messages));
    let stop = stop.child_token();
    let session: Arc<Mutex<Option<Arc<Session>>>> = Arc::default();
    let open = Arc::clone(&session);
    let sessions = move || {
        open.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .cloned()
            .collect()
    };
    let pump = tokio::spawn(notify::pump(
        Arc::clone(shared),
        shared.engine.changes(),
        sessions,
        stop.clone(),
    ));
    let mut pipe = Pipe {
        shared: Arc::clone(shared),
        out,
        session,
        calls: Arc::default(),
        stop,
        tasks: JoinSet::new(),
        declared,
    };
    let read = pipe.read(BufReader::with_capacity(64 * 1024, stdin)).await;
    pipe.end().await;
    pump.abort();
    // All senders are gone, so that the writer ends when it has written everything.
    if tokio::time::timeout(GRACE, writer).await.is_err() {
        tracing::warn!("the client does not read its answers; they are dropped");
    }
    read
}

async fn write(mut stdout: impl AsyncWrite + Unpin, mut messages: mpsc::Receiver<String>) {
    while let Some(message) = messages.recv().await {
        let line = rpc::one_line(&message);
        let written = async {
            stdout.write_all(line.as_bytes()).await?;
            stdout.write_all(b"\n").await?;
            stdout.flush().await
        };
        if let Err(error) = written.await {
            tracing::debug!(%error, "the client no longer reads");
            return;
        }
    }
}

impl Pipe {
    async fn read(&mut self, mut input: impl AsyncBufReadExt + Unpin) -> io::Result<()> {
        let stop = self.stop.clone();
        let mut line = Vec::new();
        loop {
            line.clear();
            let limit = self.shared.in_force().settings.request_bytes;
            let reading = read_line(&mut input, &mut line, limit);
            let length = tokio::select! {
                length = reading => length?,
                () = stop.cancelled() => return Ok(()),
            };
            match length {
                Line::End => return Ok(()),
                Line::TooLong => {
                    let fault = Fault::new(
                        codes::INVALID_REQUEST,
                        format!("the message is larger than `limits.request_bytes` ({limit} bytes)"),
                    );
                    self.say(fault.render()).await;
                }
                Line::Whole => self.take(line.trim_ascii()).await,
            }
            while self.tasks.try_join_next().is_some() {}
        }
    }

    /// Who asks, within the toolset of the pipe.
    fn caller(&self) -> Caller {
        let mut caller = self.shared.local_caller();
        if let Some(selectors) = &self.declared {
            caller.toolset = caller.toolset.narrowed(Origin::Header, Ok(selectors.clone()));
        }
        caller
    }

    async fn say(&self, message: String) {
        // A client that no longer reads will end its input too.
        self.out.send(message).await.ok();
    }

    async fn take(&mut self, line: &[u8]) {
        if line.is_empty() {
            return;
        }
        match rpc::outlined(line) {
            Ok((Body::One(message), outline)) => self.message(message, &outline).await,
            Ok((Body::Batch(_), _)) => {
                let fault = Fault::new(
                    codes::INVALID_REQUEST,
                    "batches are not taken here: send one message per line",
                );
                self.say(fault.render()).await;
            }
            Err(fault) => self.say(fault.render()).await,
        }
    }

    async fn message(&mut self, message: Message<'_>, outline: &Outline<'_>) {
        match message {
            Message::Request { id, method, params } => match Request::read(id, &method, params, outline) {
                Ok(request) => self.request(&request, id, params).await,
                Err(fault) => self.say(fault.render()).await,
            },
            Message::Notification { method, params } => self.notification(&method, params),
            Message::Response { id, outcome } => {
                let awaited = self.session().is_some_and(|session| session.reply(id.get(), outcome));
                if !awaited {
                    tracing::debug!("an answer came that nobody awaits");
                }
            }
        }
    }

    fn session(&self) -> Option<Arc<Session>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn notification(&self, method: &str, params: Option<&RawValue>) {
        dispatch::notice(&self.calls, method, params);
        if let Some(session) = self.session() {
            dispatch::notice(&session.calls, method, params);
        }
    }

    async fn request(&mut self, request: &Request<'_>, id: &RawValue, params: Option<&RawValue>) {
        let says_modern = request.meta.version.is_some();
        if request.method == "initialize" && !says_modern {
            return self.initialize(request).await;
        }
        let speaker = if says_modern || Method::is_modern_only(request.method) {
            match Stateless::read(&request.meta, Some(Arc::clone(&self.calls))) {
                Ok(stateless) => Speaker::Stateless(Arc::new(stateless)),
                Err(fault) => return self.say(fault.of(request.id).render()).await,
            }
        } else {
            match self.session() {
                Some(session) => Speaker::Session(session),
                None => {
                    let message = "send `initialize` first, or the metadata of 2026-07-28 with every request";
                    let fault = Fault::new(codes::INVALID_REQUEST, message).of(request.id);
                    return self.say(fault.render()).await;
                }
            }
        };
        let in_force = self.shared.in_force();
        let asking = Asking {
            shared: Arc::clone(&self.shared),
            surfaces: in_force.surfaces,
            in_force,
            caller: self.caller(),
            speaker,
        };
        if Method::may_wait(request.method) {
            // The pipe must not wait with it: what follows may be the request to cancel.
            self.tasks
                .spawn(listed(asking, Kept::of(id, request.method, params), self.out.clone()));
            return;
        }
        match dispatch::answer(&asking, request, None).await {
            Reply::Now(answer) => self.say(answer.text).await,
            Reply::Listed(listed) => self.say(listed.whole().text).await,
            Reply::Running(running) => {
                self.tasks.spawn(drive(*running, self.out.clone()));
            }
            Reply::Listen(listen) => {
                self.tasks.spawn(listen.run(self.out.clone(), self.stop.clone()));
            }
        }
    }

    async fn initialize(&mut self, request: &Request<'_>) {
        let in_force = self.shared.in_force();
        let opening = match dispatch::initialize(&in_force, in_force.surfaces, request) {
            Ok(opening) => opening,
            Err(fault) => {
                return self
                    .say(Answer::fault(Version::NEWEST_LEGACY, request.id, fault).text)
                    .await;
            }
        };
        let caller = self.caller();
        let session = Arc::new(Session::new(String::new(), &caller, opening.version, opening.abilities));
        self.say(Answer::result(request.id, &opening.result).text).await;
        session.open_stream(self.out.clone(), Hearer::new(&self.shared.engine, caller.clone()));
        let former = self
            .session
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .replace(session);
        if let Some(former) = former {
            self.shared.end_session(&former);
        }
    }

    /// Calls under way may end; what would stand for ever is ended.
    async fn end(mut self) {
        self.stop.cancel();
        let tasks = &mut self.tasks;
        let ended = tokio::time::timeout(GRACE, async { while tasks.join_next().await.is_some() {} }).await;
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(session) = session {
            self.shared.end_session(&session);
        }
        self.calls.cancel_all();
        if ended.is_err() {
            // Cancelled calls are recorded as such; they get the same time again.
            let tasks = &mut self.tasks;
            tokio::time::timeout(GRACE, async { while tasks.join_next().await.is_some() {} })
                .await
                .ok();
        }
        self.shared.parking.end(GRACE).await;
    }
}

/// What reading a line came to.
enum Line {
    Whole,
    TooLong,
    End,
}

/// Reads one line of at most `limit` bytes. The rest of a longer one is skipped.
async fn read_line(input: &mut (impl AsyncBufReadExt + Unpin), line: &mut Vec<u8>, limit: usize) -> io::Result<Line> {
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let length = (&mut *input).take(most).read_until(b'\n', line).await?;
    if length == 0 {
        return Ok(Line::End);
    }
    if line.last() == Some(&b'\n') || line.len() <= limit {
        return Ok(Line::Whole);
    }
    loop {
        line.clear();
        let length = (&mut *input).take(64 * 1024).read_until(b'\n', line).await?;
        if length == 0 || line.last() == Some(&b'\n') {
            return Ok(Line::TooLong);
        }
    }
}

/// A request kept beyond the line that it came in.
struct Kept {
    id: Box<RawValue>,
    method: String,
    params: Option<Box<RawValue>>,
}

impl Kept {
    fn of(id: &RawValue, method: &str, params: Option<&RawValue>) -> Self {
        Self {
            id: id.to_owned(),
            method: method.to_owned(),
            params: params.map(RawValue::to_owned),
        }
    }
}

/// Answers a list in a task of its own.
async fn listed(asking: Asking, kept: Kept, out: mpsc::Sender<String>) {
    let outline = Outline::default();
    let Ok(request) = Request::read(&kept.id, &kept.method, kept.params.as_deref(), &outline) else {
        return;
    };
    let answer = match dispatch::answer(&asking, &request, None).await {
        Reply::Now(answer) => answer,
        Reply::Listed(listed) => listed.whole(),
        Reply::Running(_) | Reply::Listen(_) => return,
    };
    // A client that no longer reads loses the answer.
    out.send(answer.text).await.ok();
}

/// Sends what an upstream says, then the answer.
async fn drive(mut running: Running, out: mpsc::Sender<String>) {
    loop {
        match running.next().await {
            Step::Message(message) => {
                let room = out.try_reserve().ok();
                let road = if room.is_some() { Road::Open } else { Road::Closed };
                if let (Some(text), Some(room)) = (running.render(message, road), room) {
                    room.send(text);
                }
            }
            Step::Done(finished) => {
                if let Some(answer) = finished {
                    // A client that no longer reads loses the answer; what became of the call is recorded.
                    out.send(answer.text).await.ok();
                }
                return;
            }
        }
    }
}
