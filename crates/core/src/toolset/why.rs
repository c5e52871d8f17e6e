//! Why toolsets select a tool or leave it out: which selector, and which rule of which preset.
//!
//! It asks the rules that resolution asks, one by one; nothing is decided here.

use std::collections::BTreeMap;
use std::fmt;

use super::awaiting::{self, Truth};
use super::choice::Evaluated;
use super::preset::{List, Place, Preset, Presets, Rule};
use super::resolve::{Chosen, Selection};
use super::{Bounds, Error, Layer, Selector};
use crate::catalogue::{Catalogue, Route, Tool};
use crate::names::ServerName;

/// What a selector or a whole toolset says of a tool. A later one is stronger: selectors are a union.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Nothing takes it in.
    Unselected,
    /// A rule takes it in, and another one leaves it out.
    LeftOut,
    /// Nobody knows before its server is listed, which waits for a sign-in.
    Possible,
    /// It is selected.
    Selected,
}

/// One rule of a preset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step<'p> {
    /// The preset.
    pub preset: &'p Preset,
    /// Where in the preset the rule stands.
    pub place: Place,
    /// The rule.
    pub rule: &'p Rule,
}

/// What one selector says of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said<'b> {
    /// The selector.
    pub selector: &'b Selector,
    /// What it says.
    pub verdict: Verdict,
    /// The rules that decided, from the selector's own preset inwards; none of a selector that is no preset, and
    /// none where nothing takes the tool in.
    pub rules: Vec<Step<'b>>,
}

/// What one toolset says of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason<'b> {
    /// The toolset.
    pub layer: &'b Layer,
    /// What each of its selectors says, in their order.
    pub said: Vec<Said<'b>>,
}

impl<'b> Reason<'b> {
    /// The selector that decides: the first of those that say the strongest word.
    #[must_use]
    pub fn deciding(&self) -> Option<&Said<'b>> {
        let strongest = self.said.iter().map(|said| said.verdict).max()?;
        self.said.iter().find(|said| said.verdict == strongest)
    }

    /// What the toolset says.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.deciding().map_or(Verdict::Unselected, |said| said.verdict)
    }
}

/// What a rule or a selector picks out of a catalogue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Picked<'c> {
    /// Exposed names of tools, in listing order, each with the members of a family that run it there.
    pub tools: Vec<(&'c str, Vec<&'c ServerName>)>,
    /// Servers without tools, whose resources and prompts it picks.
    pub servers: Vec<&'c ServerName>,
    /// Servers that wait for a sign-in, of whose tools it could pick some.
    pub awaiting: Vec<&'c ServerName>,
}

/// Everything that toolsets select of one catalogue, rule by rule.
#[derive(Debug)]
pub struct Reasons<'c> {
    catalogue: &'c Catalogue,
    presets: &'c Presets,
    bounds: &'c Bounds,
    /// The presets that the toolsets need, each after those that it composes.
    needed: Vec<usize>,
    rules: BTreeMap<(usize, List, usize), Chosen>,
    selectors: BTreeMap<Selector, Chosen>,
}

/// What decides in one preset: the number of a rule in one of its lists.
#[derive(Debug, Clone, Copy)]
struct Decision {
    verdict: Verdict,
    at: Option<(List, usize)>,
}

impl<'c> Reasons<'c> {
    /// Asks every rule that the toolsets need.
    ///
    /// # Errors
    /// As for the resolution itself: [`Error::UnknownPreset`].
    pub fn of(catalogue: &'c Catalogue, presets: &'c Presets, bounds: &'c Bounds) -> Result<Self, Error> {
        for layer in bounds.layers() {
            presets.check(&layer.selectors)?;
        }
        let view = Selection::of(catalogue);
        let mut atom = |rule: &Rule| view.rule(rule);
        let evaluated = Evaluated::of(presets, named(bounds), view.nothing(), &mut atom);
        let needed = presets.needed(named(bounds));
        let mut rules = BTreeMap::new();
        for place in &needed {
            for (list, of_list) in presets.at(*place).map(lists).into_iter().flatten() {
                for (number, rule) in of_list.iter().enumerate() {
                    rules.insert((*place, list, number), evaluated.rule(rule, &mut atom));
                }
            }
        }
        let all = bounds.layers().iter().flat_map(|layer| layer.selectors.as_slice());
        let selectors = all.map(|selector| (selector.clone(), evaluated.rule(&selector.rule(), &mut atom)));
        Ok(Self {
            selectors: selectors.collect(),
            catalogue,
            presets,
            bounds,
            needed,
            rules,
        })
    }

    /// What each toolset says of the tool that stands there in the catalogue: where that member runs it, or where any
    /// of its members does.
    #[must_use]
    pub fn of_tool(&self, place: usize, member: Option<&ServerName>) -> Vec<Reason<'c>> {
        let slots = self.catalogue.slots().of_tool(place);
        let servers = self.catalogue.tools().get(place).map(Tool::servers);
        let servers: Vec<&ServerName> = servers.into_iter().flatten().collect();
        let is_meant = |number: usize| match member {
            None => true,
            Some(member) => servers.get(number).is_none_or(|server| *server == member),
        };
        let slots: Vec<usize> = slots
            .enumerate()
            .filter(|(at, _)| is_meant(*at))
            .map(|(_, slot)| slot)
            .collect();
        let tables: Vec<(usize, BTreeMap<usize, Decision>)> = slots
            .into_iter()
            .map(|slot| (slot, self.decide(|key| known(self.rules.get(&key), slot))))
            .collect();
        self.reasons(|selector| {
            let at = tables.iter().map(|(slot, decisions)| {
                let picks = || known(self.selectors.get(selector), *slot);
                self.said(selector, decisions, picks)
            });
            // Of equal ones the first, in the order of the members.
            at.reduce(|best, said| if said.verdict > best.verdict { said } else { best })
        })
    }

    /// What each toolset says of a tool of that name, once a server is listed that waits for a sign-in.
    #[must_use]
    pub fn of_awaited(&self, server: &str, name: &str) -> Vec<Reason<'c>> {
        let Some(server) = self.catalogue.server(server) else {
            return Vec::new();
        };
        let in_family = match self.catalogue.route(name) {
            Route::Family(_) => true,
            Route::Server(_) | Route::Nowhere => false,
        };
        let truth = awaiting::truths(self.presets, named(self.bounds), (&server.entry, in_family), name);
        let decisions = self.decide(|(place, list, number)| {
            let rule = self.presets.at(place).and_then(|preset| list.of(preset).get(number));
            rule.map_or(Truth::No, &truth)
        });
        self.reasons(|selector| Some(self.said(selector, &decisions, || truth(&selector.rule()))))
    }

    /// What one rule of a preset picks by itself; nothing where the toolsets do not need the preset.
    #[must_use]
    pub fn picked_by_rule(&self, preset: &str, list: List, number: usize) -> Option<Picked<'c>> {
        let place = self.presets.place(preset)?;
        let mut picked = self.picked(self.rules.get(&(place, list, number))?);
        let rule = list.of(self.presets.at(place)?).get(number)?;
        let servers = self.catalogue.servers().iter().filter(|server| server.awaits_sign_in());
        let could = servers.filter(|server| awaiting::could_rule(self.presets, rule, self.catalogue, server));
        picked.awaiting = could.map(|server| &server.entry.name).collect();
        Some(picked)
    }

    /// What one selector picks by itself; nothing of one that no toolset says.
    #[must_use]
    pub fn picked_by_selector(&self, selector: &Selector) -> Option<Picked<'c>> {
        self.selectors.get(selector).map(|chosen| self.picked(chosen))
    }

    fn picked(&self, chosen: &Chosen) -> Picked<'c> {
        let slots = self.catalogue.slots();
        let mut picked = Picked::default();
        for (place, tool) in self.catalogue.tools().iter().enumerate() {
            let of_tool = slots.of_tool(place);
            if !of_tool.clone().any(|slot| chosen.slots.has(slot)) {
                continue;
            }
            let members = tool.servers().zip(of_tool).filter(|(_, slot)| chosen.slots.has(*slot));
            picked
                .tools
                .push((tool.name.as_str(), members.map(|(server, _)| server).collect()));
        }
        for (place, server) in self.catalogue.servers().iter().enumerate() {
            if chosen.servers.has(place) && slots.of_server(place).is_empty() && !server.awaits_sign_in() {
                picked.servers.push(&server.entry.name);
            }
        }
        picked
    }

    fn reasons(&self, said: impl Fn(&'c Selector) -> Option<Said<'c>>) -> Vec<Reason<'c>> {
        let layers = self.bounds.layers().iter();
        layers
            .map(|layer| Reason {
                layer,
                said: layer.selectors.as_slice().iter().filter_map(&said).collect(),
            })
            .collect()
    }

    /// What decides in each of the presets; those that are composed come first, so that nothing recurs.
    fn decide(&self, truth: impl Fn((usize, List, usize)) -> Truth) -> BTreeMap<usize, Decision> {
        let mut decisions: BTreeMap<usize, Decision> = BTreeMap::new();
        for place in &self.needed {
            let Some(preset) = self.presets.at(*place) else {
                continue;
            };
            let mut decision = Decision {
                verdict: Verdict::Unselected,
                at: None,
            };
            for (number, rule) in preset.include.iter().enumerate() {
                let composed = composed(rule).and_then(|name| self.presets.place(name));
                let verdict = match composed.and_then(|place| decisions.get(&place)) {
                    Some(inner) => inner.verdict,
                    None => Verdict::of(truth((*place, List::Include, number))),
                };
                if verdict > decision.verdict {
                    let at = Some((List::Include, number));
                    decision = Decision { verdict, at };
                }
            }
            for number in 0..preset.exclude.len() {
                match (decision.verdict, truth((*place, List::Exclude, number))) {
                    (Verdict::Selected | Verdict::Possible, Truth::Yes) => {
                        decision = Decision {
                            verdict: Verdict::LeftOut,
                            at: Some((List::Exclude, number)),
                        };
                    }
                    (Verdict::Selected, Truth::Maybe) => decision.verdict = Verdict::Possible,
                    (Verdict::Selected, Truth::No)
                    | (Verdict::Possible, Truth::No | Truth::Maybe)
                    | (Verdict::LeftOut | Verdict::Unselected, _) => {}
                }
            }
            decisions.insert(*place, decision);
        }
        decisions
    }

    fn said(
        &self,
        selector: &'c Selector,
        decisions: &BTreeMap<usize, Decision>,
        picks: impl FnOnce() -> Truth,
    ) -> Said<'c> {
        let (verdict, rules) = match selector {
            Selector::Preset(name) => self.trail(name, decisions),
            Selector::Server(_) | Selector::Workflow(_) | Selector::Tool(_) => (Verdict::of(picks()), Vec::new()),
        };
        Said {
            selector,
            verdict,
            rules,
        }
    }

    /// What a preset says, and the rules that decided, from its own inwards.
    fn trail(&self, name: &str, decisions: &BTreeMap<usize, Decision>) -> (Verdict, Vec<Step<'c>>) {
        let mut next = self.presets.place(name);
        let verdict = next
            .and_then(|place| decisions.get(&place))
            .map(|decision| decision.verdict);
        let mut steps = Vec::new();
        while let Some(place) = next.take() {
            let at = decisions.get(&place).and_then(|decision| decision.at);
            if let (Some((list, number)), Some(preset)) = (at, self.presets.at(place))
                && let Some(rule) = list.of(preset).get(number)
            {
                if list == List::Include {
                    next = composed(rule).and_then(|name| self.presets.place(name));
                }
                let path = vec![number];
                let place = Place { list, path };
                steps.push(Step { preset, place, rule });
            }
        }
        (verdict.unwrap_or(Verdict::Unselected), steps)
    }
}

impl Verdict {
    fn of(truth: Truth) -> Self {
        match truth {
            Truth::No => Self::Unselected,
            Truth::Maybe => Self::Possible,
            Truth::Yes => Self::Selected,
        }
    }
}

impl List {
    /// The rules of a preset that stand in this list.
    #[must_use]
    pub fn of(self, preset: &Preset) -> &[Rule] {
        match self {
            Self::Include => &preset.include,
            Self::Exclude => &preset.exclude,
        }
    }
}

/// As explanations name it: `safe-ops include[1]`.
impl fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.preset.name, self.place)
    }
}

fn named(bounds: &Bounds) -> impl Iterator<Item = &str> {
    bounds.layers().iter().flat_map(|layer| layer.selectors.presets())
}

fn lists(preset: &Preset) -> [(List, &[Rule]); 2] {
    [(List::Include, &preset.include), (List::Exclude, &preset.exclude)]
}

fn known(chosen: Option<&Chosen>, slot: usize) -> Truth {
    if chosen.is_some_and(|chosen| chosen.slots.has(slot)) {
        Truth::Yes
    } else {
        Truth::No
    }
}

/// The preset that a rule composes whole.
fn composed(rule: &Rule) -> Option<&str> {
    match rule {
        Rule::Preset(name) => Some(name),
        Rule::Tool(_)
        | Rule::Pattern { .. }
        | Rule::Server(_)
        | Rule::Workflow(_)
        | Rule::ReadOnly
        | Rule::Label { .. }
        | Rule::Access(_)
        | Rule::Effect(_)
        | Rule::All(_)
        | Rule::Everything => None,
    }
}
