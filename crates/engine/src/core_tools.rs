//! Runs the gateway's own tools; they came through the same door as every call.

mod arguments;
mod auth;
mod workflows;

use countersign_core::admit::Operation;
use countersign_core::catalogue::{Availability, Catalogue, Finding, Server};
use countersign_core::core_tools::CoreTool;
use countersign_core::names::ServerName;
use countersign_core::principal::Caller;
use countersign_core::server::{Sharing, Start, Transport};
use countersign_store::{Receipt, Recorded};
use countersign_upstream::Answer;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use crate::Engine;
use crate::sign_in::AuthRequired;
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

    fn suspended(server: &str) -> Self {
        Self {
            code: "server_suspended",
            message: format!(
                "server `{server}` is suspended by its entry in `mcp.json`; take `suspended` or `disabled` out there"
            ),
        }
    }
}

/// What a core tool came to.
pub(crate) struct Ran {
    pub(crate) answer: Answer,
    pub(crate) receipt: Receipt,
    /// Its caller has to sign in to a server.
    pub(crate) sign_in: Option<AuthRequired>,
}

/// Runs a recorded core tool.
pub(crate) async fn run(engine: &Engine, caller: &Caller, recorded: Recorded) -> Ran {
    let (call, receipt) = recorded.into_parts();
    let answered = match call.operation() {
        Operation::RunCore { tool, arguments } => answer(engine, caller, *tool, arguments.as_str()).await,
        Operation::CallTool { .. }
        | Operation::RunWorkflow { .. }
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
    let (answered, sign_in) = match answered {
        Ok(Said::Value(value)) => (Ok(value), None),
        Ok(Said::SignIn(required)) => (Ok(json!({})), Some(required)),
        Err(trouble) => (Err(trouble), None),
    };
    Ran {
        answer: Answer::Result(tool_result(answered)),
        receipt,
        sign_in,
    }
}

/// What a core tool says.
enum Said {
    Value(Value),
    /// The way to a sign-in, which the edge puts into the words of the caller's era.
    SignIn(AuthRequired),
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

async fn answer(engine: &Engine, caller: &Caller, tool: CoreTool, arguments: &str) -> Result<Said, Trouble> {
    let allowed: &[&str] = match tool {
        CoreTool::ServerList | CoreTool::ConfigGet => &[],
        CoreTool::ServerGet
        | CoreTool::ServerStatus
        | CoreTool::ServerStart
        | CoreTool::ServerStop
        | CoreTool::ServerRestart
        | CoreTool::AuthLogin
        | CoreTool::AuthLogout => &["server"],
        CoreTool::Events => &["limit"],
        CoreTool::WorkflowList => &["limit", "offset"],
        CoreTool::WorkflowGet | CoreTool::WorkflowValidate => &["workflow"],
        CoreTool::ExecutionList => &["workflow", "status", "limit", "offset"],
        CoreTool::ExecutionGet => &["execution_id"],
    };
    let arguments = Arguments::read(tool, arguments, allowed)?;
    let value = match tool {
        CoreTool::ServerList => {
            let catalogue = engine.listed_catalogue_of(caller).await;
            let servers: Vec<Value> = catalogue.servers().iter().map(summary).collect();
            Ok(json!({"servers": servers, "findings": catalogue.findings()}))
        }
        CoreTool::WorkflowList => workflows::list(engine, caller, &arguments).await,
        CoreTool::WorkflowGet => workflows::get(engine, caller, &arguments).await,
        CoreTool::WorkflowValidate => workflows::validate(engine, caller, &arguments).await,
        CoreTool::ExecutionList => workflows::executions(engine, caller, &arguments).await,
        CoreTool::ExecutionGet => workflows::execution(engine, caller, &arguments).await,
        CoreTool::ServerGet => {
            let server = arguments.server()?;
            let catalogue = engine.catalogue_of(caller);
            catalogue
                .server(server)
                .map(|server| with_findings(detail(server), &catalogue, server.entry.name.as_str()))
                .ok_or_else(|| Trouble::no_server(server))
        }
        CoreTool::ServerStatus => {
            let server = arguments.server()?;
            status(engine, caller, server)
        }
        CoreTool::ServerStart => {
            let server = arguments.server()?;
            engine.start_server(caller, server).await
        }
        CoreTool::ServerStop => {
            let server = arguments.server()?;
            engine.stop_server(server).await
        }
        CoreTool::ServerRestart => {
            let server = arguments.server()?;
            engine.stop_server(server).await?;
            engine.start_server(caller, server).await
        }
        CoreTool::ConfigGet => {
            let settings = engine.shared.settings.load_full();
            Ok(json!({"hash": settings.hash, "configuration": *settings.shown}))
        }
        CoreTool::Events => {
            let limit = arguments.limit(EVENTS.0, EVENTS.1)?;
            events(engine, limit).await
        }
        CoreTool::AuthLogin => return auth::login(engine, caller, arguments.server()?).await,
        CoreTool::AuthLogout => auth::logout(engine, caller, arguments.server()?).await,
    };
    value.map(Said::Value)
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
        let entry = self.shared.base.with_book(|book| book.entry(server));
        let entry = entry.ok_or_else(|| Trouble::no_server(server))?;
        match entry.start {
            Start::Boot | Start::Lazy => Ok(entry.name.clone()),
            Start::Suspended => Err(Trouble::suspended(server)),
        }
    }

    async fn stop_server(&self, server: &str) -> Result<Value, Trouble> {
        let name = self.known(server)?;
        let base = &self.shared.base;
        base.with_book(|book| book.set(&name, Availability::Stopped));
        base.republish();
        self.shared
            .upstreams
            .stop(&name)
            .await
            .map_err(|_unknown| Trouble::no_server(server))?;
        Ok(json!({"name": server, "state": "stopped"}))
    }

    /// Starts a server and waits for its first listing.
    async fn start_server(&self, caller: &Caller, server: &str) -> Result<Value, Trouble> {
        let name = self.known(server)?;
        self.shared
            .upstreams
            .start(&name)
            .map_err(|_unknown| Trouble::no_server(server))?;
        let base = &self.shared.base;
        if self.shared.views.asks_for_sign_in(&name) {
            base.with_book(|book| book.set(&name, Availability::AuthRequired));
            base.republish();
            self.shared.relist_for_all(&name);
        } else {
            base.with_book(|book| book.set(&name, Availability::Unlisted));
            base.republish();
            self.refresh(base, name);
        }
        let catalogue = self.listed_catalogue_of(caller).await;
        let availability = catalogue.server(server).map(|server| server.availability.clone());
        let mut state = json!(availability.unwrap_or(Availability::Unlisted));
        if let Some(state) = state.as_object_mut() {
            state.insert("name".to_owned(), json!(server));
        }
        Ok(state)
    }
}

fn status(engine: &Engine, caller: &Caller, name: &str) -> Result<Value, Trouble> {
    let catalogue = engine.catalogue_of(caller);
    let server = catalogue.server(name).ok_or_else(|| Trouble::no_server(name))?;
    let mut value = json!(server.availability);
    if let Some(value) = value.as_object_mut() {
        value.insert("name".to_owned(), json!(name));
        if let Some(status) = engine.shared.upstreams.status(&server.entry.name) {
            value.insert("connections".to_owned(), json!(status.connections));
            value.insert("stderr".to_owned(), json!(status.stderr));
            // What a server said to one principal is not told to another.
            let error = status.last_error.filter(|_| !server.entry.auth.is_on());
            if let Some(error) = error {
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
