//! Checks of the tree that no compiler makes: `cargo run -p xtask -- tidy`.

mod tidy;

use std::io::Write as _;
use std::process::ExitCode;

fn main() -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout();
    if std::env::args().nth(1).as_deref() != Some("tidy") {
        writeln!(out, "usage: cargo run -p xtask -- tidy")?;
        return Ok(ExitCode::from(2));
    }
    let problems = tidy::problems(&tidy::root())?;
    for problem in &problems {
        writeln!(out, "{problem}")?;
    }
    writeln!(out, "tidy: {} problems", problems.len())?;
    Ok(if problems.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
