//! The one way of a call: world → judge → settle → begin → call → finish (I1, I6).

use std::time::Instant;

use countersign_core::admit::{self, Admission, Ask, Origin, Permit, Target};
use countersign_core::outcome::Fate;
use countersign_core::principal::Caller;
use countersign_core::refusal::Refusal;
use countersign_store::{End, Note};
use countersign_upstream::{Answer, Passage};

use crate::outcome::{Outcome, Provenance};
use crate::{Engine, clock, core_tools};

impl Engine {
    /// The one way of a call. Every decision is recorded; a call is made only when its intent is.
    pub async fn call(&self, caller: &Caller, ask: Ask, origin: Origin, passage: Passage) -> Outcome {
        match self.admit(caller, ask, origin).await {
            Ok(permit) => self.run(permit, passage).await,
            Err(refusal) => Outcome::Refused(refusal),
        }
    }

    /// Judges in one world. While servers are still being listed for the first time, a name that is
    /// not known yet is judged once more when they are.
    async fn admit(&self, caller: &Caller, ask: Ask, origin: Origin) -> Result<Permit, Refusal> {
        if self.is_pending() {
            let world = self.world(caller);
            if let Ok(judged) = admit::judge(&world, caller, ask.clone(), origin) {
                return Ok(self.settle(&world, judged));
            }
            Box::pin(self.wait_until_listed()).await;
        }
        let world = self.world(caller);
        let (method, subject) = asked_for(&ask);
        match admit::judge(&world, caller, ask, origin) {
            Ok(judged) => Ok(self.settle(&world, judged)),
            Err(refusal) => {
                self.record(Note {
                    at: world.now,
                    principal: caller.principal.key().to_string(),
                    kind: "refused",
                    origin: origin.word(),
                    method: method.to_owned(),
                    subject,
                    reason: refusal.sentence.clone(),
                });
                self.shared.metrics.turned_away("refused");
                Err(refusal)
            }
        }
    }

    fn settle(&self, world: &admit::World, judged: admit::Judged) -> Permit {
        let answer = countersign_sandbox::pre(&self.shared.scripts, &judged);
        let Admission::Proceed(permit) = admit::settle(world, judged.with_answer(answer));
        permit
    }

    async fn run(&self, permit: Permit, passage: Passage) -> Outcome {
        let recorded = match self.shared.ledger.begin(permit, clock::now()).await {
            Ok(recorded) => recorded,
            Err(error) => {
                self.shared.metrics.turned_away("unrecorded");
                return Outcome::Unrecorded {
                    reason: error.to_string(),
                };
            }
        };
        let began = Instant::now();
        let call = recorded.call();
        self.shared.metrics.admitted(call);
        let from = match call.target() {
            Target::Server(server) => Provenance {
                server: Some(server.clone()),
                subject: call.operation().subject().to_owned(),
            },
            Target::Gateway => Provenance {
                server: None,
                subject: call.operation().subject().to_owned(),
            },
        };
        let (answer, receipt) = match from.server {
            Some(_) => self.shared.upstreams.call(recorded, passage).await,
            None => Box::pin(core_tools::run(self, recorded)).await,
        };
        let took = began.elapsed();
        if let (Answer::NotSent(_), Some(server)) = (&answer, &from.server) {
            // A server over HTTP says nothing when it goes away: the first call that fails tells.
            self.doubt(server);
        }
        let fate = fate_of(&answer);
        self.shared.metrics.ended(&from, fate, took);
        if let Err(error) = self.shared.ledger.finish(receipt, End { fate, at: clock::now() }) {
            tracing::error!(%error, "the fate of a call cannot be recorded");
        }
        told(answer, from)
    }

    /// Writes a note; a note that cannot be written is logged, since nothing was let through.
    pub(crate) fn record(&self, note: Note) {
        if let Err(error) = self.shared.ledger.note(note) {
            tracing::error!(%error, "a refusal cannot be recorded");
        }
    }
}

/// What became of a call, in the word of the trail.
fn fate_of(answer: &Answer) -> Fate {
    match answer {
        Answer::Result(_) => Fate::Done,
        Answer::Error(_) => Fate::Failed,
        Answer::NotSent(_) => Fate::NotSent,
        Answer::Lost { .. } | Answer::Cancelled => Fate::OutcomeUnknown,
    }
}

/// What the caller is told of an answer.
fn told(answer: Answer, from: Provenance) -> Outcome {
    let fate = fate_of(&answer);
    match answer {
        Answer::Result(result) => Outcome::Result { result, from },
        Answer::Error(error) => Outcome::Error { error, from },
        Answer::NotSent(error) => Outcome::Failed {
            fate,
            sentence: error.to_string(),
            from,
        },
        Answer::Lost { reason } => {
            let sentence =
                format!("the outcome is unknown: {reason}; the call may have run, and it was not sent again");
            Outcome::Failed { fate, sentence, from }
        }
        Answer::Cancelled => Outcome::Cancelled,
    }
}

/// The method and the subject of a request, in the caller's own words.
fn asked_for(ask: &Ask) -> (&'static str, String) {
    use countersign_core::admit::Reference;
    match ask {
        Ask::Tool { name, .. } => ("tools/call", name.clone()),
        Ask::Resource { uri, .. } => ("resources/read", uri.clone()),
        Ask::Prompt { name, .. } => ("prompts/get", name.clone()),
        Ask::Complete {
            reference: Reference::Prompt(name) | Reference::Resource(name),
            ..
        } => ("completion/complete", name.clone()),
        Ask::Subscribe { uri } => ("resources/subscribe", uri.clone()),
        Ask::Unsubscribe { uri } => ("resources/unsubscribe", uri.clone()),
        Ask::Task { task, verb, .. } => (verb.method(), task.clone()),
    }
}
