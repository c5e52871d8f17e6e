//! Runs in memory: they end with the process.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{AGE, Change, Execution, ExecutionQuery, ExecutionStep, KEPT};

/// All runs of this process.
#[derive(Debug, Clone, Default)]
pub(crate) struct Executions(Arc<Mutex<VecDeque<Run>>>);

#[derive(Debug)]
struct Run {
    principal: String,
    execution: Execution,
}

impl Executions {
    pub(crate) fn take(&self, change: Change) {
        let mut runs = self.lock();
        match change {
            Change::Start(start) => {
                let is_old = |run: &Run| run.execution.started.0 < start.at.0.saturating_sub(AGE);
                runs.retain(|run| run.execution.status == "running" || !is_old(run));
                if runs.len() >= KEPT
                    && let Some(oldest) = runs.iter().position(|run| run.execution.status != "running")
                {
                    runs.remove(oldest);
                }
                runs.push_back(Run {
                    principal: start.principal,
                    execution: Execution {
                        id: start.id,
                        workflow: start.workflow,
                        status: "running".to_owned(),
                        started: start.at,
                        ended: None,
                        error: None,
                        input: start.shown_input,
                        output: None,
                        steps: Vec::new(),
                    },
                });
            }
            Change::Step(id, step) => {
                if let Some(run) = runs.iter_mut().rev().find(|run| run.execution.id == id) {
                    put(&mut run.execution.steps, step);
                }
            }
            Change::End(id, end) => {
                if let Some(run) = runs.iter_mut().rev().find(|run| run.execution.id == id) {
                    let execution = &mut run.execution;
                    end.status.clone_into(&mut execution.status);
                    execution.ended = Some(end.at);
                    execution.output = end.shown_output;
                    execution.error = end.error;
                    for step in &mut execution.steps {
                        step.result = None;
                    }
                }
            }
        }
    }

    pub(crate) fn list(&self, query: &ExecutionQuery) -> (Vec<Execution>, usize) {
        let runs = self.lock();
        let is_asked = |run: &&Run| {
            let execution = &run.execution;
            run.principal == query.principal
                && query.workflow.as_ref().is_none_or(|name| *name == execution.workflow)
                && query.status.as_ref().is_none_or(|status| *status == execution.status)
        };
        let found: Vec<&Run> = runs.iter().rev().filter(is_asked).collect();
        let shown = found.iter().skip(query.offset).take(query.limit).map(|run| Execution {
            steps: Vec::new(),
            ..run.execution.clone()
        });
        (shown.collect(), found.len())
    }

    pub(crate) fn find(&self, principal: &str, id: &str) -> Option<Execution> {
        let runs = self.lock();
        let run = runs.iter().find(|run| run.execution.id == id)?;
        (run.principal == principal).then(|| run.execution.clone())
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Run>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A step stands at its place, whatever came before it.
fn put(steps: &mut Vec<ExecutionStep>, step: ExecutionStep) {
    match steps.iter_mut().find(|known| known.place == step.place) {
        Some(known) => *known = step,
        None => steps.push(step),
    }
}
