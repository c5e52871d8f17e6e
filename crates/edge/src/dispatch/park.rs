//! A request that goes on with a parked call, and what binds the two.

use countersign_core::admit::Ask;
use countersign_wire::object::Object;
use countersign_wire::rpc::Fault;
use countersign_wire::version::Era;

use super::ask::Work;
use super::{Asking, Request, invalid};
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
    let Some(state) = request.params.text("requestState") else {
        return Ok(None);
    };
    if !state.starts_with(PREFIX) {
        return Ok(None);
    }
    let answers = answers(request)?;
    let claimed = asking.shared.parking.claim(&state, bond);
    let mut call = claimed.map_err(|unclaimed| invalid(unclaimed.to_string()))?;
    let calls = asking.speaker.calls();
    call.ticket = calls.map(|calls| calls.enter(request.id, call.cancel_token()));
    call.answer(|id| answers.get(id));
    let running = Running::new(&asking.shared, &asking.speaker, call);
    Ok(Some(running.resumed(request.id, request.meta.progress_token)))
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
