//! What quickstart tells: where the gateway is, how clients connect, what to try first.

use std::path::Path;
use std::time::Duration;

use countersign_core::catalogue::{Availability, Provider};
use countersign_engine::Engine;
use serde_json::{Value, json};

use crate::gateway::{Gateway, Running};
use crate::out::{self, plural};

/// How long the guide waits for the samples; it is printed all the same.
const PATIENCE: Duration = Duration::from_secs(15);

/// The guide.
#[derive(Debug)]
pub(super) struct Guide {
    url: String,
    dir: String,
    servers: Vec<(String, String)>,
    /// A command for a second terminal, when the clock is there.
    command: Option<String>,
    notices: Vec<String>,
}

impl Guide {
    /// Waits until the servers are listed, so that what is said is so.
    pub(super) async fn of(gateway: &Gateway, running: &Running, notices: Vec<String>) -> Self {
        let listed = tokio::time::timeout(PATIENCE, running.engine.listed_catalogue()).await;
        if listed.is_err() {
            tracing::warn!("the sample servers are not listed yet");
        }
        let servers = running.engine.readiness().await.servers;
        let servers = servers.into_iter().map(|server| {
            let state = match server.availability {
                Availability::Ready => plural(server.tools, "tool"),
                Availability::Unlisted => "starting".to_owned(),
                Availability::Unavailable { reason } => format!("unavailable: {reason}"),
                Availability::Suspended => "suspended".to_owned(),
                Availability::Stopped => "stopped".to_owned(),
                Availability::AuthRequired => "waits for a sign-in".to_owned(),
            };
            (server.name, out::harmless(&state))
        });
        let url = gateway.url();
        let command = clock(&running.engine).map(|tool| format!("{} tools call {tool} --url {url}", program()));
        Self {
            dir: gateway.dir.display().to_string(),
            servers: servers.collect(),
            command,
            notices,
            url,
        }
    }

    /// For programs.
    pub(super) fn json(&self) -> String {
        let guide = json!({
            "url": self.url,
            "folder": self.dir,
            "servers": self.servers.iter().map(|(name, state)| json!({"name": name, "state": state})).collect::<Vec<_>>(),
            "clients": {
                "claude_code": claude_code(&self.url),
                "cursor": cursor(&self.url),
                "vs_code": vs_code(&self.url),
            },
            "try": self.command,
            "notices": self.notices,
        });
        guide.to_string()
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let mut page = Page::default();
        page.head("Countersign is running");
        page.row("MCP address", &self.url);
        page.row("Configuration", &self.dir);
        for (place, (name, state)) in self.servers.iter().enumerate() {
            page.row(if place == 0 { "Servers" } else { "" }, &format!("{name}, {state}"));
        }
        for notice in &self.notices {
            page.row("Note", notice);
        }
        page.head("Connect your client");
        page.row("Claude Code", &claude_code(&self.url));
        page.row("Cursor", "~/.cursor/mcp.json");
        page.row("", &cursor(&self.url).to_string());
        page.row("VS Code", ".vscode/mcp.json");
        page.row("", &vs_code(&self.url).to_string());
        page.head("Try first");
        page.row(
            "In your client",
            "\"Add a note: call Ada at four. Then list my notes.\"",
        );
        if let Some(command) = &self.command {
            page.row("In a terminal", command);
        }
        page.head("Ctrl-C stops everything. The notes stay; the next start finds them.");
        page.text
    }
}

#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn head(&mut self, head: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        let (on, off) = if out::colour() {
            ("\u{1b}[1m", "\u{1b}[0m")
        } else {
            ("", "")
        };
        self.text.push_str(&format!("{on}{head}{off}\n"));
    }

    fn row(&mut self, label: &str, value: &str) {
        self.text.push_str(&format!("  {label:<15} {value}\n"));
    }
}

fn claude_code(url: &str) -> String {
    format!("claude mcp add --transport http countersign {url}")
}

fn cursor(url: &str) -> Value {
    json!({"mcpServers": {"countersign": {"url": url}}})
}

fn vs_code(url: &str) -> Value {
    json!({"servers": {"countersign": {"type": "http", "url": url}}})
}

/// The name under which callers find the clock's `now`.
fn clock(engine: &Engine) -> Option<String> {
    let catalogue = engine.catalogue();
    let tool = catalogue.tools().iter().find(|tool| {
        let of_clock = matches!(&tool.provider, Provider::Server(server) if server.as_str() == "clock");
        of_clock && tool.definition.name.as_str() == "now"
    })?;
    Some(tool.name.to_string())
}

/// How this program is called from the folder where the user stands.
fn program() -> String {
    let Ok(program) = std::env::current_exe() else {
        return "countersign".to_owned();
    };
    let on_path = std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|dir| {
            dir.join("countersign")
                .canonicalize()
                .is_ok_and(|found| found == program)
        })
    });
    if on_path {
        return "countersign".to_owned();
    }
    let here = std::env::current_dir().unwrap_or_default();
    let shown = match program.strip_prefix(&here) {
        Ok(inside) => Path::new(".").join(inside).display().to_string(),
        Err(_) => program.display().to_string(),
    };
    if shown.contains(' ') {
        format!("'{shown}'")
    } else {
        shown
    }
}
