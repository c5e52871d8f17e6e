//! What toolsets say of a tool, with the lines that say so.

use countersign_config::{At, Places};
use countersign_core::toolset::{Place, Reason, Said, Selectors, Step, Verdict};
use serde::Serialize;

use super::Who;
use super::who::from_of;

/// What one toolset says of a tool.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Layer {
    /// `bound`, `key`, `header`.
    pub(crate) origin: &'static str,
    pub(crate) toolset: Selectors,
    /// Where the toolset is said; nothing of one that the request itself declares.
    pub(crate) from: Option<At>,
    /// `selects`, `may_select`, `leaves_out` or `does_not_select`.
    pub(crate) answer: &'static str,
    /// The selector that decides; nothing where none takes the tool in.
    pub(crate) selector: Option<String>,
    /// The rules of presets that decide, from the selector's own preset inwards.
    pub(crate) rules: Vec<Rule>,
}

/// A rule of a preset that decides.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Rule {
    pub(crate) preset: String,
    /// `include[1]`
    pub(crate) place: String,
    /// `pattern: x_notes_*`
    pub(crate) rule: String,
    /// Nothing of a built-in preset.
    pub(crate) from: Option<At>,
}

/// What toolsets say, in their order.
pub(crate) fn layers(reasons: &[Reason<'_>], who: &Who, places: &Places) -> Vec<Layer> {
    let layer = |reason: &Reason<'_>| {
        let verdict = reason.verdict();
        let deciding = reason.deciding().filter(|_| verdict != Verdict::Unselected);
        Layer {
            origin: reason.layer.origin.word(),
            toolset: reason.layer.selectors.clone(),
            from: from_of(who, reason.layer.origin).cloned(),
            answer: word(verdict),
            selector: deciding.map(|said| said.selector.to_string()),
            rules: deciding.map_or(Vec::new(), |said| rules(said, places)),
        }
    };
    reasons.iter().map(layer).collect()
}

/// Where a rule stands.
pub(crate) fn rule_at(places: &Places, preset: &str, place: &Place) -> Option<At> {
    places.rule(preset, place)
}

fn rules(said: &Said<'_>, places: &Places) -> Vec<Rule> {
    let rule = |step: &Step<'_>| Rule {
        preset: step.preset.name.to_string(),
        place: step.place.to_string(),
        rule: step.rule.to_string(),
        from: rule_at(places, &step.preset.name, &step.place),
    };
    said.rules.iter().map(rule).collect()
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Selected => "selects",
        Verdict::Possible => "may_select",
        Verdict::LeftOut => "leaves_out",
        Verdict::Unselected => "does_not_select",
    }
}

impl Layer {
    /// What the toolset says, in one short text: `server:notes`, or `preset:safe, safe include[1]`.
    pub(crate) fn short(&self) -> String {
        let selector = self.selector.as_deref().unwrap_or("nothing");
        let inner = self.rules.iter().map(|rule| format!("{} {}", rule.preset, rule.place));
        let parts: Vec<String> = std::iter::once(selector.to_owned()).chain(inner).collect();
        parts.join(" > ")
    }

    /// The sentence that stands under the toolset.
    pub(crate) fn sentence(&self) -> String {
        match &self.selector {
            Some(selector) => format!(
                "{selector} {}",
                match self.answer {
                    "selects" => "selects it",
                    "may_select" => "may select it once its server is listed",
                    _ => "leaves it out",
                }
            ),
            None => "nothing in it selects the tool".to_owned(),
        }
    }
}
