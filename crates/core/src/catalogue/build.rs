//! From servers and their listings to one snapshot; whatever is bad is named and left out (I12).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::claims::{self, Claim};
use super::{
    Availability, Catalogue, Finding, Naming, Owners, Parts, Prompt, Provider, Resource, Server, Sketch, Tool, naming,
    ranked,
};
use crate::core_tools::CoreTool;
use crate::definition::{PromptDefinition, ToolDefinition};
use crate::effect::{Classified, classify_tool};
use crate::names::{ExposedName, OriginalName, ServerName};

/// A tool before its name is known to be its own.
type ToolEntry = (ServerName, Arc<ToolDefinition>, Classified);
/// A prompt before its name is known to be its own.
type PromptEntry = (ServerName, Arc<PromptDefinition>);

#[derive(Default)]
struct Builder {
    tools: Vec<Claim<ToolEntry>>,
    prompts: Vec<Claim<PromptEntry>>,
    resources: Vec<Resource>,
    templates: Vec<Resource>,
    /// The resources that tools name (MCP Apps).
    apps: Vec<(Arc<str>, ServerName)>,
    offering: Vec<ServerName>,
    findings: Vec<Finding>,
}

/// What the snapshot `before` knows of definitions that are still the same is taken over.
pub(super) fn build(parts: Parts, before: Option<&Catalogue>) -> Catalogue {
    let Parts {
        version,
        naming,
        mut servers,
    } = parts;
    servers.sort_by(|left, right| left.entry.name.cmp(&right.entry.name));
    let mut builder = Builder::default();
    for server in servers.iter().filter(|server| contributes(&server.availability)) {
        builder.add(&naming, server);
    }
    let Builder {
        tools,
        prompts,
        resources,
        templates,
        apps,
        offering,
        mut findings,
    } = builder;
    let owners = Owners::build(&resources, &templates, &apps, offering);
    findings.extend(owners.shared_apps().flat_map(|(uri, servers)| shared_app(uri, servers)));
    let mut tools: Vec<Tool> = claims::settle(tools, &mut findings).into_iter().map(tool).collect();
    tools.extend(CoreTool::ALL.iter().map(|core| core_tool(*core)));
    let prompts: Vec<Prompt> = claims::settle(prompts, &mut findings).into_iter().map(prompt).collect();
    findings.sort();
    let before = before.map(|before| (&*before.servers, &*before.tools, &before.index));
    Catalogue {
        version,
        index: ranked::index((&servers, &tools), before),
        tools_by_name: places(tools.iter().map(|tool| &tool.name)),
        prompts_by_name: places(prompts.iter().map(|prompt| &prompt.name)),
        owners,
        sketches: tools.iter().map(|tool| Sketch::of(tool.name.as_str())).collect(),
        servers,
        tools,
        prompts,
        resources,
        templates,
        findings,
    }
}

/// Whether what a server published last is part of the snapshot.
fn contributes(availability: &Availability) -> bool {
    match availability {
        Availability::Unlisted | Availability::Ready | Availability::Unavailable { .. } => true,
        Availability::Suspended | Availability::Stopped => false,
    }
}

impl Builder {
    fn add(&mut self, naming: &Naming, server: &Server) {
        let (entry, listing) = (&server.entry, &server.listing);
        for problem in &listing.problems {
            self.find(server, &problem.name, format!("set aside: {}", problem.what));
        }
        let mut seen = BTreeSet::new();
        for definition in &listing.tools {
            let app = definition.ui_resource.clone();
            self.apps.extend(app.map(|uri| (uri, entry.name.clone())));
            if let Some((name, whole)) = self.name(naming, server, &definition.name, &mut seen) {
                if let Some(why) = naming::reserved(name.as_str()) {
                    let what = format!("set aside: its exposed name `{name}` {why}; give the server a `toolPrefix`");
                    self.find(server, definition.name.as_str(), what);
                    continue;
                }
                let classified = classify_tool(definition.annotations.as_ref(), entry.trust);
                let tool = (entry.name.clone(), Arc::clone(definition), classified);
                self.tools.push(claim(name, whole, &entry.name, &definition.name, tool));
            }
        }
        seen.clear();
        for definition in &listing.prompts {
            if let Some((name, whole)) = self.name(naming, server, &definition.name, &mut seen) {
                let prompt = (entry.name.clone(), Arc::clone(definition));
                self.prompts
                    .push(claim(name, whole, &entry.name, &definition.name, prompt));
            }
        }
        let resource = |definition| Resource {
            server: entry.name.clone(),
            definition,
        };
        self.resources.extend(listing.resources.iter().cloned().map(resource));
        self.templates.extend(listing.templates.iter().cloned().map(resource));
        if listing.capabilities.resources {
            self.offering.push(entry.name.clone());
        }
    }

    /// The exposed name and what it would be without an alias, for the first of its name in a listing.
    fn name(
        &mut self,
        naming: &Naming,
        server: &Server,
        original: &OriginalName,
        seen: &mut BTreeSet<OriginalName>,
    ) -> Option<(ExposedName, String)> {
        if !seen.insert(original.clone()) {
            self.find(
                server,
                original.as_str(),
                "listed more than once; the first one is served".to_owned(),
            );
            return None;
        }
        if naming::mixes_scripts(original.as_str()) {
            let what = "set aside: its name mixes scripts whose letters look alike".to_owned();
            self.find(server, original.as_str(), what);
            return None;
        }
        let whole = naming::whole_of(naming, &server.entry, original.as_str());
        Some((naming::exposed(naming, &server.entry, original.as_str(), &whole), whole))
    }

    fn find(&mut self, server: &Server, subject: &str, what: String) {
        let server = server.entry.name.to_string();
        let subject = Some(subject.to_owned()).filter(|subject| !subject.is_empty());
        self.findings.push(Finding { server, subject, what });
    }
}

/// A host that shows an app names no server, so nobody can say whose app it would get.
fn shared_app<'a>(uri: &'a str, servers: &'a [ServerName]) -> impl Iterator<Item = Finding> + 'a {
    servers.iter().map(move |server| {
        let others = servers.iter().filter(|other| *other != server);
        let others: Vec<String> = others.map(|other| format!("`{other}`")).collect();
        Finding {
            server: server.to_string(),
            subject: Some(uri.to_owned()),
            what: format!(
                "server {} publishes this app too, so reading it is refused",
                others.join(" and ")
            ),
        }
    })
}

fn claim<E>(name: ExposedName, whole: String, server: &ServerName, original: &OriginalName, entry: E) -> Claim<E> {
    Claim {
        name,
        whole,
        server: server.to_string(),
        original: original.to_string(),
        entry,
    }
}

fn tool((name, (server, definition, classified)): (ExposedName, ToolEntry)) -> Tool {
    Tool {
        name,
        provider: Provider::Server(server),
        definition,
        classified,
    }
}

fn core_tool(core: CoreTool) -> Tool {
    let definition = Arc::new(core.definition());
    Tool {
        name: ExposedName::new(core.name()),
        provider: Provider::Core(core),
        classified: core.classified(),
        definition,
    }
}

fn prompt((name, (server, definition)): (ExposedName, PromptEntry)) -> Prompt {
    let rendered = definition.renamed(name.as_str()).into();
    Prompt {
        name,
        server,
        definition,
        rendered,
    }
}

fn places<'n>(names: impl Iterator<Item = &'n ExposedName>) -> BTreeMap<ExposedName, usize> {
    names.cloned().enumerate().map(|(place, name)| (name, place)).collect()
}
