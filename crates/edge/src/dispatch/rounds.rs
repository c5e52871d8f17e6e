//! Questions of a modern server to a client that has a session: asked there, and the request sent again.

use std::time::Duration;

use countersign_core::names::ServerName;
use countersign_engine::{Outcome, Passage, Provenance, Reply, ToCaller};
use countersign_wire::object::{self, Object};
use countersign_wire::questions::{self, InputRequired, Question};
use countersign_wire::version::Era;
use futures_util::future::try_join_all;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::ask::Work;
use super::park;
use crate::abilities;
use crate::method::Method;
use crate::parking::Asked;
use crate::session::Session;
use crate::shared::Shared;
use crate::speaker::Speaker;

/// How often one call may ask for input.
const ROUNDS: usize = 10;

/// How many questions one result may hold.
const QUESTIONS: usize = questions::MOST;

/// The members of a retry that carry the answers.
const CARRIERS: &[&str] = &["inputResponses", "requestState"];

/// Why a question has no answer.
#[derive(Debug)]
pub(super) enum Unanswered {
    /// The caller took the call back.
    TakenBack,
    /// The sentence for the caller.
    Because(String),
    /// The client is at a URL that it was sent to before, and is to call again from there (2025-11-25, `-32042`).
    AtUrl(Box<Outcome>),
}

/// URLs that the client was sent to, each with the elicitation id that it was told.
type Urls = Vec<(String, String)>;

/// What the repetition of a call carries that waits for its person at a URL.
#[derive(Debug)]
pub(crate) struct Waiting {
    request: Asked,
    carried: Vec<(String, Box<RawValue>)>,
    urls: Urls,
}

impl Waiting {
    /// Whether it is this request that waits.
    pub(crate) fn is_of(&self, request: &Asked) -> bool {
        self.request == *request
    }
}

/// A call that can be repeated with answers, as often as its server asks.
#[derive(Debug)]
pub(super) struct Rounds<'j> {
    shared: &'j Shared,
    session: &'j Session,
    work: Work,
    passage: Passage,
    patience: Duration,
    left: usize,
    method: Method,
    urls: Urls,
}

impl<'j> Rounds<'j> {
    /// Keeps what a repetition needs; `None` where the caller answers `input_required` itself, or nothing can ask.
    pub(super) fn of(
        shared: &'j Shared,
        speaker: &'j Speaker,
        method: Method,
        (work, passage): (&Work, &Passage),
    ) -> Option<Self> {
        let Speaker::Session(session) = speaker else {
            return None;
        };
        if !method.may_ask() {
            return None;
        }
        Some(Self {
            session,
            method,
            urls: Vec::new(),
            shared,
            work: work.clone(),
            passage: copy(passage),
            patience: shared.in_force().settings.question_lifetime,
            left: ROUNDS,
        })
    }

    /// Goes on with a call whose client was sent to a URL and calls again.
    pub(super) fn go_on(&mut self, passage: &mut Passage) {
        // Nearly no call waits.
        if !self.session.has_waiting() {
            return;
        }
        let request = park::asked(self.method, &self.work);
        if let Some(waiting) = request.and_then(|request| self.session.take_waiting(&request)) {
            passage.extra.extend(waiting.carried);
            self.urls = waiting.urls;
        }
    }

    /// Tells the client that what it was sent to a URL for is done (2025-11-25).
    pub(super) async fn complete(&mut self) {
        for (_, id) in std::mem::take(&mut self.urls) {
            let params = format!(r#"{{"elicitationId":{}}}"#, object::quote(&id));
            if let Ok(params) = RawValue::from_string(params) {
                let method = "notifications/elicitation/complete".to_owned();
                // A client that is gone needs no word.
                self.passage
                    .to_caller
                    .send(ToCaller::Notification { method, params })
                    .await
                    .ok();
            }
        }
    }

    /// The request that is to be sent next, where the outcome asks for input.
    pub(super) async fn next(&mut self, outcome: &Outcome) -> Option<Result<(Work, Passage), Unanswered>> {
        let Outcome::Result { result, from } = outcome else {
            return None;
        };
        let required = InputRequired::read(result.get())?;
        let server = from.server.as_ref().map_or("countersign", |server| server.as_str());
        Some(Box::pin(self.repeat(required, server)).await)
    }

    async fn repeat(
        &mut self,
        required: Result<InputRequired, questions::Error>,
        server: &str,
    ) -> Result<(Work, Passage), Unanswered> {
        let required = required.map_err(|error| because(server, &error.to_string()))?;
        self.left = self.left.checked_sub(1).ok_or_else(|| {
            because(
                server,
                &format!("it asked for input {ROUNDS} times and still gives no answer"),
            )
        })?;
        let was_sent =
            |question: &Question| url_of(question).is_some_and(|url| self.urls.iter().any(|(known, _)| *known == url));
        if !required.questions.is_empty() && required.questions.iter().all(was_sent) {
            return Err(self.wait(required, server));
        }
        let answers = self.answers(&required.questions, server).await?;
        let mut passage = copy(&self.passage);
        passage.extra.retain(|(name, _)| !CARRIERS.contains(&name.as_str()));
        let responses = questions::responses(answers.iter().map(|(id, answer)| (id.as_str(), &**answer)));
        let carried = [
            (!required.questions.is_empty()).then_some(("inputResponses", responses)),
            required.state.map(|state| ("requestState", state)),
        ];
        for (name, value) in carried.into_iter().flatten() {
            let value = RawValue::from_string(value).map_err(|error| because(server, &error.to_string()))?;
            passage.extra.push((name.to_owned(), value));
        }
        Ok((self.work.clone(), passage))
    }

    /// The server asks again for what the client was sent to a URL for: its person is not done there. The client is
    /// told to call again, and what that call has to carry is kept.
    fn wait(&mut self, required: InputRequired, server: &str) -> Unanswered {
        let mut carried = Vec::new();
        let accepted: Vec<String> = required
            .questions
            .iter()
            .map(|question| format!(r#"{}:{{"action":"accept"}}"#, object::quote(&question.id)))
            .collect();
        let members = [
            ("inputResponses", Some(format!("{{{}}}", accepted.join(",")))),
            ("requestState", required.state),
        ];
        for (name, value) in members {
            carried.extend(value.and_then(|value| Some((name.to_owned(), RawValue::from_string(value).ok()?))));
        }
        let elicitations: Vec<String> = required
            .questions
            .iter()
            .filter_map(|question| {
                let url = url_of(question)?;
                let (_, id) = self.urls.iter().find(|(known, _)| *known == url)?;
                let params = questions::named(server, &question.method, question.params.as_deref()?).ok()?;
                Some(questions::params_for(Era::Legacy, &question.method, &params, id))
            })
            .collect();
        let message = format!("server {server} waits until its page is done with; then call again");
        let error = questions::url_error(&message, elicitations.iter().map(String::as_str));
        let Ok(error) = RawValue::from_string(error) else {
            return because(server, "it asked in words that cannot be said");
        };
        if let Some(request) = park::asked(self.method, &self.work) {
            self.session.keep_waiting(Waiting {
                request,
                carried,
                urls: std::mem::take(&mut self.urls),
            });
        }
        let from = Provenance {
            server: ServerName::parse(server).ok(),
            subject: String::new(),
        };
        Unanswered::AtUrl(Box::new(Outcome::Error { error, from }))
    }

    /// Asks everything at once. What the client cannot answer is known before anything is asked.
    async fn answers(&mut self, asked: &[Question], server: &str) -> Result<Vec<(String, Box<RawValue>)>, Unanswered> {
        if asked.len() > QUESTIONS {
            return Err(because(
                server,
                &format!("it asked more than {QUESTIONS} things at once"),
            ));
        }
        for question in asked {
            if !abilities::can_answer(&self.session.abilities, &question.method, question.params.as_deref()) {
                let what = abilities::needed(&question.method, question.params.as_deref());
                return Err(because(
                    server,
                    &format!("it needs {what}, which the client did not declare"),
                ));
            }
        }
        let mut awaited = Vec::with_capacity(asked.len());
        for question in asked {
            awaited.push((question.id.clone(), self.ask(question, server).await?));
        }
        let answered = awaited.into_iter().map(|(id, reply)| async move {
            match reply.await {
                Ok(Reply::Result(answer)) => Ok((id, answer)),
                Ok(Reply::Error(error)) => {
                    let error = Object::parse(error.get()).unwrap_or_default();
                    let message = error.text("message").unwrap_or_default();
                    Err(because(
                        server,
                        &format!("its question was answered with an error: {message}"),
                    ))
                }
                Err(_gone) => Err(because(server, "the client went away before it answered")),
            }
        });
        tokio::select! {
            answers = try_join_all(answered) => answers,
            () = self.passage.cancel.cancelled() => Err(Unanswered::TakenBack),
            () = tokio::time::sleep(self.patience) => Err(because(server, "its question was not answered in time")),
        }
    }

    async fn ask(&mut self, question: &Question, server: &str) -> Result<oneshot::Receiver<Reply>, Unanswered> {
        let unreadable = |_error| because(server, "its question has no parameters with one reading");
        let params = match &question.params {
            None => None,
            Some(params) => {
                let named = questions::named(server, &question.method, params).map_err(unreadable)?;
                let id = self.shared.next_request_id().trim_matches('"').to_owned();
                let params = questions::params_for(Era::Legacy, &question.method, &named, &id);
                self.urls.extend(url_of(question).map(|url| (url, id)));
                Some(RawValue::from_string(params).map_err(|error| because(server, &error.to_string()))?)
            }
        };
        let (reply, answer) = oneshot::channel();
        let message = ToCaller::Request {
            method: question.method.clone(),
            params,
            reply,
        };
        let sent = self.passage.to_caller.send(message).await;
        sent.map_err(|_gone| because(server, "the client went away before it could be asked"))?;
        Ok(answer)
    }
}

/// The URL that an elicitation sends its person to.
fn url_of(question: &Question) -> Option<String> {
    let params = Object::parse(question.params.as_deref()?).ok()?;
    params.text("mode").filter(|mode| mode == "url")?;
    params.text("url").map(|url| url.into_owned())
}

/// The bounds of a call are the same each time; only the answers differ.
pub(super) fn copy(passage: &Passage) -> Passage {
    Passage {
        abilities: passage.abilities.clone(),
        progress_token: passage.progress_token.clone(),
        log_level: passage.log_level.clone(),
        meta: passage.meta.clone(),
        extra: passage.extra.clone(),
        to_caller: passage.to_caller.clone(),
        cancel: passage.cancel.clone(),
    }
}

fn because(server: &str, why: &str) -> Unanswered {
    Unanswered::Because(format!(
        "server {server} asked for input, and the call was given up: {why}"
    ))
}
