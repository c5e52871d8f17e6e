//! The table for people.

#[cfg(test)]
mod tests;

use countersign_core::catalogue::Availability;

use super::report::{Report, Row, ServerRow};
use crate::explain::caller;
use crate::out::{harmless, plural, table, trimmed};

/// The tools, the servers, and what is hidden.
pub(super) fn report(report: &Report) -> String {
    let mut text = format!("{}\n", caller(&report.whom));
    for narrows in &report.toolsets {
        let place = match (&narrows.from, narrows.origin) {
            (Some(at), _) => at.to_string(),
            (None, "header") => "--toolset".to_owned(),
            (None, _) => "the Session's binding".to_owned(),
        };
        let toolset = narrows.toolset.as_deref().unwrap_or("cannot be read");
        text.push_str(&format!("  within {} [{toolset}]  {place}\n", narrows.origin));
    }
    if let Some(refusal) = &report.refusal {
        text.push_str(&format!("\nNothing is served: {refusal}\n"));
    } else if !report.tools.is_empty() {
        let rows: Vec<Vec<String>> = report.tools.iter().map(tool).collect();
        text.push('\n');
        text.push_str(&table(&["TOOL", "SERVER", "EFFECT", "ON CALL", "SELECTED BY"], &rows));
    }
    text.push_str(&format!("\n{}\n", totals(report)));
    if !report.unmatched.is_empty() {
        text.push_str(&format!("selects nothing: {}\n", report.unmatched.join(", ")));
    }
    if !report.servers.is_empty() {
        let rows: Vec<Vec<String>> = report.servers.iter().map(server).collect();
        text.push('\n');
        text.push_str(&table(&["SERVER", "STATE", "SHOWN", "WHERE"], &rows));
    }
    trimmed(&harmless(&text))
}

fn tool(row: &Row) -> Vec<String> {
    let members: Vec<&str> = row.members.iter().map(|member| member.server.as_str()).collect();
    let server = match (&row.server, members.is_empty()) {
        (None, _) => "-".to_owned(),
        (Some(server), true) => server.clone(),
        (Some(family), false) => format!("{family} ({})", members.join(", ")),
    };
    let said: Vec<String> = row
        .selected_by
        .iter()
        .map(|layer| format!("{} {}", layer.origin, layer.short()))
        .collect();
    let selected = if said.is_empty() {
        "-".to_owned()
    } else {
        said.join("; ")
    };
    vec![
        row.tool.clone(),
        server,
        row.effect.word().to_owned(),
        row.on_call.clone(),
        selected,
    ]
}

fn totals(report: &Report) -> String {
    let totals = &report.totals;
    let hidden = |count: usize| {
        if count == 0 {
            String::new()
        } else {
            format!(" ({count} hidden)")
        }
    };
    format!(
        "{}{}: {} read-only, {} mutating; {}{}, {}{}",
        plural(totals.tools, "tool"),
        hidden(totals.hidden_tools),
        totals.read_only,
        totals.mutating,
        plural(totals.resources, "resource"),
        hidden(totals.hidden_resources),
        plural(totals.prompts, "prompt"),
        hidden(totals.hidden_prompts),
    )
}

fn server(row: &ServerRow) -> Vec<String> {
    let state = match &row.availability {
        Availability::Ready => "ready".to_owned(),
        Availability::Unlisted => "did not answer in time".to_owned(),
        Availability::Unavailable { reason } => format!("unavailable: {reason}"),
        Availability::Suspended => "suspended".to_owned(),
        Availability::Stopped => "stopped".to_owned(),
        Availability::AuthRequired => match row.could_be_inside {
            Some(true) | None => "waits for a sign-in".to_owned(),
            Some(false) => "waits for a sign-in; the toolset selects nothing of it".to_owned(),
        },
    };
    let place = row.from.as_ref().map_or(String::new(), ToString::to_string);
    vec![
        row.server.clone(),
        state.replace(['\n', '\r', '\t'], " "),
        format!("{} of {}", row.shown, plural(row.tools, "tool")),
        place,
    ]
}
