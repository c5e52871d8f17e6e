//! Which crate may depend on which: the walls of ARCHITECTURE.md.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::Problem;

/// The crates of this workspace that each crate may name in `[dependencies]`.
const MAY_NAME: &[(&str, &[&str])] = &[
    ("countersign-core", &[]),
    ("countersign-wire", &["countersign-core"]),
    ("countersign-config", &["countersign-core"]),
    ("countersign-store", &["countersign-core"]),
    ("countersign-sandbox", &["countersign-core"]),
    ("countersign-fetch", &["countersign-core"]),
    (
        "countersign-upstream",
        &[
            "countersign-core",
            "countersign-fetch",
            "countersign-store",
            "countersign-wire",
        ],
    ),
    (
        "countersign-engine",
        &[
            "countersign-core",
            "countersign-sandbox",
            "countersign-store",
            "countersign-upstream",
        ],
    ),
    (
        "countersign-edge",
        &[
            "countersign-core",
            "countersign-engine",
            "countersign-fetch",
            "countersign-wire",
        ],
    ),
    (
        "countersign",
        &[
            "countersign-config",
            "countersign-core",
            "countersign-edge",
            "countersign-engine",
            "countersign-sandbox",
            "countersign-store",
            "countersign-upstream",
            "countersign-wire",
        ],
    ),
    ("countersign-testkit", &[]),
    ("xtask", &[]),
];

/// Crates of others that must not be anywhere below a crate, because they would bring IO, clocks or randomness.
const MAY_NOT_REACH: &[(&str, &[&str])] = &[
    (
        "countersign-core",
        &[
            "tokio",
            "hyper",
            "axum",
            "mio",
            "socket2",
            "rusqlite",
            "getrandom",
            "rand",
            "notify",
            "rustls",
            "tracing",
            "time",
            "chrono",
            "jiff",
        ],
    ),
    (
        "countersign-wire",
        &[
            "tokio", "hyper", "axum", "mio", "socket2", "rusqlite", "notify", "rustls",
        ],
    ),
    ("countersign-config", &["hyper", "axum"]),
    ("countersign-store", &["hyper", "axum"]),
    ("countersign-fetch", &["axum", "rusqlite"]),
    ("countersign-engine", &["axum"]),
    ("countersign", &["rmcp", "openssl", "ring", "serde_yaml"]),
];

pub(super) fn problems(root: &Path) -> anyhow::Result<Vec<Problem>> {
    let mut problems = Vec::new();
    let metadata: Value = serde_json::from_str(&cargo(root, &["metadata", "--no-deps", "--format-version", "1"])?)?;
    for package in metadata
        .get("packages")
        .and_then(Value::as_array)
        .context("cargo metadata without packages")?
    {
        let name = text(package, "name");
        let Some((_, may)) = MAY_NAME.iter().find(|(of, _)| *of == name) else {
            problems.push(problem(
                name,
                "is a crate that the table of walls does not know: add it to xtask".to_owned(),
            ));
            continue;
        };
        for dependency in package
            .get("dependencies")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let normal = dependency.get("kind").is_none_or(Value::is_null);
            let on = text(dependency, "name");
            let ours = MAY_NAME.iter().any(|(of, _)| *of == on);
            if normal && ours && !may.contains(&on) {
                problems.push(problem(
                    name,
                    format!("may not depend on {on}: see the table of crates in ARCHITECTURE.md"),
                ));
            }
        }
    }
    for (of, never) in MAY_NOT_REACH {
        let tree = cargo(
            root,
            &[
                "tree", "-p", of, "-e", "normal", "--prefix", "none", "--format", "{lib}",
            ],
        )?;
        let below: BTreeSet<&str> = tree.lines().map(str::trim).collect();
        for name in never.iter().filter(|name| below.contains(*name)) {
            problems.push(problem(
                of,
                format!("reaches {name}: `cargo tree -p {of} -i {name}` shows by which way"),
            ));
        }
    }
    Ok(problems)
}

fn problem(place: &str, text: String) -> Problem {
    Problem {
        place: place.to_owned(),
        line: 0,
        text,
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// What cargo prints, without touching the network or the lock file.
fn cargo(root: &Path, args: &[&str]) -> anyhow::Result<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(args)
        .args(["--locked", "--offline"])
        .current_dir(root)
        .output()
        .context("cannot run cargo")?;
    ensure!(
        output.status.success(),
        "cargo {} failed: {}",
        args.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}
