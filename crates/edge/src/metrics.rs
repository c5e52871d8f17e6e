//! Prometheus metrics. Labels come from closed sets and server names, never from a caller's text.

use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

use countersign_core::catalogue::{Availability, Catalogue, FindingKind};
use countersign_engine::{Engine, Outcome};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use crate::method::Method;

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Verdict {
    /// It was answered with a result.
    Done,
    /// The upstream answered with an error.
    Error,
    /// The gateway refused it.
    Refused,
    /// It did not run, or its answer was lost.
    Failed,
    /// The caller took it back.
    Cancelled,
}

impl Verdict {
    /// How a request with this outcome ended.
    pub(crate) fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Result { .. } => Self::Done,
            Outcome::Error { .. } => Self::Error,
            Outcome::Refused(_) | Outcome::AuthRequired(_) => Self::Refused,
            Outcome::Unrecorded { .. } | Outcome::Failed { .. } => Self::Failed,
            Outcome::Cancelled => Self::Cancelled,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Error => "error",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Why a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SessionEnd {
    /// Its client sent `DELETE`.
    Deleted,
    /// Nothing used it for too long.
    Idle,
    /// A new session needed its place.
    Evicted,
    /// Its principal is no longer let in.
    Refused,
}

impl SessionEnd {
    fn word(self) -> &'static str {
        match self {
            Self::Deleted => "deleted",
            Self::Idle => "idle",
            Self::Evicted => "evicted",
            Self::Refused => "refused",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SessionEndLabels {
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MethodLabels {
    method: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ServerLabels {
    server: String,
    state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FindingLabels {
    kind: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReloadLabels {
    result: &'static str,
}

/// Seconds; a call through the gateway takes microseconds to minutes.
const BUCKETS: [f64; 12] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0, 120.0,
];

/// The method of requests that are none of the protocol's.
pub(crate) const OTHER: &str = "other";

/// The series of one method, each found once: every request is counted, and a family looks its labels up
/// by hashing all of them.
#[derive(Debug)]
struct Series {
    method: &'static str,
    seconds: OnceLock<Histogram>,
    done: OnceLock<Counter>,
    error: OnceLock<Counter>,
    refused: OnceLock<Counter>,
    failed: OnceLock<Counter>,
    cancelled: OnceLock<Counter>,
}

impl Series {
    fn of(method: &'static str) -> Self {
        Self {
            method,
            seconds: OnceLock::new(),
            done: OnceLock::new(),
            error: OnceLock::new(),
            refused: OnceLock::new(),
            failed: OnceLock::new(),
            cancelled: OnceLock::new(),
        }
    }

    fn ended(&self, verdict: Verdict) -> &OnceLock<Counter> {
        match verdict {
            Verdict::Done => &self.done,
            Verdict::Error => &self.error,
            Verdict::Refused => &self.refused,
            Verdict::Failed => &self.failed,
            Verdict::Cancelled => &self.cancelled,
        }
    }
}

/// All metrics of one gateway.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    request_seconds: Family<MethodLabels, Histogram>,
    series: Vec<Series>,
    guard_refusals: Counter,
    credential_refusals: Counter,
    reloads: Family<ReloadLabels, Counter>,
    sessions: Gauge,
    sessions_ended: Family<SessionEndLabels, Counter>,
    servers: Family<ServerLabels, Gauge>,
    findings: Family<FindingLabels, Gauge>,
}

impl Metrics {
    pub(crate) fn new(engine: &Engine, version: &'static str) -> Self {
        let mut registry = Registry::with_prefix("countersign");
        let requests = Family::default();
        registry.register(
            "requests",
            "Requests of the protocol, by method and how they ended",
            requests.clone(),
        );
        let request_seconds = Family::<MethodLabels, Histogram>::new_with_constructor(|| Histogram::new(BUCKETS));
        registry.register(
            "request_duration_seconds",
            "How long requests took",
            request_seconds.clone(),
        );
        engine.register_metrics(&mut registry);
        let guard_refusals = Counter::default();
        registry.register(
            "guard_refusals",
            "HTTP requests with a foreign Host or Origin",
            guard_refusals.clone(),
        );
        let credential_refusals = Counter::default();
        registry.register(
            "credential_refusals",
            "HTTP requests without a credential that is taken",
            credential_refusals.clone(),
        );
        let reloads = Family::default();
        registry.register(
            "configuration_reloads",
            "Edits of the configuration, by what became of them",
            reloads.clone(),
        );
        let sessions = Gauge::default();
        registry.register("sessions", "Open sessions", sessions.clone());
        let sessions_ended = Family::default();
        registry.register("sessions_ended", "Sessions that ended, by why", sessions_ended.clone());
        let servers = Family::default();
        registry.register("server_state", "1 for the state that a server is in", servers.clone());
        let findings = Family::default();
        registry.register(
            "findings",
            "What a person should mend in what servers publish, by kind",
            findings.clone(),
        );
        registry.register("build", "The running program", Info::new(vec![("version", version)]));
        Self {
            registry,
            requests,
            request_seconds,
            series: Method::words().chain([OTHER]).map(Series::of).collect(),
            guard_refusals,
            credential_refusals,
            reloads,
            sessions,
            sessions_ended,
            servers,
            findings,
        }
    }

    /// A request of the protocol ended; [`OTHER`] stands for methods that nobody knows.
    pub(crate) fn request(&self, method: &'static str, verdict: Verdict, took: Duration) {
        let Some(series) = self.series.iter().find(|series| series.method == method) else {
            return;
        };
        let outcome = verdict.word();
        series
            .ended(verdict)
            .get_or_init(|| {
                let labels = RequestLabels { method, outcome };
                self.requests.get_or_create_owned(&labels)
            })
            .inc();
        let seconds = || self.request_seconds.get_or_create_owned(&MethodLabels { method });
        series.seconds.get_or_init(seconds).observe(took.as_secs_f64());
    }

    /// A request was turned away by the guard; says whether it is one of those that the trail records.
    /// A page can make a browser send thousands, so the trail has each of the first and then every hundredth.
    pub(crate) fn guard_refusal(&self) -> bool {
        let before = self.guard_refusals.inc();
        before < 100 || before.is_multiple_of(100)
    }

    /// A request was not let in; says whether the trail records it, as for [`Metrics::guard_refusal`].
    pub(crate) fn credential_refusal(&self) -> bool {
        let before = self.credential_refusals.inc();
        before < 100 || before.is_multiple_of(100)
    }

    /// A session ended.
    pub(crate) fn session_ended(&self, end: SessionEnd) {
        self.sessions_ended
            .get_or_create(&SessionEndLabels { reason: end.word() })
            .inc();
    }

    /// The configuration on disk changed.
    pub(crate) fn reload(&self, result: &'static str) {
        self.reloads.get_or_create(&ReloadLabels { result }).inc();
    }

    /// All metrics as text (OpenMetrics 1.0).
    pub(crate) fn render(&self, sessions: usize, catalogue: &Catalogue) -> String {
        self.sessions.set(i64::try_from(sessions).unwrap_or(i64::MAX));
        self.servers.clear();
        for server in catalogue.servers() {
            let labels = ServerLabels {
                server: server.entry.name.to_string(),
                state: state(&server.availability),
            };
            self.servers.get_or_create(&labels).set(1);
        }
        // Also the kinds of which there is none, so that an alert sees one come and go.
        for kind in FindingKind::ALL {
            let count = catalogue
                .findings()
                .iter()
                .filter(|finding| finding.kind == *kind)
                .count();
            let labels = FindingLabels { kind: kind.word() };
            self.findings
                .get_or_create(&labels)
                .set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        let mut out = String::new();
        if let Err(error) = text::encode(&mut out, &self.registry) {
            tracing::error!(%error, "the metrics cannot be written");
        }
        out
    }
}

fn state(availability: &Availability) -> &'static str {
    match availability {
        Availability::Unlisted => "unlisted",
        Availability::Ready => "ready",
        Availability::Unavailable { .. } => "unavailable",
        Availability::Suspended => "suspended",
        Availability::Stopped => "stopped",
        Availability::AuthRequired => "auth_required",
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}
