//! Rules that select nothing are told of, once everything they could mean is listed.

use super::*;
use crate::catalogue::Finding;

fn told(fleet: &[Member], presets: Vec<Preset>) -> String {
    let world = world(fleet, presets);
    let rows = idle_rules(&world.catalogue, &world.rules.presets);
    let row = |finding: &Finding| {
        let subject = finding.subject.as_deref().unwrap_or_default();
        format!("{} {subject}: {}", finding.kind.word(), finding.what)
    };
    rows.iter().map(row).collect::<Vec<_>>().join("\n")
}

#[test]
fn b062_a_rule_that_matches_nothing_is_a_finding() {
    let globs = [
        "mcp__*(*)",
        "github*",
        "x_git?ub_*",
        "**",
        ".*",
        "a|b",
        "X_GITHUB_*",
        "x_github_*",
    ];
    let include: Vec<Rule> = globs.iter().map(|glob| Rule::pattern(glob).unwrap()).collect();
    let exclude = rules(&[
        "tool: list",
        "server: gitlab",
        "workflow: w",
        "label: tier=none",
        "readOnly: true",
    ]);
    let fleet = [member("github", &[("list", Some(true))])];
    let all = vec![Rule::All(rules(&["server: github", "pattern: core_*"]))];
    let presets = vec![
        preset("p", include, exclude),
        preset("q", all, vec![]),
        preset("r", rules(&["preset: none"]), vec![]),
    ];
    expect![[r#"
        preset_rule_idle p.include[0]: preset `p`: `include[0]` (pattern: mcp__*(*)) selects nothing
        preset_rule_idle p.include[1]: preset `p`: `include[1]` (pattern: github*) selects nothing
        preset_rule_idle p.include[4]: preset `p`: `include[4]` (pattern: .*) selects nothing
        preset_rule_idle p.include[5]: preset `p`: `include[5]` (pattern: a|b) selects nothing
        preset_rule_idle p.include[6]: preset `p`: `include[6]` (pattern: X_GITHUB_*) selects nothing
        preset_rule_idle p.exclude[0]: preset `p`: `exclude[0]` (tool: list) selects nothing
        preset_rule_idle p.exclude[1]: preset `p`: `exclude[1]` (server: gitlab) selects nothing
        preset_rule_idle p.exclude[2]: preset `p`: `exclude[2]` (workflow: w) selects nothing
        preset_rule_idle p.exclude[3]: preset `p`: `exclude[3]` (label: tier=none) selects nothing
        preset_rule_idle q.include[0]: preset `q`: `include[0]` (all: [server: github, pattern: core_*]) selects nothing
        preset_rule_idle r.include[0]: preset `r`: `include[0]` (preset: none) selects nothing"#]]
    .assert_eq(&told(&fleet, presets));
}

#[test]
fn a_rule_that_a_server_not_yet_listed_could_fit_is_not_told_of() {
    let mut waiting = member("git", &[]);
    waiting.awaits = true;
    waiting.labels = vec![("tier".to_owned(), "infra".to_owned())];
    let fleet = [waiting];
    let include = rules(&[
        "pattern: x_git_*",
        "server: git",
        "tool: x_git_list",
        "label: tier=infra",
        "preset: q",
    ]);
    let both = vec![Rule::All(rules(&["tool: x_git_list", "server: git"]))];
    let presets = vec![preset("p", include, vec![]), preset("q", both, vec![])];
    assert_eq!(told(&fleet, presets), "");
    let include = rules(&[
        "pattern: x_hub_*",
        "server: hub",
        "tool: x_hub_list",
        "label: tier=app",
        "pattern: git*",
    ]);
    assert_eq!(told(&fleet, vec![preset("p", include, vec![])]).lines().count(), 5);
}

#[test]
fn a_glob_of_access_that_fits_no_tool_is_a_finding_of_its_server() {
    let mut git = member("git", &[("list", None), ("push", None)]);
    git.access = vec![
        ("read".to_owned(), "l*".to_owned()),
        ("write".to_owned(), "x_git_push".to_owned()),
    ];
    let mut waiting = git.clone();
    waiting.name = "later".to_owned();
    waiting.awaits = true;
    expect!["access_rule_idle x_git_push: `access`: the glob `x_git_push` of class `write` fits no tool of the server"]
        .assert_eq(&told(&[git, waiting], vec![]));
}
