//! The table for programs.

use countersign_config::At;
use countersign_core::admit::{Ask, Origin};
use countersign_core::catalogue::{Availability, FamilyTool, Provider, Server, Tool};
use countersign_core::effect::{Effect, Source};
use countersign_core::exact::Exact;
use countersign_core::names::ServerName;
use countersign_core::refusal::Refusal;
use countersign_core::toolset::Reasons;
use serde::Serialize;

use crate::scene::{Layer, Scene, Whom, layers};

/// Everything that a caller has before it.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    #[serde(rename = "as")]
    pub(crate) whom: Whom,
    /// The toolsets that bound the request, in the order in which they narrow.
    pub(crate) toolsets: Vec<Narrows>,
    /// Why nothing is served, where a toolset cannot be used.
    pub(crate) refusal: Option<String>,
    pub(crate) totals: Totals,
    pub(crate) tools: Vec<Row>,
    pub(crate) servers: Vec<ServerRow>,
    /// Selectors of the narrowest toolset that select nothing.
    pub(crate) unmatched: Vec<String>,
}

/// One toolset that bounds the request.
#[derive(Debug, Serialize)]
pub(crate) struct Narrows {
    pub(crate) origin: &'static str,
    /// As it was declared; nothing of one that cannot be read.
    pub(crate) toolset: Option<String>,
    pub(crate) from: Option<At>,
}

/// How much there is, and how much of all is hidden.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Totals {
    pub(crate) tools: usize,
    pub(crate) hidden_tools: usize,
    pub(crate) read_only: usize,
    pub(crate) mutating: usize,
    pub(crate) resources: usize,
    pub(crate) hidden_resources: usize,
    pub(crate) prompts: usize,
    pub(crate) hidden_prompts: usize,
}

/// One tool.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) tool: String,
    /// `tool`, `core` or `workflow`.
    pub(crate) kind: &'static str,
    /// The server, or the family; nothing of the gateway's own.
    pub(crate) server: Option<String>,
    /// What a call may do, whichever member runs it.
    pub(crate) effect: Effect,
    /// Who says so.
    pub(crate) effect_source: Source,
    /// What happens to a call: `runs`, or the code of a refusal.
    pub(crate) on_call: String,
    /// Of a family's tool, the members that run it.
    pub(crate) members: Vec<Member>,
    /// What each toolset says of it.
    pub(crate) selected_by: Vec<Layer>,
}

/// One member that runs a family's tool.
#[derive(Debug, Serialize)]
pub(crate) struct Member {
    pub(crate) server: String,
    pub(crate) effect: Effect,
    pub(crate) on_call: String,
    pub(crate) selected_by: Vec<Layer>,
}

/// One server.
#[derive(Debug, Serialize)]
pub(crate) struct ServerRow {
    pub(crate) server: String,
    pub(crate) family: Option<String>,
    #[serde(flatten)]
    pub(crate) availability: Availability,
    /// How many tools it has here, and how many of them are shown.
    pub(crate) tools: usize,
    pub(crate) shown: usize,
    /// Whether its resources and prompts are shown.
    pub(crate) inside: bool,
    /// Of a server that waits for a sign-in: whether the toolset could select some of its tools then.
    pub(crate) could_be_inside: Option<bool>,
    pub(crate) from: Option<At>,
}

/// The table of a scene.
pub(crate) fn of(scene: &Scene) -> Report {
    let world = &scene.world;
    let reasons = scene.reasons();
    let tools: Vec<Row> = (0..world.catalogue.tools().len())
        .filter_map(|place| Some(row(scene, reasons.as_ref(), place, world.tool_at(place)?)))
        .collect();
    let declared = scene.who.declared.iter().map(|declared| Narrows {
        origin: declared.origin.word(),
        toolset: declared.selectors.as_ref().ok().map(ToString::to_string),
        from: declared.from.clone(),
    });
    let unmatched = world.toolset().map_or(&[][..], |narrowed| narrowed.unmatched());
    Report {
        whom: scene.who.whom.clone(),
        toolsets: declared.collect(),
        refusal: world.refused().map(ToString::to_string),
        totals: totals(scene, &tools),
        servers: world
            .catalogue
            .servers()
            .iter()
            .map(|server| server_row(scene, server))
            .collect(),
        unmatched: unmatched.iter().map(ToString::to_string).collect(),
        tools,
    }
}

fn totals(scene: &Scene, tools: &[Row]) -> Totals {
    let world = &scene.world;
    let catalogue = &world.catalogue;
    let read_only = tools.iter().filter(|row| row.effect == Effect::ReadOnly).count();
    let (resources, prompts) = (
        world.resources().count() + world.templates().count(),
        world.prompts().count(),
    );
    let all_resources = catalogue.resources().len() + catalogue.templates().len();
    Totals {
        tools: tools.len(),
        hidden_tools: catalogue.tools().len().saturating_sub(tools.len()),
        read_only,
        mutating: tools.len().saturating_sub(read_only),
        resources,
        hidden_resources: all_resources.saturating_sub(resources),
        prompts,
        hidden_prompts: catalogue.prompts().len().saturating_sub(prompts),
    }
}

fn row(scene: &Scene, reasons: Option<&Reasons<'_>>, place: usize, tool: &Tool) -> Row {
    let said = |member: Option<&ServerName>| {
        let reasons = reasons.map(|reasons| reasons.of_tool(place, member));
        reasons.map_or(Vec::new(), |reasons| layers(&reasons, &scene.who, &scene.read.places))
    };
    let (kind, server, members) = match &tool.provider {
        Provider::Server(server) => ("tool", Some(server.to_string()), Vec::new()),
        Provider::Family(family) => {
            let member = |server: &ServerName| member(scene, tool, (family, server), said(Some(server)));
            let members = family.members.keys().map(member).collect();
            ("tool", Some(family.family.to_string()), members)
        }
        Provider::Core(_) => ("core", None, Vec::new()),
        Provider::Workflow(_) => ("workflow", None, Vec::new()),
    };
    let on_call = match members.first() {
        None => on_call(scene, tool, Exact::empty_object()),
        Some(first) => {
            let alike = members.iter().all(|member: &Member| member.on_call == first.on_call);
            if alike {
                first.on_call.clone()
            } else {
                "depends".to_owned()
            }
        }
    };
    Row {
        tool: tool.name.to_string(),
        kind,
        server,
        effect: tool.classified.effect,
        effect_source: tool.classified.source,
        on_call,
        members,
        selected_by: said(None),
    }
}

fn member(scene: &Scene, tool: &Tool, (family, server): (&FamilyTool, &ServerName), selected_by: Vec<Layer>) -> Member {
    let arguments = serde_json::json!({ (&*family.instance_arg): server }).to_string();
    let effect = family.members.get(server).map(|member| member.classified.effect);
    Member {
        server: server.to_string(),
        effect: effect.unwrap_or(tool.classified.effect),
        // A name and a key are text, so that this is an object.
        on_call: Exact::object(&arguments).map_or_else(|_| String::new(), |it| on_call(scene, tool, it)),
        selected_by,
    }
}

/// What the gateway's own decision says of a call: the write gate's answer, or the code of a refusal.
fn on_call(scene: &Scene, tool: &Tool, arguments: Exact) -> String {
    let ask = Ask::Tool {
        name: tool.name.to_string(),
        arguments,
    };
    match scene.engine.weigh(&scene.world, &scene.who.caller, ask, Origin::Direct) {
        Ok((_, answers)) => answers.last().map_or("runs", |last| last.answer).to_owned(),
        Err(Refusal { code, .. }) => code.word().to_owned(),
    }
}

fn server_row(scene: &Scene, server: &Server) -> ServerRow {
    let world = &scene.world;
    let name = &server.entry.name;
    let runs = |tool: &Tool| tool.servers().any(|other| other == name);
    ServerRow {
        server: name.to_string(),
        family: server.entry.family.as_ref().map(|family| family.name.to_string()),
        availability: server.availability.clone(),
        tools: world.catalogue.tools().iter().filter(|tool| runs(tool)).count(),
        shown: world.tools().filter(|tool| runs(tool)).count(),
        inside: world.shows_server(name.as_str()),
        could_be_inside: server.awaits_sign_in().then(|| world.could_show_server(server)),
        from: scene.read.places.server(name.as_str()),
    }
}
