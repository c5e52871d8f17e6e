//! What of an outcome its caller follows up: tasks get the gateway's ids, and errors that ask become questions.

use countersign_engine::{Outcome, Provenance, Tasks as Known};
use countersign_wire::codes;
use countersign_wire::object::Object;
use countersign_wire::questions::{self, InputRequired};
use countersign_wire::rpc;
use countersign_wire::version::Era;
use serde_json::value::RawValue;

use super::ask::Work;
use super::render::{Frame, unanswered};
use super::run::Job;
use super::{Asking, Request};
use crate::abilities;
use crate::answer::Answer;
use crate::method::Method;
use crate::speaker::Speaker;
use crate::tasks::{self, Beginning};

/// Whether an answer may name a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Follows {
    /// It may not: its caller asked for none.
    Nothing,
    /// A call that may begin one.
    New,
    /// What is said of the task of this id.
    Begun(String),
}

impl Follows {
    pub(super) fn of(asking: &Asking, request: &Request<'_>, method: Method) -> Self {
        match method {
            Method::CallTool => {
                let begins = match asking.speaker.abilities().tasks {
                    Known::Undeclared => false,
                    Known::Extension => true,
                    Known::Parameter => request.params.get("task").is_some(),
                };
                if begins { Self::New } else { Self::Nothing }
            }
            Method::GetTask | Method::AwaitTask | Method::UpdateTask | Method::CancelTask => {
                let id = request.params.text("taskId").unwrap_or_default();
                Self::Begun(id.into_owned())
            }
            Method::Ping
            | Method::SetLevel
            | Method::Discover
            | Method::Listen
            | Method::ListTools
            | Method::ListResources
            | Method::ListTemplates
            | Method::ReadResource
            | Method::Subscribe
            | Method::Unsubscribe
            | Method::ListPrompts
            | Method::GetPrompt
            | Method::Complete
            | Method::ListTasks => Self::Nothing,
        }
    }
}

/// An outcome with what its caller knows: the gateway's id of a task, the name of the server that asks, and for an
/// error of a legacy server that sends to a URL the question of 2026-07-28.
pub(super) fn owned(job: &Job, frame: &Frame, outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Result { result, from } => {
            if let Some(error) = lacking(job, frame, &result, &from) {
                return Outcome::Error { error, from };
            }
            let changed = changed(job, frame, &result, &from);
            let result = changed
                .and_then(|text| RawValue::from_string(text).ok())
                .unwrap_or(result);
            Outcome::Result { result, from }
        }
        Outcome::Error { error, from } => match url_question(job, frame, &error, &from) {
            Some(result) => Outcome::Result { result, from },
            None => Outcome::Error { error, from },
        },
        other @ (Outcome::Refused(_)
        | Outcome::AuthRequired(_)
        | Outcome::Unrecorded { .. }
        | Outcome::Failed { .. }
        | Outcome::Cancelled) => other,
    }
}

/// The error for a result that asks what the client did not declare to answer: `-32021`, with what it lacks. Questions
/// that no revision knows pass, since what they need is not known either.
fn lacking(job: &Job, frame: &Frame, result: &RawValue, from: &Provenance) -> Option<Box<RawValue>> {
    let may_ask = frame.version.era() == Era::Modern && frame.method.may_ask();
    if !may_ask || !result.get().contains(r#""inputRequests""#) {
        return None;
    }
    let required = InputRequired::read(result.get())?.ok()?;
    let declared = job.speaker.abilities();
    let unanswerable = required.questions.iter().find_map(|question| {
        let (method, params) = (question.method.as_str(), question.params.as_deref());
        let lacks = abilities::required(method, params)?;
        (!abilities::can_answer(declared, method, params)).then(|| (abilities::needed(method, params), lacks))
    });
    let (needed, lacks) = unanswerable?;
    let server = from.server.as_ref().map_or("countersign", |server| server.as_str());
    let message = format!("server {server} asks for input and needs {needed}, which the client did not declare");
    let data = format!(r#"{{"requiredCapabilities":{lacks}}}"#);
    RawValue::from_string(rpc::error_object(codes::MISSING_CAPABILITY, &message, Some(&data))).ok()
}

fn changed(job: &Job, frame: &Frame, result: &RawValue, from: &Provenance) -> Option<String> {
    let server = from.server.as_ref()?;
    let era = frame.version.era();
    let task = match &frame.follows {
        Follows::Nothing => None,
        Follows::New => tasks::begun(era, result.get(), |theirs| {
            let session = match &job.speaker {
                Speaker::Session(session) => Some(session.id.as_str()),
                Speaker::Stateless(_) => None,
            };
            let begun = Beginning {
                caller: &job.caller,
                server,
                era,
                session,
            };
            job.shared.tasks.enter(&begun, theirs)
        }),
        Follows::Begun(id) => return Some(tasks::told(id, server.as_str(), result.get())),
    };
    let asks = || era == Era::Modern && frame.method.may_ask() && result.get().contains(r#""inputRequests""#);
    if task.is_none() && asks() {
        return questions::named_result(server.as_str(), result.get());
    }
    task
}

fn url_question(job: &Job, frame: &Frame, error: &RawValue, from: &Provenance) -> Option<Box<RawValue>> {
    let opens_urls = job.speaker.abilities().elicit_url;
    if frame.version.era() == Era::Legacy || !frame.method.may_ask() || !opens_urls {
        return None;
    }
    let required = questions::of_url_error(from.server.as_ref()?.as_str(), error.get())?;
    RawValue::from_string(required.render()).ok()
}

/// The answer to a retry whose person did not open the URL that a legacy server needs; such a server has no word
/// for it, so it is not asked again.
pub(super) fn declined(asking: &Asking, request: &Request<'_>, method: Method, work: &Work) -> Option<Answer> {
    let answers = Object::parse(request.params.get("inputResponses")?.get()).ok()?;
    let is_declined = answers
        .iter()
        .filter(|(key, _)| key.starts_with(questions::URL_KEY))
        .any(|(_, answer)| {
            let answer = Object::parse(answer.get()).unwrap_or_default();
            answer.text("action").is_none_or(|action| action != "accept")
        });
    let frame = || Frame::new(asking, request, method, work);
    is_declined.then(|| {
        unanswered(
            &frame(),
            "the page that the server needs was not opened, so it was not asked again",
        )
    })
}
