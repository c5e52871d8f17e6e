//! `countersign import`: another client's settings become our `mcp.json`.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use countersign_config::Imported;
use serde_json::json;

use crate::args::Import;
use crate::failure::Failure;
use crate::folder;
use crate::out::{self, Format, plural};

/// The largest settings file that is read, in bytes.
const LARGEST: u64 = 16 * 1024 * 1024;

/// Imports one file.
pub(crate) fn run(flags: &Import, format: Format) -> Result<(), Failure> {
    let imported = read(&flags.file)?;
    if flags.stdout {
        for warning in &imported.warnings {
            out::say(&format!("warning: {warning}"));
        }
        return out::print(&out::line(imported.mcp_json));
    }
    let dir = folder::named(flags.dir.clone());
    let target = dir.join("mcp.json");
    write(&dir, &target, &imported.mcp_json, flags)?;
    let written =
        json!({"written": target.display().to_string(), "servers": imported.servers, "warnings": imported.warnings});
    out::emit(format, &written.to_string(), || told(&imported, &dir, &target))
}

fn read(file: &Path) -> Result<Imported, Failure> {
    let shown = file.display();
    let unreadable = |why: &dyn std::fmt::Display| {
        Failure::configuration(
            format_args!("cannot read `{shown}`: {why}"),
            "name the settings file of Claude Desktop, Claude Code, Cursor or VS Code",
        )
    };
    let size = fs::metadata(file).map_err(|error| unreadable(&error))?.len();
    if size > LARGEST {
        return Err(unreadable(&format!("it is larger than {LARGEST} bytes")));
    }
    let text = fs::read_to_string(file).map_err(|error| unreadable(&error))?;
    countersign_config::import(&text, &shown.to_string())
        .map_err(|problem| Failure::Configuration(miette::Report::new(problem)))
}

/// Writes the file so that only its owner can read it: settings often hold credentials.
fn write(dir: &Path, target: &Path, text: &str, flags: &Import) -> Result<(), Failure> {
    let shown = target.display();
    let failed = |error: std::io::Error| {
        if error.kind() == std::io::ErrorKind::AlreadyExists {
            Failure::configuration(
                format_args!("`{shown}` exists and is kept"),
                "--force replaces it, --dir names another folder, --stdout prints the result for merging by hand",
            )
        } else {
            Failure::failed(
                format_args!("cannot write `{shown}`: {error}"),
                "check the folder's rights, or name another with --dir",
            )
        }
    };
    fs::create_dir_all(dir).map_err(failed)?;
    if flags.force {
        let fresh = dir.join("mcp.json.new");
        match fs::remove_file(&fresh) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        private(&fresh)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(failed)?;
        return fs::rename(&fresh, target).map_err(failed);
    }
    private(target)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(failed)
}

/// A new file for its owner's eyes.
fn private(path: &Path) -> std::io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn told(imported: &Imported, dir: &Path, target: &Path) -> String {
    let mut text = format!(
        "{} taken over into {}\n",
        plural(imported.servers.len(), "server"),
        target.display()
    );
    for server in &imported.servers {
        text.push_str(&format!("  {server}\n"));
    }
    if !imported.warnings.is_empty() {
        text.push_str("\nLeft out or to be looked at\n");
        for warning in &imported.warnings {
            text.push_str(&format!("  {warning}\n"));
        }
    }
    text.push_str(&format!(
        "\nNext: countersign check --config {0}\n      countersign serve --config {0}\n",
        dir.display()
    ));
    text
}
