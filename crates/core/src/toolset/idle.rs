//! Rules that select nothing: a preset's that no tool fits, and an access rule's that no tool of its server fits.

use crate::catalogue::{Availability, Catalogue, Finding, FindingKind, Server};
use crate::glob::Glob;

use super::awaiting;
use super::bits::Bits;
use super::choice::Evaluated;
use super::preset::{Preset, Presets, Rule};
use super::resolve::Selection;

/// A finding for every rule that fits nothing of what servers publish. Where a server that a rule could mean is
/// not listed yet, nothing is said of the rule.
#[must_use]
pub fn idle_rules(catalogue: &Catalogue, presets: &Presets) -> Vec<Finding> {
    let mut findings: Vec<Finding> = catalogue.servers().iter().flat_map(idle_globs).collect();
    let unlisted: Vec<&Server> = catalogue
        .servers()
        .iter()
        .filter(|server| !is_listed(&server.availability))
        .collect();
    for (preset, _) in presets.all().filter(|(_, is_built_in)| !is_built_in) {
        let lists = [("include", &preset.include), ("exclude", &preset.exclude)];
        for (list, rules) in lists {
            for (number, rule) in rules.iter().enumerate() {
                if is_idle(catalogue, presets, rule, &unlisted) {
                    findings.push(idle_rule(preset, &format!("{list}[{number}]"), rule));
                }
            }
        }
    }
    findings
}

/// Whether what a server publishes is known, or will not be served at all.
fn is_listed(availability: &Availability) -> bool {
    match availability {
        Availability::Ready | Availability::Suspended | Availability::Stopped => true,
        Availability::Unlisted | Availability::Unavailable { .. } | Availability::AuthRequired => false,
    }
}

fn is_idle(catalogue: &Catalogue, presets: &Presets, rule: &Rule, unlisted: &[&Server]) -> bool {
    let selection = Selection::of(catalogue);
    let mut composed = Vec::new();
    rule.compositions(&mut composed);
    let mut atom = |rule: &Rule| selection.rule(rule);
    let evaluated = Evaluated::of(presets, composed.into_iter(), selection.nothing(), &mut atom);
    let chosen = evaluated.rule(rule, &mut atom);
    let is_used = [&chosen.slots, &chosen.servers]
        .into_iter()
        .any(|bits: &Bits| !bits.is_empty());
    !is_used
        && !unlisted
            .iter()
            .any(|server| awaiting::could_rule(presets, rule, catalogue, server))
}

fn idle_rule(preset: &Preset, place: &str, rule: &Rule) -> Finding {
    Finding {
        servers: Vec::new(),
        family: None,
        subject: Some(format!("{}.{place}", preset.name)),
        kind: FindingKind::PresetRuleIdle,
        what: format!("preset `{}`: `{place}` ({rule}) selects nothing", preset.name),
        way_out: "check its spelling: names are exact, and patterns stand for the whole exposed name, \
                  such as `x_github_*`; or remove the rule"
            .to_owned(),
    }
}

/// The globs of a server's access rules that no tool of it fits.
fn idle_globs(server: &Server) -> Vec<Finding> {
    if server.availability != Availability::Ready {
        return Vec::new();
    }
    let names = || server.listing.tools.iter().map(|tool| tool.name.as_str());
    let is_idle = |text: &&String| Glob::parse(text).is_ok_and(|glob| !names().any(|name| glob.matches(name)));
    let globs = server.entry.access.iter().flat_map(|rule| {
        let idle = rule.tools.iter().filter(is_idle);
        idle.map(move |text| (rule.class.as_str(), text))
    });
    globs
        .map(|(class, text)| Finding {
            servers: vec![server.entry.name.clone()],
            family: None,
            subject: Some(text.clone()),
            kind: FindingKind::AccessRuleIdle,
            what: format!("`access`: the glob `{text}` of class `{class}` fits no tool of the server"),
            way_out: "check its spelling: globs here are over the server's own tool names, without the prefix of \
                      exposed names; or remove it"
                .to_owned(),
        })
        .collect()
}
