//! `call_tool`, `get_resource`, `get_prompt`: one call through the engine, its answer handed on.

use countersign_core::admit::{Ask, Origin};
use countersign_core::exact::Exact;
use countersign_core::principal::Caller;
use countersign_core::refusal::{Code, Refusal};
use countersign_engine::{Engine, Outcome, Passage, Provenance};
use countersign_wire::codes;
use countersign_wire::object::{self, Edit, Object, quote};
use serde_json::value::RawValue;

use super::answer::{Failure, compact, own, text_block};
use super::arguments::Reader;
use super::view::View;
use super::{MetaAnswer, MetaTool, tools};

/// The key in `_meta` that says which tool of which server answered.
const TOOL_KEY: &str = "countersign/tool";

/// `call_tool`: the tool's own result, with its provenance in `_meta`.
pub(super) async fn call_tool(engine: &Engine, caller: &Caller, arguments: &Exact, passage: Passage) -> MetaAnswer {
    let (name, inner) = match named_call(MetaTool::CallTool, arguments) {
        Ok(read) => read,
        Err(failure) => return MetaAnswer::Own(failure.render()),
    };
    let ask = Ask::Tool {
        name: name.clone(),
        arguments: inner,
    };
    match settled(engine.call(caller, ask, Origin::MetaTool, passage).await) {
        Settled::Result { result, from } => match with_provenance(&name, &from, &result) {
            Ok(result) => MetaAnswer::Passed(Outcome::Result { result, from }),
            Err(failure) => MetaAnswer::Own(failure.render()),
        },
        Settled::Refused(refusal) if refusal.code == Code::ToolNotFound => {
            let world = engine.world(caller);
            let result = tools::not_found(View::of(&world), &name, refusal.clone()).render();
            MetaAnswer::Refused { refusal, result }
        }
        Settled::Refused(refusal) => refused(refusal),
        Settled::Answered(answer) => answer,
    }
}

/// `get_resource`: every item of the resource as an embedded resource.
pub(super) async fn resource(engine: &Engine, caller: &Caller, arguments: &Exact, passage: Passage) -> MetaAnswer {
    let mut reader = Reader::of(MetaTool::GetResource, arguments);
    let uri = reader.needed("uri");
    let server = reader.text("server");
    if let Err(failure) = reader.finish() {
        return MetaAnswer::Own(failure.render());
    }
    let outcome = engine
        .call(caller, Ask::Resource { uri, server }, Origin::MetaTool, passage)
        .await;
    read_by(outcome, resource_result)
}

/// `get_prompt`: the prompt's messages, all content types kept.
pub(super) async fn prompt(engine: &Engine, caller: &Caller, arguments: &Exact, passage: Passage) -> MetaAnswer {
    let (name, inner) = match named_call(MetaTool::GetPrompt, arguments) {
        Ok(read) => read,
        Err(failure) => return MetaAnswer::Own(failure.render()),
    };
    let outcome = engine
        .call(
            caller,
            Ask::Prompt { name, arguments: inner },
            Origin::MetaTool,
            passage,
        )
        .await;
    read_by(outcome, prompt_result)
}

/// `name` and `arguments`; a prompt's arguments are strings.
pub(super) fn named_call(tool: MetaTool, arguments: &Exact) -> Result<(String, Exact), Failure> {
    let mut reader = Reader::of(tool, arguments);
    let name = reader.needed("name");
    if tool == MetaTool::GetPrompt {
        // Read for its problems alone: the upstream gets the object itself.
        drop(reader.texts("arguments"));
    }
    let inner = reader.object("arguments");
    reader.finish()?;
    Ok((name, inner))
}

/// An outcome in the terms of the meta-tools.
enum Settled {
    Result { result: Box<RawValue>, from: Provenance },
    Refused(Refusal),
    Answered(MetaAnswer),
}

fn settled(outcome: Outcome) -> Settled {
    match outcome {
        Outcome::Result { result, from } => Settled::Result { result, from },
        Outcome::Refused(refusal) => Settled::Refused(refusal),
        // The way to a sign-in is put into the words of the caller's era elsewhere.
        outcome @ Outcome::AuthRequired(_) => Settled::Answered(MetaAnswer::Passed(outcome)),
        Outcome::Unrecorded { reason } => {
            let sentence = format!("the call was not made, because it could not be recorded: {reason}");
            Settled::Answered(MetaAnswer::Own(Failure::new("unrecorded", sentence).render()))
        }
        Outcome::Failed { fate, sentence, from } => {
            let server = from.server.map(|name| name.to_string());
            Settled::Answered(MetaAnswer::Own(
                Failure::new(fate.word(), sentence).of_server(server).render(),
            ))
        }
        // An error of the protocol may ask something of the client (-32042), so it stays one.
        outcome @ (Outcome::Error { .. } | Outcome::Cancelled) => Settled::Answered(MetaAnswer::Passed(outcome)),
    }
}

fn refused(refusal: Refusal) -> MetaAnswer {
    let result = Failure::from(refusal.clone()).render();
    MetaAnswer::Refused { refusal, result }
}

/// Turns the result of a reading method into a tool's result.
fn read_by(outcome: Outcome, render: fn(&str) -> Result<String, Failure>) -> MetaAnswer {
    match settled(outcome) {
        Settled::Result { result, from } if !is_complete(&result) => {
            MetaAnswer::Passed(Outcome::Result { result, from })
        }
        Settled::Result { result, from } => MetaAnswer::Own(
            render(result.get())
                .unwrap_or_else(|failure| failure.of_server(from.server.map(|name| name.to_string())).render()),
        ),
        Settled::Refused(refusal) => refused(refusal),
        Settled::Answered(MetaAnswer::Passed(Outcome::Error { error, from })) => read_error(&error, &from)
            .map_or_else(|| MetaAnswer::Passed(Outcome::Error { error, from }), MetaAnswer::Own),
        Settled::Answered(answer) => answer,
    }
}

/// An error of another method as a tool's error; nothing when it asks something of the client.
pub(super) fn read_error(error: &RawValue, from: &Provenance) -> Option<String> {
    let object = Object::parse(error.get()).unwrap_or_default();
    let code = object.get("code").and_then(|code| code.get().parse::<i64>().ok());
    if matches!(code, Some(codes::URL_ELICITATION_REQUIRED | codes::MISSING_CAPABILITY)) {
        return None;
    }
    let message = object.text("message").unwrap_or_default();
    let server = from.server.as_ref().map(ToString::to_string);
    let sentence = format!(
        "server {} answered with an error: {message}",
        server.as_deref().unwrap_or("countersign")
    );
    Some(
        Failure::new("upstream_error", sentence)
            .of_server(server)
            .of_error(error.to_owned())
            .render(),
    )
}

/// A modern result of another type (`input_required`) asks for a retry of the same request, so it passes as it is.
fn is_complete(result: &RawValue) -> bool {
    let kind = Object::parse(result.get())
        .ok()
        .and_then(|result| result.text("resultType").map(|kind| kind.into_owned()));
    kind.is_none_or(|kind| kind == "complete")
}

/// A tool's result with `_meta["countersign/tool"]`; all other bytes stay.
///
/// # Errors
/// A result without a single reading could name another tool than the one that answered, so it does not pass.
pub(super) fn with_provenance(name: &str, from: &Provenance, result: &RawValue) -> Result<Box<RawValue>, Failure> {
    let object = Object::parse(result.get()).map_err(|error| unreadable(name, &error.to_string()))?;
    let server = from.server.as_ref().map_or(String::new(), |server| {
        format!(r#""server":{},"#, quote(server.as_str()))
    });
    let provenance = format!(r#"{{"name":{},{server}"tool":{}}}"#, quote(name), quote(&from.subject));
    let own_meta = || format!(r#"{{"{TOOL_KEY}":{provenance}}}"#);
    let meta = match object.get("_meta") {
        None => own_meta(),
        // What is no object with one reading is no `_meta` and cannot be kept beside ours.
        Some(meta) => object::edit(meta.get(), &[Edit::Set(TOOL_KEY, &provenance)]).unwrap_or_else(|_| own_meta()),
    };
    let edited = object::edit(result.get(), &[Edit::Set("_meta", &meta)]).map_err(|error| error.to_string());
    let raw = edited.and_then(|text| RawValue::from_string(text).map_err(|error| error.to_string()));
    raw.map_err(|error| unreadable(name, &error))
}

fn unreadable(what: &str, why: &str) -> Failure {
    Failure::new(
        "bad_result",
        format!("`{what}` answered, but its result cannot be read: {why}"),
    )
}

/// `{"contents": […]}` as a tool's result: each item as an embedded resource, text before them unless one is a blob.
pub(super) fn resource_result(result: &str) -> Result<String, Failure> {
    let (structured, meta) = structured_of(result, "contents")?;
    let items = array_of(&structured, "contents")?;
    let has_blob = items
        .iter()
        .any(|item| Object::parse(item.get()).is_ok_and(|item| item.get("blob").is_some()));
    let mut blocks = Vec::with_capacity(items.len().saturating_add(1));
    if !has_blob {
        blocks.push(text_block(&compact(&structured)));
    }
    blocks.extend(
        items
            .iter()
            .map(|item| format!(r#"{{"type":"resource","resource":{}}}"#, item.get())),
    );
    let content = format!(
        r#"{{"content":[{}],"structuredContent":{structured}}}"#,
        blocks.join(",")
    );
    with_meta(content, meta.as_deref())
}

/// `{"messages": […]}` as a tool's result.
pub(super) fn prompt_result(result: &str) -> Result<String, Failure> {
    let (structured, meta) = structured_of(result, "messages")?;
    // Only the check that it is a list: the messages pass as they are.
    drop(array_of(&structured, "messages")?);
    with_meta(own(&structured), meta.as_deref())
}

/// The result without what belongs to the protocol's envelope, and its `_meta`.
fn structured_of(result: &str, list: &str) -> Result<(String, Option<String>), Failure> {
    let object = Object::parse(result).map_err(|error| unreadable(list, &error.to_string()))?;
    // Only `call_tool` says which tool answered; an upstream may not say it here.
    let meta = object
        .get("_meta")
        .and_then(|meta| object::edit(meta.get(), &[Edit::Remove(TOOL_KEY)]).ok());
    let envelope = ["_meta", "resultType", "ttlMs", "cacheScope"].map(Edit::Remove);
    let structured = object::edit(result, &envelope).map_err(|error| unreadable(list, &error.to_string()))?;
    Ok((structured, meta))
}

fn array_of<'a>(structured: &'a str, list: &str) -> Result<Vec<&'a RawValue>, Failure> {
    let object = Object::parse(structured).map_err(|error| unreadable(list, &error.to_string()))?;
    let array = object.get(list).and_then(|raw| serde_json::from_str(raw.get()).ok());
    array.ok_or_else(|| Failure::new("bad_result", format!("the server answered without a list `{list}`")))
}

fn with_meta(result: String, meta: Option<&str>) -> Result<String, Failure> {
    match meta {
        None => Ok(result),
        Some(meta) => {
            object::edit(&result, &[Edit::Set("_meta", meta)]).map_err(|error| unreadable("_meta", &error.to_string()))
        }
    }
}
