//! What is kept and told of a run: its record in the ledger, progress for its caller, and its answer.

use std::sync::{Arc, Mutex, PoisonError};

use countersign_core::json::{Json, Number};
use countersign_core::principal::Caller;
use countersign_core::redact::redacted;
use countersign_core::workflow::{CallEnd, End, Line, Workflow};
use countersign_store::{Error, ExecutionEnd, ExecutionStart, ExecutionStep, Ledger};
use countersign_upstream::{Answer, Passage};
use serde_json::value::RawValue;

use crate::{Engine, clock};

/// How many bytes of a shown input or output are kept.
const SHOWN: usize = 256 * 1024;

/// How many bytes of a step's result are kept while its run goes on.
const RESULT: usize = 1024 * 1024;

/// The account of one run.
#[derive(Debug)]
pub(crate) struct Account {
    id: String,
    ledger: Ledger,
    progress: Mutex<u64>,
}

impl Account {
    /// Writes that a run begins.
    pub(super) fn open(
        engine: &Engine,
        caller: &Caller,
        workflow: &Workflow,
        (given, input): (&Json, &Json),
    ) -> Result<Self, Error> {
        let ledger = engine.shared.ledger.clone();
        let id = ledger.new_execution()?;
        ledger.start_execution(ExecutionStart {
            id: id.clone(),
            principal: caller.principal.key().to_string(),
            workflow: workflow.name().to_owned(),
            digest: workflow.draft().digest.hex(),
            shown_input: shown(given),
            input: input.to_text(),
            at: clock::now(),
        })?;
        Ok(Self {
            id,
            ledger,
            progress: Mutex::new(0),
        })
    }

    /// Writes how a step stands; `end` is what became of its call.
    pub(super) fn step(&self, place: usize, line: &Line, end: Option<&CallEnd>) {
        let result = match end {
            Some(CallEnd::Answered {
                success: true, value, ..
            }) => Some(value.to_text()).filter(|text| text.len() <= RESULT),
            Some(CallEnd::Answered { .. } | CallEnd::Failed { .. } | CallEnd::Unknown { .. } | CallEnd::Cancelled)
            | None => None,
        };
        let step = ExecutionStep {
            place,
            path: line.path.to_string(),
            tool: line.tool.as_deref().map(str::to_owned),
            status: line.status.word().to_owned(),
            began: line.began,
            duration_ms: line.duration_ms,
            error: line.error.clone(),
            result,
        };
        self.log(self.ledger.step_execution(&self.id, step));
    }

    /// Writes how the run ended.
    pub(super) fn close(&self, end: &End) {
        let end = ExecutionEnd {
            status: status(end),
            at: clock::now(),
            shown_output: end.failure.is_none().then(|| shown(&end.output)),
            error: end.failure.as_ref().map(ToString::to_string),
        };
        self.log(self.ledger.end_execution(&self.id, end));
    }

    fn log(&self, written: Result<(), Error>) {
        if let Err(error) = written {
            tracing::error!(%error, execution = self.id, "a run of a workflow cannot be recorded");
        }
    }

    /// Tells the caller how far the run is, under its own token, which has to rise each time.
    pub(super) fn tell(&self, passage: &Passage, message: &str) {
        let mut count = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        *count += 1;
        if let Some(progress) = passage.progress(*count, message) {
            // A caller that does not listen misses it.
            drop(passage.to_caller.try_send(progress));
        }
    }

    /// The answer of the run.
    pub(super) fn answer(&self, workflow: &Workflow, lines: &[Line], end: &End) -> Answer {
        let mut members = vec![
            ("execution_id", Json::text(&self.id)),
            ("workflow", Json::text(workflow.name())),
            ("status", Json::text(status(end))),
            ("output", end.output.clone()),
            ("steps", Json::List(lines.iter().map(line).collect())),
        ];
        let mut sentence = None;
        if let Some(failure) = &end.failure {
            let step = failure.step.clone().map(|step| ("step", Json::Text(step)));
            let message = ("message", Json::text(&failure.reason));
            members.push(("error", Json::object(step.into_iter().chain([message]))));
            sentence = Some(format!("workflow `{}` failed: {failure}", workflow.name()));
        }
        answer_of(&Json::object(members), sentence.as_deref())
    }
}

fn status(end: &End) -> &'static str {
    if end.failure.is_none() { "completed" } else { "failed" }
}

/// A value as it may be kept.
fn shown(value: &Json) -> String {
    let text = redacted(value).to_text();
    if text.len() <= SHOWN {
        text
    } else {
        Json::text("[too large to keep]").to_text()
    }
}

fn line(line: &Line) -> Json {
    let mut members = vec![
        ("id", Json::Text(Arc::clone(&line.path))),
        ("status", Json::text(line.status.word())),
        ("duration_ms", Json::Number(Number::from(i128::from(line.duration_ms)))),
    ];
    if let Some(tool) = &line.tool {
        members.push(("tool", Json::Text(Arc::clone(tool))));
    }
    if let Some(error) = &line.error {
        members.push(("error", Json::text(error)));
    }
    Json::object(members)
}

/// A tool result: the same JSON as structured content and as text; of a failure a sentence before it.
pub(super) fn answer_of(told: &Json, failure: Option<&str>) -> Answer {
    let block = |text: &str| Json::object([("type", Json::text("text")), ("text", Json::text(text))]);
    let blocks: Vec<Json> = failure
        .into_iter()
        .chain([told.to_text().as_str()])
        .map(block)
        .collect();
    let mut members = vec![
        ("content", Json::List(blocks.into())),
        ("structuredContent", told.clone()),
    ];
    if failure.is_some() {
        members.push(("isError", Json::Bool(true)));
    }
    match RawValue::from_string(Json::object(members).to_text()) {
        Ok(result) => Answer::Result(result),
        Err(error) => Answer::Lost {
            reason: format!("the run's answer cannot be written: {error}"),
        },
    }
}
