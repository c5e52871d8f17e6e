//! What a request asks the engine for, in the caller's own names.

use countersign_core::admit::{Ask, Reference, TaskVerb};
use countersign_core::exact::{self, Exact};
use countersign_wire::object::Object;
use countersign_wire::param_headers;
use countersign_wire::rpc::Fault;
use http::HeaderMap;

use super::{Asking, Request, invalid, tasks};
use crate::meta_tools::{self, MetaTool};
use crate::method::Method;

/// What is to be done for a request.
#[derive(Debug, Clone)]
pub(super) enum Work {
    /// The engine is asked.
    Ask(Ask),
    /// A meta-tool runs.
    Meta(MetaTool, Exact),
}

/// Reads what a request asks for.
pub(super) fn read(
    asking: &Asking,
    request: &Request<'_>,
    method: Method,
    headers: Option<&HeaderMap>,
) -> Result<Work, Fault> {
    match method {
        Method::CallTool => call_tool(asking, request, headers),
        Method::GetPrompt => {
            let ask = Ask::Prompt {
                name: request.text("name")?,
                arguments: arguments(request)?,
            };
            Ok(Work::Ask(ask))
        }
        Method::ReadResource => Ok(Work::Ask(Ask::Resource {
            uri: request.text("uri")?,
            server: None,
        })),
        Method::Subscribe => Ok(Work::Ask(Ask::Subscribe {
            uri: request.text("uri")?,
        })),
        Method::Unsubscribe => Ok(Work::Ask(Ask::Unsubscribe {
            uri: request.text("uri")?,
        })),
        Method::Complete => complete(request).map(Work::Ask),
        Method::GetTask => tasks::ask(asking, request, TaskVerb::Get).map(Work::Ask),
        Method::AwaitTask => tasks::ask(asking, request, TaskVerb::Result).map(Work::Ask),
        Method::UpdateTask => tasks::ask(asking, request, TaskVerb::Update).map(Work::Ask),
        Method::CancelTask => tasks::ask(asking, request, TaskVerb::Cancel).map(Work::Ask),
        Method::Ping
        | Method::SetLevel
        | Method::Discover
        | Method::Listen
        | Method::ListTools
        | Method::ListResources
        | Method::ListTemplates
        | Method::ListPrompts
        | Method::ListTasks => Err(invalid(format!("`{}` asks for no call", method.word()))),
    }
}

fn call_tool(asking: &Asking, request: &Request<'_>, headers: Option<&HeaderMap>) -> Result<Work, Fault> {
    let name = request.text("name")?;
    let arguments = arguments(request)?;
    if request.params.get("task").is_some() {
        tasks::check_parameter(asking, &name)?;
    }
    let meta_tool = if asking.surfaces.meta {
        meta_tools::find(&name)
    } else {
        None
    };
    if let Some(tool) = meta_tool {
        return Ok(Work::Meta(tool, arguments));
    }
    if let Some(headers) = headers {
        check_param_headers(asking, &name, &arguments, headers)?;
    }
    Ok(Work::Ask(Ask::Tool { name, arguments }))
}

/// Checks `Mcp-Param-*` against the schema that the gateway published for this tool.
fn check_param_headers(asking: &Asking, name: &str, arguments: &Exact, headers: &HeaderMap) -> Result<(), Fault> {
    let world = asking.shared.engine.world(&asking.caller);
    let Some(tool) = world.tool(name).filter(|tool| tool.definition.has_header_params) else {
        return Ok(());
    };
    // A schema whose annotations are broken mirrors nothing, and its clients are told to leave the tool out.
    let Ok(mirrored) = param_headers::of_schema(&tool.definition.input_schema) else {
        return Ok(());
    };
    let seen = |header: &str| {
        let mut values = headers.get_all(header).iter();
        let first = values.next()?;
        // Two lines are two readings: such a value equals no argument.
        let text = if values.next().is_some() {
            "=?base64?!?="
        } else {
            first.to_str().unwrap_or("=?base64?!?=")
        };
        Some(text.to_owned())
    };
    param_headers::check(&mirrored, arguments.as_str(), &seen)
}

/// Absent arguments are `{}`; anything but an object is refused by its place.
fn arguments(request: &Request<'_>) -> Result<Exact, Fault> {
    match request.params.get("arguments") {
        None => Ok(Exact::empty_object()),
        Some(raw) => exact_object("arguments", raw.get()),
    }
}

fn exact_object(name: &str, text: &str) -> Result<Exact, Fault> {
    Exact::object(text).map_err(|error| match error {
        exact::Error::NotAnObject { found } => invalid(format!("`params.{name}` must be an object, found {found}")),
        error @ (exact::Error::Syntax { .. }
        | exact::Error::DuplicateKey { .. }
        | exact::Error::LoneSurrogate { .. }
        | exact::Error::TooDeep) => invalid(format!("`params.{name}`: {error}")),
    })
}

fn complete(request: &Request<'_>) -> Result<Ask, Fault> {
    let raw = request
        .params
        .get("ref")
        .ok_or_else(|| invalid("`params.ref` is missing".to_owned()))?;
    let reference = Object::parse(raw.get()).map_err(|error| invalid(format!("`params.ref`: {error}")))?;
    let member = |name: &str| {
        let text = reference
            .text(name)
            .ok_or_else(|| invalid(format!("`params.ref.{name}` must be a string")))?;
        Ok::<String, Fault>(text.into_owned())
    };
    let reference = match member("type")?.as_str() {
        "ref/prompt" => Reference::Prompt(member("name")?),
        "ref/resource" => Reference::Resource(member("uri")?),
        _ => {
            return Err(invalid(
                "`params.ref.type` must be `ref/prompt` or `ref/resource`".to_owned(),
            ));
        }
    };
    let argument = request
        .params
        .get("argument")
        .ok_or_else(|| invalid("`params.argument` is missing".to_owned()))?;
    let argument = exact_object("argument", argument.get())?;
    let context = request
        .params
        .get("context")
        .map(|raw| exact_object("context", raw.get()))
        .transpose()?;
    Ok(Ask::Complete {
        reference,
        argument,
        context,
    })
}
