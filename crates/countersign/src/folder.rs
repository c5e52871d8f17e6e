//! The configuration folder: which one, and what it says.

use std::path::{Path, PathBuf};

use countersign_config::{Config, Environment, Problems};
use directories::ProjectDirs;

use crate::failure::Failure;

/// The variable that names the folder.
const VARIABLE: &str = "COUNTERSIGN_CONFIG";

/// The folder that the flag, the variable or the customs of this machine name; it need not exist.
pub(crate) fn named(flag: Option<PathBuf>) -> PathBuf {
    let user = project().map(|dirs| dirs.config_dir().to_owned());
    countersign_config::default_dir(flag, std::env::var_os(VARIABLE), user)
}

/// As [`named`], for commands that read it.
pub(crate) fn existing(flag: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let dir = named(flag);
    if dir.is_dir() {
        return Ok(dir);
    }
    let shown = dir.display();
    Err(Failure::configuration(
        format_args!("there is no configuration folder `{shown}`"),
        format_args!(
            "name one with --config or ${VARIABLE}; `countersign import FILE --dir {shown}` makes one from \
             another client's settings, `countersign quickstart` shows a working one"
        ),
    ))
}

/// Where quickstart keeps its configuration when it is not told.
pub(crate) fn quickstart() -> Option<PathBuf> {
    project().map(|dirs| dirs.data_dir().join("quickstart"))
}

/// Reads the folder. Warnings are for `check` and for the log.
pub(crate) fn load(dir: &Path) -> Result<Config, Failure> {
    countersign_config::load(dir, &Environment::process()).map_err(refused)
}

/// Problems as the end of a command.
pub(crate) fn refused(problems: Problems) -> Failure {
    Failure::Configuration(miette::Report::new(problems))
}

fn project() -> Option<ProjectDirs> {
    ProjectDirs::from("", "", "countersign")
}
