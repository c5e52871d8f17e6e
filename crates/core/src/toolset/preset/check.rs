//! What is wrong with the presets of a configuration, all of it at once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::{BUILT_IN, Preset, Rule};
use crate::toolset::selector::is_name;

/// One thing that is wrong with a preset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// Which preset, counted in the order in which they were given.
    pub preset: usize,
    /// Which of its rules, unless the preset as a whole is meant.
    pub place: Option<Place>,
    /// What is wrong.
    pub kind: FlawKind,
}

/// The place of a rule: `include[2]`, and `.all[0]` for one inside an intersection.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// In which list.
    pub list: List,
    /// The number in that list, then those in intersections.
    pub path: Vec<usize>,
}

/// A list of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum List {
    /// `include`
    Include,
    /// `exclude`
    Exclude,
}

/// What is wrong with a preset; each text is the rest of a sentence that begins with the place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FlawKind {
    /// It has the name of a built-in preset.
    #[error("is a built-in preset and cannot be redefined")]
    Redefined,
    /// Another one has the same name.
    #[error("is defined twice")]
    Twice,
    /// No selector could name it.
    #[error("has a name that no selector can say: use no blanks and no commas")]
    Name,
    /// A rule composes a preset that is not there.
    #[error("names unknown preset `{0}`")]
    Unknown(String),
    /// A rule that excludes composes a preset.
    #[error("composes a preset, which only `include` may do")]
    Composed,
    /// Compositions lead back to where they began.
    #[error("composes itself: {0}")]
    Cycle(String),
    /// An intersection of nothing.
    #[error("needs at least one rule")]
    NothingInAll,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.list {
            List::Include => "include",
            List::Exclude => "exclude",
        })?;
        for (depth, number) in self.path.iter().enumerate() {
            let inside = if depth == 0 { "" } else { ".all" };
            write!(f, "{inside}[{number}]")?;
        }
        Ok(())
    }
}

/// A composition: the place of its rule and the preset that it names.
type Composition<'p> = (Place, &'p str);

struct Check<'p> {
    presets: &'p [Preset],
    by_name: BTreeMap<&'p str, usize>,
    compositions: Vec<Vec<Composition<'p>>>,
    flaws: Vec<Flaw>,
}

/// The order in which the presets can be evaluated: each after those that it composes.
pub(super) fn check(presets: &[Preset]) -> Result<Vec<usize>, Vec<Flaw>> {
    let mut check = Check {
        presets,
        by_name: BTreeMap::new(),
        compositions: Vec::new(),
        flaws: Vec::new(),
    };
    for (place, preset) in presets.iter().enumerate() {
        check.name(place, preset);
        check.rules(place, preset);
    }
    check.names_are_known();
    let order = check.order();
    if check.flaws.is_empty() {
        return Ok(order);
    }
    check
        .flaws
        .sort_by(|left, right| (left.preset, &left.place).cmp(&(right.preset, &right.place)));
    Err(check.flaws)
}

impl<'p> Check<'p> {
    fn flaw(&mut self, preset: usize, place: Option<Place>, kind: FlawKind) {
        self.flaws.push(Flaw { preset, place, kind });
    }

    fn name(&mut self, place: usize, preset: &'p Preset) {
        let name = &*preset.name;
        if BUILT_IN.contains(&name) {
            self.flaw(place, None, FlawKind::Redefined);
        } else if !is_name(name) {
            self.flaw(place, None, FlawKind::Name);
        } else if self.by_name.contains_key(name) {
            self.flaw(place, None, FlawKind::Twice);
        } else {
            self.by_name.insert(name, place);
        }
    }

    fn rules(&mut self, preset: usize, of: &'p Preset) {
        let lists = [(List::Include, &of.include), (List::Exclude, &of.exclude)];
        let mut compositions = Vec::new();
        // Rules still to be looked at; no recursion, so that no depth of a file is a danger.
        let mut rules: Vec<(Place, &Rule)> = Vec::new();
        for (list, given) in lists {
            let place = |number| Place {
                list,
                path: vec![number],
            };
            rules.extend(given.iter().enumerate().map(|(number, rule)| (place(number), rule)));
        }
        while let Some((place, rule)) = rules.pop() {
            match rule {
                Rule::Preset(name) => match place.list {
                    List::Include => compositions.push((place, &**name)),
                    List::Exclude => self.flaw(preset, Some(place), FlawKind::Composed),
                },
                Rule::All(inner) if inner.is_empty() => self.flaw(preset, Some(place), FlawKind::NothingInAll),
                Rule::All(inner) => rules.extend(inner.iter().enumerate().map(|(number, rule)| {
                    let mut place = place.clone();
                    place.path.push(number);
                    (place, rule)
                })),
                Rule::Tool(_)
                | Rule::Pattern { .. }
                | Rule::Server(_)
                | Rule::Workflow(_)
                | Rule::ReadOnly
                | Rule::Label { .. }
                | Rule::Access(_)
                | Rule::Effect(_)
                | Rule::Everything => {}
            }
        }
        compositions.sort();
        self.compositions.push(compositions);
    }

    fn names_are_known(&mut self) {
        let is_known = |name: &str| self.by_name.contains_key(name) || BUILT_IN.contains(&name);
        let of_presets = self.compositions.iter().enumerate();
        let unknown = of_presets.flat_map(|(preset, compositions)| {
            compositions
                .iter()
                .filter(|(_, name)| !is_known(name))
                .map(move |(place, name)| Flaw {
                    preset,
                    place: Some(place.clone()),
                    kind: FlawKind::Unknown((*name).to_owned()),
                })
        });
        let unknown: Vec<Flaw> = unknown.collect();
        self.flaws.extend(unknown);
    }

    /// The presets that one composes, of those that the configuration defines.
    fn composed(&self, preset: usize) -> impl Iterator<Item = (&Place, usize)> {
        let compositions = self.compositions.get(preset).into_iter().flatten();
        compositions.filter_map(|(place, name)| Some((place, *self.by_name.get(name)?)))
    }

    /// Each preset after those that it composes. Of those on a circle, one flaw for each circle.
    fn order(&mut self) -> Vec<usize> {
        let mut order: Vec<usize> = Vec::with_capacity(self.presets.len());
        let mut left: BTreeSet<usize> = (0..self.presets.len()).collect();
        loop {
            let is_free = |preset: &&usize| self.composed(**preset).all(|(_, composed)| !left.contains(&composed));
            let free: Vec<usize> = left.iter().filter(is_free).copied().collect();
            if !free.is_empty() {
                free.iter().for_each(|preset| {
                    left.remove(preset);
                });
                order.extend(free);
                continue;
            }
            let Some(circle) = self.circle(&left) else {
                return order;
            };
            for preset in &circle {
                left.remove(preset);
            }
            self.report(&circle);
        }
    }

    /// The presets on one circle among those that are left, the first by number first.
    fn circle(&self, left: &BTreeSet<usize>) -> Option<Vec<usize>> {
        let mut path: Vec<usize> = Vec::new();
        let mut at = *left.first()?;
        // Everything that is left composes something that is left, so the path comes back to itself.
        loop {
            if let Some(start) = path.iter().position(|preset| *preset == at) {
                let mut circle = path.split_off(start);
                let first = circle.iter().enumerate().min_by_key(|(_, preset)| **preset);
                let turn = first.map_or(0, |(turn, _)| turn);
                circle.rotate_left(turn);
                return Some(circle);
            }
            path.push(at);
            at = self
                .composed(at)
                .map(|(_, composed)| composed)
                .find(|composed| left.contains(composed))?;
        }
    }

    fn report(&mut self, circle: &[usize]) {
        let (Some(first), Some(second)) = (circle.first(), circle.get(1).or(circle.first())) else {
            return;
        };
        let names = circle
            .iter()
            .chain([first])
            .filter_map(|preset| self.presets.get(*preset));
        let names: Vec<&str> = names.map(|preset| &*preset.name).collect();
        let place = self
            .composed(*first)
            .find(|(_, composed)| composed == second)
            .map(|(place, _)| place.clone());
        self.flaw(*first, place, FlawKind::Cycle(names.join(" → ")));
    }
}
