//! Workflows: deterministic tool chains from files, as typed values (spec 7).
//!
//! A file becomes a [`Workflow`] once, with every expression compiled. The catalogue derives from it who sees it and
//! whether it only reads; a [`Cursor`] says step by step what is to be called, and never does anything itself.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::definition::ToolDefinition;
use crate::exact::Digest;
use crate::json::Json;

mod answer;
mod arguments;
mod check;
mod cursor;
mod definition;
mod reach;
mod shown;
mod template;

pub use answer::{Answered, read_result};
pub use arguments::{Argument, Kind};
pub use check::{Complaint, check, cycles};
pub use cursor::{Begin, CallEnd, CallKey, Cursor, End, Failure, Known, Line, Next, Status};
pub use reach::{Use, Uses};
pub use template::{Fault, LARGEST, Names, Reference, Root, Shape, Template};

/// What the exposed name of every workflow begins with.
pub const PREFIX: &str = "workflow_";

/// How long a name may be, so that exposed names fit the protocol's and the gateway's own limit.
pub const LONGEST_NAME: usize = 54;

/// How long a run may take where its workflow does not say.
pub const WALL_CLOCK: Duration = Duration::from_secs(10 * 60);

/// How many steps one run may begin, those of nested workflows included.
pub const STEPS: usize = 1_000;

/// How many steps of a `parallel` run at once where it does not say, and at most.
pub const PARALLEL: (usize, usize) = (4, 32);

/// How many items a `for_each` takes where it does not say.
pub const ITEMS: usize = 100;

/// Names that stand in the names of the gateway's own `core_workflow_*` tools.
const RESERVED: [&str; 8] = [
    "create",
    "delete",
    "execution_get",
    "execution_list",
    "get",
    "list",
    "update",
    "validate",
];

/// Where something stands in its file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file as the operator knows it.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The bytes of the file.
    pub bytes: (usize, usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Steps that run one after the other, or beside each other in a `parallel`.
pub type Steps = Arc<[Arc<Step>]>;

/// What a file says, before it is a workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The name; [`is_name`] holds.
    pub name: Arc<str>,
    /// Where the name stands, or the file's beginning.
    pub at: Place,
    /// `description`, empty when absent.
    pub description: String,
    /// `labels`
    pub labels: BTreeMap<String, String>,
    /// `args`, in the file's order.
    pub arguments: Vec<Argument>,
    /// `steps`
    pub steps: Steps,
    /// `on_failure`
    pub on_failure: Steps,
    /// `output`
    pub output: Option<Shape>,
    /// `timeout`: how long a run may take.
    pub timeout: Duration,
    /// A digest over the file.
    pub digest: Digest,
}

/// One workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workflow {
    draft: Draft,
    exposed: Arc<str>,
    uses: Uses,
    reading: Arc<ToolDefinition>,
    writing: Arc<ToolDefinition>,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its id; no two steps of a workflow share one.
    pub id: Arc<str>,
    /// Where it stands.
    pub at: Place,
    /// When it runs; always, without one.
    pub condition: Option<Condition>,
    /// Whether the run goes on when it fails.
    pub allow_failure: bool,
    /// What it does.
    pub action: Action,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// It calls a tool.
    Call(Call),
    /// It runs steps for each item of a list, one item after the other.
    ForEach(ForEach),
    /// It runs steps beside each other.
    Parallel(Parallel),
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The exposed name of the tool; one with expressions is looked up when it runs.
    pub tool: Template,
    /// The arguments.
    pub arguments: Shape,
    /// How long to wait for the answer; as long as for any call, without one.
    pub timeout: Option<Duration>,
    /// How often a call that only reads is made where its server is unavailable.
    pub retry: Option<Retry>,
}

/// When a call that only reads is made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// How often it is made altogether.
    pub attempts: u32,
}

/// Steps for each item of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForEach {
    /// The list.
    pub items: Template,
    /// The name of the item in `vars`.
    pub name: Arc<str>,
    /// How many items there may be.
    pub max: usize,
    /// The steps.
    pub steps: Steps,
}

/// Steps that run beside each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parallel {
    /// How many run at once.
    pub max: usize,
    /// The steps.
    pub steps: Steps,
}

/// When a step runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// When an expression is true.
    When(Template),
    /// When a tool answers as expected; it is called for this.
    Call {
        /// The call.
        call: Call,
        /// What is expected.
        expected: Expected,
    },
    /// When an earlier step ended as expected.
    Step {
        /// Its id.
        step: Arc<str>,
        /// Where it is named.
        at: Place,
        /// What is expected.
        expected: Expected,
    },
}

/// What is expected of an answer. Everything in `expect` has to hold, and nothing in `expect_not` may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// `expect`
    pub expect: Option<Expectation>,
    /// `expect_not`
    pub expect_not: Option<Expectation>,
}

/// Statements about an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    /// Whether it succeeded; absent, nothing is said of that.
    pub success: Option<bool>,
    /// Values at places of the result, by JSON pointer.
    pub values: Vec<(Arc<str>, Shape)>,
}

/// Whether a text may name a workflow: words of small letters and digits, joined by single `-` or `_`.
///
/// # Errors
/// Why it may not.
pub fn is_name(text: &str) -> Result<(), &'static str> {
    let is_word = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    if text.len() > LONGEST_NAME {
        return Err("must be at most 54 characters long");
    }
    if !text.split(['-', '_']).all(is_word) {
        return Err("must be small letters and digits in words joined by `-` or `_`, such as `incident-triage`");
    }
    if RESERVED.contains(&text.replace('-', "_").as_str()) {
        return Err("is a verb of the gateway's own `core_workflow_*` tools");
    }
    Ok(())
}

/// Whether a text may be the id of a step or the name of a loop's item.
#[must_use]
pub fn is_id(text: &str) -> bool {
    let is_inner = |c: char| c == '_' || c == '-' || c.is_ascii_alphanumeric();
    text.len() <= 64 && text.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic()) && text.chars().all(is_inner)
}

impl Workflow {
    /// The workflow that a file says.
    #[must_use]
    pub fn new(draft: Draft) -> Self {
        let exposed: Arc<str> = format!("{PREFIX}{}", draft.name).into();
        let (reading, writing) = definition::of(&draft, &exposed);
        Self {
            uses: Uses::of(&draft),
            exposed,
            reading: Arc::new(reading),
            writing: Arc::new(writing),
            draft,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.draft.name
    }

    /// The name of its tool.
    #[must_use]
    pub fn exposed(&self) -> &Arc<str> {
        &self.exposed
    }

    /// What its file says.
    #[must_use]
    pub fn draft(&self) -> &Draft {
        &self.draft
    }

    /// The tools that it may call.
    #[must_use]
    pub fn uses(&self) -> &Uses {
        &self.uses
    }

    /// The definition of its tool, with the hint that was derived.
    #[must_use]
    pub fn definition(&self, hint: ReadOnly) -> &Arc<ToolDefinition> {
        match hint {
            ReadOnly::Yes => &self.reading,
            ReadOnly::No => &self.writing,
        }
    }

    /// Reads the arguments of a run: unknown, missing and wrong-typed ones are named, defaults filled in.
    ///
    /// # Errors
    /// A sentence that names every argument that is wrong.
    pub fn input(&self, arguments: &Json) -> Result<Json, String> {
        arguments::read(&self.draft.arguments, arguments)
    }
}

/// Whether everything that a workflow may call only reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadOnly {
    /// All of it does.
    Yes,
    /// Something does not, or is not known.
    No,
}

#[cfg(test)]
pub(crate) mod tests;
