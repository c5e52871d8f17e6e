//! Who sees a workflow and whether it only reads, derived from the tools of the snapshot.

use std::fmt::Write as _;

use expect_test::expect;

use super::*;
use crate::effect::Effect;
use crate::workflow::tests::workflow;

/// A server with tools that read, by hint, and tools that do not.
fn server_of(name: &str, trust: AnnotationTrust) -> Server {
    let tool = |name: &str, hints: &str| {
        let raw = format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}},"annotations":{hints}}}"#);
        Arc::new(ToolDefinition::parse(&raw).unwrap())
    };
    let mut server = server(name, None, &[]);
    let mut entry = (*server.entry).clone();
    entry.trust = trust;
    server.entry = Arc::new(entry);
    server.listing = Arc::new(Listing {
        tools: vec![
            tool("read", r#"{"readOnlyHint":true}"#),
            tool("write", r#"{"readOnlyHint":false}"#),
            tool("plain", "{}"),
        ],
        ..Listing::default()
    });
    server
}

fn built(workflows: &[&str], servers: Vec<Server>) -> Catalogue {
    let workflows: Vec<_> = workflows.iter().map(|json| workflow(json)).collect();
    Catalogue::build(Parts {
        version: 1,
        naming: naming(),
        servers,
        workflows: workflows.into(),
    })
}

fn told(catalogue: &Catalogue) -> String {
    let mut text = String::new();
    for workflow in catalogue.workflows().iter() {
        let name = workflow.exposed();
        match catalogue.tool(name) {
            None => writeln!(text, "{name}: not offered").unwrap(),
            Some(tool) => writeln!(
                text,
                "{name}: {} {:?}",
                tool.classified.effect.word(),
                tool.definition.annotations.as_ref().unwrap().read_only.unwrap()
            )
            .unwrap(),
        }
    }
    for finding in catalogue.findings() {
        writeln!(
            text,
            "{} {}: {}",
            finding.kind.word(),
            finding.subject.as_deref().unwrap_or_default(),
            finding.what
        )
        .unwrap();
    }
    text
}

const READS: &str = r#"{"name":"reads","steps":[{"id":"a","tool":"x_t_read"},
    {"id":"l","for_each":{"items":"{{ [1] }}","steps":[{"id":"p","parallel":{"steps":[{"id":"b","tool":"x_t_read","condition":{"tool":"x_t_read","expect":{"success":true}}}]}}]}}],
    "on_failure":[{"id":"c","tool":"core_server_list"}]}"#;

#[test]
fn a_workflow_only_reads_when_everything_that_it_may_call_does() {
    let with =
        |name: &str, step: &str| format!(r#"{{"name":"{name}","steps":[{{"id":"a","tool":"x_t_read"}},{step}]}}"#);
    let each = |tool: &str| {
        format!(
            r#"{{"id":"l","for_each":{{"items":"{{{{ [1] }}}}","steps":[{{"id":"m","for_each":{{"items":"{{{{ [1] }}}}","as":"x","steps":[{{"id":"b","tool":"{tool}"}}]}}}}]}}}}"#
        )
    };
    let lane = |tool: &str| format!(r#"{{"id":"p","parallel":{{"steps":[{{"id":"b","tool":"{tool}"}}]}}}}"#);
    let asks = |tool: &str| {
        format!(r#"{{"id":"b","tool":"x_t_read","condition":{{"tool":"{tool}","expect":{{"success":true}}}}}}"#)
    };
    let maybe = |tool: &str| format!(r#"{{"id":"b","tool":"{tool}","condition":"{{{{ true }}}}"}}"#);
    let call = |tool: &str| format!(r#"{{"id":"b","tool":"{tool}"}}"#);
    let cleanup =
        r#"{"name":"cleanup","steps":[{"id":"a","tool":"x_t_read"}],"on_failure":[{"id":"b","tool":"x_t_write"}]}"#;
    let all = [
        READS.to_owned(),
        with("writes", &call("x_t_write")),
        with("says-nothing", &call("x_t_plain")),
        with("in-a-loop", &each("x_t_write")),
        with("in-a-lane", &lane("x_t_write")),
        with("in-a-condition", &asks("x_t_write")),
        cleanup.to_owned(),
        with("unknown-perhaps", &maybe("x_t_none")),
        with("core-reads", &call("core_config_get")),
        with("core-writes", &maybe("core_server_stop")),
        with("templated", &call("x_t_{{ 'read' }}")),
        with("nested-reads", &call("workflow_reads")),
        with("nested-writes", &call("workflow_writes")),
        with("untrusted", &call("x_u_read")),
    ];
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let servers = vec![
        server_of("t", AnnotationTrust::Trusted),
        server_of("u", AnnotationTrust::Ignored),
    ];
    expect![[r#"
        workflow_reads: read_only true
        workflow_writes: mutating false
        workflow_says-nothing: mutating false
        workflow_in-a-loop: mutating false
        workflow_in-a-lane: mutating false
        workflow_in-a-condition: mutating false
        workflow_cleanup: mutating false
        workflow_unknown-perhaps: mutating false
        workflow_core-reads: read_only true
        workflow_core-writes: mutating false
        workflow_templated: mutating false
        workflow_nested-reads: read_only true
        workflow_nested-writes: mutating false
        workflow_untrusted: mutating true
    "#]]
    .assert_eq(&told(&built(&all, servers)));
}

#[test]
fn a_workflow_is_offered_when_what_it_calls_unconditionally_is_there() {
    let call = |name: &str, tool: &str, more: &str| {
        format!(r#"{{"name":"{name}","steps":[{{"id":"a","tool":"x_t_read"}},{{"id":"b","tool":"{tool}"{more}}}]}}"#)
    };
    let all = [
        call("missing", "x_t_none", ""),
        call("perhaps", "x_t_none", r#","condition":"{{ false }}""#),
        call("of-missing", "workflow_missing", ""),
        call(
            "perhaps-of-missing",
            "workflow_missing",
            r#","condition":"{{ false }}""#,
        ),
        call("templated", "x_{{ 'none' }}", ""),
        call(
            "asks",
            "x_t_read",
            r#","condition":{"tool":"x_t_none","expect":{"success":true}}"#,
        ),
        r#"{"name":"cleanup","steps":[{"id":"a","tool":"x_t_read"}],"on_failure":[{"id":"b","tool":"x_t_none"}]}"#
            .to_owned(),
    ];
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let trusted = || server_of("t", AnnotationTrust::Trusted);
    expect![[r#"
        workflow_missing: not offered
        workflow_perhaps: mutating false
        workflow_of-missing: not offered
        workflow_perhaps-of-missing: mutating false
        workflow_templated: mutating false
        workflow_asks: not offered
        workflow_cleanup: mutating false
        workflow_unavailable workflow_asks: not offered: `x_t_none` is published by no server
        workflow_unavailable workflow_missing: not offered: `x_t_none` is published by no server
        workflow_unavailable workflow_of-missing: not offered: `workflow_missing` is published by no server
    "#]]
    .assert_eq(&told(&built(&all, vec![trusted()])));

    // While a server has not been listed nobody knows that a tool is missing, and a stopped one has none.
    let mut unlisted = server("later", None, &[]);
    unlisted.availability = Availability::Unlisted;
    assert_eq!(built(&all, vec![trusted(), unlisted]).findings(), []);
    let mut stopped = trusted();
    stopped.availability = Availability::Stopped;
    let catalogue = built(&[READS], vec![stopped]);
    assert!(catalogue.tool("workflow_reads").is_none());
}

#[test]
fn a_cycle_is_neither_offered_nor_read_only() {
    let cycle = |name: &str, tool: &str| {
        Workflow::new(crate::workflow::tests::draft(&format!(
            r#"{{"name":"{name}","steps":[{{"id":"a","tool":"{tool}"}}]}}"#
        )))
    };
    let workflows = [
        cycle("a", "workflow_b"),
        cycle("b", "workflow_a"),
        cycle("c", "workflow_c"),
    ]
    .map(Arc::new);
    let catalogue = Catalogue::build(Parts {
        version: 1,
        naming: naming(),
        servers: Vec::new(),
        workflows: workflows.into(),
    });
    assert!(
        catalogue
            .tools()
            .iter()
            .all(|tool| !tool.name.as_str().starts_with("workflow_"))
    );
}

#[test]
fn workflows_stand_last_and_are_found() {
    let labelled = r#"{"name":"zeta","steps":[{"id":"a","tool":"x_t_read"}]}"#;
    let catalogue = built(&[labelled, READS], vec![server_of("t", AnnotationTrust::Trusted)]);
    let names: Vec<&str> = catalogue.tools().iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names[names.len() - 2..], ["workflow_reads", "workflow_zeta"]);
    assert_eq!(
        catalogue.tool("workflow_reads").unwrap().classified.effect,
        Effect::ReadOnly
    );
    let hits = catalogue.index().search("workflow zeta");
    assert_eq!(catalogue.tools()[hits[0].document].name.as_str(), "workflow_zeta");
    // The next snapshot is what a new one would be.
    let parts = || Parts {
        version: 2,
        naming: naming(),
        servers: vec![server_of("t", AnnotationTrust::Ignored)],
        workflows: catalogue.workflows().clone(),
    };
    assert_eq!(told(&catalogue.next(parts())), told(&Catalogue::build(parts())));
    assert!(!catalogue.shows_same_tools(&built(&[READS], vec![server_of("t", AnnotationTrust::Trusted)])));
}
