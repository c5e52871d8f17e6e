//! What the toolsets of a request leave of a catalogue, ready to be asked.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::bits::Bits;
use super::resolve::Chosen;
use super::{Bounds, Layer, Selector};
use crate::catalogue::{Catalogue, FamilyTool, Provider, Tool};
use crate::names::ServerName;

/// What the toolsets of a request leave of one catalogue.
///
/// Everything is asked with the catalogue that it was made of; `World` holds the two together.
#[derive(Debug)]
pub struct Narrowed {
    bounds: Arc<Bounds>,
    /// What is left of tools, by slot.
    slots: Bits,
    /// Tools of which at least one member is left, by their place in the catalogue.
    tools: Bits,
    /// How many those are.
    count: usize,
    /// Servers that are inside, by their place in the catalogue.
    servers: Bits,
    /// What each toolset selects by itself.
    layers: Vec<Chosen>,
    unmatched: Vec<Vec<Selector>>,
    requiring_auth: Vec<ServerName>,
    /// Tools of families of which some members are left, written when the first one asks.
    partial: BTreeMap<usize, OnceLock<Option<Tool>>>,
}

/// What resolution found, before it is ready to be asked.
pub(super) struct Resolved {
    pub(super) all: Chosen,
    pub(super) layers: Vec<Chosen>,
    pub(super) unmatched: Vec<Vec<Selector>>,
    pub(super) requiring_auth: Vec<ServerName>,
}

impl Narrowed {
    pub(super) fn new(catalogue: &Catalogue, bounds: Arc<Bounds>, resolved: Resolved) -> Self {
        let Resolved {
            all,
            layers,
            unmatched,
            requiring_auth,
        } = resolved;
        let slots = catalogue.slots();
        let mut tools = Bits::empty(catalogue.tools().len());
        for slot in all.slots.numbers() {
            if let Some(tool) = slots.tool(slot) {
                tools.add(tool);
            }
        }
        let mut servers = Bits::empty(catalogue.servers().len());
        for place in 0..catalogue.servers().len() {
            if inside(catalogue, place, &all) {
                servers.add(place);
            }
        }
        let partial = tools.numbers().filter(|tool| {
            let mut of_tool = slots.of_tool(*tool);
            of_tool.len() > 1 && !of_tool.all(|slot| all.slots.has(slot))
        });
        Self {
            partial: partial.map(|tool| (tool, OnceLock::new())).collect(),
            count: tools.count(),
            bounds,
            slots: all.slots,
            tools,
            servers,
            layers,
            unmatched,
            requiring_auth,
        }
    }

    /// The toolsets that it was made of.
    #[must_use]
    pub fn bounds(&self) -> &Arc<Bounds> {
        &self.bounds
    }

    /// How many tools are left; a family's counts once.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The selectors of the narrowest toolset that select nothing of what the toolsets before it leave.
    /// `preset:none` is never among them.
    #[must_use]
    pub fn unmatched(&self) -> &[Selector] {
        self.unmatched.last().map_or(&[], Vec::as_slice)
    }

    /// The servers that wait for the caller's sign-in and some of whose tools the toolsets could select once
    /// they are listed, sorted by name.
    #[must_use]
    pub fn requiring_auth(&self) -> &[ServerName] {
        &self.requiring_auth
    }

    /// The tool that stands there in the catalogue, as it is left: a family's with the members that are.
    pub(crate) fn tool<'n>(&'n self, catalogue: &'n Catalogue, place: usize) -> Option<&'n Tool> {
        if !self.tools.has(place) {
            return None;
        }
        let whole = catalogue.tools().get(place)?;
        match self.partial.get(&place) {
            None => Some(whole),
            Some(written) => written.get_or_init(|| self.part_of(catalogue, place, whole)).as_ref(),
        }
    }

    /// Whether a tool runs where its `member`-th member runs it; tools of no family have one place.
    pub(crate) fn has_member(&self, catalogue: &Catalogue, place: usize, member: usize) -> bool {
        let mut slots = catalogue.slots().of_tool(place);
        slots.nth(member).is_some_and(|slot| self.slots.has(slot))
    }

    /// Whether any member of a tool is left.
    pub(crate) fn has_tool(&self, place: usize) -> bool {
        self.tools.has(place)
    }

    /// Whether the server that stands there in the catalogue is inside.
    pub(crate) fn has_server(&self, server: usize) -> bool {
        self.servers.has(server)
    }

    /// The toolset that a tool is outside of: the first after which none of its places is left, or the given one.
    pub(crate) fn outside_for_tool(
        &self,
        catalogue: &Catalogue,
        place: usize,
        member: Option<usize>,
    ) -> Option<&Layer> {
        let slots = catalogue.slots().of_tool(place);
        let slots: Range<usize> = match member {
            None => slots,
            Some(member) => {
                let slot = slots.start.saturating_add(member);
                slot..slot.saturating_add(1)
            }
        };
        self.first_without(|chosen| slots.clone().any(|slot| chosen.slots.has(slot)))
    }

    /// The toolset that a server is outside of.
    pub(crate) fn outside_for_server(&self, catalogue: &Catalogue, server: usize) -> Option<&Layer> {
        self.first_without(|chosen| inside(catalogue, server, chosen))
    }

    /// The first toolset after which a condition does not hold any more; the narrowest where it always holds.
    fn first_without(&self, holds: impl Fn(&Chosen) -> bool) -> Option<&Layer> {
        use super::choice::Choice;
        let mut left: Option<Chosen> = None;
        for (layer, chosen) in self.bounds.layers().iter().zip(&self.layers) {
            match &mut left {
                None => left = Some(chosen.clone()),
                Some(left) => left.meet(chosen),
            }
            if !left.as_ref().is_some_and(&holds) {
                return Some(layer);
            }
        }
        self.bounds.narrowest()
    }

    /// A family's tool with the members that are left.
    fn part_of(&self, catalogue: &Catalogue, place: usize, whole: &Tool) -> Option<Tool> {
        let Provider::Family(family) = &whole.provider else {
            return None;
        };
        let slots = catalogue.slots().of_tool(place);
        let left = family
            .members
            .iter()
            .zip(slots)
            .filter(|(_, slot)| self.slots.has(*slot));
        let part = FamilyTool {
            family: family.family.clone(),
            instance_arg: Arc::clone(&family.instance_arg),
            members: left
                .map(|((server, member), _)| (server.clone(), member.clone()))
                .collect(),
        };
        let shown = &part.members.values().next()?.definition;
        let definition = Arc::new(part.surface(shown).ok()?);
        Some(Tool {
            name: whole.name.clone(),
            classified: part.classified(),
            definition,
            provider: Provider::Family(Arc::new(part)),
        })
    }
}

/// Whether a server is inside a selection: one of its tools is selected, or it has none and is selected itself.
fn inside(catalogue: &Catalogue, server: usize, chosen: &Chosen) -> bool {
    let slots = catalogue.slots().of_server(server);
    if slots.is_empty() {
        chosen.servers.has(server)
    } else {
        slots.iter().any(|slot| chosen.slots.has(*slot))
    }
}
