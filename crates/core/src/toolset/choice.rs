//! Presets evaluated over whatever their rules are asked about: a set of tools, or one tool not known yet.

use super::preset::{Presets, Rule};

/// What a rule chooses.
pub(super) trait Choice: Clone {
    /// Also what the other chooses.
    fn join(&mut self, other: &Self);
    /// Only what the other chooses too.
    fn meet(&mut self, other: &Self);
    /// Not what the other chooses.
    fn leave_out(&mut self, other: &Self);
}

/// What presets choose, each evaluated once however often it is composed.
pub(super) struct Evaluated<'p, C> {
    presets: &'p Presets,
    nothing: C,
    of: Vec<Option<C>>,
}

impl<'p, C: Choice> Evaluated<'p, C> {
    /// Evaluates the presets of those names and what they are composed of; `atom` answers a rule that is neither
    /// a composition nor an intersection.
    pub(super) fn of<'n>(
        presets: &'p Presets,
        names: impl Iterator<Item = &'n str>,
        nothing: C,
        atom: &mut impl FnMut(&Rule) -> C,
    ) -> Self {
        let mut evaluated = Self {
            presets,
            nothing,
            of: vec![None; presets.count()],
        };
        for place in presets.needed(names) {
            let Some(preset) = presets.at(place) else { continue };
            let mut chosen = evaluated.union(&preset.include, atom);
            let excluded = evaluated.union(&preset.exclude, atom);
            chosen.leave_out(&excluded);
            if let Some(of) = evaluated.of.get_mut(place) {
                *of = Some(chosen);
            }
        }
        evaluated
    }

    /// What one rule chooses.
    pub(super) fn rule(&self, rule: &Rule, atom: &mut impl FnMut(&Rule) -> C) -> C {
        match rule {
            Rule::Preset(name) => self.preset(name),
            Rule::All(rules) => {
                let mut chosen = rules.iter().map(|rule| self.rule(rule, atom));
                let Some(mut all) = chosen.next() else {
                    return self.nothing.clone();
                };
                let rest: Vec<C> = chosen.collect();
                rest.iter().for_each(|chosen| all.meet(chosen));
                all
            }
            Rule::Tool(_)
            | Rule::Pattern { .. }
            | Rule::Server(_)
            | Rule::Workflow(_)
            | Rule::ReadOnly
            | Rule::Label { .. }
            | Rule::Access(_)
            | Rule::Effect(_)
            | Rule::Everything => atom(rule),
        }
    }

    /// What any of the rules chooses.
    pub(super) fn union(&self, rules: &[Rule], atom: &mut impl FnMut(&Rule) -> C) -> C {
        let mut chosen = self.nothing.clone();
        for rule in rules {
            let also = self.rule(rule, atom);
            chosen.join(&also);
        }
        chosen
    }

    fn preset(&self, name: &str) -> C {
        let place = self.presets.place(name);
        let known = place.and_then(|place| self.of.get(place)?.as_ref());
        known.unwrap_or(&self.nothing).clone()
    }
}
