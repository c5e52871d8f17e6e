//! What can be known of a workflow without running it: ids, names in expressions, workflows that call themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::template::{Reference, Root, Template};
use super::{Action, Call, Condition, Draft, Expected, PREFIX, Place, Step, Workflow};

/// Something in a workflow that is wrong whatever the servers publish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// Where.
    pub at: Place,
    /// The step that it is in, where it is in one.
    pub step: Option<Arc<str>>,
    /// What is wrong, in lower case.
    pub what: String,
    /// The way out.
    pub help: Option<String>,
}

/// Everything that is wrong with a workflow by itself.
#[must_use]
pub fn check(draft: &Draft) -> Vec<Complaint> {
    let mut checker = Checker {
        draft,
        complaints: Vec::new(),
        ids: BTreeMap::new(),
    };
    let mut seen = Seen::default();
    checker.steps(&draft.steps, &mut seen);
    if let Some(output) = &draft.output {
        for template in output.templates() {
            checker.template(template, None, &seen);
        }
    }
    // Which steps ended before the failure is not known, so a clean-up may name all of them.
    seen.vars.insert("failure".into());
    checker.steps(&draft.on_failure, &mut seen);
    checker.complaints
}

/// Workflows that call themselves, also through others, each with the way around.
#[must_use]
pub fn cycles(workflows: &[Arc<Workflow>]) -> Vec<(Arc<Workflow>, Complaint)> {
    let by_name: BTreeMap<&str, &Arc<Workflow>> = workflows.iter().map(|it| (&**it.exposed(), it)).collect();
    let mut found = Vec::new();
    for workflow in workflows {
        let mut way = Vec::new();
        if let Some(at) = leads_back(workflow, workflow, &by_name, &mut BTreeSet::new(), &mut way) {
            way.retain(|name| name != workflow.exposed());
            way.reverse();
            let names: Vec<String> = way.iter().map(|name| format!("`{name}`")).collect();
            let what = if names.is_empty() {
                "it calls itself, and a run would not end".to_owned()
            } else {
                format!(
                    "it calls itself by way of {}, and a run would not end",
                    names.join(" and ")
                )
            };
            let complaint = Complaint {
                at,
                step: None,
                what,
                help: Some("call another workflow here, or take the step out".to_owned()),
            };
            found.push((Arc::clone(workflow), complaint));
        }
    }
    found
}

/// Where a workflow names the first workflow of a way that leads back to `goal`.
fn leads_back(
    from: &Workflow,
    goal: &Workflow,
    by_name: &BTreeMap<&str, &Arc<Workflow>>,
    seen: &mut BTreeSet<Arc<str>>,
    way: &mut Vec<Arc<str>>,
) -> Option<Place> {
    for (tool, _, at) in from.uses().tools() {
        let Some(next) = by_name.get(&**tool) else { continue };
        if next.exposed() == goal.exposed() {
            way.push(Arc::clone(tool));
            return Some(at.clone());
        }
        if seen.insert(Arc::clone(tool)) && leads_back(next, goal, by_name, seen, way).is_some() {
            way.push(Arc::clone(tool));
            return Some(at.clone());
        }
    }
    None
}

/// What an expression at some place may name.
#[derive(Debug, Clone, Default)]
struct Seen {
    results: BTreeSet<Arc<str>>,
    vars: BTreeSet<Arc<str>>,
}

struct Checker<'d> {
    draft: &'d Draft,
    complaints: Vec<Complaint>,
    ids: BTreeMap<Arc<str>, Place>,
}

impl Checker<'_> {
    fn steps(&mut self, steps: &[Arc<Step>], seen: &mut Seen) {
        for step in steps {
            self.step(step, seen);
        }
    }

    /// Checks a step; what it adds to what later ones may name is added.
    fn step(&mut self, step: &Step, seen: &mut Seen) {
        self.id(step);
        if let Some(condition) = &step.condition {
            self.condition(condition, step, seen);
        }
        match &step.action {
            Action::Call(call) => self.call(call, step, seen),
            Action::ForEach(each) => {
                self.template(&each.items, Some(step), seen);
                let mut inner = seen.clone();
                if !inner.vars.insert(Arc::clone(&each.name)) {
                    let what = format!("`as: {}` is the name of a loop around it", each.name);
                    self.complain(&step.at, Some(step), what, None);
                }
                if &*each.name == "failure" {
                    let what = "`as: failure` is the name of what failed, in `on_failure`".to_owned();
                    self.complain(&step.at, Some(step), what, None);
                }
                // What an iteration answers is seen in it; outside, in the results of the loop.
                self.steps(&each.steps, &mut inner);
            }
            Action::Parallel(parallel) => {
                let mut after = seen.clone();
                for lane in parallel.steps.iter() {
                    // Which of them ends first is not known, so none sees another.
                    let mut inner = seen.clone();
                    self.step(lane, &mut inner);
                    after.results.extend(inner.results);
                }
                *seen = after;
            }
        }
        seen.results.insert(Arc::clone(&step.id));
    }

    fn id(&mut self, step: &Step) {
        match self.ids.get(&step.id) {
            None => {
                self.ids.insert(Arc::clone(&step.id), step.at.clone());
            }
            Some(first) => {
                let what = format!("its id is that of another step, on line {}", first.line);
                self.complain(&step.at, Some(step), what, Some("give each step an id of its own"));
            }
        }
    }

    fn condition(&mut self, condition: &Condition, step: &Step, seen: &Seen) {
        match condition {
            Condition::When(template) => {
                if !template.is_one_expression() {
                    let what = "`condition.template` must be one expression, which is true or false".to_owned();
                    let help = "write it like `\"{{ input.namespace != 'kube-system' }}\"`";
                    self.complain(template.at(), Some(step), what, Some(help));
                }
                self.template(template, Some(step), seen);
            }
            Condition::Call { call, expected } => {
                self.call(call, step, seen);
                self.expected(expected, step, seen);
            }
            Condition::Step {
                step: named,
                at,
                expected,
            } => {
                if !seen.results.contains(named) {
                    let what = format!("`from_step` names `{named}`, which is no step before this one");
                    let help = known("steps before it", &seen.results);
                    self.complain(at, Some(step), what, Some(&help));
                }
                self.expected(expected, step, seen);
            }
        }
    }

    fn expected(&mut self, expected: &Expected, step: &Step, seen: &Seen) {
        for expectation in [&expected.expect, &expected.expect_not].into_iter().flatten() {
            for (_, shape) in &expectation.values {
                for template in shape.templates() {
                    self.template(template, Some(step), seen);
                }
            }
        }
    }

    fn call(&mut self, call: &Call, step: &Step, seen: &Seen) {
        self.template(&call.tool, Some(step), seen);
        if let Some(name) = call.tool.literal().and_then(|tool| tool.strip_prefix(PREFIX))
            && name == &*self.draft.name
        {
            let what = "it calls its own workflow, and a run would not end".to_owned();
            self.complain(call.tool.at(), Some(step), what, None);
        }
        for template in call.arguments.templates() {
            self.template(template, Some(step), seen);
        }
    }

    fn template(&mut self, template: &Template, step: Option<&Step>, seen: &Seen) {
        for reference in template.references() {
            let (what, help) = match reference {
                Reference::Unknown(name) => (
                    format!("`{name}` is not known to expressions"),
                    "expressions know `input`, `results` and `vars`".to_owned(),
                ),
                Reference::Member(_, None) => continue,
                Reference::Member(root, Some(name)) => {
                    let (names, of) = match root {
                        Root::Input => (
                            self.draft.arguments.iter().map(|it| Arc::clone(&it.name)).collect(),
                            "args",
                        ),
                        Root::Results => (seen.results.clone(), "steps before it"),
                        Root::Vars => (seen.vars.clone(), "names of loops around it"),
                    };
                    if names.contains(&name) {
                        continue;
                    }
                    (
                        format!("`{}.{name}` is not there", root.word()),
                        known_for(&name, of, &names),
                    )
                }
            };
            let what = format!("in `{}`: {what}", super::template::shown(template.source()));
            self.complain(template.at(), step, what, Some(&help));
        }
    }

    fn complain(&mut self, at: &Place, step: Option<&Step>, what: String, help: Option<&str>) {
        self.complaints.push(Complaint {
            at: at.clone(),
            step: step.map(|step| Arc::clone(&step.id)),
            what,
            help: help.map(str::to_owned),
        });
    }
}

fn known(of: &str, names: &BTreeSet<Arc<str>>) -> String {
    if names.is_empty() {
        return format!("there are no {of}");
    }
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("{of}: {}", names.join(", "))
}

/// A name with a hyphen cannot stand behind a dot, where the hyphen is a minus.
fn known_for(name: &str, of: &str, names: &BTreeSet<Arc<str>>) -> String {
    let hyphenated = names
        .iter()
        .find(|known| known.strip_prefix(name).is_some_and(|rest| rest.starts_with('-')));
    match hyphenated {
        Some(meant) => format!("a name with `-` stands in brackets: `[\"{meant}\"]`"),
        None => known(of, names),
    }
}
