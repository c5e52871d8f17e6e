//! Counts of decisions and outcomes, whichever road a call came by.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use countersign_core::admit::{ExactCall, Operation, Target};
use countersign_core::definition::ToolDefinition;
use countersign_core::effect::Effect;
use countersign_core::names::ServerName;
use countersign_core::outcome::Fate;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::outcome::Provenance;

/// Seconds; a call through the gateway takes microseconds to minutes.
const BUCKETS: [f64; 12] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0, 120.0,
];

/// What was decided of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Decided {
    server: String,
    /// The upstream's own tool name, or the method for what is no tool: labels never come from a caller.
    tool: String,
    effect: &'static str,
    decision: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ended {
    server: String,
    fate: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfServer {
    server: String,
}

/// The series that calls of one tool count in, each found once.
#[derive(Debug, Default)]
pub(crate) struct Series {
    ran: OnceLock<Counter>,
    done: OnceLock<Counter>,
    seconds: OnceLock<Histogram>,
}

/// The tool that last took a place, and its series.
#[derive(Debug)]
struct Known {
    /// Weak, so that nothing of a former catalogue lives on; while it is here its address is nobody else's.
    definition: Weak<ToolDefinition>,
    server: ServerName,
    effect: Effect,
    series: Arc<Series>,
}

/// How many tools have their series at hand.
const KNOWN: usize = 64;

/// A step of a person's way through a sign-in.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Step {
    server: String,
    step: &'static str,
}

/// Counts of decisions and outcomes.
#[derive(Clone)]
pub(crate) struct CallMetrics {
    decisions: Family<Decided, Counter>,
    outcomes: Family<Ended, Counter>,
    seconds: Family<OfServer, Histogram>,
    /// By the address of the definition: a family finds a series by hashing all its labels, for every call.
    known: Arc<[Mutex<Option<Known>>; KNOWN]>,
    sign_ins: Family<Step, Counter>,
}

impl CallMetrics {
    pub(crate) fn new() -> Self {
        Self {
            decisions: Family::default(),
            outcomes: Family::default(),
            seconds: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
            known: Arc::new([const { Mutex::new(None) }; KNOWN]),
            sign_ins: Family::default(),
        }
    }

    /// Makes the counts part of a registry.
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register(
            "calls",
            "Decisions on calls, by server, tool and effect",
            self.decisions.clone(),
        );
        registry.register(
            "call_outcomes",
            "Calls that were made, by server and fate",
            self.outcomes.clone(),
        );
        registry.register(
            "sign_ins",
            "Sign-ins to servers, by server and how far they came",
            self.sign_ins.clone(),
        );
        registry.register("call_duration_seconds", "How long calls took", self.seconds.clone());
    }

    /// A request was refused, or its intent could not be recorded; what it asked for is the caller's
    /// text and is no label.
    pub(crate) fn turned_away(&self, decision: &'static str) {
        let labels = Decided {
            server: String::new(),
            tool: String::new(),
            effect: "unknown",
            decision,
        };
        self.decisions.get_or_create(&labels).inc();
    }

    /// A person's sign-in came as far as a step: the word of its line in the trail.
    pub(crate) fn sign_in(&self, server: &ServerName, step: &'static str) {
        let server = server.to_string();
        self.sign_ins.get_or_create(&Step { server, step }).inc();
    }

    /// A call was admitted and recorded; gives the series that its end counts in.
    pub(crate) fn admitted(&self, call: &ExactCall) -> Arc<Series> {
        let series = self.series(call);
        series.ran.get_or_init(|| self.ran(call)).inc();
        series
    }

    fn ran(&self, call: &ExactCall) -> Counter {
        let tool = match call.operation() {
            Operation::CallTool { .. } | Operation::RunCore { .. } | Operation::RunWorkflow { .. } => {
                call.operation().subject()
            }
            Operation::ReadResource { .. }
            | Operation::GetPrompt { .. }
            | Operation::Complete { .. }
            | Operation::Subscribe { .. }
            | Operation::Unsubscribe { .. }
            | Operation::Task { .. } => call.operation().method(),
        };
        self.decisions.get_or_create_owned(&Decided {
            server: server_of(call),
            tool: tool.to_owned(),
            effect: call.classified().effect.word(),
            decision: "ran",
        })
    }

    fn series(&self, call: &ExactCall) -> Arc<Series> {
        let (Operation::CallTool { definition, .. }, Target::Server(server)) = (call.operation(), call.target()) else {
            return Arc::default();
        };
        let effect = call.classified().effect;
        let address = Arc::as_ptr(definition);
        // What is allocated lies apart by more than the lowest bits.
        let place = self.known.get((address.addr() >> 6) % KNOWN);
        let Some(mut place) = place.map(|place| place.lock().unwrap_or_else(PoisonError::into_inner)) else {
            return Arc::default();
        };
        if let Some(known) = &*place
            && known.definition.as_ptr() == address
            && known.server == *server
            && known.effect == effect
        {
            return Arc::clone(&known.series);
        }
        let series = Arc::default();
        *place = Some(Known {
            definition: Arc::downgrade(definition),
            server: server.clone(),
            effect,
            series: Arc::clone(&series),
        });
        series
    }

    /// A call ended.
    pub(crate) fn ended(&self, series: &Series, from: &Provenance, fate: Fate, took: Duration) {
        let server = || from.server.as_ref().map_or("gateway", ServerName::as_str).to_owned();
        let outcome = || {
            self.outcomes.get_or_create_owned(&Ended {
                server: server(),
                fate: fate.word(),
            })
        };
        match fate {
            Fate::Done => series.done.get_or_init(outcome).inc(),
            Fate::Failed | Fate::NotSent | Fate::OutcomeUnknown => outcome().inc(),
        };
        let seconds = || self.seconds.get_or_create_owned(&OfServer { server: server() });
        series.seconds.get_or_init(seconds).observe(took.as_secs_f64());
    }
}

/// The server's name, or `gateway`.
fn server_of(call: &ExactCall) -> String {
    match call.target() {
        Target::Server(server) => server.to_string(),
        Target::Gateway => "gateway".to_owned(),
    }
}

impl fmt::Debug for CallMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallMetrics").finish_non_exhaustive()
    }
}
