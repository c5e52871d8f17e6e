//! Where a run stands: says what is to be called next, takes what became of it, and never does anything itself.
//!
//! The same workflow, input and answers give the same run. A call is named once, by its key; what is known of a run that
//! was broken off (`Known`) is taken over and not called again.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{Retry, STEPS, Workflow};
use crate::exact::Exact;
use crate::json::Json;
use crate::time::Millis;

mod block;
mod journal;
mod lanes;
mod scope;

use block::{Block, Manner, Progress};
use journal::Journal;
use scope::Scope;

/// How many steps a clean-up may begin.
const CLEANUP: usize = 100;

/// A call of a run; no two share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallKey(usize);

/// A call that is to be made now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begin {
    /// Its key.
    pub key: CallKey,
    /// The step, with the loops around it: `each[2].logs`; a condition's own call ends in `.condition`.
    pub path: Arc<str>,
    /// The exposed name of the tool.
    pub tool: Arc<str>,
    /// The arguments.
    pub arguments: Exact,
    /// How long to wait for the answer.
    pub timeout: Option<Duration>,
    /// How often it may be made when it only reads and its server is unavailable.
    pub retry: Option<Retry>,
}

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallEnd {
    /// The tool answered.
    Answered {
        /// Whether with a success.
        success: bool,
        /// What; see [`super::read_result`].
        value: Json,
        /// What it says of its failure.
        error: Option<String>,
    },
    /// It did not run, or its answer is none.
    Failed {
        /// Why.
        error: String,
    },
    /// It was sent, and nobody knows what became of it (I5).
    Unknown {
        /// Why.
        error: String,
    },
    /// It was taken back before it could do anything.
    Cancelled,
}

/// What is to be done next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Make this call; then ask again, for more may run beside it.
    Call(Begin),
    /// Wait until a call has ended.
    Wait,
    /// Nothing: the run is over.
    Over(End),
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// What failed; `None` for a run that completed.
    pub failure: Option<Failure>,
    /// `output`, worked out; null for a run that failed.
    pub output: Json,
}

/// Why a run failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The step, with the loops around it.
    pub step: Option<Arc<str>>,
    /// Why, in lower case.
    pub reason: String,
    is_final: bool,
}

/// How a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Its call is under way.
    Running,
    /// It did what it should.
    Completed,
    /// It did not.
    Failed,
    /// Its condition did not hold.
    Skipped,
    /// It was sent, and nobody knows what became of it.
    Unknown,
    /// It was taken back before it could do anything.
    Cancelled,
}

/// One line of a run's account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The step, with the loops around it.
    pub path: Arc<str>,
    /// The tool, of a step that calls one.
    pub tool: Option<Arc<str>>,
    /// How it stands.
    pub status: Status,
    /// When it began.
    pub began: Millis,
    /// How long it took, in milliseconds.
    pub duration_ms: i64,
    /// What is wrong.
    pub error: Option<String>,
}

/// What is known of a step that ended before its run was broken off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Whether it succeeded.
    pub success: bool,
    /// What it answered.
    pub value: Json,
}

impl Failure {
    /// A failure that no `allow_failure` covers.
    fn last(step: Option<Arc<str>>, reason: String) -> Self {
        Self {
            step,
            reason,
            is_final: true,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.step {
            Some(step) => write!(f, "step `{step}`: {}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

impl Status {
    /// The word used in answers and records.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Unknown => "outcome_unknown",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Where one run stands.
#[derive(Debug)]
pub struct Cursor {
    workflow: Arc<Workflow>,
    course: Course,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    Forward(Block),
    /// It is to end; calls under way are waited for.
    Stopping {
        scope: Scope,
        failure: Failure,
    },
    Cleanup {
        block: Block,
        failure: Failure,
    },
    Over(End),
}

/// What the parts of a run share.
#[derive(Debug)]
struct Course {
    input: Json,
    journal: Journal,
    ready: VecDeque<Begin>,
    arrived: BTreeMap<CallKey, CallEnd>,
    known: BTreeMap<Arc<str>, Known>,
    begun: usize,
    most: usize,
    now: Millis,
}

impl Cursor {
    /// A run at its beginning. `known` is what an earlier part of it has done already.
    #[must_use]
    pub fn new(workflow: Arc<Workflow>, input: Json, known: BTreeMap<Arc<str>, Known>) -> Self {
        let steps = Arc::clone(&workflow.draft().steps);
        Self {
            workflow,
            course: Course {
                input,
                journal: Journal::default(),
                ready: VecDeque::new(),
                arrived: BTreeMap::new(),
                known,
                begun: 0,
                most: STEPS,
                now: Millis(0),
            },
            phase: Phase::Forward(Block::new(steps, String::new(), Scope::default(), Manner::Strict)),
        }
    }

    /// What is to be done next.
    pub fn next(&mut self, now: Millis) -> Next {
        self.course.now = now;
        loop {
            if let Some(begin) = self.course.ready.pop_front() {
                return Next::Call(begin);
            }
            let changed = match &mut self.phase {
                Phase::Over(end) => return Next::Over(end.clone()),
                Phase::Forward(block) => match block.poll(&mut self.course) {
                    Progress::Running => None,
                    Progress::Finished => {
                        let scope = std::mem::take(&mut block.scope);
                        Some(self.finish(scope))
                    }
                    Progress::Failed(failure) => {
                        let scope = std::mem::take(&mut block.scope);
                        Some(self.clean_up(scope, failure))
                    }
                },
                Phase::Stopping { scope, failure } => {
                    if self.course.journal.is_open() {
                        None
                    } else {
                        let (scope, failure) = (std::mem::take(scope), failure.clone());
                        Some(self.clean_up(scope, failure))
                    }
                }
                Phase::Cleanup { block, failure } => match block.poll(&mut self.course) {
                    Progress::Running => None,
                    Progress::Finished | Progress::Failed(_) => Some(failed(failure.clone())),
                },
            };
            match changed {
                Some(phase) => self.phase = phase,
                None if self.course.ready.is_empty() => return Next::Wait,
                None => {}
            }
        }
    }

    /// Takes what became of a call. Of a key that is not under way nothing is taken.
    pub fn ended(&mut self, key: CallKey, end: CallEnd, now: Millis) {
        if self.course.journal.close(key, &end, now) {
            self.course.arrived.insert(key, end);
        }
    }

    /// Ends the run: nothing more is begun of it, and when the calls under way have ended, it cleans up. A clean-up
    /// that is under way is given up.
    pub fn stop(&mut self, reason: &str) {
        let failure = Failure::last(self.course.journal.first_open(), reason.to_owned());
        // What was handed out and not begun is not begun any more.
        for begin in std::mem::take(&mut self.course.ready) {
            self.course
                .journal
                .close(begin.key, &CallEnd::Cancelled, self.course.now);
        }
        let ended = Phase::Over(End {
            failure: None,
            output: Json::Null,
        });
        self.phase = match std::mem::replace(&mut self.phase, ended) {
            Phase::Forward(block) => Phase::Stopping {
                scope: block.scope,
                failure,
            },
            Phase::Cleanup { failure, .. } => failed(failure),
            other @ (Phase::Stopping { .. } | Phase::Over(_)) => other,
        };
    }

    /// Whether the clean-up is under way.
    #[must_use]
    pub fn is_cleaning_up(&self) -> bool {
        match self.phase {
            Phase::Cleanup { .. } => true,
            Phase::Forward(_) | Phase::Stopping { .. } | Phase::Over(_) => false,
        }
    }

    /// The account so far, in the order in which steps began.
    #[must_use]
    pub fn lines(&self) -> &[Line] {
        self.course.journal.lines()
    }

    /// The places of lines that are new or changed since this was asked last.
    pub fn changed(&mut self) -> Vec<usize> {
        self.course.journal.take_changed()
    }

    fn finish(&mut self, scope: Scope) -> Phase {
        let output = match &self.workflow.draft().output {
            None => Ok(Json::Null),
            Some(output) => output.evaluate(&scope.names(&self.course.input)),
        };
        match output {
            Ok(output) => Phase::Over(End { failure: None, output }),
            Err(fault) => {
                let failure = Failure::last(None, format!("its output cannot be worked out: {fault}"));
                self.clean_up(scope, failure)
            }
        }
    }

    fn clean_up(&mut self, mut scope: Scope, failure: Failure) -> Phase {
        let steps = Arc::clone(&self.workflow.draft().on_failure);
        if steps.is_empty() {
            return failed(failure);
        }
        let step = failure.step.clone().map_or(Json::Null, Json::Text);
        let told = Json::object([("step", step), ("message", Json::text(&failure.reason))]);
        scope.set_var(&"failure".into(), told);
        self.course.most = self.course.begun + CLEANUP;
        Phase::Cleanup {
            block: Block::new(steps, String::new(), scope, Manner::Lenient),
            failure,
        }
    }
}

fn failed(failure: Failure) -> Phase {
    Phase::Over(End {
        failure: Some(failure),
        output: Json::Null,
    })
}

#[cfg(test)]
mod tests;
