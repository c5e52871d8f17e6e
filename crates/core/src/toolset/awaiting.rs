//! What toolsets could select of servers that wait for a sign-in, whose tools nobody knows yet.
//!
//! A rule then answers no, maybe or certainly: what is certain is left out by an exclude, and what may be
//! is taken in by an include.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::access::Classes;
use super::choice::{Choice, Evaluated};
use super::preset::{Effects, Presets, Rule};
use super::{Bounds, Layer, Selector};
use crate::catalogue::{Catalogue, Route, Server};
use crate::effect::AnnotationTrust;
use crate::glob::Glob;
use crate::names::ServerName;
use crate::server::ServerEntry;

/// Whether a rule selects a tool that is not known yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Truth {
    No,
    Maybe,
    Yes,
}

impl Choice for Truth {
    fn join(&mut self, other: &Self) {
        *self = (*self).max(*other);
    }

    fn meet(&mut self, other: &Self) {
        *self = (*self).min(*other);
    }

    fn leave_out(&mut self, other: &Self) {
        let stays = match other {
            Self::No => Self::Yes,
            Self::Maybe => Self::Maybe,
            Self::Yes => Self::No,
        };
        self.meet(&stays);
    }
}

/// A tool that is not known yet.
#[derive(Clone, Copy)]
struct Unknown<'a> {
    entry: &'a ServerEntry,
    space: Space,
    name: Name<'a>,
}

/// Whose names it stands under.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Space {
    Own,
    Family,
}

#[derive(Clone, Copy)]
enum Name<'a> {
    /// The name that a caller uses.
    One(&'a str),
    /// Any name that begins so, but for those that rules say.
    Beginning(&'a str),
}

/// The servers waiting for a sign-in some of whose tools the toolsets could select once listed, sorted by name.
pub(super) fn servers(catalogue: &Catalogue, presets: &Presets, bounds: &Bounds) -> Vec<ServerName> {
    let waiting = catalogue.servers().iter().filter(|server| server.awaits_sign_in());
    let mut said: Option<BTreeSet<Arc<str>>> = None;
    waiting
        .filter(|server| {
            let said = said.get_or_insert_with(|| names_said(presets, bounds));
            could_any(catalogue, presets, bounds, (server, said))
        })
        .map(|server| server.entry.name.clone())
        .collect()
}

/// Whether the toolsets could select a tool of a server once it is listed.
pub(crate) fn could_select_of(catalogue: &Catalogue, presets: &Presets, bounds: &Bounds, server: &Server) -> bool {
    could_any(catalogue, presets, bounds, (server, &names_said(presets, bounds)))
}

/// The first toolset that could not select the tool of that name on a server whose tools are not known yet;
/// nothing when all of them could.
pub(crate) fn unable<'b>(
    presets: &Presets,
    bounds: &'b Bounds,
    (entry, in_family): (&ServerEntry, bool),
    name: &str,
) -> Option<&'b Layer> {
    let unknown = Unknown {
        entry,
        space: if in_family { Space::Family } else { Space::Own },
        name: Name::One(name),
    };
    bounds
        .layers()
        .iter()
        .find(|layer| truth(presets, layer, unknown) == Truth::No)
}

/// Answers rules about the tool of that name on a server whose tools are not known yet; presets of those names alone
/// may be composed in them.
pub(super) fn truths<'a>(
    presets: &'a Presets,
    named: impl Iterator<Item = &'a str>,
    (entry, in_family): (&'a ServerEntry, bool),
    name: &'a str,
) -> impl Fn(&Rule) -> Truth {
    let unknown = Unknown {
        entry,
        space: if in_family { Space::Family } else { Space::Own },
        name: Name::One(name),
    };
    let evaluated = Evaluated::of(presets, named, Truth::No, &mut |rule: &Rule| atom(rule, unknown));
    move |rule| evaluated.rule(rule, &mut |rule: &Rule| atom(rule, unknown))
}

/// Whether a preset's rule could select anything of a server that is not listed.
pub(super) fn could_rule(presets: &Presets, rule: &Rule, catalogue: &Catalogue, server: &Server) -> bool {
    let mut composed = Vec::new();
    rule.compositions(&mut composed);
    let could = |space: Space, name: Name<'_>| {
        let unknown = Unknown {
            entry: &server.entry,
            space,
            name,
        };
        let mut atom = |rule: &Rule| atom(rule, unknown);
        let evaluated = Evaluated::of(presets, composed.iter().copied(), Truth::No, &mut atom);
        evaluated.rule(rule, &mut atom) > Truth::No
    };
    any_tool(catalogue, server, could, || names_in(presets, vec![rule.clone()]))
}

/// Whether something holds of a tool of some name that a server could have, or of one of the names that rules say.
fn any_tool<S: IntoIterator<Item = Arc<str>>>(
    catalogue: &Catalogue,
    server: &Server,
    could: impl Fn(Space, Name<'_>) -> bool,
    said: impl FnOnce() -> S,
) -> bool {
    let any = spaces(catalogue, server)
        .into_iter()
        .any(|(space, head)| could(space, Name::Beginning(&head)));
    any || said()
        .into_iter()
        .any(|name| routed_to(catalogue, server, &name).is_some_and(|space| could(space, Name::One(&name))))
}

/// Whether all toolsets could select one tool of a server: one that a rule names, or one of some other name.
fn could_any(
    catalogue: &Catalogue,
    presets: &Presets,
    bounds: &Bounds,
    (server, said): (&Server, &BTreeSet<Arc<str>>),
) -> bool {
    let could = |space: Space, name: Name<'_>| {
        let unknown = Unknown {
            entry: &server.entry,
            space,
            name,
        };
        bounds
            .layers()
            .iter()
            .all(|layer| truth(presets, layer, unknown) > Truth::No)
    };
    any_tool(catalogue, server, could, || said.iter().cloned())
}

/// What the names of a server's tools begin with, once they are listed.
fn spaces(catalogue: &Catalogue, server: &Server) -> Vec<(Space, String)> {
    let mut spaces = vec![(Space::Own, catalogue.tool_prefix(&server.entry))];
    if let Some(family) = &server.entry.family {
        spaces.push((Space::Family, catalogue.family_prefix(&family.name)));
    }
    spaces
}

/// Under whose names a name would lead to a server, when it would.
fn routed_to(catalogue: &Catalogue, server: &Server, name: &str) -> Option<Space> {
    match catalogue.route(name) {
        Route::Server(routed) => (routed.entry.name == server.entry.name).then_some(Space::Own),
        Route::Family(family) => {
            let of = server.entry.family.as_ref()?;
            (of.name == *family.name).then_some(Space::Family)
        }
        Route::Nowhere => None,
    }
}

/// Every tool that toolsets and the presets that they name call by its name.
fn names_said(presets: &Presets, bounds: &Bounds) -> BTreeSet<Arc<str>> {
    let selectors = bounds.layers().iter().flat_map(|layer| layer.selectors.as_slice());
    names_in(presets, selectors.map(Selector::rule).collect())
}

/// Every tool that rules and the presets that they compose call by its name.
fn names_in(presets: &Presets, mut rules: Vec<Rule>) -> BTreeSet<Arc<str>> {
    let mut said = BTreeSet::new();
    let mut composed = Vec::new();
    rules.iter().for_each(|rule| rule.compositions(&mut composed));
    let needed = presets.needed(composed.into_iter());
    for place in needed {
        if let Some(preset) = presets.at(place) {
            rules.extend(preset.include.iter().cloned());
        }
    }
    while let Some(rule) = rules.pop() {
        match rule {
            Rule::Tool(name) => {
                said.insert(name);
            }
            Rule::All(inner) => rules.extend(inner),
            Rule::Pattern { .. }
            | Rule::Server(_)
            | Rule::Workflow(_)
            | Rule::ReadOnly
            | Rule::Preset(_)
            | Rule::Label { .. }
            | Rule::Access(_)
            | Rule::Effect(_)
            | Rule::Everything => {}
        }
    }
    said
}

/// Whether one toolset selects it.
fn truth(presets: &Presets, layer: &Layer, unknown: Unknown<'_>) -> Truth {
    let mut atom = |rule: &Rule| atom(rule, unknown);
    let evaluated = Evaluated::of(presets, layer.selectors.presets(), Truth::No, &mut atom);
    let rules: Vec<Rule> = layer.selectors.as_slice().iter().map(Selector::rule).collect();
    evaluated.union(&rules, &mut atom)
}

fn atom(rule: &Rule, unknown: Unknown<'_>) -> Truth {
    let Unknown { entry, space, name } = unknown;
    match rule {
        Rule::Tool(said) => sure(matches!(name, Name::One(name) if name == &**said)),
        Rule::Pattern { glob, text: _ } => matches(glob, name),
        Rule::Server(said) => {
            let is_own = entry.name.as_str() == &**said;
            let is_family = entry.family.as_ref().is_some_and(|it| it.name.as_str() == &**said);
            sure(is_own || (is_family && space == Space::Family))
        }
        Rule::Label { key, value } => sure(entry.has_label(key, value.as_deref())),
        // A hint is not known before the sign-in: it may include, and never excludes for certain.
        Rule::ReadOnly => Truth::Maybe,
        Rule::Effect(Effects::ReadOnly) => possible(entry.trust == AnnotationTrust::Trusted),
        Rule::Access(class) => possible(Classes::of(entry).may_give(class)),
        Rule::Everything => Truth::Yes,
        // A workflow is no tool of a server; whoever evaluates presets answers the others itself.
        Rule::Workflow(_) | Rule::Preset(_) | Rule::All(_) => Truth::No,
    }
}

fn sure(is: bool) -> Truth {
    if is { Truth::Yes } else { Truth::No }
}

fn possible(is: bool) -> Truth {
    if is { Truth::Maybe } else { Truth::No }
}

fn matches(glob: &Glob, name: Name<'_>) -> Truth {
    match name {
        Name::One(name) => sure(glob.matches(name)),
        Name::Beginning(head) if glob.takes_all_after(head) => Truth::Yes,
        Name::Beginning(head) => possible(glob.may_match_after(head)),
    }
}
