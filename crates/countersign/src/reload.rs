//! Edits of the configuration folder while the gateway runs: good ones apply, broken ones are told.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use countersign_config::{Config, Environment, Problems};
use countersign_core::exact::Digest;
use countersign_edge::{Edge, Reload};
use countersign_engine::Engine;
use tokio_util::sync::CancellationToken;

use crate::gateway::{Pages, edge_settings, engine_settings};

/// Follows the folder until `stop`.
pub(crate) async fn follow(
    dir: PathBuf,
    (started, at): (Config, Pages),
    engine: Arc<Engine>,
    edge: Edge,
    stop: CancellationToken,
) {
    let mut edits = countersign_config::watch(dir, Environment::process(), started.hash);
    let mut servers = digests(&started);
    loop {
        let edit = tokio::select! {
            edit = edits.recv() => edit,
            () = stop.cancelled() => return,
        };
        match edit {
            None => {
                // Without a watch the snapshot in force stays; a person should know that edits are not seen.
                tracing::error!("the configuration folder is no longer watched; restart to apply edits");
                return;
            }
            Some(Err(problems)) => {
                edge.count_reload(Reload::Refused);
                report(&engine, &problems);
            }
            Some(Ok(config)) => {
                let now = digests(&config);
                let changed = differing(&servers, &now);
                engine.apply(engine_settings(&config, at), &config.servers);
                edge.apply(edge_settings(&config));
                edge.count_reload(Reload::Applied);
                report_set_aside(&engine, &config);
                log_applied(&config, changed);
                warn_of_restart(&started, &config);
                servers = now;
            }
        }
    }
}

/// The log line of every applied configuration, the first one too (spec 2.1).
pub(crate) fn log_applied(config: &Config, changed: usize) {
    tracing::info!(
        servers = config.servers.len(),
        changed,
        workflows = config.workflows.len(),
        warnings = config.warnings.len(),
        hash = %config.hash.hex(),
        "configuration applied"
    );
    for warning in &config.warnings {
        tracing::warn!(%warning, "configuration");
    }
}

/// The rest is in force; health says what is not.
fn report_set_aside(engine: &Engine, config: &Config) {
    if config.set_aside.is_empty() {
        return;
    }
    let texts: Vec<String> = config.set_aside.iter().map(ToString::to_string).collect();
    for problem in &texts {
        tracing::error!(problem, "workflow set aside; the rest of the configuration is applied");
    }
    engine.report_configuration_error(Some(texts.join("\n")));
}

fn report(engine: &Engine, problems: &Problems) {
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    for problem in &texts {
        tracing::error!(problem, "configuration not applied; the one before it stays in force");
    }
    engine.report_configuration_error(Some(texts.join("\n")));
}

/// What is read once, at the start.
fn warn_of_restart(started: &Config, now: &Config) {
    let (old, new) = (&started.gateway, &now.gateway);
    let keys = [
        ("listen", old.listen != new.listen),
        ("metrics", old.metrics_listen != new.metrics_listen),
        ("store", old.store != new.store),
        (
            "limits.response_bytes",
            old.limits.response_bytes != new.limits.response_bytes,
        ),
        (
            "limits.call_timeout",
            old.limits.call_timeout != new.limits.call_timeout,
        ),
        (
            "limits.connect_timeout",
            old.limits.connect_timeout != new.limits.connect_timeout,
        ),
    ];
    for (key, _) in keys.iter().filter(|(_, differs)| *differs) {
        tracing::warn!(key, "this change takes effect with the next start");
    }
}

fn digests(config: &Config) -> BTreeMap<String, Digest> {
    config
        .servers
        .iter()
        .map(|server| (server.name.to_string(), server.digest))
        .collect()
}

/// How many servers were added, removed or edited.
fn differing(old: &BTreeMap<String, Digest>, new: &BTreeMap<String, Digest>) -> usize {
    let gone = old.keys().filter(|name| !new.contains_key(*name)).count();
    let fresh = new
        .iter()
        .filter(|(name, digest)| old.get(*name) != Some(*digest))
        .count();
    gone.saturating_add(fresh)
}
