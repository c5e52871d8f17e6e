//! One run under way: what the cursor says is done, and what became of it is told to the cursor.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use countersign_core::json::Json;
use countersign_core::principal::Caller;
use countersign_core::workflow::{Begin, CallEnd, CallKey, Cursor, End, Known, Next, Status, Workflow};
use countersign_upstream::{Answer, Passage};
use tokio::task::{Id, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Lineage;
use super::account::Account;
use crate::{Engine, clock};

/// How long a clean-up may take.
const CLEANUP: Duration = Duration::from_secs(60);

/// One run.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) engine: Engine,
    pub(super) caller: Caller,
    pub(super) workflow: Arc<Workflow>,
    pub(super) lineage: Lineage,
    pub(super) passage: Passage,
    pub(super) account: Account,
}

/// The calls of a run that are under way.
#[derive(Default)]
struct Calls {
    set: JoinSet<CallEnd>,
    keys: HashMap<Id, CallKey>,
}

/// What a run waits for.
enum News {
    Ended(CallKey, CallEnd),
    /// The calls are given up, and why.
    Stop(Stop, &'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    Caller,
    Gateway,
    Clock,
}

impl Run {
    /// Goes to the end. `known` is what an earlier part of the run has done already.
    pub(super) async fn go(self, input: Json, known: BTreeMap<Arc<str>, Known>) -> Answer {
        let run = Arc::new(self);
        let mut cursor = Cursor::new(Arc::clone(&run.workflow), input, known);
        let (end, was_taken_back) = run.drive(&mut cursor).await;
        run.account.close(&end);
        tracing::info!(
            workflow = run.workflow.name(),
            failure = end.failure.as_ref().map(ToString::to_string),
            "run of a workflow ended"
        );
        if was_taken_back {
            return Answer::Cancelled;
        }
        run.account.answer(&run.workflow, cursor.lines(), &end)
    }

    /// Drives the cursor to its end; says as well whether the caller took the run back.
    async fn drive(self: &Arc<Self>, cursor: &mut Cursor) -> (End, bool) {
        let mut calls = Calls::default();
        let mut halt = CancellationToken::new();
        let mut deadline = Instant::now() + self.workflow.draft().timeout;
        let mut stopped: Option<Stop> = None;
        let mut cleans = false;
        loop {
            let next = cursor.next(clock::now());
            if cursor.is_cleaning_up() && stopped == Some(Stop::Gateway) {
                // The servers go away with the gateway, so nothing is cleaned up any more.
                if let Next::Call(begin) = next {
                    cursor.ended(begin.key, CallEnd::Cancelled, clock::now());
                }
                cursor.stop("the gateway stops");
                continue;
            }
            if cursor.is_cleaning_up() && !cleans {
                // A clean-up has its own time, and is not what was taken back.
                (cleans, halt, deadline) = (true, CancellationToken::new(), Instant::now() + CLEANUP);
            }
            self.write(cursor, None);
            match next {
                Next::Over(end) => {
                    halt.cancel();
                    while let Some((key, ended)) = calls.next().await {
                        cursor.ended(key, ended.clone(), clock::now());
                        self.write(cursor, Some(&ended));
                    }
                    return (end, stopped == Some(Stop::Caller));
                }
                Next::Call(begin) => {
                    self.account
                        .tell(&self.passage, &format!("step `{}`: {}", begin.path, begin.tool));
                    calls.begin(self, begin, halt.clone());
                }
                Next::Wait => match self.news(&mut calls, (stopped, cleans), deadline).await {
                    News::Ended(key, ended) => {
                        cursor.ended(key, ended.clone(), clock::now());
                        self.write(cursor, Some(&ended));
                    }
                    News::Stop(stop, why) => {
                        // The gateway's end is more than any other.
                        stopped = if stop == Stop::Gateway {
                            Some(stop)
                        } else {
                            stopped.or(Some(stop))
                        };
                        halt.cancel();
                        cursor.stop(why);
                    }
                },
            }
        }
    }

    /// Waits until something happens.
    async fn news(&self, calls: &mut Calls, (stopped, cleans): (Option<Stop>, bool), deadline: Instant) -> News {
        let gateway = &self.engine.shared.stop;
        tokio::select! {
            biased;
            Some((key, end)) = calls.next() => News::Ended(key, end),
            () = gateway.cancelled(), if stopped != Some(Stop::Gateway) => {
                News::Stop(Stop::Gateway, "the gateway stops")
            }
            () = self.passage.cancel.cancelled(), if stopped.is_none() && !cleans => {
                News::Stop(Stop::Caller, "the caller took the run back")
            }
            () = tokio::time::sleep_until(deadline), if stopped.is_none() || cleans => {
                let why = if cleans {
                    "the clean-up took too long"
                } else {
                    "the run took longer than its `timeout` allows"
                };
                News::Stop(Stop::Clock, why)
            }
        }
    }

    /// Writes the lines that are new or changed; the last call that ended is `end`.
    fn write(&self, cursor: &mut Cursor, end: Option<&CallEnd>) {
        for place in cursor.changed() {
            let Some(line) = cursor.lines().get(place) else {
                continue;
            };
            self.account.step(place, line, end);
            if line.status != Status::Running {
                let message = format!("step `{}`: {}", line.path, line.status.word());
                self.account.tell(&self.passage, &message);
            }
        }
    }
}

impl Calls {
    fn begin(&mut self, run: &Arc<Run>, begin: Begin, halt: CancellationToken) {
        let key = begin.key;
        let run = Arc::clone(run);
        let task = self.set.spawn(async move { run.step(&begin, halt).await });
        self.keys.insert(task.id(), key);
    }

    /// The next call that ends; `None` when none is under way.
    async fn next(&mut self) -> Option<(CallKey, CallEnd)> {
        let (id, end) = match self.set.join_next_with_id().await? {
            Ok((id, end)) => (id, end),
            Err(error) => {
                tracing::error!(%error, "a step of a workflow broke off");
                let broken = CallEnd::Unknown {
                    error: "the outcome is unknown: the call broke off inside the gateway".to_owned(),
                };
                (error.id(), broken)
            }
        };
        Some((self.keys.remove(&id)?, end))
    }
}
