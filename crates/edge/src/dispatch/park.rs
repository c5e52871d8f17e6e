//! A request that goes on with a parked call, and what binds the two.

use countersign_core::admit::Ask;
use countersign_core::catalogue::Owner;
use countersign_core::names::ServerName;
use countersign_wire::object::Object;
use countersign_wire::rpc::Fault;
use countersign_wire::version::{Era, Version};

use super::ask::Work;
use super::{Asking, Request, invalid};
use crate::meta_tools::{self, MetaTool};
use crate::method::Method;
use crate::parking::{Asked, Bond, PREFIX};
use crate::running::Running;

/// What binds a call to the request that may go on with it; `None` where no question can be parked.
pub(super) fn bond(asking: &Asking, method: Method, work: &Work) -> Option<Bond> {
    if asking.version().era() == Era::Legacy || !method.may_ask() {
        return None;
    }
    Some(Bond {
        principal: asking.caller.principal.key().clone(),
        endpoint: asking.caller.endpoint.clone(),
        toolset: asking.caller.toolset.clone(),
        asked: asked(method, work)?,
    })
}

/// What exactly is asked for; `None` where no question can be asked.
pub(super) fn asked(method: Method, work: &Work) -> Option<Asked> {
    let (subject, arguments) = match work {
        Work::Ask(Ask::Tool { name, arguments } | Ask::Prompt { name, arguments }) => {
            (name.as_str(), Some(arguments.clone()))
        }
        Work::Ask(Ask::Resource { uri, server: _ }) => (uri.as_str(), None),
        Work::Meta(tool, arguments) => (tool.name(), Some(arguments.clone())),
        Work::Ask(Ask::Complete { .. } | Ask::Subscribe { .. } | Ask::Unsubscribe { .. } | Ask::Task { .. }) => {
            return None;
        }
    };
    Some(Asked {
        method,
        subject: subject.into(),
        arguments,
    })
}

/// The parked call that a request goes on with; `None` where the request begins one. The call itself is
/// never made again (I5).
pub(super) fn resume(asking: &Asking, request: &Request<'_>, bond: &Bond) -> Result<Option<Running>, Fault> {
    let Some(given) = request.params.get("requestState") else {
        return Ok(None);
    };
    let own = request
        .params
        .text("requestState")
        .filter(|state| state.starts_with(PREFIX));
    let Some(state) = own else {
        if !may_have_a_state(asking, bond) {
            tracing::info!(
                length = given.get().len(),
                "a retry came with a state that nobody gave out"
            );
            return Err(invalid(UNKNOWN_STATE.to_owned()));
        }
        return Ok(None);
    };
    let answers = answers(request)?;
    let claimed = asking.shared.parking.claim(&state, bond);
    let mut call = claimed.map_err(|unclaimed| invalid(unclaimed.to_string()))?;
    let calls = asking.speaker.calls();
    call.ticket = calls.map(|calls| calls.enter(request.id, call.cancel_token()));
    call.answer(|id| answers.get(id));
    let running = Running::new(&asking.shared, &asking.speaker, asking.caller.principal.key(), call);
    Ok(Some(running.resumed(request.id, request.meta.progress_token)))
}

/// What a retry is told whose state is neither the gateway's nor its server's: begun anew, the call could run twice.
const UNKNOWN_STATE: &str =
    "`params.requestState` names no question that was asked; call again without `requestState` and `inputResponses`";

/// Whether the server of a request may have given out a state itself: only one of 2026-07-28 does.
fn may_have_a_state(asking: &Asking, bond: &Bond) -> bool {
    let world = asking.shared.engine.world(&asking.caller);
    let catalogue = &world.catalogue;
    let is_modern = |server: &ServerName| {
        let listed = catalogue.server(server.as_str());
        // A server that is not listed yet may be a modern one, and is the one to refuse.
        listed.is_none_or(|server| {
            server.listing.protocol.is_empty() || server.listing.protocol == Version::V2026_07_28.as_str()
        })
    };
    let of_tool = |name: &str| catalogue.tool(name).is_none_or(|tool| tool.servers().any(is_modern));
    let of_prompt = |name: &str| catalogue.prompt(name).is_none_or(|prompt| is_modern(&prompt.server));
    let of_resource = |uri: &str, server: Option<&str>| match (server, catalogue.owner(uri)) {
        (Some(server), _) => ServerName::parse(server).is_ok_and(|server| is_modern(&server)),
        (None, Owner::One(server)) => is_modern(&server),
        (None, Owner::Many(_) | Owner::Nobody) => true,
    };
    let Asked { subject, arguments, .. } = &bond.asked;
    match bond.asked.method {
        Method::GetPrompt => of_prompt(subject),
        Method::ReadResource => of_resource(subject, None),
        Method::CallTool => {
            let meta_tool = if asking.surfaces.meta {
                meta_tools::find(subject)
            } else {
                None
            };
            let Some(meta_tool) = meta_tool else {
                return of_tool(subject);
            };
            let arguments = arguments
                .as_ref()
                .and_then(|arguments| Object::parse(arguments.as_str()).ok())
                .unwrap_or_default();
            let text = |name: &str| arguments.text(name).unwrap_or_default().into_owned();
            match meta_tool {
                MetaTool::CallTool => of_tool(&text("name")),
                MetaTool::GetPrompt => of_prompt(&text("name")),
                MetaTool::GetResource => of_resource(&text("uri"), arguments.text("server").as_deref()),
                MetaTool::ListTools
                | MetaTool::FilterTools
                | MetaTool::DescribeTool
                | MetaTool::ListCoreTools
                | MetaTool::ListResources
                | MetaTool::FilterResources
                | MetaTool::DescribeResource
                | MetaTool::ListPrompts
                | MetaTool::FilterPrompts
                | MetaTool::DescribePrompt => false,
            }
        }
        Method::Ping
        | Method::SetLevel
        | Method::Discover
        | Method::Listen
        | Method::ListTools
        | Method::ListResources
        | Method::ListTemplates
        | Method::Subscribe
        | Method::Unsubscribe
        | Method::ListPrompts
        | Method::Complete
        | Method::GetTask
        | Method::AwaitTask
        | Method::UpdateTask
        | Method::CancelTask
        | Method::ListTasks => true,
    }
}

/// `inputResponses`; what nobody asked for is passed over, and what is missing is asked again.
fn answers<'a>(request: &Request<'a>) -> Result<Object<'a>, Fault> {
    let Some(raw) = request.params.get("inputResponses") else {
        return Ok(Object::default());
    };
    let answers = Object::parse(raw.get()).map_err(|error| invalid(format!("`params.inputResponses`: {error}")))?;
    if let Some((id, _)) = answers.iter().find(|(_, answer)| !answer.get().starts_with('{')) {
        return Err(invalid(format!(
            "`params.inputResponses`: the answer to `{}` must be an object",
            super::shown(id)
        )));
    }
    Ok(answers)
}
