//! `countersign check`: all files validated as `serve` would, without serving.

use std::sync::Arc;

use countersign_config::{Config, Environment, Problem, Severity};
use countersign_core::catalogue::{Availability, Catalogue, Finding, Parts, Server};
use countersign_core::names::ServerName;
use countersign_core::server::{ServerEntry, Start};
use countersign_core::toolset;
use countersign_engine::Engine;
use countersign_store::Ledger;
use serde_json::{Value, json};

use crate::args::Check;
use crate::failure::Failure;
use crate::folder;
use crate::out::{self, Format, plural};

/// Exit code of a folder that cannot be used.
const BROKEN: u8 = 2;
/// Exit code of a folder whose servers could not all be asked.
const UNASKED: u8 = 1;

/// Checks the folder; the exit code is 2 when `serve` would refuse it, and 1 when a server does not answer.
pub(crate) async fn run(flags: Check, format: Format) -> Result<(), Failure> {
    let dir = folder::existing(flags.folder.config)?;
    let loaded = countersign_config::load(&dir, &Environment::process());
    let published = match &loaded {
        Ok(config) if flags.live => Some(published(config).await),
        Ok(_) | Err(_) => None,
    };
    match (loaded, format) {
        (Ok(config), Format::Table) => {
            say_all(&config.warnings);
            let findings = findings(&config, published.as_deref());
            out::print(&summary(&config, published.as_deref(), &findings))?;
            answered(published.as_deref())
        }
        (Ok(config), Format::Json | Format::Yaml) => {
            let mut report = json!({
                "ok": true,
                "servers": config.servers.iter().map(|server| server.name.as_str()).collect::<Vec<_>>(),
                "hash": config.hash.hex(),
                "problems": config.warnings.iter().map(told).collect::<Vec<_>>(),
            });
            if let (Some(catalogue), Some(report)) = (&published, report.as_object_mut()) {
                report.insert(
                    "live".to_owned(),
                    json!(catalogue.servers().iter().map(state).collect::<Vec<_>>()),
                );
            }
            if let Some(report) = report.as_object_mut() {
                let findings = findings(&config, published.as_deref());
                report.insert("findings".to_owned(), json!(findings));
            }
            out::emit(format, &report.to_string(), String::new)?;
            answered(published.as_deref())
        }
        (Err(problems), Format::Table) => Err(folder::refused(problems)),
        (Err(problems), Format::Json | Format::Yaml) => {
            let report = json!({"ok": false, "problems": problems.iter().map(told).collect::<Vec<_>>()});
            out::emit(format, &report.to_string(), String::new)?;
            Err(Failure::Silent(BROKEN))
        }
    }
}

fn say_all(warnings: &[Problem]) {
    for warning in warnings {
        out::say(format!("{:?}", miette::Report::new(warning.clone())).trim_end());
    }
}

/// What the servers publish now. They are started as `serve` would start them, asked once, and ended.
async fn published(config: &Config) -> Arc<Catalogue> {
    let engine = Engine::start(
        crate::gateway::engine_settings(config, crate::gateway::Pages::Nowhere),
        &config.servers,
        Ledger::memory(),
    );
    let catalogue = engine.listed_catalogue().await;
    engine.shutdown().await;
    catalogue
}

/// An error when a server that should run did not answer: nothing is known of what it publishes.
fn answered(published: Option<&Catalogue>) -> Result<(), Failure> {
    let mut servers = published.into_iter().flat_map(Catalogue::servers);
    let silent = |availability: &Availability| match availability {
        Availability::Unlisted | Availability::Unavailable { .. } => true,
        Availability::Ready | Availability::Suspended | Availability::Stopped | Availability::AuthRequired => false,
    };
    if servers.any(|server| silent(&server.availability)) {
        return Err(Failure::Silent(UNASKED));
    }
    Ok(())
}

fn state(server: &Server) -> Value {
    let mut state = json!(server.availability);
    if let Some(state) = state.as_object_mut() {
        state.insert("name".to_owned(), json!(server.entry.name));
        state.insert("tools".to_owned(), json!(server.listing.tools.len()));
    }
    state
}

/// What a person should mend: in what the servers publish, or without having asked them, in the files alone.
fn findings(config: &Config, published: Option<&Catalogue>) -> Vec<Finding> {
    match published {
        Some(catalogue) => catalogue.findings().to_vec(),
        None => toolset::idle_rules(&unasked(config), &config.gateway.presets),
    }
}

/// The servers as they are known before anyone has asked them.
fn unasked(config: &Config) -> Catalogue {
    let server = |entry: &Arc<ServerEntry>| Server {
        entry: Arc::clone(entry),
        listing: Arc::default(),
        availability: match entry.start {
            Start::Boot | Start::Lazy => Availability::Unlisted,
            Start::Suspended => Availability::Suspended,
        },
    };
    Catalogue::build(Parts {
        version: 0,
        naming: crate::gateway::naming(config),
        servers: config.servers.iter().map(server).collect(),
        workflows: config.workflows.iter().map(Arc::clone).collect(),
    })
}

fn summary(config: &Config, published: Option<&Catalogue>, findings: &[Finding]) -> String {
    let mut text = format!(
        "ok: {}, {}",
        plural(config.servers.len(), "server"),
        plural(config.warnings.len(), "warning")
    );
    if published.is_some() || !findings.is_empty() {
        text.push_str(&format!(", {}", plural(findings.len(), "finding")));
    }
    for server in &config.servers {
        text.push_str("\n  ");
        text.push_str(server.name.as_str());
        if let Some(server) = published.and_then(|catalogue| catalogue.server(server.name.as_str())) {
            text.push_str(&format!(": {}", state_text(server)));
        }
    }
    for finding in findings {
        text.push_str(&finding_text(finding));
    }
    out::line(text)
}

fn state_text(server: &Server) -> String {
    match &server.availability {
        Availability::Ready => plural(server.listing.tools.len(), "tool"),
        Availability::Unlisted => "did not answer in time".to_owned(),
        Availability::Unavailable { reason } => format!("unavailable: {reason}"),
        Availability::Suspended => "suspended".to_owned(),
        Availability::Stopped => "stopped".to_owned(),
        Availability::AuthRequired => "waits for a sign-in".to_owned(),
    }
}

fn finding_text(finding: &Finding) -> String {
    let servers: Vec<&str> = finding.servers.iter().map(ServerName::as_str).collect();
    let servers = match servers.as_slice() {
        [] => String::new(),
        servers => format!(" ({})", servers.join(", ")),
    };
    let subject = finding
        .subject
        .as_deref()
        .map_or(String::new(), |subject| format!(" `{subject}`"));
    format!(
        "\n{}{subject}{servers}: {}\n    {}",
        finding.kind.word(),
        finding.what,
        finding.way_out
    )
}

fn told(problem: &Problem) -> Value {
    json!({
        "severity": match problem.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        "file": problem.file,
        "line": problem.place.as_ref().map(|place| place.line),
        "column": problem.place.as_ref().map(|place| place.column),
        "message": problem.what,
        "help": problem.help,
    })
}
