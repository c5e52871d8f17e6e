//! The intent of a call, as it was admitted; its line of the trail is written when somebody needs it.

use std::fmt;

use countersign_core::admit::{ExactCall, Operation, Origin, Target, UpstreamReference};
use countersign_core::effect::Effect;
use countersign_core::exact::{Digest, Exact};
use countersign_core::names::OriginalName;
use countersign_core::principal::PrincipalKey;
use countersign_core::stages::StageAnswer;
use countersign_core::time::Millis;

use crate::entry::Entry;

/// Arguments up to this many bytes are kept until their digest is asked for; of longer ones it is made at once, so
/// that a ledger in memory does not hold what callers send.
const KEPT: usize = 512;

/// The intent of an admitted call. What it shares with the call it does not copy.
#[derive(Debug)]
pub(crate) struct Intent {
    at: Millis,
    principal: PrincipalKey,
    origin: Origin,
    method: &'static str,
    target: Target,
    subject: Subject,
    effect: Effect,
    arguments: Option<Arguments>,
    answers: Vec<StageAnswer>,
}

#[derive(Debug)]
enum Subject {
    Name(OriginalName),
    Text(String),
}

/// What the digest of the arguments is made of. The arguments themselves are never shown.
enum Arguments {
    Kept(Exact),
    Digest(Digest),
}

impl Intent {
    pub(crate) fn of(call: &ExactCall, answers: Vec<StageAnswer>, at: Millis) -> Self {
        let operation = call.operation();
        let subject = match operation {
            Operation::CallTool { definition, .. } => Subject::Name(definition.name.clone()),
            Operation::GetPrompt { name, .. }
            | Operation::Complete {
                reference: UpstreamReference::Prompt(name),
                ..
            } => Subject::Name(name.clone()),
            Operation::RunCore { .. }
            | Operation::RunWorkflow { .. }
            | Operation::ReadResource { .. }
            | Operation::Complete { .. }
            | Operation::Subscribe { .. }
            | Operation::Unsubscribe { .. }
            | Operation::Task { .. } => Subject::Text(operation.subject().to_owned()),
        };
        Self {
            at,
            principal: call.principal().key().clone(),
            origin: call.origin(),
            method: operation.method(),
            target: call.target().clone(),
            subject,
            effect: call.classified().effect,
            arguments: operation.arguments().map(Arguments::of),
            answers,
        }
    }

    /// Its line of the trail; the number is given by the backend.
    pub(crate) fn entry(&self) -> Entry {
        let server = match &self.target {
            Target::Server(name) => name.as_str(),
            Target::Gateway => "gateway",
        };
        let subject = match &self.subject {
            Subject::Name(name) => name.as_str(),
            Subject::Text(text) => text,
        };
        Entry {
            seq: 0,
            at: self.at,
            principal: self.principal.as_str().to_owned(),
            kind: "call".to_owned(),
            origin: self.origin.word().to_owned(),
            method: self.method.to_owned(),
            server: server.to_owned(),
            subject: subject.to_owned(),
            effect: self.effect.word().to_owned(),
            args_sha256: self.arguments.as_ref().map(|arguments| arguments.digest().hex()),
            reason: reason(&self.answers),
            fate: None,
            duration_ms: None,
        }
    }
}

impl Arguments {
    fn of(exact: &Exact) -> Self {
        if exact.as_str().len() <= KEPT {
            Self::Kept(exact.clone())
        } else {
            Self::Digest(exact.digest())
        }
    }

    fn digest(&self) -> Digest {
        match self {
            Self::Kept(exact) => exact.digest(),
            Self::Digest(digest) => *digest,
        }
    }
}

impl fmt::Debug for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.digest().fmt(f)
    }
}

fn reason(answers: &[StageAnswer]) -> String {
    let mut text = String::with_capacity(answers.len() * 48);
    for answer in answers {
        if !text.is_empty() {
            text.push_str("; ");
        }
        for part in [answer.stage, ": ", answer.answer, " (", &answer.because, ")"] {
            text.push_str(part);
        }
    }
    text
}

#[cfg(test)]
mod tests;
