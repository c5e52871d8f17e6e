//! Counts of decisions and outcomes, whichever road a call came by.

use std::fmt;
use std::time::Duration;

use countersign_core::admit::{ExactCall, Operation, Target};
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
    sign_ins: Family<Step, Counter>,
}

impl CallMetrics {
    pub(crate) fn new() -> Self {
        Self {
            decisions: Family::default(),
            outcomes: Family::default(),
            seconds: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
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

    /// A call was admitted and recorded.
    pub(crate) fn admitted(&self, call: &ExactCall) {
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
        let effect = call.classified().effect.word();
        let labels = Decided {
            server: server_of(call),
            tool: tool.to_owned(),
            effect,
            decision: "ran",
        };
        self.decisions.get_or_create(&labels).inc();
    }

    /// A call ended.
    pub(crate) fn ended(&self, from: &Provenance, fate: Fate, took: Duration) {
        let server = from.server.as_ref().map_or("gateway", ServerName::as_str).to_owned();
        self.outcomes
            .get_or_create(&Ended {
                server: server.clone(),
                fate: fate.word(),
            })
            .inc();
        self.seconds
            .get_or_create(&OfServer { server })
            .observe(took.as_secs_f64());
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
