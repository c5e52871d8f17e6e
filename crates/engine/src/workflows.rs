//! Runs of workflows: each is a recorded call of the gateway's own, and every call inside goes through the same door.

mod account;
mod run;
mod step;

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use countersign_core::admit::Operation;
use countersign_core::json::Json;
use countersign_core::principal::Caller;
use countersign_core::stages::Toolset;
use countersign_core::workflow::{STEPS, Workflow};
use countersign_store::{Receipt, Recorded};
use countersign_upstream::{Answer, Passage};

use crate::Engine;
use account::{Account, answer_of};
use run::Run;

/// The workflows in force.
#[derive(Debug, Clone, Default)]
pub struct Workflows {
    /// Those that are sound, sorted by name.
    pub sound: Arc<[Arc<Workflow>]>,
    /// What is wrong with the files that are set aside.
    pub set_aside: Arc<[SetAside]>,
}

/// One thing that is wrong with a file that is set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAside {
    /// The file, within the configuration folder.
    pub file: String,
    /// Line and column, from 1; absent when the file as a whole is meant.
    pub place: Option<(usize, usize)>,
    /// What is wrong.
    pub message: String,
    /// The way out.
    pub help: Option<String>,
}

/// The runs that a call stands in, outermost first, and how many calls they have made together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lineage {
    names: Vec<Arc<str>>,
    calls: Arc<AtomicUsize>,
}

impl Lineage {
    /// Whether one more call may be made.
    fn counts(&self) -> bool {
        self.calls.fetch_add(1, Ordering::Relaxed) < STEPS
    }

    fn with(&self, workflow: &Workflow) -> Self {
        let mut names = self.names.clone();
        names.push(Arc::clone(workflow.exposed()));
        Self {
            names,
            calls: Arc::clone(&self.calls),
        }
    }
}

/// What a run comes to. Boxed by hand: a run makes calls, and a call may be a run.
pub(crate) type Running<'r> = Pin<Box<dyn Future<Output = (Answer, Receipt)> + Send + 'r>>;

/// Runs a recorded workflow to its end. The run goes on by itself when nobody waits for it any more, so that it cleans
/// up and is recorded.
pub(crate) fn run<'r>(
    engine: &'r Engine,
    caller: &'r Caller,
    recorded: Recorded,
    passage: Passage,
    lineage: &'r Lineage,
) -> Running<'r> {
    Box::pin(async move {
        let (call, receipt) = recorded.into_parts();
        let Operation::RunWorkflow { workflow, arguments } = call.operation() else {
            let reason = "the call is no run of a workflow".to_owned();
            return (Answer::Lost { reason }, receipt);
        };
        let answer = begin(engine, caller, (workflow, &Json::of(arguments)), passage, lineage).await;
        (answer, receipt)
    })
}

/// Why a run does not begin.
struct Unfit {
    code: &'static str,
    message: String,
}

async fn begin(
    engine: &Engine,
    caller: &Caller,
    (workflow, arguments): (&Arc<Workflow>, &Json),
    passage: Passage,
    lineage: &Lineage,
) -> Answer {
    let refused = |refusal: &Unfit| {
        let told = Json::object([
            ("workflow", Json::text(workflow.name())),
            ("status", Json::text("failed")),
            ("steps", Json::List(Arc::from([]))),
            ("code", Json::text(refusal.code)),
            ("message", Json::text(&refusal.message)),
        ]);
        answer_of(&told, Some(&refusal.message))
    };
    if lineage.names.contains(workflow.exposed()) {
        let (name, way) = (workflow.name(), lineage.names.join(" and "));
        return refused(&Unfit {
            code: "workflow_recursion",
            message: format!("workflow `{name}` is under way already, by way of {way}; a run would not end"),
        });
    }
    let input = match workflow.input(arguments) {
        Ok(input) => input,
        Err(sentence) => {
            return refused(&Unfit {
                code: "bad_arguments",
                message: format!("{}: {sentence}", workflow.exposed()),
            });
        }
    };
    let account = match Account::open(engine, caller, workflow, (arguments, &input)) {
        Ok(account) => account,
        Err(error) => {
            return refused(&Unfit {
                code: "ledger_unavailable",
                message: format!("the run was not begun: {error}"),
            });
        }
    };
    let run = Run {
        engine: Engine {
            shared: Arc::clone(&engine.shared),
        },
        caller: Caller {
            principal: Arc::clone(&caller.principal),
            endpoint: caller.endpoint.clone(),
            // What a workflow calls is its author's composition (the seed).
            toolset: Toolset::Unscoped {
                because: "the steps of a workflow are its author's composition",
            },
        },
        workflow: Arc::clone(workflow),
        lineage: lineage.with(workflow),
        passage,
        account,
    };
    // Where the engine's own tasks run: a run may outlive the connection that asked for it.
    let going = engine
        .shared
        .tasks
        .spawn_on(Box::pin(run.go(input, BTreeMap::new())), &engine.shared.runtime);
    match going.await {
        Ok(answer) => answer,
        Err(error) => {
            tracing::error!(%error, workflow = workflow.name(), "a run of a workflow broke off");
            let reason = "the run of the workflow broke off".to_owned();
            Answer::Lost { reason }
        }
    }
}
