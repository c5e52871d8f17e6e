//! From a request to the proof that one exact call may reach an upstream (I1, I3).
//!
//! `judge` resolves and classifies, `settle` admits. Both are pure: the same [`World`] and the
//! same request give the same answer.

use std::borrow::Cow;
use std::sync::Arc;

use crate::catalogue::{Catalogue, Owner, Provider};
use crate::effect::{Classified, Effect, Source};
use crate::exact::Exact;
use crate::names::ServerName;
use crate::principal::{Caller, Principal};
use crate::refusal::{Code, Refusal};
use crate::stages::{Pins, Rights, StageAnswer, Toolset, WriteGate};
use crate::time::Millis;

mod absent;
mod ask;
mod member;
mod operation;

pub use absent::{missing_prompt, missing_resource, missing_tool};
pub use ask::{Ask, Origin, Reference, TaskVerb};
pub use operation::{Operation, Target, UpstreamReference};

/// What is in force for every request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// Which rights a caller needs.
    pub rights: Rights,
    /// Whether definitions must be reviewed.
    pub pins: Pins,
    /// Whether mutating calls stop and ask.
    pub gate: WriteGate,
}

/// Everything a decision looks at: one instant, one view.
#[derive(Debug, Clone)]
pub struct World {
    /// The snapshot.
    pub catalogue: Arc<Catalogue>,
    /// What is in force.
    pub rules: Arc<Rules>,
    /// The clock's reading.
    pub now: Millis,
}

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
    let mut answers = Vec::with_capacity(STAGES);
    let found = resolve(&world.catalogue, ask)?;
    answers.push(answer("view", "visible", "in the catalogue"));
    match &caller.toolset {
        Toolset::Unscoped { because } => answers.push(answer("toolset", "unscoped", because)),
    }
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
        Source::Undeclared => "nobody has classified it, and unclassified means mutating",
    }
}

struct Found {
    target: Target,
    operation: Operation,
    classified: Classified,
}

/// How many stages answer.
const STAGES: usize = 7;

const READING: Classified = Classified {
    effect: Effect::ReadOnly,
    source: Source::Protocol,
};

fn resolve(catalogue: &Catalogue, ask: Ask) -> Result<Found, Refusal> {
    match ask {
        Ask::Tool { name, arguments } => resolve_tool(catalogue, &name, arguments),
        Ask::Resource { uri, server } => {
            let owner = owner_of(catalogue, &uri, server.as_deref())?;
            Ok(reading(owner, Operation::ReadResource { uri }))
        }
        Ask::Prompt { name, arguments } => {
            let prompt = catalogue
                .prompt(&name)
                .ok_or_else(|| missing_prompt(catalogue, &name))?;
            let name = prompt.definition.name.clone();
            Ok(reading(prompt.server.clone(), Operation::GetPrompt { name, arguments }))
        }
        Ask::Complete {
            reference: Reference::Prompt(name),
            argument,
            context,
        } => {
            let prompt = catalogue
                .prompt(&name)
                .ok_or_else(|| missing_prompt(catalogue, &name))?;
            let reference = UpstreamReference::Prompt(prompt.definition.name.clone());
            Ok(reading(
                prompt.server.clone(),
                Operation::Complete {
                    reference,
                    argument,
                    context,
                },
            ))
        }
        Ask::Complete {
            reference: Reference::Resource(uri),
            argument,
            context,
        } => {
            let owner = owner_of(catalogue, &uri, None)?;
            let reference = UpstreamReference::Resource(uri);
            Ok(reading(
                owner,
                Operation::Complete {
                    reference,
                    argument,
                    context,
                },
            ))
        }
        Ask::Subscribe { uri } => {
            let owner = owner_of(catalogue, &uri, None)?;
            Ok(reading(owner, Operation::Subscribe { uri }))
        }
        Ask::Unsubscribe { uri } => {
            let owner = owner_of(catalogue, &uri, None)?;
            Ok(reading(owner, Operation::Unsubscribe { uri }))
        }
        Ask::Task { server, task, verb } => resolve_task(catalogue, server, task, verb),
    }
}

fn resolve_task(catalogue: &Catalogue, server: ServerName, task: String, verb: TaskVerb) -> Result<Found, Refusal> {
    if catalogue.server(server.as_str()).is_none() {
        return Err(Refusal {
            code: Code::TaskNotFound,
            sentence: "Task not found: its server is not in the catalogue any more".to_owned(),
            nearest: Vec::new(),
        });
    }
    let operation = Operation::Task { task, verb };
    Ok(match verb {
        TaskVerb::Get | TaskVerb::Result | TaskVerb::Watch | TaskVerb::Unwatch => reading(server, operation),
        // An answer lets the task go on, and a cancelled one stops in the middle.
        TaskVerb::Update | TaskVerb::Cancel => Found {
            target: Target::Server(server),
            operation,
            classified: Classified {
                effect: Effect::Mutating,
                source: Source::Undeclared,
            },
        },
    })
}

fn reading(server: ServerName, operation: Operation) -> Found {
    Found {
        target: Target::Server(server),
        operation,
        classified: READING,
    }
}

fn resolve_tool(catalogue: &Catalogue, name: &str, arguments: Exact) -> Result<Found, Refusal> {
    let Some(tool) = catalogue.tool(name) else {
        return Err(missing_tool(catalogue, name));
    };
    let found = |target, operation| Found {
        target,
        operation,
        classified: tool.classified,
    };
    match &tool.provider {
        Provider::Server(server) => {
            let definition = Arc::clone(&tool.definition);
            let operation = Operation::CallTool { definition, arguments };
            Ok(found(Target::Server(server.clone()), operation))
        }
        Provider::Family(family) => member::resolve(name, family, &arguments),
        Provider::Core(core) => {
            let operation = Operation::RunCore { tool: *core, arguments };
            Ok(found(Target::Gateway, operation))
        }
    }
}

fn owner_of(catalogue: &Catalogue, uri: &str, server: Option<&str>) -> Result<ServerName, Refusal> {
    let not_found = || missing_resource(catalogue, uri, server);
    if let Some(name) = server {
        return catalogue.resource_server(name).cloned().ok_or_else(not_found);
    }
    match catalogue.owner(uri) {
        Owner::One(server) => Ok(server),
        Owner::Nobody => Err(not_found()),
        Owner::Many(servers) => {
            let names: Vec<String> = servers.iter().map(ToString::to_string).collect();
            Err(Refusal {
                code: Code::ResourceAmbiguous,
                sentence: format!(
                    "resource `{uri}` is published by servers {}; name one with the `server` argument of get_resource",
                    names.join(", ")
                ),
                nearest: names,
            })
        }
    }
}

#[cfg(test)]
mod tests;
