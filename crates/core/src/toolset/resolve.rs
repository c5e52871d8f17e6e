//! From toolsets and a catalogue to the set of what they select; a pure function on bit sets.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::access::{self, Classes};
use super::awaiting;
use super::bits::Bits;
use super::choice::{Choice, Evaluated};
use super::narrowed::{Narrowed, Resolved};
use super::preset::{Presets, Rule};
use super::slots::Slots;
use super::{Bounds, Error, Selector};
use crate::catalogue::{Catalogue, FamilyTool, Provider, Tool};
use crate::definition::ToolDefinition;
use crate::effect::Classified;
use crate::glob::Glob;
use crate::names::{FamilyName, ServerName};

/// What rules select: tools by their slots, and servers as such, for those that have no tools.
#[derive(Debug, Clone)]
pub(super) struct Chosen {
    pub(super) slots: Bits,
    pub(super) servers: Bits,
}

impl Choice for Chosen {
    fn join(&mut self, other: &Self) {
        self.slots.join(&other.slots);
        self.servers.join(&other.servers);
    }

    fn meet(&mut self, other: &Self) {
        self.slots.meet(&other.slots);
        self.servers.meet(&other.servers);
    }

    fn leave_out(&mut self, other: &Self) {
        self.slots.leave_out(&other.slots);
        self.servers.leave_out(&other.servers);
    }
}

/// What toolsets select in a catalogue, each within the ones before it.
///
/// # Errors
/// [`Error::UnknownPreset`] for a preset that is not there; all else was checked when the toolsets were read.
pub fn narrow(catalogue: &Catalogue, presets: &Presets, bounds: &Arc<Bounds>) -> Result<Narrowed, Error> {
    for layer in bounds.layers() {
        presets.check(&layer.selectors)?;
    }
    let view = Selection::of(catalogue);
    // Presets say the same rules again and again, and a pattern is tried on every name.
    let mut known: BTreeMap<String, Chosen> = BTreeMap::new();
    let mut atom = |rule: &Rule| {
        // Its text is that of a pattern, which selects no server without tools.
        if *rule == Rule::Everything {
            return view.rule(rule);
        }
        let chosen = known.entry(rule.to_string()).or_insert_with(|| view.rule(rule));
        chosen.clone()
    };
    let named = bounds.layers().iter().flat_map(|layer| layer.selectors.presets());
    let evaluated = Evaluated::of(presets, named, view.nothing(), &mut atom);
    let mut resolved = Resolved {
        all: view.everything(),
        layers: Vec::with_capacity(bounds.layers().len()),
        unmatched: Vec::with_capacity(bounds.layers().len()),
        requiring_auth: awaiting::servers(catalogue, presets, bounds),
    };
    for layer in bounds.layers() {
        let mut chosen = view.nothing();
        let mut unmatched = Vec::new();
        for selector in layer.selectors.as_slice() {
            let rule = selector.rule();
            let also = evaluated.rule(&rule, &mut atom);
            if !view.meets(&also, &resolved.all) && !selector.is_none() {
                unmatched.push(selector.clone());
            }
            chosen.join(&also);
        }
        resolved.all.meet(&chosen);
        resolved.layers.push(chosen);
        resolved.unmatched.push(unmatched);
    }
    Ok(Narrowed::new(catalogue, Arc::clone(bounds), resolved))
}

impl Selector {
    /// The rule of a preset that selects the same.
    pub(super) fn rule(&self) -> Rule {
        match self {
            Self::Preset(name) => Rule::Preset(Arc::clone(name)),
            Self::Server(name) => Rule::Server(Arc::clone(name)),
            Self::Workflow(name) => Rule::Workflow(Arc::clone(name)),
            Self::Tool(name) => Rule::Tool(Arc::clone(name)),
        }
    }

    /// Whether it says that nothing is wanted.
    fn is_none(&self) -> bool {
        matches!(self, Self::Preset(name) if &**name == "none")
    }
}

/// Rules asked about a whole catalogue.
pub(super) struct Selection<'c> {
    catalogue: &'c Catalogue,
    slots: &'c Slots,
    /// The tools' names in listing order; read out when the first pattern is tried on all of them.
    names: OnceCell<Vec<&'c str>>,
}

fn names(catalogue: &Catalogue) -> Vec<&str> {
    catalogue.tools().iter().map(|tool| tool.name.as_str()).collect()
}

impl<'c> Selection<'c> {
    pub(super) fn of(catalogue: &'c Catalogue) -> Self {
        Self {
            catalogue,
            slots: catalogue.slots(),
            names: OnceCell::new(),
        }
    }

    pub(super) fn nothing(&self) -> Chosen {
        Chosen {
            slots: Bits::empty(self.slots.count()),
            servers: Bits::empty(self.catalogue.servers().len()),
        }
    }

    fn everything(&self) -> Chosen {
        Chosen {
            slots: Bits::full(self.slots.count()),
            servers: Bits::full(self.catalogue.servers().len()),
        }
    }

    /// Whether two selections have a tool, or a server without tools, in common.
    fn meets(&self, one: &Chosen, other: &Chosen) -> bool {
        let bare = |server: usize| self.slots.of_server(server).is_empty();
        let common = |server: usize| other.servers.has(server) && bare(server);
        one.slots.meets(&other.slots) || one.servers.numbers().any(common)
    }

    /// What a rule selects that is neither a composition nor an intersection.
    pub(super) fn rule(&self, rule: &Rule) -> Chosen {
        let mut chosen = self.nothing();
        match rule {
            Rule::Tool(name) => self.add_tool(&mut chosen, name),
            Rule::Workflow(name) => self.add_tool(&mut chosen, &format!("workflow_{name}")),
            Rule::Pattern { glob, text: _ } => self.add_matches(&mut chosen, glob),
            Rule::Server(name) => self.add_server(&mut chosen, name),
            Rule::ReadOnly => self.add_where(&mut chosen, |said| said.is_hinted_read_only()),
            Rule::Effect(effects) => self.add_where(&mut chosen, |said| effects.include(said.classified.effect)),
            Rule::Label { key, value } => self.add_label(&mut chosen, key, value.as_deref()),
            Rule::Access(class) => self.add_class(&mut chosen, class),
            Rule::Everything => return self.everything(),
            // Whoever evaluates presets answers these itself.
            Rule::Preset(_) | Rule::All(_) => {}
        }
        chosen
    }

    fn add_tool(&self, chosen: &mut Chosen, name: &str) {
        if let Some(place) = self.catalogue.place(name) {
            chosen.slots.add_range(self.slots.of_tool(place));
        }
    }

    fn add_matches(&self, chosen: &mut Chosen, glob: &Glob) {
        if glob.head().is_empty() {
            let names = self.names.get_or_init(|| names(self.catalogue));
            for (place, _) in names.iter().enumerate().filter(|(_, name)| glob.matches(name)) {
                chosen.slots.add_range(self.slots.of_tool(place));
            }
            return;
        }
        // Names that begin alike stand together, so only those with the pattern's own beginning are looked at.
        for (name, place) in self.catalogue.names_from(glob.head()) {
            if glob.matches(name.as_str()) {
                chosen.slots.add_range(self.slots.of_tool(place));
            }
        }
    }

    fn add_server(&self, chosen: &mut Chosen, name: &str) {
        let mut is_family = false;
        for (place, server) in self.catalogue.servers().iter().enumerate() {
            let is_member = server.entry.family.as_ref().is_some_and(|it| it.name.as_str() == name);
            is_family |= is_member;
            if server.entry.name.as_str() == name {
                self.add_all_of(chosen, place);
            } else if is_member {
                chosen.servers.add(place);
            }
        }
        if !is_family {
            return;
        }
        for (place, tool) in self.catalogue.tools().iter().enumerate() {
            if family_of(tool).is_some_and(|family| family.as_str() == name) {
                chosen.slots.add_range(self.slots.of_tool(place));
            }
        }
    }

    fn add_label(&self, chosen: &mut Chosen, key: &str, value: Option<&str>) {
        for (place, server) in self.catalogue.servers().iter().enumerate() {
            if server.entry.has_label(key, value) {
                self.add_all_of(chosen, place);
            }
        }
    }

    fn add_all_of(&self, chosen: &mut Chosen, server: usize) {
        chosen.servers.add(server);
        for slot in self.slots.of_server(server) {
            chosen.slots.add(*slot);
        }
    }

    fn add_class(&self, chosen: &mut Chosen, class: &str) {
        let servers = self.catalogue.servers().iter();
        let classes: BTreeMap<&ServerName, Classes<'_>> = servers
            .map(|server| (&server.entry.name, Classes::of(&server.entry)))
            .filter(|(_, classes)| classes.may_give(class))
            .collect();
        self.add_where(chosen, |said| match said.server {
            Some(server) => classes.get(server).and_then(|it| it.class(said.definition)) == Some(class),
            None => said.is_core && access::of_core(said.classified) == class,
        });
    }

    /// Adds every slot of which a condition holds.
    fn add_where(&self, chosen: &mut Chosen, holds: impl Fn(Said<'_>) -> bool) {
        for (place, tool) in self.catalogue.tools().iter().enumerate() {
            let slots = self.slots.of_tool(place);
            match &tool.provider {
                Provider::Family(family) => {
                    for (slot, said) in slots.zip(said_by_members(family)) {
                        if holds(said) {
                            chosen.slots.add(slot);
                        }
                    }
                }
                Provider::Server(_) | Provider::Core(_) | Provider::Workflow(_) => {
                    if holds(said_of(tool)) {
                        chosen.slots.add_range(slots);
                    }
                }
            }
        }
    }
}

/// What is said of a tool where one member runs it.
#[derive(Clone, Copy)]
struct Said<'t> {
    server: Option<&'t ServerName>,
    is_core: bool,
    definition: &'t ToolDefinition,
    classified: Classified,
}

impl Said<'_> {
    /// The hint as published; a workflow's definition holds the one that was derived for it.
    fn is_hinted_read_only(self) -> bool {
        let hints = self.definition.annotations.as_ref();
        hints.is_some_and(|hints| hints.read_only == Some(true))
    }
}

fn said_of(tool: &Tool) -> Said<'_> {
    let (server, is_core) = match &tool.provider {
        Provider::Server(server) => (Some(server), false),
        Provider::Core(_) => (None, true),
        Provider::Family(_) | Provider::Workflow(_) => (None, false),
    };
    Said {
        server,
        is_core,
        definition: &tool.definition,
        classified: tool.classified,
    }
}

fn said_by_members(family: &FamilyTool) -> impl Iterator<Item = Said<'_>> {
    family.members.iter().map(|(server, member)| Said {
        server: Some(server),
        is_core: false,
        definition: &member.definition,
        classified: member.classified,
    })
}

fn family_of(tool: &Tool) -> Option<&FamilyName> {
    match &tool.provider {
        Provider::Family(family) => Some(&family.family),
        Provider::Server(_) | Provider::Core(_) | Provider::Workflow(_) => None,
    }
}
