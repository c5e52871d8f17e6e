//! A server that waits for its caller's sign-in, said in the words that the caller's client understands.

use countersign_engine::{AskedBy, AuthRequired, Engine, Outcome, Passage, Provenance, Reply, ToCaller};
use countersign_wire::object::{Object, quote};
use countersign_wire::questions;
use countersign_wire::version::{Era, Version};
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::ask::Work;
use super::render::Frame;
use super::rounds;
use super::run::Job;
use crate::abilities;
use crate::session::Session;
use crate::speaker::Speaker;

/// What a call that may meet a sign-in keeps, to be made after it.
#[derive(Debug)]
pub(super) struct Again {
    work: Work,
    passage: Passage,
}

impl Again {
    /// `None` where no server asks for a sign-in, so that nothing is copied.
    pub(super) fn of(engine: &Engine, work: &Work, passage: &Passage) -> Option<Self> {
        engine.asks_for_sign_ins().then(|| Self {
            work: work.clone(),
            passage: rounds::copy(passage),
        })
    }

    /// The call, to be made now.
    pub(super) fn into_parts(self) -> (Work, Passage) {
        (self.work, self.passage)
    }
}

/// What becomes of a call whose server waits for a sign-in.
#[derive(Debug)]
pub(super) enum Next {
    /// The person signed in: the call is made.
    Made,
    /// This is its outcome.
    Settled(Outcome),
    /// It is told as it is, in text.
    Told(Box<AuthRequired>),
}

/// Sends the person to the link where the client can, and waits for it a while.
pub(super) async fn meet(job: &Job, frame: &Frame, required: Box<AuthRequired>, again: Option<&Again>) -> Next {
    let (Some(again), Some(params)) = (again, params(&required)) else {
        return told(required);
    };
    if !frame.method.may_ask() || !abilities::can_answer(job.speaker.abilities(), METHOD, Some(&params)) {
        return told(required);
    }
    match (&job.speaker, required.asked_by) {
        // The client sends its person there and calls again when it is told that they are done.
        (Speaker::Session(session), AskedBy::Call) if session.version >= Version::V2025_11_25 => {
            match at_url(job, session, &required, &params) {
                Some(outcome) => Next::Settled(outcome),
                None => told(required),
            }
        }
        (Speaker::Session(session), AskedBy::Login) if session.version >= Version::V2025_11_25 => {
            let id = new_id(job);
            session.keep_sign_in(&required.server, &id);
            let params = questions::params_for(Era::Legacy, METHOD, &params, &id);
            asked(job, &again.passage, required, params).await
        }
        (Speaker::Session(_), _) => told(required),
        (Speaker::Stateless(_), _) => asked(job, &again.passage, required, params).await,
    }
}

const METHOD: &str = "elicitation/create";

fn params(required: &AuthRequired) -> Option<String> {
    let link = required.link.as_ref()?;
    Some(format!(
        r#"{{"mode":"url","message":{},"url":{}}}"#,
        quote(&required.message()),
        quote(link.reveal())
    ))
}

fn new_id(job: &Job) -> String {
    job.shared.next_request_id().trim_matches('"').to_owned()
}

/// Asks, and waits for the person whose client says that it sent them there.
async fn asked(job: &Job, passage: &Passage, required: Box<AuthRequired>, params: String) -> Next {
    let (reply, answer) = oneshot::channel();
    let Ok(params) = RawValue::from_string(params) else {
        return told(required);
    };
    let message = ToCaller::Request {
        method: METHOD.to_owned(),
        params: Some(params),
        reply,
    };
    if passage.to_caller.send(message).await.is_err() {
        return told(required);
    }
    let in_force = job.shared.in_force();
    let principal = &job.caller.principal;
    let signed_in = async {
        let accepted = matches!(answer.await, Ok(Reply::Result(result)) if accepts(&result));
        let patience = in_force.settings.sign_in_patience;
        accepted
            && job
                .shared
                .engine
                .until_signed_in(principal, &required.server, patience)
                .await
    };
    let is_in = tokio::select! {
        is_in = signed_in => is_in,
        () = passage.cancel.cancelled() => return Next::Settled(Outcome::Cancelled),
        () = tokio::time::sleep(in_force.settings.question_lifetime) => false,
    };
    match (is_in, required.asked_by) {
        (false, _) => told(required),
        (true, AskedBy::Call) => Next::Made,
        (true, AskedBy::Login) => Next::Settled(login(&format!(
            r#"{{"status":"signed_in","server":{}}}"#,
            quote(required.server.as_str())
        ))),
    }
}

fn accepts(result: &RawValue) -> bool {
    let result = Object::parse(result.get()).unwrap_or_default();
    result.text("action").is_some_and(|action| action == "accept")
}

/// `-32042`: the client sends its person to the link and calls again.
fn at_url(job: &Job, session: &Session, required: &AuthRequired, params: &str) -> Option<Outcome> {
    let id = new_id(job);
    let params = questions::params_for(Era::Legacy, METHOD, params, &id);
    let error = questions::url_error(&required.sentence(), std::iter::once(params.as_str()));
    let error = RawValue::from_string(error).ok()?;
    session.keep_sign_in(&required.server, &id);
    let from = Provenance {
        server: None,
        subject: String::new(),
    };
    Some(Outcome::Error { error, from })
}

fn told(required: Box<AuthRequired>) -> Next {
    match required.asked_by {
        AskedBy::Call => Next::Told(required),
        AskedBy::Login => Next::Settled(link_result(&required)),
    }
}

/// What `core_auth_login` answers while the person is not signed in: the link, which a model shows.
fn link_result(required: &AuthRequired) -> Outcome {
    let url = required
        .link
        .as_ref()
        .map_or_else(String::new, |link| format!(r#","auth_url":{}"#, quote(link.reveal())));
    let structured = format!(
        r#"{{"status":"auth_required","server":{}{url}}}"#,
        quote(required.server.as_str())
    );
    let failed = if required.link.is_some() {
        ""
    } else {
        r#","isError":true"#
    };
    let text = format!(
        r#"{{"content":[{{"type":"text","text":{}}}],"structuredContent":{structured}{failed}}}"#,
        quote(&required.sentence())
    );
    result(text)
}

fn login(structured: &str) -> Outcome {
    result(countersign_wire::authored::tool_json(structured))
}

fn result(text: String) -> Outcome {
    Outcome::Result {
        // What is written here is JSON.
        result: RawValue::from_string(text).unwrap_or_default(),
        from: Provenance {
            server: None,
            subject: "core_auth_login".to_owned(),
        },
    }
}

/// What a caller is told as data beside the sentence: `{code, message, server, auth_url?}`.
pub(super) fn data(required: &AuthRequired, sentence: &str) -> String {
    let mut data = format!(
        r#"{{"code":"auth_required","message":{},"server":{}"#,
        quote(sentence),
        quote(required.server.as_str())
    );
    if let Some(family) = &required.family {
        data.push_str(&format!(r#","family":{}"#, quote(family.as_str())));
    }
    data.push_str(r#","auth_tool":"core_auth_login""#);
    if let Some(link) = &required.link {
        data.push_str(&format!(r#","auth_url":{}"#, quote(link.reveal())));
    }
    data.push('}');
    data
}
