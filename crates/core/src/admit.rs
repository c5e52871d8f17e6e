//! From a request to the proof that one exact call may reach an upstream (I1, I3).
//!
//! `judge` resolves and classifies, `settle` admits. Both are pure: the same [`World`] and the
//! same request give the same answer.

use std::borrow::Cow;
use std::sync::Arc;

use crate::effect::{Classified, Source};
use crate::principal::{Caller, Principal};
use crate::refusal::{Code, Refusal};
use crate::stages::{Pins, Rights, StageAnswer, WriteGate};

mod absent;
mod ask;
mod member;
mod operation;
mod resolve;
mod world;

pub use absent::{missing_prompt, missing_resource, missing_tool};
pub use ask::{Ask, Origin, Reference, TaskVerb};
pub use operation::{Operation, Target, UpstreamReference};
use resolve::resolve;
pub use world::{Rules, View, World};

/// One exact call: who, where, what, with which arguments, and what it may do.
#[derive(Debug, PartialEq, Eq)]
pub struct ExactCall {
    principal: Arc<Principal>,
    target: Target,
    operation: Operation,
    classified: Classified,
    origin: Origin,
}

impl ExactCall {
    /// Who asked.
    #[must_use]
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// Where it goes.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// What is done there.
    #[must_use]
    pub fn operation(&self) -> &Operation {
        &self.operation
    }

    /// What it may do, and who says so.
    #[must_use]
    pub fn classified(&self) -> Classified {
        self.classified
    }

    /// The road by which it came.
    #[must_use]
    pub fn origin(&self) -> Origin {
        self.origin
    }
}

/// A request that is visible, not denied and classified. Only [`judge`] makes one.
///
/// ```compile_fail
/// let forged = countersign_core::admit::Judged { call: unreachable!(), answers: vec![] };
/// ```
/// ```compile_fail
/// fn twice(judged: &countersign_core::admit::Judged) -> countersign_core::admit::Judged { judged.clone() }
/// ```
#[derive(Debug)]
#[must_use = "a judged request does nothing until it is settled"]
pub struct Judged {
    call: ExactCall,
    answers: Vec<StageAnswer>,
}

impl Judged {
    /// The call as it stands.
    #[must_use]
    pub fn call(&self) -> &ExactCall {
        &self.call
    }

    /// Adds the answer of a stage that stands between judging and settling.
    pub fn with_answer(mut self, answer: StageAnswer) -> Self {
        self.answers.push(answer);
        self
    }
}

/// The proof that one exact call may reach its target, and why. Only [`settle`] makes one, and
/// whoever takes it takes it by value.
///
/// ```compile_fail
/// let forged = countersign_core::admit::Permit { call: unreachable!(), answers: vec![] };
/// ```
/// ```compile_fail
/// fn twice(permit: &countersign_core::admit::Permit) -> countersign_core::admit::Permit { permit.clone() }
/// ```
#[derive(Debug)]
#[must_use = "a permit that is dropped is a call that never ran"]
pub struct Permit {
    call: ExactCall,
    answers: Vec<StageAnswer>,
}

impl Permit {
    /// The one call that it permits.
    #[must_use]
    pub fn call(&self) -> &ExactCall {
        &self.call
    }

    /// Every stage's answer, in order.
    #[must_use]
    pub fn answers(&self) -> &[StageAnswer] {
        &self.answers
    }

    /// Spends the permit: the call, and every stage's answer.
    #[must_use]
    pub fn into_parts(self) -> (ExactCall, Vec<StageAnswer>) {
        (self.call, self.answers)
    }
}

/// What becomes of a judged request. The write gate's other answers come to stand here.
#[derive(Debug)]
#[must_use]
pub enum Admission {
    /// It may run, once.
    Proceed(Permit),
}

/// Resolves and classifies a request in one world.
///
/// # Errors
/// A [`Refusal`] that says no more than the caller may know.
pub fn judge(world: &World, caller: &Caller, ask: Ask, origin: Origin) -> Result<Judged, Refusal> {
    if !world.is_of(caller) {
        let sentence = "the request was to be judged by another toolset than its own, so it is refused";
        return Err(Refusal::new(Code::BadToolset, sentence.to_owned()));
    }
    let mut answers = Vec::with_capacity(STAGES);
    let found = resolve(world, ask)?;
    if let Some(because) = caller.bound_as() {
        answers.push(StageAnswer {
            stage: "session",
            answer: "bound",
            because: Cow::Owned(because),
        });
    }
    answers.push(answer("view", "visible", "in the catalogue"));
    answers.push(match &world.view {
        View::Whole { because } => answer("toolset", "unscoped", because),
        View::Narrowed(narrowed) => StageAnswer {
            stage: "toolset",
            answer: "within",
            because: Cow::Owned(narrowed.bounds().to_string()),
        },
        // Only what no toolset is asked about gets here.
        View::Refused(_) => answer("toolset", "not_asked", "what was begun is followed with any"),
    });
    match &world.rules.rights {
        Rights::Open { because } => answers.push(answer("rights", "allowed", because)),
    }
    match &world.rules.pins {
        Pins::Off { because } => answers.push(answer("pin", "off", because)),
    }
    answers.push(answer(
        "effect",
        found.classified.effect.word(),
        source_text(found.classified.source),
    ));
    let call = ExactCall {
        principal: Arc::clone(&caller.principal),
        target: found.target,
        operation: found.operation,
        classified: found.classified,
        origin,
    };
    Ok(Judged { call, answers })
}

/// Admits a judged request: the write gate's answer.
pub fn settle(world: &World, judged: Judged) -> Admission {
    let Judged { call, mut answers } = judged;
    match &world.rules.gate {
        WriteGate::Off { because } => answers.push(answer("gate", "runs", because)),
    }
    Admission::Proceed(Permit { call, answers })
}

fn answer(stage: &'static str, answer: &'static str, because: &'static str) -> StageAnswer {
    StageAnswer {
        stage,
        answer,
        because: Cow::Borrowed(because),
    }
}

fn source_text(source: Source) -> &'static str {
    match source {
        Source::Gateway => "declared by the gateway",
        Source::Protocol => "the protocol's reading methods change nothing",
        Source::Annotation => "readOnlyHint of a server with trustAnnotations",
        Source::Derived => "derived from every tool that the workflow may call",
        Source::Undeclared => "nobody has classified it, and unclassified means mutating",
    }
}

/// How many stages answer.
const STAGES: usize = 8;

#[cfg(test)]
mod tests;
