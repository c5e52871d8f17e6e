//! An outcome as its caller gets it: the one place that chooses codes and shapes (I5, I11).

use std::sync::Arc;

use countersign_core::admit::Ask;
use countersign_core::outcome::Fate;
use countersign_core::principal::Caller;
use countersign_core::refusal::{Code, Detail, Outside, Refusal};
use countersign_engine::{AuthRequired, Engine, Outcome};
use countersign_wire::authored;
use countersign_wire::bridge;
use countersign_wire::codes;
use countersign_wire::object::{self, Edit};
use countersign_wire::rpc::Fault;
use countersign_wire::version::{Era, Version};

use super::ask::Work;
use super::follow::Follows;
use super::{Asking, Request, error_data, sign_in};
use crate::answer::Answer;
use crate::meta_tools;
use crate::method::Method;
use crate::running::Finished;
use crate::settings::InForce;

/// What rendering needs to know of the request.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) id: String,
    pub(super) method: Method,
    pub(super) version: Version,
    in_force: Arc<InForce>,
    /// The tool's exposed name, the prompt's, or the URI.
    subject: String,
    /// Whether the answer may name a task.
    pub(super) follows: Follows,
}

impl Frame {
    pub(super) fn new(asking: &Asking, request: &Request<'_>, method: Method, work: &Work) -> Self {
        let subject = match work {
            Work::Ask(Ask::Tool { name, .. } | Ask::Prompt { name, .. }) => name.clone(),
            Work::Ask(Ask::Resource { uri, .. } | Ask::Subscribe { uri } | Ask::Unsubscribe { uri }) => uri.clone(),
            Work::Meta(..) | Work::Ask(Ask::Complete { .. } | Ask::Task { .. }) => String::new(),
        };
        Self {
            id: request.id.to_owned(),
            method,
            version: asking.version(),
            in_force: Arc::clone(&asking.in_force),
            subject,
            follows: Follows::of(asking, request, method),
        }
    }

    fn is_about_a_resource(&self) -> bool {
        matches!(
            self.method,
            Method::ReadResource | Method::Subscribe | Method::Unsubscribe
        )
    }
}

/// A result that the gateway itself wrote, raw.
pub(super) fn own_result(frame: &Frame, result: &str) -> Answer {
    let result = bridge::result_for(frame.version, frame.method.kind(), result, &frame.in_force.server_info);
    Answer::result(&frame.id, &result)
}

/// The answer to an outcome; nothing when the caller took the call back.
pub(super) fn render(frame: &Frame, (engine, caller): (&Engine, &Caller), outcome: Outcome) -> Finished {
    let answer = match outcome {
        Outcome::Result { result, from: _ } => own_result(frame, result.get()),
        Outcome::Error { error, from: _ } => {
            let told = bridge::tool_error_for(frame.version, error.get());
            if let Some(result) = told.filter(|_| frame.method == Method::CallTool) {
                return Some(own_result(frame, &result));
            }
            let error = bridge::error_for(frame.version, frame.method.word(), error.get());
            Answer::raw_error(frame.version, &frame.id, &error)
        }
        Outcome::Refused(refusal) if frame.method == Method::CallTool && refusal.code == Code::OutsideToolset => {
            let said = meta_tools::said(refusal.clone());
            error_result(frame, (engine, caller), &refusal.sentence, &said)
        }
        Outcome::Refused(refusal) if is_for_the_model(refusal.code) => {
            failed(frame, (engine, caller), refusal.code.word(), &refusal.sentence)
        }
        Outcome::AuthRequired(required) => auth_required(frame, (engine, caller), &required),
        Outcome::Refused(refusal) => Answer::fault(frame.version, &frame.id, refused(frame, &refusal)),
        Outcome::Unrecorded { reason } => {
            let sentence = format!("the call was not made because it could not be recorded: {reason}");
            failed(frame, (engine, caller), Fate::NotSent.word(), &sentence)
        }
        Outcome::Failed {
            fate,
            sentence,
            from: _,
        } => failed(frame, (engine, caller), fate.word(), &sentence),
        Outcome::Cancelled => return None,
    };
    Some(answer)
}

/// A call that was given up because its server's question has no answer. A model reads results, so for a
/// tool it is a result that says so.
pub(super) fn unanswered(frame: &Frame, sentence: &str) -> Answer {
    if frame.method == Method::CallTool {
        return own_result(frame, &authored::tool_error(sentence, None));
    }
    Answer::fault(frame.version, &frame.id, Fault::new(codes::INTERNAL_ERROR, sentence))
}

/// Whether a model can mend the call by itself: such a refusal is a result, since models read those.
fn is_for_the_model(code: Code) -> bool {
    match code {
        Code::InstanceRequired | Code::InstanceNotAvailable | Code::ServerStopped | Code::AuthRequired => true,
        Code::OutsideToolset
        | Code::BadToolset
        | Code::ToolNotFound
        | Code::PromptNotFound
        | Code::ResourceNotFound
        | Code::ResourceAmbiguous
        | Code::TaskNotFound
        | Code::BadArguments => false,
    }
}

fn refused(frame: &Frame, refusal: &Refusal) -> Fault {
    let code = match (refusal.code, frame.version.era()) {
        (Code::ResourceNotFound, Era::Legacy) => codes::RESOURCE_NOT_FOUND,
        (
            Code::ResourceNotFound
            | Code::ToolNotFound
            | Code::PromptNotFound
            | Code::ResourceAmbiguous
            | Code::TaskNotFound
            | Code::BadArguments
            | Code::InstanceRequired
            | Code::InstanceNotAvailable
            | Code::ServerStopped
            | Code::OutsideToolset
            | Code::BadToolset
            | Code::AuthRequired,
            _,
        ) => codes::INVALID_PARAMS,
    };
    let uri = frame.is_about_a_resource().then_some(frame.subject.as_str());
    let mut fault = Fault::new(code, refusal.sentence.clone());
    let data = error_data(refusal.code.word(), &refusal.nearest, uri);
    fault.data = Some(match &refusal.detail {
        Detail::Outside(outside) => with_toolset(data, outside),
        Detail::None | Detail::SignIn(_) => data,
    });
    fault
}

/// The data of an error with the toolset that is in the way.
fn with_toolset(data: String, outside: &Outside) -> String {
    let selectors: Vec<String> = outside
        .toolset
        .as_slice()
        .iter()
        .map(|selector| object::quote(&selector.to_string()))
        .collect();
    let (selectors, bound) = (format!("[{}]", selectors.join(",")), outside.bound.to_string());
    let edits = [Edit::Set("toolset", &selectors), Edit::Set("bound", &bound)];
    object::edit(&data, &edits).unwrap_or(data)
}

/// A call that did not run, or whose answer was lost; `code` is its stable code. A model reads results, so for a tool it is
/// a result that says so.
fn failed(frame: &Frame, world: (&Engine, &Caller), code: &str, sentence: &str) -> Answer {
    if frame.method != Method::CallTool {
        let mut fault = Fault::new(codes::INTERNAL_ERROR, sentence);
        let uri = frame.is_about_a_resource().then_some(frame.subject.as_str());
        fault.data = Some(error_data(code, &[], uri));
        return Answer::fault(frame.version, &frame.id, fault);
    }
    let said = format!(
        r#"{{"code":{},"message":{}}}"#,
        object::quote(code),
        object::quote(sentence)
    );
    error_result(frame, world, sentence, &said)
}

/// A call whose server waits for its caller's sign-in, for a client that cannot be sent there.
fn auth_required(frame: &Frame, world: (&Engine, &Caller), required: &AuthRequired) -> Answer {
    let sentence = required.sentence();
    let data = sign_in::data(required, &sentence);
    if frame.method == Method::CallTool {
        return error_result(frame, world, &sentence, &data);
    }
    let mut fault = Fault::new(codes::INTERNAL_ERROR, sentence);
    fault.data = Some(data);
    Answer::fault(frame.version, &frame.id, fault)
}

/// An error of a tool, as a result that a model reads.
fn error_result(frame: &Frame, (engine, caller): (&Engine, &Caller), sentence: &str, said: &str) -> Answer {
    let world = engine.world(caller);
    let has_output_schema = world
        .tool(&frame.subject)
        .is_some_and(|tool| tool.definition.output_schema.is_some());
    // Clients check structured content against the output schema of a tool that is listed, errors included.
    let result = if has_output_schema {
        let result = authored::tool_error(sentence, None);
        let meta = format!(r#"{{"countersign/outcome":{said}}}"#);
        object::edit(&result, &[Edit::Set("_meta", &meta)]).unwrap_or(result)
    } else {
        authored::tool_error(sentence, Some(said))
    };
    own_result(frame, &result)
}
