//! Tasks of servers, run to their end here for callers that cannot follow them themselves.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use countersign_core::admit::Operation;
use countersign_wire::codes;
use countersign_wire::object::{Edit, Object, edit, quote};
use countersign_wire::questions;
use countersign_wire::rpc;
use countersign_wire::version::{Era, Version};
use serde_json::value::RawValue;

use crate::connection::Connection;
use crate::exchange::{Failure, Outgoing};
use crate::flight::Flight;
use crate::inbound;
use crate::params;
use crate::passage::{Passage, Reply, Tasks};
use crate::pending::{Back, Delivered};

/// How long to wait before a task is asked for again, where its server does not say.
const POLL: Duration = Duration::from_secs(1);
/// A server cannot have itself asked more often,
const SHORTEST_POLL: Duration = Duration::from_millis(20);
/// nor hold up an answer for longer.
const LONGEST_POLL: Duration = Duration::from_secs(15);
/// How often the wait for a result may break off.
const RESUMES: u32 = 5;
/// How long the word that a task is not wanted any more may take.
const CANCEL: Duration = Duration::from_secs(5);

/// Whether a tool is called as a task although its caller did not ask for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AsTask {
    /// Its definition allows nothing else.
    Needed,
    /// As the caller asked.
    No,
}

/// Whether this call has to be made as a task.
pub(crate) fn is_needed(operation: &Operation, passage: &Passage, version: Version) -> AsTask {
    let Operation::CallTool { definition, .. } = operation else {
        return AsTask::No;
    };
    let asked = || passage.abilities.tasks == Tasks::Parameter && passage.extra.iter().any(|(name, _)| name == "task");
    if definition.only_as_task && version.era() == Era::Legacy && !asked() {
        AsTask::Needed
    } else {
        AsTask::No
    }
}

/// A task that a server began instead of answering.
#[derive(Debug)]
pub(crate) struct Task {
    id: String,
    poll: Duration,
}

/// The task that an answer begins and that nobody but the gateway follows.
pub(crate) fn begun(delivered: &Delivered, as_task: AsTask, passage: &Passage, version: Version) -> Option<Task> {
    let Delivered::Result(result) = delivered else {
        return None;
    };
    match (version.era(), as_task, passage.abilities.tasks) {
        (Era::Legacy, AsTask::Needed, _) => {
            let result = Object::parse(result.get()).ok()?;
            read(&Object::parse(result.get("task")?.get()).ok()?, "pollInterval")
        }
        // A session's client knows no such answer, and neither does one that did not declare tasks.
        (Era::Modern, _, Tasks::Parameter | Tasks::Undeclared) if result.get().contains(r#""task""#) => {
            let result = Object::parse(result.get()).ok()?;
            result.text("resultType").filter(|kind| kind == "task")?;
            read(&result, "pollIntervalMs")
        }
        (Era::Legacy | Era::Modern, AsTask::Needed | AsTask::No, _) => None,
    }
}

fn read(task: &Object<'_>, interval: &str) -> Option<Task> {
    let poll = task.get(interval).and_then(|raw| raw.get().parse::<f64>().ok());
    let poll = poll.and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok());
    Some(Task {
        id: task.text("taskId")?.into_owned(),
        poll: poll.unwrap_or(POLL).clamp(SHORTEST_POLL, LONGEST_POLL),
    })
}

/// Waits for the end of a task and gives its answer. Dropped before, the task is cancelled.
pub(crate) async fn finish(connection: &Arc<Connection>, task: &Task, back: &Arc<Back>) -> Result<Delivered, Failure> {
    let mut unfinished = Unfinished {
        connection: Arc::clone(connection),
        id: Some(task.id.clone()),
    };
    let ended = if connection.is_modern() {
        follow(connection, task, back).await
    } else {
        await_result(connection, task, back).await
    };
    // The call was made, so whatever happens now, its fate is that of the task and it is not sent again (I5).
    let ended = ended.map_err(|failure| Failure::Lost(failure.reason()))?;
    match ended {
        Ended::Over(answer) => {
            unfinished.id = None;
            Ok(answer)
        }
        Ended::GivenUp(why) => error(codes::INTERNAL_ERROR, &why),
    }
}

enum Ended {
    /// The task's own end.
    Over(Delivered),
    /// The caller cannot give what the task needs.
    GivenUp(String),
}

/// 2025-11-25: `tasks/result` waits, and the server asks on its stream; the status is shown as progress meanwhile.
async fn await_result(connection: &Arc<Connection>, task: &Task, back: &Arc<Back>) -> Result<Ended, Failure> {
    let result = async {
        let mut resumes = 0;
        loop {
            match ask(connection, "tasks/result", task, ("", Some(back))).await {
                // Waiting changes nothing, so it may be done again.
                Err(Failure::Lost(_)) if resumes < RESUMES && !connection.closed.is_cancelled() => resumes += 1,
                ended => return ended,
            }
        }
    };
    let watched = async {
        let mut status = Status::default();
        loop {
            tokio::time::sleep(task.poll).await;
            if let Ok(Delivered::Result(got)) = ask(connection, "tasks/get", task, ("", None)).await {
                status.show(&Object::parse(got.get()).unwrap_or_default(), back);
            }
        }
    };
    let delivered = tokio::select! {
        biased;
        delivered = result => delivered?,
        () = watched => return Err(Failure::Lost("its task ended without an answer".to_owned())),
    };
    Ok(Ended::Over(match delivered {
        Delivered::Result(result) => Delivered::Result(without_relation(result)),
        error @ Delivered::Error(_) => error,
    }))
}

/// The key that ties a message to a task of the server, which the caller does not know.
const RELATED: &str = "io.modelcontextprotocol/related-task";

fn without_relation(result: Box<RawValue>) -> Box<RawValue> {
    let edited = Object::parse(result.get()).ok().and_then(|object| {
        let meta = edit(object.get("_meta")?.get(), &[Edit::Remove(RELATED)]).ok()?;
        let change = if Object::parse(&meta).is_ok_and(|meta| meta.is_empty()) {
            Edit::Remove("_meta")
        } else {
            Edit::Set("_meta", &meta)
        };
        RawValue::from_string(edit(result.get(), &[change]).ok()?).ok()
    });
    edited.unwrap_or(result)
}

/// 2026-07-28: `tasks/get` until it is over; what it asks for is asked of the caller and sent by `tasks/update`.
async fn follow(connection: &Arc<Connection>, task: &Task, back: &Arc<Back>) -> Result<Ended, Failure> {
    let mut status = Status::default();
    let mut answered = BTreeSet::new();
    let mut poll = task.poll;
    loop {
        tokio::time::sleep(poll).await;
        let got = match ask(connection, "tasks/get", task, ("", None)).await? {
            Delivered::Result(got) => got,
            error @ Delivered::Error(_) => return Ok(Ended::Over(error)),
        };
        let state = Object::parse(got.get())
            .map_err(|_error| Failure::Lost("its task has no state that can be read".to_owned()))?;
        status.show(&state, back);
        if let Some(next) = read(&state, "pollIntervalMs").filter(|_| state.get("pollIntervalMs").is_some()) {
            poll = next.poll;
        }
        let word = state.text("status").unwrap_or(Cow::Borrowed(""));
        match (&*word, state.get("result"), state.get("error")) {
            ("completed", Some(result), _) => return Ok(Ended::Over(Delivered::Result(complete(result)))),
            ("failed", _, Some(error)) => return Ok(Ended::Over(Delivered::Error(error.to_owned()))),
            ("completed" | "failed", ..) => {
                return Err(Failure::Lost("its task ended without an answer".to_owned()));
            }
            ("cancelled", ..) => {
                return error(codes::INTERNAL_ERROR, "the server cancelled the task").map(Ended::Over);
            }
            ("input_required", ..) => {
                if let Err(why) = give_input(connection, task, (&state, &mut answered), back).await? {
                    return Ok(Ended::GivenUp(why));
                }
            }
            _ => {}
        }
    }
}

/// The result inside a task lacks the mark of its era, by which a bridge knows it.
fn complete(result: &RawValue) -> Box<RawValue> {
    let marked = edit(result.get(), &[Edit::Default("resultType", r#""complete""#)]);
    let marked = marked.ok().and_then(|text| RawValue::from_string(text).ok());
    marked.unwrap_or_else(|| result.to_owned())
}

/// Asks the caller what the task asks for; `Err` says why it cannot be given.
async fn give_input(
    connection: &Arc<Connection>,
    task: &Task,
    (state, answered): (&Object<'_>, &mut BTreeSet<String>),
    back: &Arc<Back>,
) -> Result<Result<(), String>, Failure> {
    let asked = state.get("inputRequests").and_then(|raw| Object::parse(raw.get()).ok());
    let asked = asked.unwrap_or_default();
    let mut awaited = Vec::new();
    for (key, raw) in asked.iter().filter(|(key, _)| !answered.contains(*key)) {
        let question = Object::parse(raw.get()).unwrap_or_default();
        let method = question.text("method").unwrap_or_default();
        let params = question.get("params").map(|params| {
            let id = format!("{}-{key}", connection.next_id());
            questions::params_for(Era::Legacy, &method, params.get(), &id)
        });
        let params = params.and_then(|params| RawValue::from_string(params).ok());
        match inbound::relay(connection, &method, params.as_deref(), Some(back)) {
            Ok((back, answer)) => awaited.push((key.to_owned(), back, answer)),
            Err(why) => return Ok(Err(format!("its task asked for input: {why}"))),
        }
    }
    let mut answers = Vec::new();
    for (key, back, answer) in awaited {
        let reply = answer.await;
        back.answered();
        match reply {
            Ok(Reply::Result(answer)) => answers.push((key, answer)),
            Ok(Reply::Error(_)) | Err(_) => {
                return Ok(Err("its task asked for input, and the client gave none".to_owned()));
            }
        }
    }
    if answers.is_empty() {
        return Ok(Ok(()));
    }
    let responses = questions::responses(answers.iter().map(|(key, answer)| (key.as_str(), &**answer)));
    let members = format!(r#","inputResponses":{responses}"#);
    ask(connection, "tasks/update", task, (&members, None)).await?;
    answered.extend(answers.into_iter().map(|(key, _)| key));
    Ok(Ok(()))
}

/// What a task said of itself last.
#[derive(Default)]
struct Status {
    message: String,
    steps: u32,
}

impl Status {
    /// Shows a new status message as progress, to a caller that wants progress.
    fn show(&mut self, state: &Object<'_>, back: &Back) {
        back.hear();
        let Some(message) = state.text("statusMessage").filter(|message| *message != self.message) else {
            return;
        };
        self.message = message.into_owned();
        self.steps += 1;
        let Some(token) = &back.token else { return };
        let params = format!(
            r#"{{"progressToken":{},"progress":{},"message":{}}}"#,
            token.get(),
            self.steps,
            quote(&self.message)
        );
        if let Ok(params) = RawValue::from_string(params) {
            back.notify("notifications/progress", params);
        }
    }
}

fn error(code: i64, message: &str) -> Result<Delivered, Failure> {
    RawValue::from_string(rpc::error_object(code, message, None))
        .map(Delivered::Error)
        .map_err(|error| Failure::Lost(error.to_string()))
}

/// One request about a task; `members` follow its id.
async fn ask(
    connection: &Arc<Connection>,
    method: &str,
    task: &Task,
    (members, back): (&str, Option<&Arc<Back>>),
) -> Result<Delivered, Failure> {
    let version = connection.version();
    let params = params::of_own(&format!(r#""taskId":{}{members}"#, quote(&task.id)), Some(version));
    let id = connection.next_id();
    let out = Outgoing {
        id,
        method,
        name: Some(&task.id),
        params: Some(&params),
        headers: &[],
        version: Some(version),
    };
    let mut flight = Flight::new(connection, id);
    let delivered = connection.exchange(&out, back).await;
    flight.land();
    delivered
}

/// A task that nobody waits for any more when this is dropped.
struct Unfinished {
    connection: Arc<Connection>,
    id: Option<String>,
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let connection = Arc::clone(&self.connection);
        // The task ends by itself: its time is bounded.
        drop(runtime.spawn(async move {
            let task = Task { id, poll: POLL };
            let told = ask(&connection, "tasks/cancel", &task, ("", None));
            tokio::select! {
                told = tokio::time::timeout(CANCEL, told) => {
                    if !matches!(told, Ok(Ok(_))) {
                        tracing::debug!(server = %connection.server, "a task could not be cancelled");
                    }
                }
                () = connection.closed.cancelled() => {}
            }
        }));
    }
}
