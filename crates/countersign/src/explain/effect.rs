//! Why a call counts as reading or as one that may change something, and the line that says so.

use countersign_config::At;
use countersign_core::admit::{ExactCall, Operation, Target};
use countersign_core::definition::Annotations;
use countersign_core::effect::{AnnotationTrust, Effect, Source};
use countersign_core::names::ServerName;
use countersign_core::workflow::{Place, Use, Workflow};

use super::report::Stage;
use crate::scene::Scene;

/// The spellings of the key that lets a server's hints count.
const TRUST: [&str; 2] = ["trustAnnotations", "trust_annotations"];

/// The stage `effect` with what its answer comes from.
pub(crate) fn stage(scene: &Scene, call: &ExactCall, stage: Stage) -> Stage {
    if let Operation::RunWorkflow { workflow, .. } = call.operation() {
        return derived(scene, workflow, stage);
    }
    let (Target::Server(server), Operation::CallTool { definition, .. }) = (call.target(), call.operation()) else {
        return stage;
    };
    let entry = scene.world.catalogue.server(server.as_str());
    let trust = entry.map_or(AnnotationTrust::Ignored, |server| server.entry.trust);
    let hints = definition.annotations.as_ref();
    let because = match call.classified().source {
        Source::Annotation => format!("server {server} says readOnlyHint, and its hints are trusted"),
        Source::Undeclared => undeclared(server, hints, trust),
        Source::Gateway | Source::Protocol | Source::Derived => stage.because.clone(),
    };
    let places = &scene.read.places;
    let from = places.of_server(server.as_str(), &TRUST);
    let from = from.or_else(|| places.server(server.as_str()));
    Stage { because, ..stage }.at(from)
}

fn undeclared(server: &ServerName, hints: Option<&Annotations>, trust: AnnotationTrust) -> String {
    let read_only = hints.and_then(|hints| hints.read_only);
    let destructive = hints.and_then(|hints| hints.destructive);
    match (trust, read_only, destructive) {
        (AnnotationTrust::Ignored, Some(true), _) => {
            format!(
                "server {server} says readOnlyHint, but `trustAnnotations` is not true; unclassified means mutating"
            )
        }
        (AnnotationTrust::Ignored, Some(false) | None, _) => {
            "nobody has classified it, and unclassified means mutating".to_owned()
        }
        (AnnotationTrust::Trusted, Some(true), _) => {
            format!("server {server} says readOnlyHint and destructiveHint, which contradict each other")
        }
        (AnnotationTrust::Trusted, Some(false), _) => format!("server {server} says readOnlyHint: false"),
        (AnnotationTrust::Trusted, None, _) => {
            format!("server {server} says no readOnlyHint, and unclassified means mutating")
        }
    }
}

/// The effect of a workflow comes from the tools that it may call: the first one that may change something decides.
fn derived(scene: &Scene, workflow: &Workflow, stage: Stage) -> Stage {
    let mut uses: Vec<(&str, &Place)> = workflow.uses().tools().map(|(tool, _, at)| (&**tool, at)).collect();
    uses.sort_by_key(|(_, at)| *at);
    let effect_of = |tool: &str| scene.world.catalogue.tool(tool).map(|tool| tool.classified.effect);
    let decides = uses.iter().find(|(tool, _)| effect_of(tool) != Some(Effect::ReadOnly));
    let (because, place) = match decides {
        Some((tool, place)) if effect_of(tool).is_some() => {
            (format!("it may call `{tool}`, which may change something"), *place)
        }
        Some((tool, place)) => (format!("it may call `{tool}`, which is not there"), *place),
        None if workflow.uses().is_templated() => (
            "a step names its tool by an expression, so that nobody knows which before it runs".to_owned(),
            &workflow.draft().at,
        ),
        None => (
            "every tool that it may call only reads".to_owned(),
            &workflow.draft().at,
        ),
    };
    Stage { because, ..stage }.at(Some(at(place)))
}

/// Why a workflow is not offered: tools that it always calls, and that are not there.
pub(super) fn missing(scene: &Scene, workflow: &Workflow) -> Vec<String> {
    let uses = workflow.uses().tools();
    let missing = uses.filter(|(tool, how, _)| *how == Use::Always && scene.world.catalogue.tool(tool).is_none());
    missing
        .map(|(tool, _, place)| {
            format!(
                "workflow {} is not offered: it calls `{tool}`, which is not there ({})",
                workflow.name(),
                at(place)
            )
        })
        .collect()
}

/// A place in the file of a workflow.
pub(super) fn at(place: &Place) -> At {
    At {
        file: place.file.to_string(),
        line: place.line,
        column: place.column,
        path: String::new(),
    }
}
