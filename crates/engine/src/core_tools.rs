//! Runs the gateway's own tools; they came through the same door as every call.

mod arguments;

use countersign_core::admit::Operation;
use countersign_core::catalogue::{Availability, Catalogue, Finding, Server};
use countersign_core::core_tools::CoreTool;
use countersign_core::names::ServerName;
use countersign_core::server::{Sharing, Start, Transport};
use countersign_store::{Receipt, Recorded};
use countersign_upstream::Answer;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use crate::Engine;
use arguments::Arguments;

/// How many trail entries `core_events` gives without a `limit`, and at most.
const EVENTS: (usize, usize) = (50, 200);

/// Why a core tool gives no answer: a code and a sentence for the caller.
struct Trouble {
    code: &'static str,
    message: String,
}

impl Trouble {
    fn no_server(name: &str) -> Self {
        Self {
            code: "server_not_found",
            message: format!("no server `{name}` is configured; core_server_list names those that are"),
        }
    }
}

/// Runs a recorded core tool.
pub(crate) async fn run(engine: &Engine, recorded: Recorded) -> (Answer, Receipt) {
    let (call, receipt) = recorded.into_parts();
    let answered = match call.operation() {
        Operation::RunCore { tool, arguments } => answer(engine, *tool, arguments.as_str()).await,
        Operation::CallTool { .. }
        | Operation::ReadResource { .. }
        | Operation::GetPrompt { .. }
        | Operation::Complete { .. }
        | Operation::Subscribe { .. }
        | Operation::Unsubscribe { .. }
        | Operation::Task { .. } => Err(Trouble {
            code: "internal",
            message: "this call is not one of the gateway's own".to_owned(),
        }),
    };
    (Answer::Result(tool_result(answered)), receipt)
}

/// A tool result: the same JSON as structured content and as text, or an error result.
fn tool_result(answered: Result<Value, Trouble>) -> Box<RawValue> {
    let result = match answered {
        Ok(value) => json!({"content": [{"type": "text", "text": value.to_string()}], "structuredContent": value}),
        Err(Trouble { code, message }) => json!({
            "content": [{"type": "text", "text": message}],
            "structuredContent": {"code": code, "message": message},
            "isError": true
        }),
    };
    // A `Value` always serialises.
    to_raw_value(&result).unwrap_or_default()
}

async fn answer(engine: &Engine, tool: CoreTool, arguments: &str) -> Result<Value, Trouble> {
    let allowed: &[&str] = match tool {
        CoreTool::ServerList | CoreTool::ConfigGet => &[],
        CoreTool::ServerGet
        | CoreTool::ServerStatus
        | CoreTool::ServerStart
        | CoreTool::ServerStop
        | CoreTool::ServerRestart => &["server"],
        CoreTool::Events => &["limit"],
    };
    let arguments = Arguments::read(tool, arguments, allowed)?;
    match tool {
        CoreTool::ServerList => {
            let catalogue = engine.listed_catalogue().await;
            let servers: Vec<Value> = catalogue.servers().iter().map(summary).collect();
            Ok(json!({"servers": servers, "findings": catalogue.findings()}))
        }
        CoreTool::ServerGet => {
            let server = arguments.server()?;
            let catalogue = engine.catalogue();
            catalogue
                .server(server)
                .map(|server| with_findings(detail(server), &catalogue, server.entry.name.as_str()))
                .ok_or_else(|| Trouble::no_server(server))
        }
        CoreTool::ServerStatus => {
            let server = arguments.server()?;
            status(engine, server)
        }
        CoreTool::ServerStart => {
            let server = arguments.server()?;
            engine.start_server(server).await
        }
        CoreTool::ServerStop => {
            let server = arguments.server()?;
            engine.stop_server(server).await
        }
        CoreTool::ServerRestart => {
            let server = arguments.server()?;
            engine.stop_server(server).await?;
            engine.start_server(server).await
        }
        CoreTool::ConfigGet => {
            let settings = engine.shared.settings.load_full();
            Ok(json!({"hash": settings.hash, "configuration": *settings.shown}))
        }
        CoreTool::Events => {
            let limit = arguments.limit(EVENTS.0, EVENTS.1)?;
            events(engine, limit).await
        }
    }
}

async fn events(engine: &Engine, limit: usize) -> Result<Value, Trouble> {
    let entries = engine.shared.ledger.recent(limit).await;
    let entries = entries.map_err(|error| Trouble {
        code: "ledger_unavailable",
        message: error.to_string(),
    })?;
    Ok(json!({"events": entries}))
}

impl Engine {
    /// The name of a server that may be started and stopped: only its entry switches a suspended one on.
    fn known(&self, server: &str) -> Result<ServerName, Trouble> {
        let entry = self.shared.with_book(|book| book.entry(server));
        let entry = entry.ok_or_else(|| Trouble::no_server(server))?;
        match entry.start {
            Start::Boot | Start::Lazy => Ok(entry.name.clone()),
            Start::Suspended => Err(Trouble {
                code: "server_suspended",
                message: format!(
                    "server `{server}` is suspended by its entry in `mcp.json`; take `suspended` or `disabled` out there"
                ),
            }),
        }
    }

    async fn stop_server(&self, server: &str) -> Result<Value, Trouble> {
        let name = self.known(server)?;
        self.shared.with_book(|book| book.set(&name, Availability::Stopped));
        self.shared.republish();
        self.shared
            .upstreams
            .stop(&name)
            .await
            .map_err(|_unknown| Trouble::no_server(server))?;
        Ok(json!({"name": server, "state": "stopped"}))
    }

    /// Starts a server and waits for its first listing.
    async fn start_server(&self, server: &str) -> Result<Value, Trouble> {
        let name = self.known(server)?;
        self.shared
            .upstreams
            .start(&name)
            .map_err(|_unknown| Trouble::no_server(server))?;
        self.shared.with_book(|book| book.set(&name, Availability::Unlisted));
        self.shared.republish();
        self.refresh(name);
        let catalogue = self.listed_catalogue().await;
        let availability = catalogue.server(server).map(|server| server.availability.clone());
        let mut state = json!(availability.unwrap_or(Availability::Unlisted));
        if let Some(state) = state.as_object_mut() {
            state.insert("name".to_owned(), json!(server));
        }
        Ok(state)
    }
}

fn status(engine: &Engine, name: &str) -> Result<Value, Trouble> {
    let catalogue = engine.catalogue();
    let server = catalogue.server(name).ok_or_else(|| Trouble::no_server(name))?;
    let mut value = json!(server.availability);
    if let Some(value) = value.as_object_mut() {
        value.insert("name".to_owned(), json!(name));
        if let Some(status) = engine.shared.upstreams.status(&server.entry.name) {
            value.insert("connections".to_owned(), json!(status.connections));
            value.insert("stderr".to_owned(), json!(status.stderr));
            if let Some(error) = status.last_error {
                value.insert("last_error".to_owned(), json!(error));
            }
        }
    }
    Ok(with_findings(value, &catalogue, name))
}

/// What is known of a server, with what a person should mend there.
fn with_findings(mut value: Value, catalogue: &Catalogue, server: &str) -> Value {
    let findings: Vec<&Finding> = catalogue
        .findings()
        .iter()
        .filter(|finding| finding.is_about(server))
        .collect();
    if let Some(value) = value.as_object_mut() {
        value.insert("findings".to_owned(), json!(findings));
    }
    value
}

/// A server as `core_server_list` shows it.
fn summary(server: &Server) -> Value {
    let entry = &server.entry;
    let mut value = json!(server.availability);
    if let Some(value) = value.as_object_mut() {
        let listing = &server.listing;
        value.insert("name".to_owned(), json!(entry.name));
        value.insert("transport".to_owned(), json!(transport_word(&entry.transport)));
        value.insert("tools".to_owned(), json!(listing.tools.len()));
        value.insert(
            "resources".to_owned(),
            json!(listing.resources.len() + listing.templates.len()),
        );
        value.insert("prompts".to_owned(), json!(listing.prompts.len()));
        value.insert("shared".to_owned(), json!(entry.sharing == Sharing::Shared));
        if !entry.labels.is_empty() {
            value.insert("labels".to_owned(), json!(entry.labels));
        }
        if let Some(family) = &entry.family {
            let family = json!({"name": family.name, "instance_arg": &*family.instance_arg});
            value.insert("family".to_owned(), family);
        }
        if let Some(description) = &entry.description {
            value.insert("description".to_owned(), json!(description));
        }
        if !listing.protocol.is_empty() {
            value.insert("protocol".to_owned(), json!(listing.protocol));
        }
    }
    value
}

/// A server as `core_server_get` shows it; nothing that came from a reference is shown.
fn detail(server: &Server) -> Value {
    let mut value = summary(server);
    if let Some(value) = value.as_object_mut() {
        value.insert("connection".to_owned(), connection(&server.entry.transport));
        if let Some(instructions) = &server.listing.instructions {
            value.insert("instructions".to_owned(), json!(instructions));
        }
        let set_aside: Vec<Value> = server
            .listing
            .problems
            .iter()
            .map(|problem| json!({"name": problem.name, "what": problem.what}))
            .collect();
        value.insert("set_aside".to_owned(), json!(set_aside));
    }
    value
}

fn connection(transport: &Transport) -> Value {
    match transport {
        Transport::Stdio { command, args, env, .. } => {
            let args: Vec<&str> = args.iter().map(countersign_core::secret::Secret::shown).collect();
            // Only the names: values that an operator wrote into the file may be credentials too.
            let env: Vec<&String> = env.keys().collect();
            json!({"command": command.shown(), "args": args, "env": env})
        }
        Transport::Http { url, headers } | Transport::Sse { url, headers } => {
            let headers: Vec<&String> = headers.keys().collect();
            json!({"url": url.shown(), "headers": headers})
        }
    }
}

fn transport_word(transport: &Transport) -> &'static str {
    match transport {
        Transport::Stdio { .. } => "stdio",
        Transport::Http { .. } => "http",
        Transport::Sse { .. } => "sse",
    }
}
