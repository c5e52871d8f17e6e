//! `countersign check`: all files validated as `serve` would, without serving.

use countersign_config::{Config, Environment, Problem, Severity};
use serde_json::{Value, json};

use crate::args::Folder;
use crate::failure::Failure;
use crate::folder;
use crate::out::{self, Format, plural};

/// Exit code of a folder that cannot be used.
const BROKEN: u8 = 2;

/// Checks the folder; the exit code is 2 when `serve` would refuse it.
pub(crate) fn run(flags: Folder, format: Format) -> Result<(), Failure> {
    let dir = folder::existing(flags.config)?;
    let loaded = countersign_config::load(&dir, &Environment::process());
    match (loaded, format) {
        (Ok(config), Format::Table) => {
            say_all(&config.warnings);
            out::print(&summary(&config))
        }
        (Ok(config), Format::Json | Format::Yaml) => {
            let report = json!({
                "ok": true,
                "servers": config.servers.iter().map(|server| server.name.as_str()).collect::<Vec<_>>(),
                "hash": config.hash.hex(),
                "problems": config.warnings.iter().map(told).collect::<Vec<_>>(),
            });
            out::emit(format, &report.to_string(), String::new)
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

fn summary(config: &Config) -> String {
    let mut text = format!(
        "ok: {}, {}",
        plural(config.servers.len(), "server"),
        plural(config.warnings.len(), "warning")
    );
    for server in &config.servers {
        text.push_str("\n  ");
        text.push_str(server.name.as_str());
    }
    out::line(text)
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
