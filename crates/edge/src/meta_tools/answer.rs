//! Results that the meta-tools author themselves: an answer as structured and as text, or an error.

use countersign_core::refusal::{Code, Detail, Kind, Outside, Refusal};
use countersign_core::toolset::{self, Selectors};
use countersign_wire::object::quote;
use serde::Serialize;
use serde_json::value::RawValue;

/// The answer's JSON as a `CallToolResult`: structured, and the same compact as one text.
pub(super) fn own(structured: &str) -> String {
    format!(
        r#"{{"content":[{}],"structuredContent":{structured}}}"#,
        text_block(&compact(structured))
    )
}

/// One content block of type text.
pub(super) fn text_block(text: &str) -> String {
    format!(r#"{{"type":"text","text":{}}}"#, quote(text))
}

/// A structured answer as JSON text.
///
/// # Errors
/// A [`Failure`]; no answer of ours is a value that JSON cannot say, so this is the proof that none is sent broken.
pub(super) fn structured(answer: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(answer)
        .map_err(|error| Failure::new("internal", format!("the answer cannot be written: {error}")))
}

/// JSON without the blanks between its tokens; every token stays as written.
pub(super) fn compact(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut quoted = false;
    let mut escaped = false;
    for c in json.chars() {
        if quoted {
            quoted = escaped || c != '"';
            escaped = !escaped && c == '\\';
            out.push(c);
        } else if !c.is_ascii_whitespace() {
            quoted = c == '"';
            out.push(c);
        }
    }
    out
}

/// Why a meta-tool gives no answer; a result with `isError: true`.
#[derive(Debug, Serialize)]
pub(super) struct Failure {
    code: &'static str,
    message: String,
    #[serde(flatten)]
    details: Box<Details>,
}

/// What helps a model to ask rightly.
#[derive(Debug, Default, Serialize)]
struct Details {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nearest: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    servers: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    wrong_arguments: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed_arguments: Option<&'static [&'static str]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    toolset: Option<Selectors>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Box<RawValue>>,
}

impl Failure {
    pub(super) fn new(code: &'static str, message: String) -> Self {
        Self {
            code,
            message,
            details: Box::default(),
        }
    }

    /// Arguments that are wrong: which, and which there are.
    pub(super) fn bad_arguments(message: String, wrong: Vec<String>, allowed: &'static [&'static str]) -> Self {
        let mut failure = Self::new(Code::BadArguments.word(), message);
        failure.details.wrong_arguments = wrong;
        failure.details.allowed_arguments = Some(allowed);
        failure
    }

    /// A toolset that cannot be used.
    pub(super) fn of_toolset(error: &toolset::Error) -> Self {
        Self::new(Code::BadToolset.word(), error.to_string())
    }

    /// Names the server that the failure is about.
    pub(super) fn of_server(mut self, server: Option<String>) -> Self {
        self.details.server = server;
        self
    }

    /// Keeps the error of the protocol that it comes from, byte for byte.
    pub(super) fn of_error(mut self, error: Box<RawValue>) -> Self {
        self.details.error = Some(error);
        self
    }

    /// Names the servers to choose from.
    pub(super) fn of_servers(mut self, servers: Vec<String>) -> Self {
        self.details.servers = servers;
        self
    }

    pub(super) fn render(&self) -> String {
        let text = text_block(&self.sentence());
        match structured(self) {
            Ok(structured) => format!(r#"{{"content":[{text}],"structuredContent":{structured},"isError":true}}"#),
            Err(_) => format!(r#"{{"content":[{text}],"isError":true}}"#),
        }
    }

    fn sentence(&self) -> String {
        if self.details.nearest.is_empty() {
            self.message.clone()
        } else {
            format!("{}. Nearest names: {}", self.message, self.details.nearest.join(", "))
        }
    }
}

impl Details {
    fn of_outside(outside: Outside) -> Self {
        let mut details = Self {
            server: outside.server.map(|server| server.to_string()),
            toolset: Some(outside.toolset),
            bound: Some(outside.bound),
            ..Self::default()
        };
        let named = match outside.kind {
            Kind::Tool => &mut details.tool,
            Kind::Resource => &mut details.resource,
            Kind::Prompt => &mut details.prompt,
            Kind::Server => &mut details.server,
        };
        *named = Some(outside.name);
        details
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let mut failure = Self::new(refusal.code.word(), refusal.sentence);
        failure.details = match refusal.detail {
            Detail::None => Box::default(),
            Detail::Outside(outside) => Box::new(Details::of_outside(*outside)),
            Detail::SignIn(server) => Box::new(Details {
                server: Some(server.to_string()),
                ..Details::default()
            }),
        };
        match refusal.code {
            Code::ResourceAmbiguous | Code::InstanceRequired | Code::InstanceNotAvailable | Code::ServerStopped => {
                failure.details.servers = refusal.nearest;
            }
            Code::ToolNotFound
            | Code::PromptNotFound
            | Code::ResourceNotFound
            | Code::TaskNotFound
            | Code::BadArguments
            | Code::OutsideToolset
            | Code::BadToolset
            | Code::AuthRequired => {
                failure.details.nearest = refusal.nearest;
            }
        }
        failure
    }
}
