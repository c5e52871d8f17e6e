//! Steps beside each other, never more at once than allowed.

use std::sync::Arc;

use super::block::{Block, Manner, Progress};
use super::scope::Scope;
use super::{Course, Failure, Known};
use crate::json::Json;
use crate::workflow::{Parallel, Step};

/// Steps beside each other.
#[derive(Debug)]
pub(super) struct Lanes {
    lanes: Vec<(Arc<Step>, Lane)>,
    max: usize,
    prefix: String,
    scope: Scope,
    manner: Manner,
    failure: Option<Failure>,
}

#[derive(Debug)]
enum Lane {
    Waits,
    Runs(Box<Block>),
    Ended(Vec<(Arc<str>, Known)>),
}

impl Lanes {
    pub(super) fn new(parallel: &Parallel, path: &Arc<str>, scope: &Scope, manner: Manner) -> Self {
        Self {
            lanes: parallel
                .steps
                .iter()
                .map(|step| (Arc::clone(step), Lane::Waits))
                .collect(),
            max: parallel.max,
            prefix: format!("{path}."),
            scope: scope.clone(),
            manner,
            failure: None,
        }
    }

    /// Goes on as far as it can. After a failure nothing more is begun, and what runs is waited for: cutting it off
    /// would leave calls of which nobody knows what became (I5).
    pub(super) fn poll(&mut self, course: &mut Course) -> Progress {
        let runs = |lanes: &[(Arc<Step>, Lane)]| lanes.iter().filter(|(_, lane)| matches!(lane, Lane::Runs(_))).count();
        let mut running = runs(&self.lanes);
        loop {
            let mut has_moved = false;
            for (step, lane) in &mut self.lanes {
                if matches!(lane, Lane::Waits) && running < self.max && self.failure.is_none() {
                    let steps = Arc::from([Arc::clone(step)]);
                    *lane = Lane::Runs(Box::new(Block::new(
                        steps,
                        self.prefix.clone(),
                        self.scope.clone(),
                        self.manner,
                    )));
                    running += 1;
                }
                let Lane::Runs(block) = lane else { continue };
                let failure = match block.poll(course) {
                    Progress::Running => continue,
                    Progress::Finished => None,
                    Progress::Failed(failure) => Some(failure),
                };
                *lane = Lane::Ended(block.known_steps());
                running -= 1;
                has_moved = true;
                if self.failure.is_none() {
                    self.failure = failure;
                }
            }
            if !has_moved {
                break;
            }
        }
        if running > 0 {
            return Progress::Running;
        }
        match &self.failure {
            Some(failure) => Progress::Failed(failure.clone()),
            None => Progress::Finished,
        }
    }

    /// The answers of its own steps, by id.
    pub(super) fn answers(&self) -> Json {
        let ended = self.lanes.iter().filter_map(|(step, lane)| match lane {
            Lane::Ended(known) => known
                .iter()
                .find(|(id, _)| *id == step.id)
                .map(|(id, known)| (Arc::clone(id), known.value.clone())),
            Lane::Waits | Lane::Runs(_) => None,
        });
        Json::object(ended)
    }

    /// What its steps came to; those inside of them included.
    pub(super) fn take_ended(&mut self) -> Vec<(Arc<str>, Known)> {
        let ended = self.lanes.drain(..).map(|(_, lane)| match lane {
            Lane::Ended(known) => known,
            Lane::Waits | Lane::Runs(_) => Vec::new(),
        });
        ended.flatten().collect()
    }
}
