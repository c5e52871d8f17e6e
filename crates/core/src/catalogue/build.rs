//! From servers and their listings to one snapshot; whatever is bad is named and left out (I12).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use super::claims::{self, Claim, Origin};
use super::families::{self, Candidate, Surface};
use super::{
    Availability, Catalogue, Finding, FindingKind, Naming, Owners, Parts, Prompt, Provider, Resource, Server, Sketch,
    Tool, naming, ranked,
};
use crate::core_tools::CoreTool;
use crate::definition::{PromptDefinition, ToolDefinition};
use crate::effect::{Classified, classify_tool};
use crate::names::{ExposedName, OriginalName, ServerName};

/// A tool before its name is known to be its own.
type ToolEntry = (Provider, Arc<ToolDefinition>, Classified);
/// A prompt before its name is known to be its own.
type PromptEntry = (ServerName, Arc<PromptDefinition>);

struct Builder<'s> {
    naming: &'s Naming,
    candidates: Vec<Candidate<'s>>,
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
        workflows,
    } = parts;
    servers.sort_by(|left, right| left.entry.name.cmp(&right.entry.name));
    let mut builder = Builder::new(&naming);
    for server in servers.iter().filter(|server| contributes(&server.availability)) {
        builder.add(server);
    }
    builder.claim_tools(before);
    let Builder {
        naming: _,
        candidates: _,
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
    let (offered, unavailable) = super::workflows::offered(&workflows, (&servers, &tools));
    tools.extend(offered);
    findings.extend(unavailable);
    let prompts: Vec<Prompt> = claims::settle(prompts, &mut findings).into_iter().map(prompt).collect();
    findings.sort();
    let before = before.map(|before| (&*before.servers, &*before.tools, &before.index));
    Catalogue {
        version,
        naming,
        index: ranked::index((&servers, &tools), before),
        tools_by_name: places(tools.iter().map(|tool| &tool.name)),
        prompts_by_name: places(prompts.iter().map(|prompt| &prompt.name)),
        owners,
        sketches: tools.iter().map(|tool| Sketch::of(tool.name.as_str())).collect(),
        slots: OnceLock::new(),
        servers,
        workflows,
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
        Availability::Suspended | Availability::Stopped | Availability::AuthRequired => false,
    }
}

impl<'s> Builder<'s> {
    fn new(naming: &'s Naming) -> Self {
        Self {
            naming,
            candidates: Vec::new(),
            tools: Vec::new(),
            prompts: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            apps: Vec::new(),
            offering: Vec::new(),
            findings: Vec::new(),
        }
    }

    fn add(&mut self, server: &'s Server) {
        let (entry, listing) = (&server.entry, &server.listing);
        for problem in &listing.problems {
            let what = format!("set aside: {}", problem.what);
            let way_out = "mend the definition at its server".to_owned();
            self.find(server, &problem.name, FindingKind::BadDefinition, (what, way_out));
        }
        let mut seen = BTreeSet::new();
        for definition in &listing.tools {
            let app = definition.ui_resource.clone();
            self.apps.extend(app.map(|uri| (uri, entry.name.clone())));
            if self.is_sound(server, &definition.name, &mut seen) {
                self.candidates.push(Candidate {
                    server,
                    definition: Arc::clone(definition),
                    classified: classify_tool(definition.annotations.as_ref(), entry.trust),
                });
            }
        }
        seen.clear();
        for definition in &listing.prompts {
            if self.is_sound(server, &definition.name, &mut seen) {
                let prompt = (entry.name.clone(), Arc::clone(definition));
                let claim = self.claim(server, &definition.name, prompt);
                self.prompts.push(claim);
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

    /// Whether an element may claim a name: the first of its name in a listing, in one script.
    fn is_sound(&mut self, server: &Server, original: &OriginalName, seen: &mut BTreeSet<OriginalName>) -> bool {
        let (kind, what, way_out) = if !seen.insert(original.clone()) {
            let what = "listed more than once; the first one is served";
            (
                FindingKind::ListedTwice,
                what,
                "give each a name of its own at its server",
            )
        } else if naming::mixes_scripts(original.as_str()) {
            let what = "set aside: its name mixes scripts whose letters look alike";
            (FindingKind::MixedScripts, what, "rename it at its server")
        } else {
            return true;
        };
        self.find(server, original.as_str(), kind, (what.to_owned(), way_out.to_owned()));
        false
    }

    /// Once the tools of all servers are known: who serves them, and under which names.
    fn claim_tools(&mut self, before: Option<&Catalogue>) {
        let candidates = std::mem::take(&mut self.candidates);
        let (surfaces, rest) = families::gather(candidates, before, &mut self.findings);
        for candidate in rest {
            let (server, definition) = (candidate.server, candidate.definition);
            let provider = Provider::Server(server.entry.name.clone());
            let original = definition.name.clone();
            let claim = self.claim(server, &original, (provider, definition, candidate.classified));
            self.offer(claim, "give the server a `toolPrefix`");
        }
        for Surface { definition, tool } in surfaces {
            let (family, classified) = (tool.family.clone(), tool.classified());
            let members = tool.members.keys().cloned().collect();
            let original = definition.name.to_string();
            let whole = naming::whole_of(self.naming, family.as_str(), &original);
            let claim = Claim {
                name: naming::exposed(self.naming, family.as_str(), &original, &whole),
                whole,
                origin: Origin::Family(family, members),
                original,
                entry: (Provider::Family(Arc::new(tool)), definition, classified),
            };
            self.offer(claim, "give the family another name");
        }
    }

    /// Takes a claim, unless the name is one of the gateway's own.
    fn offer(&mut self, claim: Claim<ToolEntry>, way_out: &str) {
        let Some(why) = naming::reserved(claim.name.as_str()) else {
            self.tools.push(claim);
            return;
        };
        let (servers, family) = claim.origin.into_parts();
        self.findings.push(Finding {
            servers,
            family,
            subject: Some(claim.original),
            kind: FindingKind::ReservedName,
            what: format!("set aside: its exposed name `{}` {why}", claim.name),
            way_out: way_out.to_owned(),
        });
    }

    fn claim<E>(&self, server: &Server, original: &OriginalName, entry: E) -> Claim<E> {
        let (server, original) = (&server.entry, original.as_str());
        let whole = naming::whole_of(self.naming, naming::part_of(server), original);
        Claim {
            name: naming::exposed(self.naming, server.name.as_str(), original, &whole),
            whole,
            origin: Origin::Server(server.name.clone()),
            original: original.to_owned(),
            entry,
        }
    }

    fn find(&mut self, server: &Server, subject: &str, kind: FindingKind, (what, way_out): (String, String)) {
        self.findings.push(Finding {
            servers: vec![server.entry.name.clone()],
            family: None,
            subject: Some(subject.to_owned()).filter(|subject| !subject.is_empty()),
            kind,
            what,
            way_out,
        });
    }
}

/// A host that shows an app names no server, so nobody can say whose app it would get.
fn shared_app<'a>(uri: &'a str, servers: &'a [ServerName]) -> impl Iterator<Item = Finding> + 'a {
    servers.iter().map(move |server| {
        let others = servers.iter().filter(|other| *other != server);
        let others: Vec<String> = others.map(|other| format!("`{other}`")).collect();
        Finding {
            servers: vec![server.clone()],
            family: None,
            subject: Some(uri.to_owned()),
            kind: FindingKind::AppShared,
            what: format!(
                "server {} publishes this app too, so reading it is refused",
                others.join(" and ")
            ),
            way_out: "give the app another URI at one of the servers, or suspend all but one".to_owned(),
        }
    })
}

fn tool((name, (provider, definition, classified)): (ExposedName, ToolEntry)) -> Tool {
    Tool {
        name,
        provider,
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
