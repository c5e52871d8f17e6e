//! Which workflows a snapshot offers, and whether they only read: derived from its own tools (spec 7, the seed).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Availability, Finding, FindingKind, Provider, Server, Tool};
use crate::effect::{Classified, Effect, Source};
use crate::names::ExposedName;
use crate::workflow::{ReadOnly, Use, Workflow};

/// The tools of the workflows whose tools are there, in the order of their names, and what is said of the others.
pub(super) fn offered(
    workflows: &[Arc<Workflow>],
    (servers, tools): (&[Server], &[Tool]),
) -> (Vec<Tool>, Vec<Finding>) {
    if workflows.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let mut deriver = Deriver {
        tools: tools.iter().map(|tool| (tool.name.as_str(), tool)).collect(),
        workflows: workflows
            .iter()
            .map(|workflow| (&**workflow.exposed(), workflow))
            .collect(),
        known: BTreeMap::new(),
    };
    let (mut offered, mut findings) = (Vec::new(), Vec::new());
    for workflow in deriver.workflows.clone().into_values() {
        let derived = deriver.of(workflow);
        if derived.missing.is_empty() {
            offered.push(tool(workflow, &derived));
        } else if is_complete(servers) {
            findings.push(finding(workflow, &derived.missing));
        }
    }
    (offered, findings)
}

/// Whether every server that could publish a missing tool has been asked.
fn is_complete(servers: &[Server]) -> bool {
    servers.iter().all(|server| match server.availability {
        // What a server offers after a sign-in is not known before it.
        Availability::Unlisted | Availability::AuthRequired => false,
        Availability::Ready | Availability::Unavailable { .. } | Availability::Suspended | Availability::Stopped => {
            true
        }
    })
}

/// What is derived of one workflow.
#[derive(Debug, Clone)]
struct Derived {
    /// Tools that it calls whenever a run comes that far, and that are not there.
    missing: Vec<Arc<str>>,
    /// Whether everything that it may call is annotated as reading.
    hint: ReadOnly,
    /// Whether everything that it may call is classified as reading; hints of servers that are not trusted do not count (I7).
    effect: Effect,
}

struct Deriver<'c> {
    tools: BTreeMap<&'c str, &'c Tool>,
    workflows: BTreeMap<&'c str, &'c Arc<Workflow>>,
    /// `None` while it is being worked out: whoever meets it then has found a cycle.
    known: BTreeMap<&'c str, Option<Derived>>,
}

impl<'c> Deriver<'c> {
    fn of(&mut self, workflow: &'c Arc<Workflow>) -> Derived {
        let name: &'c str = workflow.exposed();
        match self.known.get(name) {
            Some(Some(derived)) => return derived.clone(),
            Some(None) => {
                return Derived {
                    missing: vec![Arc::clone(workflow.exposed())],
                    hint: ReadOnly::No,
                    effect: Effect::Mutating,
                };
            }
            None => {}
        }
        self.known.insert(name, None);
        let derived = self.derive(workflow);
        self.known.insert(name, Some(derived.clone()));
        derived
    }

    fn derive(&mut self, workflow: &'c Arc<Workflow>) -> Derived {
        let mut missing = Vec::new();
        let (mut is_annotated, mut is_classified) = (true, true);
        if workflow.uses().is_templated() {
            (is_annotated, is_classified) = (false, false);
        }
        for (tool, how, _) in workflow.uses().tools() {
            let (is_there, annotated, classified) = self.reads(tool);
            is_annotated &= annotated;
            is_classified &= classified;
            if !is_there && how == Use::Always {
                missing.push(Arc::clone(tool));
            }
        }
        Derived {
            missing,
            hint: if is_annotated { ReadOnly::Yes } else { ReadOnly::No },
            effect: if is_classified {
                Effect::ReadOnly
            } else {
                Effect::Mutating
            },
        }
    }

    /// Whether a tool is there, is annotated as reading, and is classified as reading.
    fn reads(&mut self, tool: &str) -> (bool, bool, bool) {
        if let Some(nested) = self.workflows.get(tool).copied() {
            let derived = self.of(nested);
            let is_there = derived.missing.is_empty();
            return (
                is_there,
                is_there && derived.hint == ReadOnly::Yes,
                is_there && derived.effect == Effect::ReadOnly,
            );
        }
        let Some(tool) = self.tools.get(tool) else {
            return (false, false, false);
        };
        let annotations = tool.definition.annotations.as_ref();
        let is_annotated = annotations.is_some_and(|hints| hints.read_only == Some(true));
        (true, is_annotated, tool.classified.effect == Effect::ReadOnly)
    }
}

fn tool(workflow: &Arc<Workflow>, derived: &Derived) -> Tool {
    Tool {
        name: ExposedName::new(workflow.exposed()),
        provider: Provider::Workflow(Arc::clone(workflow)),
        definition: Arc::clone(workflow.definition(derived.hint)),
        classified: Classified {
            effect: derived.effect,
            source: Source::Derived,
        },
    }
}

fn finding(workflow: &Workflow, missing: &[Arc<str>]) -> Finding {
    let missing: Vec<String> = missing.iter().map(|tool| format!("`{tool}`")).collect();
    let verb = if missing.len() == 1 { "is" } else { "are" };
    Finding {
        servers: Vec::new(),
        family: None,
        subject: Some(workflow.exposed().to_string()),
        kind: FindingKind::WorkflowUnavailable,
        what: format!("not offered: {} {verb} published by no server", missing.join(" and ")),
        way_out: "mend the name in its file, or put a condition before the step".to_owned(),
    }
}
