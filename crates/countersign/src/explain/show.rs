//! The report for people.

#[cfg(test)]
mod tests;

use countersign_config::At;

use super::report::{NOT_REACHED, Report, Stage};
use crate::out::{harmless, table, trimmed};
use crate::scene::{Layer, Whom};

/// Every stage with its reason and its line, then what would be sent or what the caller would be told.
pub(super) fn report(report: &Report) -> String {
    let mut text = format!("{} calls {}\n\n", caller(&report.whom), report.tool);
    let rows: Vec<Vec<String>> = report.stages.iter().flat_map(rows).collect();
    text.push_str(&table(&["STAGE", "ANSWER", "WHY", "WHERE"], &rows));
    text.push('\n');
    if let Some(sends) = &report.sends {
        let whither = match &sends.server {
            Some(server) => format!("`{}` on server {server}", sends.tool),
            None => format!("`{}` in the gateway itself", sends.tool),
        };
        text.push_str(&format!("Would run: {whither} with\n  {}\n", sends.arguments.get()));
    }
    if let Some(refusal) = &report.refusal {
        text.push_str(&format!("Would be refused ({}): {}\n", refusal.code, refusal.sentence));
        if !refusal.nearest.is_empty() {
            text.push_str(&format!("  to choose from: {}\n", refusal.nearest.join(", ")));
        }
    }
    for note in &report.notes {
        text.push_str(&format!("Note: {note}\n"));
    }
    trimmed(&harmless(&text))
}

/// The caller in a few words.
pub(crate) fn caller(whom: &Whom) -> String {
    match whom.authentication {
        "local" => "local".to_owned(),
        "key" => format!("{} (a key of {})", whom.name, whom.subject),
        "bound" => format!("{} (a Session of {})", whom.name, whom.subject),
        _ => whom.name.clone(),
    }
}

fn rows(stage: &Stage) -> Vec<Vec<String>> {
    let row = |cells: [&str; 4]| cells.map(one_line).to_vec();
    let answer = if stage.answer == NOT_REACHED {
        "-"
    } else {
        &stage.answer
    };
    // What each toolset says tells more than the list of them, and the refusal stands below.
    let is_told_below = !stage.toolsets.is_empty();
    let because = if is_told_below { "" } else { stage.because.as_str() };
    let mut rows = vec![row([stage.stage, answer, because, &place(stage.from.as_ref())])];
    rows.extend(stage.toolsets.iter().flat_map(layer));
    rows.into_iter()
        .filter(|row| row.iter().any(|cell| !cell.is_empty()))
        .collect()
}

fn layer(layer: &Layer) -> Vec<Vec<String>> {
    let row = |why: String, place: String| vec![String::new(), String::new(), one_line(&why), place];
    let said = match layer.origin {
        "header" => "--toolset".to_owned(),
        "bound" => "the Session's binding".to_owned(),
        _ => place(layer.from.as_ref()),
    };
    let mut rows = vec![
        row(format!("{} [{}]", layer.origin, layer.toolset), said),
        row(format!("  {}", layer.sentence()), String::new()),
    ];
    for rule in &layer.rules {
        let why = format!("    {} {}: {}", rule.preset, rule.place, rule.rule);
        let place = match &rule.from {
            Some(at) => at.to_string(),
            None => "built in".to_owned(),
        };
        rows.push(row(why, place));
    }
    rows
}

fn place(at: Option<&At>) -> String {
    at.map_or(String::new(), ToString::to_string)
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r', '\t'], " ")
}
