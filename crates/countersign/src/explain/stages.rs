//! The judging itself, done by the gateway's own decision, and the lines that its answers come from.

use countersign_config::{At, Config};
use countersign_core::admit::{Ask, ExactCall, Origin, Target, View, missing_tool};
use countersign_core::catalogue::{Provider, Route, Server, Tool};
use countersign_core::exact::Exact;
use countersign_core::json::Json;
use countersign_core::names::ServerName;
use countersign_core::redact::redacted;
use countersign_core::refusal::{Code, Detail, Refusal};
use countersign_core::server::{EnvMode, ServerEntry, Transport};
use countersign_core::stages::StageAnswer;
use serde_json::value::RawValue;

use super::effect;
use super::report::{NOT_REACHED, Refused, Report, Sends, Stage};
use crate::scene::{Layer, Scene, at_fault, is_silent, layers, standing};

/// The stages after the two that can refuse in this version.
const LATER: [&str; 5] = ["rights", "pin", "effect", "policies", "gate"];

/// The shortest value of a reference that counts as a credential, in bytes.
const SHORTEST: usize = 4;

/// What would become of a call of that tool.
pub(crate) fn report(scene: &Scene, name: &str, arguments: Exact) -> Report {
    let ask = Ask::Tool {
        name: name.to_owned(),
        arguments,
    };
    let judged = scene.engine.weigh(&scene.world, &scene.who.caller, ask, Origin::Direct);
    let (runs, stages, refusal, sends) = match judged {
        Ok((call, answers)) => {
            let stages = answers.iter().map(|answer| passed(scene, name, &call, answer));
            (true, stages.collect(), None, Some(sends(&scene.read.config, &call)))
        }
        Err(refusal) => {
            let stages = refused(scene, name, &refusal);
            let told = Refused {
                code: refusal.code.word(),
                sentence: refusal.sentence,
                nearest: refusal.nearest,
            };
            (false, stages, Some(told), None)
        }
    };
    Report {
        whom: scene.who.whom.clone(),
        tool: name.to_owned(),
        runs,
        stages,
        refusal,
        sends,
        notes: notes(scene, name),
    }
}

/// A stage's answer to a call that would run.
fn passed(scene: &Scene, name: &str, call: &ExactCall, answer: &StageAnswer) -> Stage {
    let places = &scene.read.places;
    let stage = Stage::of(answer.stage, answer.answer, answer.because.as_ref());
    match answer.stage {
        "view" => visible(scene, name, target(call)),
        "toolset" => Stage {
            toolsets: of_listed(scene, name, target(call)),
            ..stage
        },
        "pin" => stage.at(places.of_gateway("pins")),
        "effect" => effect::stage(scene, call, stage),
        "gate" => stage.at(places.of_gateway("write_gate")),
        _ => stage,
    }
}

fn target(call: &ExactCall) -> Option<&ServerName> {
    match call.target() {
        Target::Server(server) => Some(server),
        Target::Gateway => None,
    }
}

/// The stages up to the one that refuses, and those after it.
fn refused(scene: &Scene, name: &str, refusal: &Refusal) -> Vec<Stage> {
    let mut stages = if refusal.code.stage() == "toolset" {
        let seen = before_toolset(scene, name, refusal);
        vec![seen, outside(scene, name, refusal)]
    } else {
        let seen = Stage::of("view", refusal.code.word(), refusal.sentence.as_str()).at(way_out(scene, name, refusal));
        vec![seen, after_view(scene, name, refusal)]
    };
    stages.extend(LATER.map(|stage| Stage::of(stage, NOT_REACHED, "")));
    stages
}

/// What the catalogue says of a tool that the toolset refuses.
fn before_toolset(scene: &Scene, name: &str, refusal: &Refusal) -> Stage {
    let member = match &refusal.detail {
        Detail::Outside(outside) => outside.server.as_ref(),
        Detail::None | Detail::SignIn(_) => None,
    };
    if scene.world.catalogue.tool(name).is_some() {
        return visible(scene, name, member);
    }
    match (member, scene.world.catalogue.route(name)) {
        (Some(server), _) => awaited(scene, server),
        (None, Route::Server(server)) if server.awaits_sign_in() => awaited(scene, &server.entry.name),
        (None, Route::Server(_) | Route::Family(_) | Route::Nowhere) => {
            let missing = missing_tool(&scene.world, name);
            Stage::of("view", missing.code.word(), missing.sentence)
        }
    }
}

fn awaited(scene: &Scene, server: &ServerName) -> Stage {
    let because = format!("server {server} waits for a sign-in, and its tools are not known before it");
    let from = scene.read.places.of_server(server.as_str(), &["auth"]);
    Stage::of("view", "awaits_sign_in", because).at(from.or_else(|| scene.read.places.server(server.as_str())))
}

/// The stage `view` of a tool that is in the catalogue; of a family's, where the call goes.
fn visible(scene: &Scene, name: &str, member: Option<&ServerName>) -> Stage {
    let Some(tool) = scene.world.catalogue.tool(name) else {
        return Stage::of("view", "visible", "in the catalogue");
    };
    let because = match (&tool.provider, member) {
        (Provider::Server(server), _) => format!("server {server} publishes it as `{}`", tool.definition.name),
        (Provider::Family(family), Some(member)) => format!(
            "servers {} of family {} publish it; `{}` sends the call to {member}",
            servers(tool),
            family.family,
            family.instance_arg
        ),
        (Provider::Family(family), None) => {
            format!("servers {} of family {} publish it", servers(tool), family.family)
        }
        (Provider::Core(_), _) => "one of the gateway's own tools".to_owned(),
        (Provider::Workflow(workflow), _) => {
            let stage = Stage::of(
                "view",
                "visible",
                "a workflow; the tools that it always calls are there",
            );
            return stage.at(Some(effect::at(&workflow.draft().at)));
        }
    };
    let server = member.or_else(|| tool.servers().next());
    let from = server.and_then(|server| scene.read.places.server(server.as_str()));
    Stage::of("view", "visible", because).at(from)
}

fn servers(tool: &Tool) -> String {
    let names: Vec<&str> = tool.servers().map(ServerName::as_str).collect();
    names.join(", ")
}

/// The stage `toolset` of a call that it refuses.
fn outside(scene: &Scene, name: &str, refusal: &Refusal) -> Stage {
    let stage = Stage::of("toolset", refusal.code.word(), refusal.sentence.as_str());
    match (&refusal.code, &refusal.detail) {
        (Code::OutsideToolset, Detail::Outside(outside)) => {
            let member = outside.server.as_ref();
            let toolsets =
                if scene.world.catalogue.tool(name).is_some() && member.is_none_or(|it| is_member(scene, name, it)) {
                    of_listed(scene, name, member)
                } else {
                    of_awaited(scene, name, member)
                };
            Stage { toolsets, ..stage }
        }
        _ => {
            let at_fault = at_fault(&scene.who, &scene.world.rules.presets);
            stage.at(at_fault.and_then(|declared| declared.from.clone()))
        }
    }
}

/// The stage `toolset` of a call that no tool of the catalogue answers.
fn after_view(scene: &Scene, name: &str, refusal: &Refusal) -> Stage {
    match (&refusal.detail, &scene.world.view) {
        (Detail::SignIn(server), View::Narrowed(_)) => Stage {
            toolsets: of_awaited(scene, name, Some(server)),
            ..Stage::of(
                "toolset",
                "may_select",
                "the tool may be inside once its server is listed",
            )
        },
        (Detail::SignIn(_), View::Whole { because }) => Stage::of("toolset", "unscoped", *because),
        (Detail::SignIn(_), View::Refused(_)) | (Detail::None | Detail::Outside(_), _) => {
            Stage::of("toolset", NOT_REACHED, "")
        }
    }
}

fn is_member(scene: &Scene, name: &str, server: &ServerName) -> bool {
    let tool = scene.world.catalogue.tool(name);
    tool.is_some_and(|tool| tool.servers().any(|member| member == server))
}

/// What each toolset says of a tool of the catalogue.
fn of_listed(scene: &Scene, name: &str, member: Option<&ServerName>) -> Vec<Layer> {
    let reasons = scene.reasons().zip(scene.world.catalogue.place(name));
    reasons.map_or(Vec::new(), |(reasons, place)| {
        layers(&reasons.of_tool(place, member), &scene.who, &scene.read.places)
    })
}

/// What each toolset says of a tool that a server may have which waits for a sign-in.
fn of_awaited(scene: &Scene, name: &str, server: Option<&ServerName>) -> Vec<Layer> {
    let server = server
        .map(ServerName::as_str)
        .or(match scene.world.catalogue.route(name) {
            Route::Server(server) => Some(server.entry.name.as_str()),
            Route::Family(_) | Route::Nowhere => None,
        });
    let reasons = scene.reasons().zip(server);
    reasons.map_or(Vec::new(), |(reasons, server)| {
        layers(&reasons.of_awaited(server, name), &scene.who, &scene.read.places)
    })
}

/// The line that explains why the catalogue does not have the tool.
fn way_out(scene: &Scene, name: &str, refusal: &Refusal) -> Option<At> {
    let places = &scene.read.places;
    match &refusal.detail {
        Detail::SignIn(server) => places
            .of_server(server.as_str(), &["auth"])
            .or_else(|| places.server(server.as_str())),
        Detail::None | Detail::Outside(_) => {
            let listed = scene.world.catalogue.tool(name).and_then(|tool| tool.servers().next());
            let server = listed
                .map(ServerName::as_str)
                .or(match scene.world.catalogue.route(name) {
                    Route::Server(server) => Some(server.entry.name.as_str()),
                    Route::Family(_) | Route::Nowhere => None,
                })?;
            match listed {
                Some(_) => places.of_server(server, &["family"]),
                None => places.server(server),
            }
        }
    }
}

/// What else a person should know: servers that could have the tool and are not there.
fn notes(scene: &Scene, name: &str) -> Vec<String> {
    let catalogue = &scene.world.catalogue;
    if catalogue.tool(name).is_some() {
        return Vec::new();
    }
    let is_meant = |server: &&Server| match catalogue.route(name) {
        Route::Server(routed) => routed.entry.name == server.entry.name,
        Route::Family(family) => {
            let of = server.entry.family.as_ref();
            of.is_some_and(|of| of.name == *family.name)
        }
        Route::Nowhere => is_silent(server),
    };
    let absent = catalogue.servers().iter().filter(is_meant);
    let absent = absent
        .filter(|server| server.listing.tools.is_empty())
        .map(|server| format!("server {} {}", server.entry.name, standing(server)));
    let workflow = catalogue
        .workflows()
        .iter()
        .find(|workflow| **workflow.exposed() == *name);
    let missing = workflow
        .into_iter()
        .flat_map(|workflow| effect::missing(scene, workflow));
    missing.chain(absent).collect()
}

fn sends(config: &Config, call: &ExactCall) -> Sends {
    let arguments = call.operation().arguments().map_or("{}", Exact::as_str);
    Sends {
        server: target(call).map(ToString::to_string),
        tool: call.operation().subject().to_owned(),
        arguments: masked(config, arguments),
    }
}

/// Arguments without values under telling keys, and without what references of the configuration stand for.
fn masked(config: &Config, arguments: &str) -> Box<RawValue> {
    let mut text = Json::parse(arguments).map_or_else(|_| "{}".to_owned(), |value| redacted(&value).to_text());
    for secret in config.servers.iter().flat_map(|entry| hidden(entry)) {
        // As it stands in canonical JSON, whose strings escape as little as they may.
        let quoted = serde_json::to_string(secret).unwrap_or_default();
        let inner = quoted.trim_matches('"');
        if inner.len() >= SHORTEST {
            text = text.replace(inner, "[secret]");
        }
    }
    let raw = RawValue::from_string(text);
    raw.unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// What references in a server's entry stand for.
fn hidden(entry: &ServerEntry) -> Vec<&str> {
    let secrets: Vec<&countersign_core::secret::Secret> = match &entry.transport {
        Transport::Stdio {
            command,
            args,
            env,
            env_mode: EnvMode::Clean | EnvMode::Inherit,
            env_passthrough: _,
            cwd: _,
        } => std::iter::once(command).chain(args).chain(env.values()).collect(),
        Transport::Http { url, headers } | Transport::Sse { url, headers } => {
            std::iter::once(url).chain(headers.values()).collect()
        }
    };
    let hidden = secrets.into_iter().filter(|secret| secret.is_hidden());
    hidden.map(|secret| secret.reveal()).collect()
}
