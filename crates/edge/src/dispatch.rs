//! One request of either era, from any transport, to its answer.

mod ask;
mod follow;
mod initialize;
mod list;
mod park;
mod render;
mod rounds;
mod run;
mod sign_in;
mod tasks;
mod trace;

use std::sync::Arc;
use std::time::Instant;

use countersign_core::principal::Caller;
use countersign_wire::authored::{self, Capabilities, Offer};
use countersign_wire::codes;
use countersign_wire::meta::{self, RequestMeta};
use countersign_wire::object::{self, Object};
use countersign_wire::outline::Outline;
use countersign_wire::rpc::Fault;
use countersign_wire::version::{Era, Version};
use http::HeaderMap;
use serde_json::value::RawValue;

use crate::answer::Answer;
use crate::calls::Calls;
use crate::cursor::List;
use crate::levels::Level;
use crate::listen::Listen;
use crate::method::Method;
use crate::metrics::{OTHER, Verdict};
use crate::running::Running;
use crate::settings::InForce;
use crate::shared::Shared;
use crate::speaker::Speaker;
use crate::surfaces::Surfaces;
use crate::toolsets;

pub(crate) use initialize::initialize;
pub(crate) use list::{Listed, page_of_tools};
pub(crate) use rounds::Waiting;

/// Who asks, under which settings.
#[derive(Debug, Clone)]
pub(crate) struct Asking {
    pub(crate) shared: Arc<Shared>,
    pub(crate) in_force: Arc<InForce>,
    pub(crate) caller: Caller,
    pub(crate) surfaces: Surfaces,
    pub(crate) speaker: Speaker,
}

impl Asking {
    /// Who asks, where the request narrows itself in its `_meta`.
    fn narrowed_by(&self, request: &Request<'_>) -> Option<Self> {
        let (_, value) = request.meta.rest.iter().find(|(name, _)| name == toolsets::KEY)?;
        let mut narrowed = self.clone();
        narrowed.caller.toolset = toolsets::within_meta(self.caller.toolset.clone(), value);
        Some(narrowed)
    }

    pub(crate) fn version(&self) -> Version {
        self.speaker.version()
    }
}

/// One request, its parameters read shallowly.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    /// The id, raw.
    pub(crate) id: &'a str,
    pub(crate) method: &'a str,
    pub(crate) params: Object<'a>,
    pub(crate) meta: RequestMeta<'a>,
}

impl<'a> Request<'a> {
    /// Reads the parameters of a request of a message that was taken in, with its outline.
    pub(crate) fn read(
        id: &'a RawValue,
        method: &'a str,
        params: Option<&'a RawValue>,
        outline: &'a Outline<'a>,
    ) -> Result<Self, Fault> {
        let id = id.get();
        let params = match params {
            None => Object::default(),
            Some(params) => Object::of_checked(params.get(), outline)
                .map_err(|error| Fault::new(codes::INVALID_PARAMS, format!("`params`: {error}")).of(id))?,
        };
        let meta = meta::of(&params).map_err(|fault| fault.of(id))?;
        Ok(Self {
            id,
            method,
            params,
            meta,
        })
    }

    /// A member of `params` that must be a string.
    fn text(&self, name: &str) -> Result<String, Fault> {
        let text = self.params.text(name).ok_or_else(|| match self.params.get(name) {
            None => invalid(format!("`params.{name}` is missing")),
            Some(_) => invalid(format!("`params.{name}` must be a string")),
        })?;
        Ok(text.into_owned())
    }
}

/// What a request comes to.
#[derive(Debug)]
pub(crate) enum Reply {
    /// It is answered.
    Now(Answer),
    /// It is a page of a list.
    Listed(Listed),
    /// It is under way.
    Running(Box<Running>),
    /// It is a stream that stands until its caller or the gateway ends it.
    Listen(Box<Listen>),
}

/// Answers one request. `headers` are there for HTTP only.
pub(crate) async fn answer(asking: &Asking, request: &Request<'_>, headers: Option<&HeaderMap>) -> Reply {
    let started = Instant::now();
    let narrowed = asking.narrowed_by(request);
    let asking = narrowed.as_ref().unwrap_or(asking);
    let version = asking.version();
    let Some(method) = Method::find(request.method, version.era()) else {
        asking
            .shared
            .metrics
            .request(OTHER, Verdict::Refused, started.elapsed());
        let fault = Fault::new(
            codes::METHOD_NOT_FOUND,
            format!("method `{}` not found", shown(request.method)),
        );
        return Reply::Now(Answer::fault(version, request.id, fault));
    };
    let reply = match method {
        Method::Ping => Ok(now(request, authored::EMPTY_RESULT)),
        Method::SetLevel => set_level(asking, request),
        Method::Discover => Ok(now(request, &discover(asking))),
        Method::Listen => Listen::read(asking, request).map(|listen| Reply::Listen(Box::new(listen))),
        Method::ListTools => list::tools(asking, request).await.map(Reply::Listed),
        Method::ListPrompts => list::of(asking, request, List::Prompts).await.map(Reply::Listed),
        Method::ListResources => list::of(asking, request, List::Resources).await.map(Reply::Listed),
        Method::ListTemplates => list::of(asking, request, List::Templates).await.map(Reply::Listed),
        Method::ListTasks => tasks::list(asking, request).await.map(Reply::Now),
        Method::CallTool
        | Method::ReadResource
        | Method::Subscribe
        | Method::Unsubscribe
        | Method::GetPrompt
        | Method::GetTask
        | Method::AwaitTask
        | Method::UpdateTask
        | Method::CancelTask
        | Method::Complete => ask::read(asking, request, method, headers).and_then(|work| {
            match follow::declined(asking, request, method, &work) {
                Some(answer) => Ok(Reply::Now(answer)),
                None => run::start(asking, request, method, work).map(|running| Reply::Running(Box::new(running))),
            }
        }),
    };
    match reply {
        Ok(Reply::Running(running)) => Reply::Running(running),
        Ok(reply @ (Reply::Now(_) | Reply::Listed(_) | Reply::Listen(_))) => {
            asking
                .shared
                .metrics
                .request(method.word(), Verdict::Done, started.elapsed());
            reply
        }
        Err(fault) => {
            asking
                .shared
                .metrics
                .request(method.word(), Verdict::Refused, started.elapsed());
            Reply::Now(Answer::fault(version, request.id, fault))
        }
    }
}

/// Takes in a notification of a caller; all but one kind need nothing done.
pub(crate) fn notice(calls: &Calls, method: &str, params: Option<&RawValue>) {
    if method != "notifications/cancelled" {
        return;
    }
    let params = params
        .and_then(|params| Object::parse(params.get()).ok())
        .unwrap_or_default();
    if let Some(id) = params.get("requestId") {
        calls.cancel(id.get());
    }
}

fn now(request: &Request<'_>, result: &str) -> Reply {
    Reply::Now(Answer::result(request.id, result))
}

fn set_level(asking: &Asking, request: &Request<'_>) -> Result<Reply, Fault> {
    let name = request.text("level")?;
    let level = Level::parse(&name).ok_or_else(|| {
        invalid(format!(
            "`params.level`: `{}` is none of {}",
            shown(&name),
            meta::LOG_LEVELS.join(", ")
        ))
    })?;
    match &asking.speaker {
        Speaker::Session(session) => session.set_level(level),
        Speaker::Stateless(_) => {}
    }
    Ok(now(request, authored::EMPTY_RESULT))
}

fn discover(asking: &Asking) -> String {
    let instructions = Some(asking.surfaces.instructions());
    authored::discover_result(
        &capabilities(Version::V2026_07_28),
        &asking.in_force.server_info,
        instructions,
    )
}

/// What the gateway offers. Lists may be empty: servers come and go, capabilities are said once.
fn capabilities(version: Version) -> Capabilities<'static> {
    let era = version.era();
    Capabilities {
        tools: Offer::ListChanged,
        prompts: Offer::ListChanged,
        resources: Offer::Subscribe,
        completions: Offer::Plain,
        logging: match era {
            Era::Legacy => Offer::Plain,
            Era::Modern => Offer::Absent,
        },
        tasks: version == Version::V2025_11_25,
        extensions: match era {
            Era::Legacy => None,
            Era::Modern => Some(r#"{"io.modelcontextprotocol/tasks":{}}"#),
        },
    }
}

/// Bad parameters.
pub(crate) fn invalid(message: String) -> Fault {
    Fault::new(codes::INVALID_PARAMS, message)
}

/// A toolset that cannot be used.
pub(crate) fn bad_toolset(error: &countersign_core::toolset::Error) -> Fault {
    let mut fault = invalid(error.to_string());
    fault.data = Some(error_data("bad_toolset", &[], None));
    fault
}

/// At most 200 characters of a caller's text, to be shown in a message.
pub(crate) fn shown(text: &str) -> String {
    text.chars().take(200).collect()
}

/// `{code, nearest?, uri?}` of an error, raw.
fn error_data(code: &str, nearest: &[String], uri: Option<&str>) -> String {
    let mut data = format!(r#"{{"code":{}"#, object::quote(code));
    if !nearest.is_empty() {
        let names: Vec<String> = nearest.iter().map(|name| object::quote(name)).collect();
        data.push_str(&format!(r#","nearest":[{}]"#, names.join(",")));
    }
    if let Some(uri) = uri {
        data.push_str(&format!(r#","uri":{}"#, object::quote(uri)));
    }
    data.push('}');
    data
}
