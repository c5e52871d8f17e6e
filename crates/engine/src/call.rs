//! The one way of a call: world → judge → settle → begin → call → finish (I1, I6).

use std::time::Instant;

use countersign_core::admit::{self, Admission, Ask, Operation, Origin, Permit, Target};
use countersign_core::names::ServerName;
use countersign_core::outcome::Fate;
use countersign_core::principal::{Authentication, Caller};
use countersign_core::refusal::{Detail, Kind, Refusal};
use countersign_store::{End, Note};
use countersign_upstream::{Answer, Error, Passage};

use crate::outcome::{Outcome, Provenance};
use crate::sign_in::{AskedBy, AuthRequired};
use crate::workflows::Lineage;
use crate::{Engine, clock, core_tools, workflows};

/// Why a request is no call.
enum Turned {
    /// Not admitted.
    Refused(Refusal),
    /// Its server waits for a sign-in.
    AuthRequired(Box<AuthRequired>),
}

impl Engine {
    /// The one way of a call. Every decision is recorded; a call is made only when its intent is.
    pub async fn call(&self, caller: &Caller, ask: Ask, origin: Origin, passage: Passage) -> Outcome {
        self.call_in(caller, (ask, origin), passage, &Lineage::default()).await
    }

    /// As [`Engine::call`], inside of runs of workflows.
    pub(crate) async fn call_in(
        &self,
        caller: &Caller,
        (ask, origin): (Ask, Origin),
        passage: Passage,
        lineage: &Lineage,
    ) -> Outcome {
        match self.admit(caller, ask, origin).await {
            Ok(permit) => self.run(caller, permit, passage, lineage).await,
            Err(Turned::Refused(refusal)) => Outcome::Refused(refusal),
            Err(Turned::AuthRequired(required)) => Outcome::AuthRequired(required),
        }
    }

    /// Judges in one world. While servers are still being listed for the first time, a name that is
    /// not known yet is judged once more when they are.
    async fn admit(&self, caller: &Caller, ask: Ask, origin: Origin) -> Result<Permit, Turned> {
        let own = self.meet(&caller.principal);
        if self.is_pending(own.as_deref()) {
            let world = self.world(caller);
            if let Ok(judged) = admit::judge(&world, caller, ask.clone(), origin) {
                return Ok(self.settle(&world, judged));
            }
            Box::pin(self.until_listed(own.as_deref())).await;
        }
        let world = self.world(caller);
        let (method, subject) = asked_for(&ask);
        match admit::judge(&world, caller, ask, origin) {
            Ok(judged) => Ok(self.settle(&world, judged)),
            Err(refusal) => {
                log_outside(caller, &refusal);
                let awaited = self.awaited(caller, &refusal);
                let (decision, reason) = match &awaited {
                    None => ("refused", refusal.sentence.clone()),
                    Some(required) => ("auth_required", format!("server {} needs a sign-in", required.server)),
                };
                let reason = match caller.bound_as() {
                    Some(bound) => format!("{reason} (session: {bound})"),
                    None => reason,
                };
                self.record(Note {
                    at: world.now,
                    principal: caller.principal.key().to_string(),
                    kind: decision,
                    origin: origin.word(),
                    method: method.to_owned(),
                    subject,
                    reason,
                });
                self.shared.metrics.turned_away(decision);
                Err(awaited.map_or(Turned::Refused(refusal), |required| {
                    Turned::AuthRequired(Box::new(required))
                }))
            }
        }
    }

    /// The sign-in that a refused request waits for, and the way to it.
    fn awaited(&self, caller: &Caller, refusal: &Refusal) -> Option<AuthRequired> {
        let Detail::SignIn(server) = &refusal.detail else {
            return None;
        };
        let entry = self.shared.views.entry(server)?;
        Some(self.auth_required(&caller.principal, &entry, AskedBy::Call))
    }

    pub(crate) fn settle(&self, world: &admit::World, judged: admit::Judged) -> Permit {
        let answer = countersign_sandbox::pre(&self.shared.scripts, &judged);
        let Admission::Proceed(permit) = admit::settle(world, judged.with_answer(answer));
        permit
    }

    async fn run(&self, caller: &Caller, permit: Permit, passage: Passage, lineage: &Lineage) -> Outcome {
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
        let series = self.shared.metrics.admitted(call);
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
        let mut required = None;
        let (answer, receipt) = match from.server {
            Some(_) => self.shared.upstreams.call(recorded, passage).await,
            None if matches!(call.operation(), Operation::RunWorkflow { .. }) => {
                workflows::run(self, caller, recorded, passage, lineage).await
            }
            None => {
                let ran = Box::pin(core_tools::run(self, caller, recorded)).await;
                required = ran.sign_in;
                (ran.answer, ran.receipt)
            }
        };
        let took = began.elapsed();
        if let (Answer::NotSent(error), Some(server)) = (&answer, &from.server) {
            required = self.not_sent(caller, server, error);
        }
        let fate = fate_of(&answer);
        self.shared.metrics.ended(&series, &from, fate, took);
        if let Err(error) = self.shared.ledger.finish(receipt, End { fate, at: clock::now() }) {
            tracing::error!(%error, "the fate of a call cannot be recorded");
        }
        match required {
            Some(required) => Outcome::AuthRequired(Box::new(required)),
            None => told(answer, from),
        }
    }

    /// What a call that was not sent shows of its server: a grant that is no more, or a server that went away.
    fn not_sent(&self, caller: &Caller, server: &ServerName, error: &Error) -> Option<AuthRequired> {
        match error {
            Error::AuthRequired { .. } => {
                let own = self.meet(&caller.principal)?;
                self.shared.closed(&own, server);
                let entry = self.shared.views.entry(server)?;
                Some(self.auth_required(&caller.principal, &entry, AskedBy::Call))
            }
            Error::Unknown(_) | Error::Unavailable { .. } => {
                // A server over HTTP says nothing when it goes away: the first call that fails tells.
                self.doubt(caller.principal.key(), server);
                None
            }
        }
    }

    /// Writes a note; a note that cannot be written is logged, since nothing was let through.
    pub(crate) fn record(&self, note: Note) {
        if let Err(error) = self.shared.ledger.note(note) {
            tracing::error!(%error, "a refusal cannot be recorded");
        }
    }
}

/// Says once that something is outside the toolset of its request.
fn log_outside(caller: &Caller, refusal: &Refusal) {
    let Detail::Outside(outside) = &refusal.detail else {
        return;
    };
    let session = match caller.principal.authentication() {
        Authentication::Bound { session, .. } => Some(&**session),
        Authentication::LocalOnly | Authentication::Key { .. } | Authentication::Token { .. } => None,
    };
    let name = outside.name.as_str();
    let of = |kind| (outside.kind == kind).then_some(name);
    tracing::info!(
        tool = of(Kind::Tool),
        resource = of(Kind::Resource),
        prompt = of(Kind::Prompt),
        server = outside.server.as_ref().map(ServerName::as_str),
        toolset = %format_args!("[{}]", outside.toolset),
        bound = outside.bound,
        session,
        principal = %caller.principal.key(),
        "outside the toolset"
    );
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
