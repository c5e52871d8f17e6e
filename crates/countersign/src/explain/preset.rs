//! `countersign explain --preset`: what each rule of a preset matches of what the servers publish now.

use countersign_config::At;
use countersign_core::names::ServerName;
use countersign_core::toolset::{Bounds, List, Origin, Picked, Place, Preset, Reasons, Rule, Selector, Selectors};
use serde::Serialize;

use crate::args::Whose;
use crate::failure::Failure;
use crate::out::{self, Format, harmless, plural};
use crate::scene::{Read, Scene, Who, rule_at};

/// What a preset selects, rule by rule.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    preset: String,
    description: String,
    built_in: bool,
    from: Option<At>,
    rules: Vec<Matched>,
    /// What is left when all excludes are taken from all includes.
    selects: Matches,
}

#[derive(Debug, Serialize)]
struct Matched {
    /// `include[1]`
    place: String,
    rule: String,
    from: Option<At>,
    matches: Matches,
}

#[derive(Debug, Default, Serialize)]
struct Matches {
    tools: Vec<Match>,
    /// Servers without tools.
    servers: Vec<String>,
    /// Servers that wait for a sign-in and may have tools that match.
    awaiting_sign_in: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Match {
    tool: String,
    /// The servers that run it there; more than one of a family's tool, none of the gateway's own.
    on: Vec<String>,
}

/// Shows a preset.
pub(super) async fn run(whose: Whose, name: &str, format: Format) -> Result<(), Failure> {
    let read = Read::of(whose.folder.config)?;
    let presets = std::sync::Arc::clone(&read.config.gateway.presets);
    let Some(preset) = presets.get(name) else {
        let known: Vec<String> = presets.all().map(|(preset, _)| format!("`{}`", preset.name)).collect();
        return Err(Failure::configuration(
            format_args!("there is no preset `{name}`"),
            format_args!("known presets: {}", known.join(", ")),
        ));
    };
    let who = match &whose.who {
        Some(who) => Who::find(&read, Some(who), None)?,
        None => Who::local(),
    };
    let scene = Scene::of(read, who).await;
    let report = report(&scene, preset);
    scene.close().await;
    let report = report?;
    let json = serde_json::to_string(&report).map_err(std::io::Error::from)?;
    out::emit(format, &json, || show(&report))
}

fn report(scene: &Scene, preset: &Preset) -> Result<Report, Failure> {
    let presets = &scene.world.rules.presets;
    let selector = Selector::Preset(std::sync::Arc::clone(&preset.name));
    let unusable = |error| {
        Failure::configuration(
            error,
            "the presets that can be used have names without blanks and commas",
        )
    };
    let selectors = Selectors::parse_list(&[selector.to_string()]).map_err(unusable)?;
    let bounds = Bounds::of(Origin::Header, selectors.clone());
    let reasons = Reasons::of(&scene.world.catalogue, presets, &bounds).map_err(unusable)?;
    let mut rules = Vec::new();
    for (list, of_list) in [(List::Include, &preset.include), (List::Exclude, &preset.exclude)] {
        for (number, rule) in of_list.iter().enumerate() {
            rules.push(matched(scene, &reasons, preset, (list, number, rule)));
        }
    }
    let mut selects = reasons
        .picked_by_selector(&selector)
        .map_or_else(Matches::default, matches);
    let narrowed = scene.world.narrowed(Origin::Header, Ok(selectors));
    let awaiting = narrowed.toolset().map_or(&[][..], |narrowed| narrowed.requiring_auth());
    selects.awaiting_sign_in = awaiting.iter().map(ToString::to_string).collect();
    Ok(Report {
        preset: preset.name.to_string(),
        description: preset.description.clone(),
        built_in: presets
            .all()
            .any(|(other, is_built_in)| is_built_in && other.name == preset.name),
        from: scene.read.places.preset(&preset.name),
        rules,
        selects,
    })
}

fn matched(
    scene: &Scene,
    reasons: &Reasons<'_>,
    preset: &Preset,
    (list, number, rule): (List, usize, &Rule),
) -> Matched {
    let path = vec![number];
    let place = Place { list, path };
    let picked = reasons.picked_by_rule(&preset.name, list, number);
    Matched {
        from: rule_at(&scene.read.places, &preset.name, &place),
        place: place.to_string(),
        rule: rule.to_string(),
        matches: picked.map_or_else(Matches::default, matches),
    }
}

fn matches(picked: Picked<'_>) -> Matches {
    let names = |servers: Vec<&ServerName>| servers.into_iter().map(ToString::to_string).collect();
    let tools = picked.tools.into_iter().map(|(tool, on)| Match {
        tool: tool.to_owned(),
        on: names(on),
    });
    Matches {
        tools: tools.collect(),
        servers: names(picked.servers),
        awaiting_sign_in: names(picked.awaiting),
    }
}

fn show(report: &Report) -> String {
    let place = match (&report.from, report.built_in) {
        (_, true) => "  (built in)".to_owned(),
        (Some(at), false) => format!("  {at}"),
        (None, false) => String::new(),
    };
    let mut text = format!("{}{place}\n", report.preset);
    if !report.description.is_empty() {
        text.push_str(&format!("{}\n", report.description));
    }
    for rule in &report.rules {
        let place = rule.from.as_ref().map_or(String::new(), |at| format!("  {at}"));
        text.push_str(&format!("\n{} {}{place}\n", rule.place, rule.rule));
        text.push_str(&show_matches(&rule.matches));
    }
    text.push_str("\nselects\n");
    text.push_str(&show_matches(&report.selects));
    harmless(&text)
}

fn show_matches(matches: &Matches) -> String {
    let mut text = format!("  {}\n", plural(matches.tools.len(), "tool"));
    for Match { tool, on } in &matches.tools {
        let members = if on.len() > 1 {
            format!(" on {}", on.join(", "))
        } else {
            String::new()
        };
        text.push_str(&format!("    {tool}{members}\n"));
    }
    for server in &matches.servers {
        text.push_str(&format!("  server {server}, which has no tools\n"));
    }
    for server in &matches.awaiting_sign_in {
        text.push_str(&format!("  server {server} may have more, and waits for a sign-in\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn b062_what_each_rule_matches_is_shown() {
        let at = |line: usize, path: &str| {
            Some(At {
                file: "countersign.yaml".to_owned(),
                line,
                column: 7,
                path: format!("toolsetPresets.ops.{path}"),
            })
        };
        let tool = |tool: &str, on: &[&str]| Match {
            tool: tool.to_owned(),
            on: on.iter().map(|server| (*server).to_owned()).collect(),
        };
        let report = Report {
            preset: "ops".to_owned(),
            description: "What operators need".to_owned(),
            built_in: false,
            from: None,
            rules: vec![
                Matched {
                    place: "include[0]".to_owned(),
                    rule: "server: k8s".to_owned(),
                    from: at(4, "include[0]"),
                    matches: Matches {
                        tools: vec![tool("x_k8s_get", &["eu", "us"]), tool("x_notes_add", &["notes"])],
                        servers: vec!["files".to_owned()],
                        awaiting_sign_in: vec!["chat".to_owned()],
                    },
                },
                Matched {
                    place: "exclude[0]".to_owned(),
                    rule: "pattern: mcp__*(*)".to_owned(),
                    from: at(6, "exclude[0]"),
                    matches: Matches::default(),
                },
            ],
            selects: Matches {
                tools: vec![tool("x_k8s_get", &["eu"])],
                ..Matches::default()
            },
        };
        expect![[r#"
            ops
            What operators need

            include[0] server: k8s  countersign.yaml:4 toolsetPresets.ops.include[0]
              2 tools
                x_k8s_get on eu, us
                x_notes_add
              server files, which has no tools
              server chat may have more, and waits for a sign-in

            exclude[0] pattern: mcp__*(*)  countersign.yaml:6 toolsetPresets.ops.exclude[0]
              0 tools

            selects
              1 tool
                x_k8s_get
        "#]]
        .assert_eq(&show(&report));
    }
}
