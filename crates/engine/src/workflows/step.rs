//! One call of a run: through the one door, with its timeout, its repetitions, and an honest word on what became of it.

use std::sync::Arc;
use std::time::Duration;

use countersign_core::admit::{Ask, Origin};
use countersign_core::effect::Effect;
use countersign_core::outcome::Fate;
use countersign_core::workflow::{Begin, CallEnd, STEPS, read_result};
use countersign_upstream::{Carried, Messages, ToCaller, way};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::run::Run;
use crate::outcome::Outcome;

/// The wait before a call is repeated; it doubles up to [`WAIT_MOST`].
const WAIT: Duration = Duration::from_millis(250);
const WAIT_MOST: Duration = Duration::from_secs(5);

/// How often one call may ask its caller for input.
const ROUNDS: usize = 10;

/// How many messages for the caller wait until they are handed on.
const MESSAGES: usize = 64;

/// What became of one attempt.
enum Attempt {
    End(CallEnd),
    /// The server could not be reached, or its answer was lost.
    Unavailable(CallEnd),
}

impl Run {
    /// Makes a call, as often as its step allows. `halt` takes it back.
    pub(super) async fn step(self: &Arc<Self>, begin: &Begin, halt: CancellationToken) -> CallEnd {
        if !self.lineage.counts() {
            return CallEnd::Failed {
                error: format!("the run and those that it stands in would make more than {STEPS} calls"),
            };
        }
        let reads = self.effect(&begin.tool) == Effect::ReadOnly;
        let attempts = begin.retry.filter(|_| reads).map_or(1, |retry| retry.attempts);
        let mut wait = WAIT;
        let mut left = attempts;
        loop {
            left = left.saturating_sub(1);
            match self.attempt(begin, reads, &halt).await {
                Attempt::End(end) => return end,
                Attempt::Unavailable(end) if left == 0 || halt.is_cancelled() => return end,
                Attempt::Unavailable(end) => {
                    tokio::select! {
                        () = tokio::time::sleep(wait) => {}
                        () = halt.cancelled() => return end,
                    }
                    wait = wait.saturating_mul(2).min(WAIT_MOST);
                }
            }
        }
    }

    /// What a call of a tool may do, as this caller sees it now; unknown means mutating (I7).
    fn effect(&self, tool: &str) -> Effect {
        let catalogue = self.engine.catalogue_of(&self.caller);
        catalogue
            .tool(tool)
            .map_or(Effect::Mutating, |tool| tool.classified.effect)
    }

    async fn attempt(self: &Arc<Self>, begin: &Begin, reads: bool, halt: &CancellationToken) -> Attempt {
        let cancel = halt.child_token();
        let calling = self.called(begin, cancel.clone());
        tokio::pin!(calling);
        let outcome = match begin.timeout {
            None => calling.await,
            Some(limit) => tokio::select! {
                outcome = &mut calling => outcome,
                () = tokio::time::sleep(limit) => {
                    cancel.cancel();
                    let outcome = calling.await;
                    // An answer that came at the last moment counts.
                    if !matches!(outcome, Ok(Outcome::Cancelled)) {
                        return self.told(outcome, reads);
                    }
                    let why = format!("no answer within {} ms", limit.as_millis());
                    let end = taken_back(&why, reads);
                    return if reads { Attempt::Unavailable(end) } else { Attempt::End(end) };
                }
            },
        };
        self.told(outcome, reads)
    }

    /// The call itself, again with answers as often as its server asks its caller for input. `Err` says why a question
    /// has no answer.
    async fn called(self: &Arc<Self>, begin: &Begin, cancel: CancellationToken) -> Result<Outcome, String> {
        let mut carried = Carried::new();
        for _ in 0..ROUNDS {
            let (to_caller, messages) = way(MESSAGES);
            let mut passage = self.passage.inner(to_caller, cancel.clone());
            passage.extra = carried;
            let ask = Ask::Tool {
                name: begin.tool.to_string(),
                arguments: begin.arguments.clone(),
            };
            let call = self
                .engine
                .call_in(&self.caller, (ask, Origin::Workflow), passage, &self.lineage);
            let outcome = self.relayed(begin, call, messages).await;
            let Outcome::Result { result, from } = &outcome else {
                return Ok(outcome);
            };
            let Some(server) = &from.server else {
                return Ok(outcome);
            };
            // What is asked goes to the caller of the run directly, for nothing relays between the rounds.
            let passage = self.passage.inner(self.passage.to_caller.clone(), cancel.clone());
            match countersign_upstream::answers(server, result, &passage).await {
                None => return Ok(outcome),
                Some(Ok(answers)) => carried = answers,
                Some(Err(_)) if cancel.is_cancelled() => return Ok(Outcome::Cancelled),
                Some(Err(why)) => {
                    return Err(format!(
                        "server {server} asked for input, and the call was given up: {why}"
                    ));
                }
            }
        }
        Err(format!(
            "the server asked for input {ROUNDS} times and still gives no answer"
        ))
    }

    /// Hands on what the server says to the caller of the run while the call is under way.
    async fn relayed(&self, begin: &Begin, call: impl Future<Output = Outcome>, mut messages: Messages) -> Outcome {
        let mut call = Box::pin(call);
        loop {
            tokio::select! {
                biased;
                Some(message) = messages.recv() => self.hand_on(begin, message).await,
                outcome = &mut call => {
                    while let Some(message) = messages.try_recv() {
                        self.hand_on(begin, message).await;
                    }
                    return outcome;
                }
            }
        }
    }

    async fn hand_on(&self, begin: &Begin, message: ToCaller) {
        match message.progress_message() {
            // The caller has one token for the whole run, so the step's progress becomes the run's.
            Some(said) => {
                let said = if said.is_empty() { "goes on" } else { &said };
                self.account
                    .tell(&self.passage, &format!("step `{}`: {said}", begin.path));
            }
            None => match message {
                // A caller that does not listen misses it.
                ToCaller::Notification { .. } => drop(self.passage.to_caller.try_send(message)),
                // One that is gone answers nothing, and the server is told so.
                ToCaller::Request { .. } => drop(self.passage.to_caller.send(message).await),
            },
        }
    }

    fn told(&self, outcome: Result<Outcome, String>, reads: bool) -> Attempt {
        let failed = |error: String| Attempt::End(CallEnd::Failed { error });
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(why) => return failed(why),
        };
        match outcome {
            Outcome::Result { result, .. } => Attempt::End(match read_result(result.get()) {
                Ok(answered) => CallEnd::Answered {
                    success: answered.success,
                    value: answered.value,
                    error: answered.error,
                },
                Err(error) => CallEnd::Failed { error },
            }),
            Outcome::Error { error, from } => {
                let who = from
                    .server
                    .map_or("the gateway".to_owned(), |server| format!("server {server}"));
                failed(format!("{who} answered with an error: {}", said(&error)))
            }
            Outcome::Refused(refusal) => failed(refusal.sentence),
            Outcome::AuthRequired(required) => failed(format!(
                "server {server} needs a sign-in; core_auth_login with the server `{server}` gives the link",
                server = required.server
            )),
            Outcome::Unrecorded { reason } => failed(format!(
                "the call was not made, because it could not be recorded: {reason}"
            )),
            Outcome::Failed { fate, sentence, .. } => match fate {
                Fate::OutcomeUnknown if reads => Attempt::Unavailable(CallEnd::Failed { error: sentence }),
                Fate::OutcomeUnknown => Attempt::End(CallEnd::Unknown { error: sentence }),
                Fate::NotSent | Fate::Failed | Fate::Done => Attempt::Unavailable(CallEnd::Failed { error: sentence }),
            },
            Outcome::Cancelled => Attempt::End(taken_back("it was taken back", reads)),
        }
    }
}

/// What became of a call that was taken back while it ran.
fn taken_back(why: &str, reads: bool) -> CallEnd {
    if reads {
        CallEnd::Failed { error: why.to_owned() }
    } else {
        CallEnd::Unknown {
            error: format!("the outcome is unknown: {why}; the call may have run, and it was not sent again"),
        }
    }
}

/// The sentence of an error of the protocol, and where it sends a person.
fn said(error: &RawValue) -> String {
    let error: Value = serde_json::from_str(error.get()).unwrap_or_default();
    let mut said = error
        .get("message")
        .and_then(Value::as_str)
        .unwrap_or("no message")
        .to_owned();
    let asked = error.pointer("/data/elicitations").and_then(Value::as_array);
    for url in asked
        .into_iter()
        .flatten()
        .filter_map(|asked| asked.get("url")?.as_str())
    {
        said.push_str(&format!(" (open {url} and run the workflow again)"));
    }
    said
}
