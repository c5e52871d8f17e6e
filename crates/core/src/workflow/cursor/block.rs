//! Steps one after the other, each with its condition.

use std::sync::Arc;

use super::lanes::Lanes;
use super::scope::Scope;
use super::{Begin, CallEnd, CallKey, Course, Failure, Known, Status};
use crate::json::Json;
use crate::workflow::{Action, Call, Condition, Expectation, Expected, Fault, ForEach, Names, STEPS, Step, Steps};

/// How a block takes failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// The first failure that is not allowed ends it.
    Strict,
    /// It goes on: a clean-up does what it can.
    Lenient,
}

/// How far something is.
#[derive(Debug)]
pub(super) enum Progress {
    Running,
    Finished,
    Failed(Failure),
}

/// Steps one after the other.
#[derive(Debug)]
pub(super) struct Block {
    steps: Steps,
    at: usize,
    prefix: String,
    pub(super) scope: Scope,
    active: Option<Active>,
    manner: Manner,
}

/// What the current step waits for.
#[derive(Debug)]
enum Active {
    Condition(CallKey),
    Call(CallKey),
    Loop(Box<Loop>),
    Lanes(Box<Lanes>),
}

/// What a step came to.
enum Settled {
    Running(Active),
    Known(Known),
    Skipped,
    Failed { failure: Failure, value: Json },
}

impl Block {
    pub(super) fn new(steps: Steps, prefix: String, scope: Scope, manner: Manner) -> Self {
        Self {
            steps,
            at: 0,
            prefix,
            scope,
            active: None,
            manner,
        }
    }

    /// Goes on as far as it can.
    pub(super) fn poll(&mut self, course: &mut Course) -> Progress {
        loop {
            let Some(step) = self.steps.get(self.at).map(Arc::clone) else {
                return Progress::Finished;
            };
            let path: Arc<str> = format!("{}{}", self.prefix, step.id).into();
            let settled = match self.active.take() {
                None => self.start(&step, &path, course),
                Some(Active::Condition(key)) => match course.arrived.remove(&key) {
                    None => Settled::Running(Active::Condition(key)),
                    Some(end) => self.decide(&step, &path, &end, course),
                },
                Some(Active::Call(key)) => match course.arrived.remove(&key) {
                    None => Settled::Running(Active::Call(key)),
                    Some(end) => called(&path, end),
                },
                Some(Active::Loop(mut each)) => match each.poll(course) {
                    Progress::Running => Settled::Running(Active::Loop(each)),
                    Progress::Finished => Settled::Known(each.known()),
                    Progress::Failed(failure) => Settled::Failed {
                        failure,
                        value: each.known().value,
                    },
                },
                Some(Active::Lanes(mut lanes)) => {
                    let progress = lanes.poll(course);
                    self.settle_lanes(lanes, progress)
                }
            };
            match settled {
                Settled::Running(active) => {
                    self.active = Some(active);
                    return Progress::Running;
                }
                Settled::Known(known) => self.go_on(&step, known),
                Settled::Skipped => self.go_on(
                    &step,
                    Known {
                        success: false,
                        value: Json::Null,
                    },
                ),
                Settled::Failed { failure, value } => {
                    let is_allowed = step.allow_failure || self.manner == Manner::Lenient;
                    if failure.is_final || !is_allowed {
                        return Progress::Failed(failure);
                    }
                    self.go_on(&step, Known { success: false, value });
                }
            }
        }
    }

    /// The answers of its own steps, by id.
    pub(super) fn answers(&self) -> Json {
        let ids = self.steps.iter().map(|step| &step.id);
        Json::object(ids.filter_map(|id| Some((Arc::clone(id), self.scope.known(id)?.value))))
    }

    /// What the step of a lane came to, and the steps inside of it that later ones may name.
    pub(super) fn known_steps(&self) -> Vec<(Arc<str>, Known)> {
        let mut ids = Vec::new();
        for step in self.steps.iter() {
            visible(step, &mut ids);
        }
        let known = ids
            .into_iter()
            .filter_map(|id| Some((Arc::clone(id), self.scope.known(id)?)));
        known.collect()
    }

    fn go_on(&mut self, step: &Step, known: Known) {
        self.scope.put(&step.id, known);
        self.at += 1;
    }

    fn settle_lanes(&mut self, mut lanes: Box<Lanes>, progress: Progress) -> Settled {
        if let Progress::Running = progress {
            return Settled::Running(Active::Lanes(lanes));
        }
        let value = lanes.answers();
        for (id, known) in lanes.take_ended() {
            self.scope.put(&id, known);
        }
        match progress {
            Progress::Failed(failure) => Settled::Failed { failure, value },
            Progress::Running | Progress::Finished => Settled::Known(Known { success: true, value }),
        }
    }

    /// Begins a step: its condition first.
    fn start(&mut self, step: &Step, path: &Arc<str>, course: &mut Course) -> Settled {
        course.begun += 1;
        if course.begun > course.most {
            let reason = format!("the run would take more than {STEPS} steps");
            return Settled::Failed {
                failure: Failure::last(Some(Arc::clone(path)), reason),
                value: Json::Null,
            };
        }
        if let Some(known) = course.known.remove(path) {
            return Settled::Known(known);
        }
        let names = self.scope.names(&course.input);
        let held =
            match &step.condition {
                None => Ok(true),
                Some(Condition::When(template)) => template
                    .evaluate(&names)
                    .map_err(|fault| fault.to_string())
                    .and_then(|value| match value {
                        Json::Bool(held) => Ok(held),
                        other @ (Json::Null | Json::Number(_) | Json::Text(_) | Json::List(_) | Json::Map(_)) => {
                            Err(format!(
                                "its condition `{}` ({}) is {}, not true or false",
                                template.source(),
                                template.at(),
                                other.kind()
                            ))
                        }
                    }),
                Some(Condition::Step {
                    step: named, expected, ..
                }) => {
                    // A step that never began says nothing.
                    let known = self.scope.known(named).unwrap_or(Known {
                        success: false,
                        value: Json::Null,
                    });
                    holds(expected, &known, &names).map_err(|fault| fault.to_string())
                }
                Some(Condition::Call { call, .. }) => {
                    let condition: Arc<str> = format!("{path}.condition").into();
                    if let Some(Known { success, value }) = course.known.remove(&condition) {
                        let error = None;
                        return self.decide(step, path, &CallEnd::Answered { success, value, error }, course);
                    }
                    return match begin(call, &condition, &names, course) {
                        Ok(key) => Settled::Running(Active::Condition(key)),
                        Err(reason) => failed(&condition, None, reason, course),
                    };
                }
            };
        match held {
            Ok(true) => self.act(step, path, course),
            Ok(false) => skip(step, path, course),
            Err(reason) => failed(path, None, reason, course),
        }
    }

    /// The condition's own call has ended.
    fn decide(&mut self, step: &Step, path: &Arc<str>, end: &CallEnd, course: &mut Course) -> Settled {
        let Some(Condition::Call { expected, .. }) = &step.condition else {
            return self.act(step, path, course);
        };
        let known = match end {
            CallEnd::Answered { success, value, .. } => Known {
                success: *success,
                value: value.clone(),
            },
            CallEnd::Failed { .. } => Known {
                success: false,
                value: Json::Null,
            },
            // What nobody knows neither holds nor does not.
            CallEnd::Unknown { .. } | CallEnd::Cancelled => return called(path, end.clone()),
        };
        let names = self.scope.names(&course.input);
        match holds(expected, &known, &names) {
            Ok(true) => self.act(step, path, course),
            Ok(false) => skip(step, path, course),
            Err(fault) => failed(path, None, fault.to_string(), course),
        }
    }

    /// Does what a step does.
    fn act(&mut self, step: &Step, path: &Arc<str>, course: &mut Course) -> Settled {
        let names = self.scope.names(&course.input);
        match &step.action {
            Action::Call(call) => match begin(call, path, &names, course) {
                Ok(key) => Settled::Running(Active::Call(key)),
                Err(reason) => failed(path, call.tool.literal().map(Into::into), reason, course),
            },
            Action::ForEach(each) => match items(each, &names) {
                Err(reason) => failed(path, None, reason, course),
                Ok(items) => {
                    let mut each = Box::new(Loop {
                        each: each.clone(),
                        items,
                        path: Arc::clone(path),
                        scope: self.scope.clone(),
                        manner: self.manner,
                        block: None,
                        answers: Vec::new(),
                    });
                    match each.poll(course) {
                        Progress::Running => Settled::Running(Active::Loop(each)),
                        Progress::Finished => Settled::Known(each.known()),
                        Progress::Failed(failure) => Settled::Failed {
                            failure,
                            value: each.known().value,
                        },
                    }
                }
            },
            Action::Parallel(parallel) => {
                let mut lanes = Box::new(Lanes::new(parallel, path, &self.scope, self.manner));
                let progress = lanes.poll(course);
                self.settle_lanes(lanes, progress)
            }
        }
    }
}

/// The ids that are seen outside of a step: its own, and those inside of a `parallel`.
fn visible<'s>(step: &'s Step, ids: &mut Vec<&'s Arc<str>>) {
    if let Action::Parallel(parallel) = &step.action {
        for inner in parallel.steps.iter() {
            visible(inner, ids);
        }
    }
    ids.push(&step.id);
}

/// Steps for each item of a list.
#[derive(Debug)]
struct Loop {
    each: ForEach,
    items: Arc<[Json]>,
    path: Arc<str>,
    scope: Scope,
    manner: Manner,
    block: Option<Block>,
    answers: Vec<Json>,
}

impl Loop {
    fn poll(&mut self, course: &mut Course) -> Progress {
        loop {
            let block = match &mut self.block {
                Some(block) => block,
                None => {
                    let place = self.answers.len();
                    let Some(item) = self.items.get(place) else {
                        return Progress::Finished;
                    };
                    let mut scope = self.scope.clone();
                    scope.set_var(&self.each.name, item.clone());
                    let prefix = format!("{}[{place}].", self.path);
                    self.block
                        .insert(Block::new(Arc::clone(&self.each.steps), prefix, scope, self.manner))
                }
            };
            match block.poll(course) {
                Progress::Finished => {
                    self.answers.push(block.answers());
                    self.block = None;
                }
                other @ (Progress::Running | Progress::Failed(_)) => return other,
            }
        }
    }

    fn known(&self) -> Known {
        Known {
            success: true,
            value: Json::List(self.answers.iter().cloned().collect()),
        }
    }
}

fn items(each: &ForEach, names: &Names) -> Result<Arc<[Json]>, String> {
    match each.items.evaluate(names).map_err(|fault| fault.to_string())? {
        Json::List(items) if items.len() <= each.max => Ok(items),
        Json::List(items) => Err(format!(
            "`for_each.items` has {} items, more than its `max` of {}",
            items.len(),
            each.max
        )),
        other @ (Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::Map(_)) => Err(format!(
            "`for_each.items` ({}) is {}, not a list",
            each.items.at(),
            other.kind()
        )),
    }
}

/// Hands out a call.
fn begin(call: &Call, path: &Arc<str>, names: &Names, course: &mut Course) -> Result<CallKey, String> {
    let told = |fault: Fault| fault.to_string();
    let tool = match call.tool.evaluate(names).map_err(told)? {
        Json::Text(tool) => tool,
        other @ (Json::Null | Json::Bool(_) | Json::Number(_) | Json::List(_) | Json::Map(_)) => {
            return Err(format!(
                "`tool` ({}) is {}, not the name of a tool",
                call.tool.at(),
                other.kind()
            ));
        }
    };
    let arguments = call.arguments.evaluate(names).map_err(told)?;
    if !matches!(arguments, Json::Map(_)) {
        return Err(format!("`args` is {}, not an object", arguments.kind()));
    }
    let arguments = arguments.to_exact().map_err(|error| format!("`args`: {error}"))?;
    let key = course.journal.begin(path, &tool, course.now);
    course.ready.push_back(Begin {
        key,
        path: Arc::clone(path),
        tool,
        arguments,
        timeout: call.timeout,
        retry: call.retry,
    });
    Ok(key)
}

/// What the end of a call makes of its step.
fn called(path: &Arc<str>, end: CallEnd) -> Settled {
    let failure = |reason: String| Failure {
        step: Some(Arc::clone(path)),
        reason,
        is_final: false,
    };
    match end {
        CallEnd::Answered {
            success: true, value, ..
        } => Settled::Known(Known { success: true, value }),
        CallEnd::Answered { value, error, .. } => Settled::Failed {
            failure: failure(error.unwrap_or_else(|| "the tool answered with an error".to_owned())),
            value,
        },
        CallEnd::Failed { error } | CallEnd::Unknown { error } => Settled::Failed {
            failure: failure(error),
            value: Json::Null,
        },
        CallEnd::Cancelled => Settled::Failed {
            failure: Failure::last(Some(Arc::clone(path)), "it was taken back".to_owned()),
            value: Json::Null,
        },
    }
}

/// A step that fails before anything of it is called.
fn failed(path: &Arc<str>, tool: Option<Arc<str>>, reason: String, course: &mut Course) -> Settled {
    let now = course.now;
    course
        .journal
        .note((path, tool), Status::Failed, Some(reason.clone()), now);
    Settled::Failed {
        failure: Failure {
            step: Some(Arc::clone(path)),
            reason,
            is_final: false,
        },
        value: Json::Null,
    }
}

fn skip(step: &Step, path: &Arc<str>, course: &mut Course) -> Settled {
    let tool = match &step.action {
        Action::Call(call) => call.tool.literal().map(Into::into),
        Action::ForEach(_) | Action::Parallel(_) => None,
    };
    let now = course.now;
    course.journal.note((path, tool), Status::Skipped, None, now);
    Settled::Skipped
}

/// Whether an answer is as expected: all of `expect`, and nothing of `expect_not`.
fn holds(expected: &Expected, known: &Known, names: &Names) -> Result<bool, Fault> {
    if let Some(expectation) = &expected.expect {
        let said = statements(expectation, known, names)?;
        if !said.into_iter().all(|is_true| is_true) {
            return Ok(false);
        }
    }
    match &expected.expect_not {
        None => Ok(true),
        Some(expectation) => Ok(!statements(expectation, known, names)?
            .into_iter()
            .any(|is_true| is_true)),
    }
}

/// Whether each statement of an expectation is true.
fn statements(expectation: &Expectation, known: &Known, names: &Names) -> Result<Vec<bool>, Fault> {
    let mut said: Vec<bool> = expectation
        .success
        .map(|success| success == known.success)
        .into_iter()
        .collect();
    for (pointer, shape) in &expectation.values {
        let wanted = shape.evaluate(names)?;
        said.push(known.value.at(pointer).is_some_and(|found| found.is_same_as(&wanted)));
    }
    Ok(said)
}
