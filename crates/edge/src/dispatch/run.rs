//! A call put under way: its passage, its place among the calls, and what happens when it ends.

use std::sync::Arc;
use std::time::Instant;

use countersign_core::admit::{Ask, Origin};
use countersign_core::principal::{Authentication, Caller};
use countersign_core::refusal::{Detail, Refusal};
use countersign_engine::{Outcome, Passage, Way, way};
use countersign_wire::authored;
use countersign_wire::rpc::Fault;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::ask::Work;
use super::render::{Frame, own_result, render, unanswered};
use super::rounds::{Rounds, Unanswered};
use super::{Asking, Request, follow, invalid, park, sign_in, trace};
use crate::answer::Answer;
use crate::meta_tools::{self, MetaAnswer};
use crate::method::Method;
use crate::metrics::Verdict;
use crate::running::{Finished, Running};
use crate::session::{SUBSCRIPTIONS, Session};
use crate::shared::{GIVEN_BACK, Shared};
use crate::speaker::Speaker;
use crate::under_way::UnderWay;

/// How many messages for the caller wait until they are sent.
const MESSAGES: usize = 64;

/// Puts a request under way: a call of its own, or the parked one that it goes on with.
pub(super) fn start(asking: &Asking, request: &Request<'_>, method: Method, work: Work) -> Result<Running, Fault> {
    let bond = park::bond(asking, method, &work);
    if let Some(bond) = &bond
        && let Some(running) = park::resume(asking, request, bond)?
    {
        return Ok(running);
    }
    let (to_caller, messages) = way(MESSAGES);
    let cancel = CancellationToken::new();
    let ticket = asking.speaker.calls().map(|calls| calls.enter(request.id, &cancel));
    let passage = passage(asking, request, method, (to_caller, cancel.clone()));
    let frame = Frame::new(asking, request, method, &work);
    let job = Job {
        shared: Arc::clone(&asking.shared),
        caller: asking.caller.clone(),
        speaker: asking.speaker.clone(),
    };
    let started = Instant::now();
    let finishing = Box::pin(async move { job.finish(work, passage, &frame, started).await });
    let mut call = UnderWay::new(request.id, (messages, cancel), finishing);
    call.bond = bond;
    call.ticket = ticket;
    let principal = asking.caller.principal.key();
    Ok(Running::new(&asking.shared, &asking.speaker, principal, call))
}

fn passage(
    asking: &Asking,
    request: &Request<'_>,
    method: Method,
    (to_caller, cancel): (Way, CancellationToken),
) -> Passage {
    let judged = method.judged_members();
    let extra = request.params.iter().filter(|(name, _)| !judged.contains(name));
    Passage {
        abilities: asking.speaker.abilities().clone(),
        progress_token: request.meta.progress_token.map(RawValue::to_owned),
        log_level: asking.speaker.level().map(|level| level.word().to_owned()),
        meta: trace::handed_on(&request.meta.rest),
        extra: extra.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        to_caller,
        cancel,
    }
}

/// Everything that a call needs besides what it asks for.
pub(super) struct Job {
    pub(super) shared: Arc<Shared>,
    pub(super) caller: Caller,
    pub(super) speaker: Speaker,
}

impl Job {
    async fn finish(&self, work: Work, passage: Passage, frame: &Frame, started: Instant) -> Finished {
        let count = |verdict| {
            let metrics = &self.shared.metrics;
            metrics.request(frame.method.word(), verdict, started.elapsed());
        };
        let mut rounds = Rounds::of(&self.shared, &self.speaker, frame.method, (&work, &passage));
        let (mut work, mut passage) = (work, passage);
        if let Some(rounds) = &mut rounds {
            rounds.go_on(&mut passage);
        }
        let engine = &self.shared.engine;
        let mut after_sign_in = sign_in::Again::of(engine, &work, &passage);
        loop {
            let outcome = match self.once(work, passage, frame).await {
                Ok(outcome) => outcome,
                Err((answer, verdict)) => {
                    count(verdict);
                    return Some(answer);
                }
            };
            let outcome = match outcome {
                Outcome::AuthRequired(required) => {
                    match Box::pin(sign_in::meet(self, frame, required, after_sign_in.as_ref())).await {
                        // Once: a call that meets another sign-in is told so.
                        sign_in::Next::Made => match after_sign_in.take() {
                            Some(again) => {
                                (work, passage) = again.into_parts();
                                continue;
                            }
                            None => Outcome::Cancelled,
                        },
                        sign_in::Next::Settled(outcome) => outcome,
                        sign_in::Next::Told(required) => Outcome::AuthRequired(required),
                    }
                }
                outcome @ (Outcome::Refused(_)
                | Outcome::Unrecorded { .. }
                | Outcome::Result { .. }
                | Outcome::Error { .. }
                | Outcome::Failed { .. }
                | Outcome::Cancelled) => outcome,
            };
            let outcome = follow::owned(self, frame, outcome);
            let next = match &mut rounds {
                Some(rounds) => rounds.next(&outcome).await,
                None => None,
            };
            let outcome = match next {
                None => {
                    if let (Some(rounds), Outcome::Result { .. }) = (&mut rounds, &outcome) {
                        rounds.complete().await;
                    }
                    outcome
                }
                Some(Ok(again)) => {
                    (work, passage) = again;
                    continue;
                }
                Some(Err(Unanswered::TakenBack)) => Outcome::Cancelled,
                Some(Err(Unanswered::AtUrl(outcome))) => *outcome,
                Some(Err(Unanswered::Because(sentence))) => {
                    count(Verdict::Failed);
                    return Some(unanswered(frame, &sentence));
                }
            };
            count(Verdict::of(&outcome));
            return render(frame, (engine, &self.caller), outcome);
        }
    }

    /// One attempt; `Err` is an answer of the gateway's own.
    async fn once(&self, work: Work, passage: Passage, frame: &Frame) -> Result<Outcome, (Answer, Verdict)> {
        match work {
            Work::Meta(tool, arguments) => {
                let running = meta_tools::run(tool, &self.shared.engine, &self.caller, arguments, passage);
                match Box::pin(running).await {
                    MetaAnswer::Own(result) => Err((own_result(frame, &result), Verdict::Done)),
                    MetaAnswer::Refused { refusal, result } => {
                        self.log_outside(&refusal);
                        Err((own_result(frame, &result), Verdict::Refused))
                    }
                    MetaAnswer::Passed(outcome) => Ok(outcome),
                }
            }
            Work::Ask(Ask::Subscribe { uri }) => Box::pin(self.subscribe(uri, passage))
                .await
                .map_err(|fault| (Answer::fault(frame.version, &frame.id, fault), Verdict::Refused)),
            Work::Ask(Ask::Unsubscribe { uri }) => {
                let outcome = Box::pin(self.unsubscribe(uri, passage)).await;
                outcome.ok_or_else(|| (Answer::result(&frame.id, authored::EMPTY_RESULT), Verdict::Done))
            }
            Work::Ask(ask) => Ok(self.call(ask, passage).await),
        }
    }

    async fn call(&self, ask: Ask, passage: Passage) -> Outcome {
        let engine = &self.shared.engine;
        let outcome = engine.call(&self.caller, ask, Origin::Direct, passage).await;
        if let Outcome::Refused(refusal) = &outcome {
            self.log_outside(refusal);
        }
        outcome
    }

    /// Whoever runs the gateway sees in the log which agent asks for more than its toolset.
    fn log_outside(&self, refusal: &Refusal) {
        let Detail::Outside(outside) = &refusal.detail else {
            return;
        };
        let session = match (self.caller.principal.authentication(), self.session()) {
            (Authentication::Bound { session, .. }, _) => session,
            // An id as a whole would let whoever reads the log speak in its session.
            (_, Some(session)) => session.id.get(..8).unwrap_or("stdio"),
            (_, None) => "none",
        };
        tracing::info!(
            kind = outside.kind.word(),
            tool = outside.name,
            toolset = %format_args!("[{}]", outside.toolset),
            bound = outside.bound,
            session,
            "refused: outside the toolset"
        );
    }

    fn session(&self) -> Option<&Arc<Session>> {
        match &self.speaker {
            Speaker::Session(session) => Some(session),
            Speaker::Stateless(_) => None,
        }
    }

    /// The watch is entered before the upstream is told, so that no update falls between the two.
    async fn subscribe(&self, uri: String, passage: Passage) -> Result<Outcome, Fault> {
        let Some(session) = self.session() else {
            return Err(invalid("`resources/subscribe` needs a session".to_owned()));
        };
        let is_new = session.watch(&uri).ok_or_else(|| {
            invalid(format!(
                "a session may watch at most {SUBSCRIPTIONS} resources, and 128 KiB of URIs; unsubscribe from one"
            ))
        })?;
        if is_new {
            self.shared.watches.hold(&session.principal, &uri);
        }
        let outcome = self.call(Ask::Subscribe { uri: uri.clone() }, passage).await;
        if is_new && !matches!(outcome, Outcome::Result { .. }) && session.unwatch(&uri) {
            self.shared.watches.release(&session.principal, &uri);
        }
        Ok(outcome)
    }

    /// `None` when others still watch, so that the upstream is not told.
    async fn unsubscribe(&self, uri: String, passage: Passage) -> Option<Outcome> {
        let mut caller = self.caller.clone();
        if let Some(session) = self.session() {
            if session.unwatch(&uri) {
                self.shared.watches.release(&session.principal, &uri);
                // It could be watched once, so that it can be given back, whatever the toolset is by now.
                caller.toolset = GIVEN_BACK;
            }
            if self.shared.watches.is_held(&session.principal, &uri) {
                return None;
            }
        }
        let engine = &self.shared.engine;
        Some(
            engine
                .call(&caller, Ask::Unsubscribe { uri }, Origin::Direct, passage)
                .await,
        )
    }
}
