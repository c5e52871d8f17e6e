//! The files that quickstart makes; those that exist are the user's and stay as they are.

use std::fs;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::failure::Failure;

/// The first addresses that are tried.
const MCP_PORT: u16 = 8090;
const METRICS_PORT: u16 = 9090;
/// How many ports after the first one are tried.
const TRIES: u16 = 100;

/// Makes what is missing. Returns what the user should be told.
pub(super) fn prepare(dir: &Path, listen: Option<SocketAddr>) -> Result<Vec<String>, Failure> {
    fs::create_dir_all(dir).map_err(|error| unusable(dir, &error))?;
    let mut notices = Vec::new();
    let settings = dir.join("countersign.yaml");
    if !settings.exists() {
        let (text, chosen) = settings_text(listen)?;
        create(&settings, &text)?;
        notices.extend(chosen);
    }
    let catalogue = dir.join("mcp.json");
    let program = program()?;
    let text = catalogue_text(&program, dir)?;
    if !catalogue.exists() {
        create(&catalogue, &text)?;
    } else if is_ours_for_another_program(&catalogue, &text, dir)? {
        replace(&catalogue, &text)?;
        notices.push(format!("mcp.json now starts the samples with this program, {program}"));
    }
    Ok(notices)
}

/// `countersign.yaml`, and what is worth telling about the ports in it.
fn settings_text(listen: Option<SocketAddr>) -> Result<(String, Vec<String>), Failure> {
    let mut notices = Vec::new();
    let any_port = listen.is_some_and(|asked| asked.port() == 0);
    let mcp = match listen.filter(|_| !any_port) {
        Some(asked) => asked,
        None => free(MCP_PORT, "MCP", &mut notices)?,
    };
    let metrics = if any_port {
        SocketAddr::from((Ipv4Addr::LOCALHOST, 0))
    } else {
        free(METRICS_PORT, "metrics", &mut notices)?
    };
    let text = format!(
        "# Made by `countersign quickstart`, for you to edit: an edit applies within two seconds,\n\
         # and quickstart never writes over it. Every key has a default.\n\
         \n\
         # Where MCP clients connect: http://{mcp}/mcp\n\
         listen: {mcp}\n\
         \n\
         # Where Prometheus reads metrics: http://{metrics}/metrics\n\
         metrics: {{listen: \"{metrics}\"}}\n\
         \n\
         # `direct` lists the servers' own tools. With hundreds of tools, `meta` suits models better:\n\
         # it lists a few tools that find, describe and call the others.\n\
         surface: direct\n"
    );
    Ok((text, notices))
}

/// The first address of this machine that nobody has.
fn free(first: u16, what: &str, notices: &mut Vec<String>) -> Result<SocketAddr, Failure> {
    for port in first..first.saturating_add(TRIES) {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        if TcpListener::bind(address).is_ok() {
            if port != first {
                notices.push(format!(
                    "port {first} is in use, so {what} got {port}; `countersign.yaml` keeps it"
                ));
            }
            return Ok(address);
        }
    }
    Err(Failure::failed(
        format_args!("no port from {first} on is free for {what}"),
        "choose an address with --listen ADDR, or write countersign.yaml yourself",
    ))
}

/// `mcp.json` with the two samples, run by this program; their hints are its own word, so they are trusted.
fn catalogue_text(program: &str, dir: &Path) -> Result<String, Failure> {
    let notes = dir.join("notes.json");
    let (program, notes) = (reference_free(program), reference_free(text(&notes)?));
    Ok(format!(
        "{{\n  \"mcpServers\": {{\n    \
         \"notes\": {{\n      \
         \"command\": {program},\n      \
         \"args\": [\"sample\", \"notes\", \"--file\", {notes}],\n      \
         \"description\": \"Sample: keeps short notes\",\n      \
         \"trustAnnotations\": true\n    }},\n    \
         \"clock\": {{\n      \
         \"command\": {program},\n      \
         \"args\": [\"sample\", \"clock\"],\n      \
         \"description\": \"Sample: tells the time\",\n      \
         \"trustAnnotations\": true\n    }}\n  }}\n}}\n"
    ))
}

/// Whether the file is what quickstart wrote for a program elsewhere, without any edit. A build that
/// was moved or replaced would leave it pointing at nothing.
fn is_ours_for_another_program(file: &Path, fresh: &str, dir: &Path) -> Result<bool, Failure> {
    let Ok(there) = fs::read_to_string(file) else {
        return Ok(false);
    };
    if there == fresh {
        return Ok(false);
    }
    let parsed: Value = serde_json::from_str(&there).unwrap_or_default();
    let Some(former) = parsed.pointer("/mcpServers/notes/command").and_then(Value::as_str) else {
        return Ok(false);
    };
    Ok(catalogue_text(&former.replace("$$", "$"), dir)? == there)
}

/// A JSON string in which a dollar stands for itself.
fn reference_free(text: &str) -> String {
    countersign_wire::object::quote(&text.replace('$', "$$"))
}

/// This program's file.
pub(super) fn program() -> Result<String, Failure> {
    let path = std::env::current_exe().map_err(|error| {
        Failure::failed(
            format_args!("cannot find this program's own file: {error}"),
            "start it by its full path",
        )
    })?;
    text(&path).map(str::to_owned)
}

fn text(path: &Path) -> Result<&str, Failure> {
    path.to_str().ok_or_else(|| {
        Failure::failed(
            format_args!("`{}` is not UTF-8", path.display()),
            "use a path of plain characters",
        )
    })
}

/// Writes a file that must not exist yet.
fn create(path: &Path, text: &str) -> Result<(), Failure> {
    let written = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| unusable(path, &error))
}

fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".new");
    let fresh = PathBuf::from(fresh);
    fs::write(&fresh, text)
        .and_then(|()| fs::rename(&fresh, path))
        .map_err(|error| unusable(path, &error))
}

fn unusable(path: &Path, error: &io::Error) -> Failure {
    Failure::failed(
        format_args!("cannot write `{}`: {error}", path.display()),
        "check the folder's rights, or name another with --dir",
    )
}

#[cfg(test)]
mod tests;
