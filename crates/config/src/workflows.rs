//! `workflows/*.yaml`: every file on its own, then all of them together (spec 7). A bad one is set aside by name (I12).

#[cfg(test)]
mod tests;

mod file;
mod steps;
mod values;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use countersign_core::core_tools::CoreTool;
use countersign_core::workflow::{self, Complaint, Draft, PREFIX, Workflow};

use crate::environment::Environment;
use crate::fields::Reader;
use crate::folder::Files;
use crate::problem::{Problem, Source};
use crate::yaml;

/// What the files say.
#[derive(Default)]
pub(crate) struct Read {
    /// The workflows that are sound, sorted by name.
    pub(crate) workflows: Vec<Arc<Workflow>>,
    /// What is wrong with the others.
    pub(crate) errors: Vec<Problem>,
    /// What the operator should look at.
    pub(crate) warnings: Vec<Problem>,
}

/// One file that says a workflow.
struct Said {
    source: Source,
    draft: Draft,
}

/// Reads every workflow; `longest` is how long an exposed name may be.
pub(crate) fn read(files: &Files, environment: &Environment, longest: usize) -> Read {
    let mut read = Read::default();
    let mut said: Vec<Said> = Vec::new();
    for (stem, source) in files.workflows() {
        match source {
            Err(problem) => read.errors.push(problem),
            Ok(source) => said.extend(one(&stem, source, (environment, longest), &mut read)),
        }
    }
    let said = without_twins(said, &mut read.errors);
    let mut sources = BTreeMap::new();
    let mut workflows = Vec::new();
    for Said { source, draft } in said {
        let workflow = Arc::new(Workflow::new(draft));
        sources.insert(Arc::clone(workflow.exposed()), source);
        workflows.push(workflow);
    }
    for (workflow, complaint) in workflow::cycles(&workflows) {
        if let Some(source) = sources.remove(workflow.exposed()) {
            read.errors.push(problem(&source, workflow.name(), complaint));
        }
    }
    workflows.retain(|workflow| sources.contains_key(workflow.exposed()));
    unknown_tools(&mut workflows, &sources, &mut read);
    workflows.sort_by(|left, right| left.name().cmp(right.name()));
    read.workflows = workflows;
    read
}

/// One file; nothing when something of it is wrong.
fn one(stem: &str, source: Source, (environment, longest): (&Environment, usize), read: &mut Read) -> Option<Said> {
    let (node, problems) = yaml::parse(&source);
    let mut reader = Reader::new(&source, environment);
    let draft = node.and_then(|node| file::read(&mut reader, &node, (stem, longest)));
    let mut errors = std::mem::take(&mut reader.errors);
    read.warnings.append(&mut reader.warnings);
    errors.extend(problems);
    let said = draft.map(|draft| Said { source, draft });
    if let Some(Said { source, draft }) = &said {
        let complaints = workflow::check(draft);
        errors.extend(
            complaints
                .into_iter()
                .map(|complaint| problem(source, &draft.name, complaint)),
        );
    }
    let is_sound = errors.is_empty();
    read.errors.append(&mut errors);
    said.filter(|_| is_sound)
}

/// The files whose names are theirs alone: a name that two claim belongs to neither (I9).
fn without_twins(said: Vec<Said>, errors: &mut Vec<Problem>) -> Vec<Said> {
    let mut files: BTreeMap<Arc<str>, Vec<Arc<str>>> = BTreeMap::new();
    for Said { draft, .. } in &said {
        let file = Arc::clone(&draft.at.file);
        files.entry(Arc::clone(&draft.name)).or_default().push(file);
    }
    let mut kept = Vec::new();
    for one in said {
        let others = files.get(&one.draft.name).into_iter().flatten();
        let others: Vec<String> = others
            .filter(|file| **file != one.draft.at.file)
            .map(|file| format!("`{file}`"))
            .collect();
        if others.is_empty() {
            kept.push(one);
            continue;
        }
        let what = format!(
            "workflow `{}` is defined in {} too",
            one.draft.name,
            others.join(" and ")
        );
        let problem = one.source.problem(span(one.draft.at.bytes), what);
        errors.push(problem.with_help("give each workflow a name of its own"));
    }
    kept
}

/// Tools of the gateway itself are known whatever the servers publish.
fn unknown_tools(workflows: &mut Vec<Arc<Workflow>>, sources: &BTreeMap<Arc<str>, Source>, read: &mut Read) {
    let names: Vec<Arc<str>> = workflows
        .iter()
        .map(|workflow| Arc::clone(workflow.exposed()))
        .collect();
    workflows.retain(|workflow| {
        let Some(source) = sources.get(workflow.exposed()) else {
            return true;
        };
        let mut is_sound = true;
        for (tool, _, at) in workflow.uses().tools() {
            let complaint = |what: &str, help: &str| Complaint {
                at: at.clone(),
                step: None,
                what: format!("`{tool}` {what}"),
                help: Some(help.to_owned()),
            };
            if tool.starts_with("core_") && !CoreTool::ALL.iter().any(|core| core.name() == &**tool) {
                let told = complaint(
                    "is no tool of the gateway",
                    "list_core_tools names those that there are",
                );
                read.errors.push(problem(source, workflow.name(), told));
                is_sound = false;
            } else if tool.starts_with(PREFIX) && !names.contains(tool) {
                let told = complaint(
                    "is no workflow that is sound",
                    "until there is one, this workflow is offered only where a condition stands before the step",
                );
                read.warnings
                    .push(problem(source, workflow.name(), told).into_warning());
            }
        }
        is_sound
    });
}

fn problem(source: &Source, workflow: &str, complaint: Complaint) -> Problem {
    let owner = owner(workflow, complaint.step.as_deref());
    let mut problem = source.problem(span(complaint.at.bytes), format!("{owner}{}", complaint.what));
    problem.help = complaint.help;
    problem
}

/// What messages about a part of a workflow begin with.
fn owner(workflow: &str, step: Option<&str>) -> String {
    match step {
        Some(step) => format!("workflow `{workflow}`, step `{step}`: "),
        None => format!("workflow `{workflow}`: "),
    }
}

fn span((start, end): (usize, usize)) -> Range<usize> {
    start..end
}
