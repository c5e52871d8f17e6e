//! Runs of workflows over a real child process: every call through the one door, every end recorded.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use countersign_config::Environment;
use countersign_core::admit::{Ask, Origin};
use countersign_core::effect::AnnotationTrust;
use countersign_core::exact::Exact;
use countersign_core::principal::{Authentication, Caller, Principal};
use countersign_core::server::{ServerEntry, Start};
use countersign_engine::{Change, Engine, Outcome, Passage, Settings, ToCaller, Workflows};
use serde_json::{Value, json};

use super::{CEILING, Fixture, caller, passage, settings};

/// Reads workflows as the gateway does.
fn workflows(files: &[(&str, &str)]) -> Workflows {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("workflows");
    std::fs::create_dir(&dir).unwrap();
    for (name, text) in files {
        std::fs::write(dir.join(format!("{name}.yaml")), text).unwrap();
    }
    let environment = Environment::with_variables(BTreeMap::<String, String>::new());
    let config = countersign_config::load(folder.path(), &environment);
    let config = config.unwrap_or_else(|problems| panic!("{:?}", problems.iter().collect::<Vec<_>>()));
    Workflows {
        sound: config.workflows.into(),
        set_aside: Arc::default(),
    }
}

fn with(workflows: Workflows) -> Settings {
    Settings {
        workflows,
        ..settings()
    }
}

struct Gateway {
    fixture: Fixture,
    engine: Arc<Engine>,
}

impl Gateway {
    /// An engine over one trusted server with these tools, and these workflows.
    async fn start(tools: &str, files: &[(&str, &str)]) -> Self {
        let fixture = Fixture::new(tools);
        let entry = trusted(&fixture, "");
        let engine = Engine::start(with(workflows(files)), &[entry], fixture.ledger.clone());
        engine.listing_world(&caller()).await;
        Self { fixture, engine }
    }

    async fn outcome(&self, name: &str, arguments: &Value, passage: Passage) -> Outcome {
        call_as(&self.engine, &caller(), name, arguments, passage).await
    }

    /// Runs a workflow, or calls any tool: its structured content, and whether it failed.
    async fn call(&self, name: &str, arguments: Value) -> (Value, bool) {
        told(self.outcome(name, &arguments, passage()).await)
    }

    fn calls(&self) -> Vec<String> {
        self.fixture.lines("calls")
    }

    /// Waits until the server was sent a call of a tool.
    async fn called(&self, tool: &str) {
        let is_there = async {
            while !self.calls().iter().any(|called| called == tool) {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(CEILING, is_there).await.unwrap();
    }

    async fn only_run(&self) -> Value {
        let (list, _) = self.call("core_workflow_execution_list", json!({})).await;
        let id = &list["executions"][0]["execution_id"];
        self.call("core_workflow_execution_get", json!({"execution_id": id}))
            .await
            .0
    }
}

fn trusted(fixture: &Fixture, seed: &str) -> Arc<ServerEntry> {
    let mut entry = (*fixture.entry("s", Start::Boot, seed)).clone();
    entry.trust = AnnotationTrust::Trusted;
    Arc::new(entry)
}

async fn call_as(engine: &Engine, caller: &Caller, name: &str, arguments: &Value, passage: Passage) -> Outcome {
    let ask = Ask::Tool {
        name: name.to_owned(),
        arguments: Exact::object(&arguments.to_string()).unwrap(),
    };
    engine.call(caller, ask, Origin::Direct, passage).await
}

fn told(outcome: Outcome) -> (Value, bool) {
    let Outcome::Result { result, .. } = outcome else {
        panic!("{outcome:?}")
    };
    let result: Value = serde_json::from_str(result.get()).unwrap();
    let failed = result["isError"] == true;
    let blocks = result["content"].as_array().unwrap();
    let text: Value = serde_json::from_str(blocks.last().unwrap()["text"].as_str().unwrap()).unwrap_or_default();
    if result["structuredContent"].get("code").is_none() {
        assert_eq!(text, result["structuredContent"], "the text is the same JSON");
    }
    (result["structuredContent"].clone(), failed)
}

/// `id status` of each step.
fn steps(run: &Value) -> Vec<String> {
    let steps = run["steps"].as_array().unwrap().iter();
    steps
        .map(|step| format!("{} {}", step["id"].as_str().unwrap(), step["status"].as_str().unwrap()))
        .collect()
}

const WHOLE: &str = r#"
description: Everything at once
args: {n: {type: integer, default: 2}, api_key: {type: string, default: none}}
steps:
  - {id: first, tool: x_s_echo, args: {n: "{{ input.n }}", big: 123456789012345678901234567890, f: 1.0}}
  - id: each
    for_each: {items: "{{ [1, 2] }}", as: i, steps: [{id: one, tool: x_s_echo, args: {i: "{{ vars.i + results.first.n }}"}}]}
  - id: both
    parallel: {max: 2, steps: [{id: a, tool: x_s_read}, {id: b, tool: x_s_echo, args: {b: "{{ results.first }}"}}]}
  - {id: never, tool: x_s_echo, condition: {from_step: first, expect: {json: {/n: 99}}}}
output: {first: "{{ results.first }}", each: "{{ results.each }}", b: "{{ results.b }}", secret_token: "{{ input.n }}"}
"#;

#[tokio::test]
async fn a_run_answers_records_and_tells_of_every_step() {
    let gateway = Gateway::start("echo read", &[("whole", WHOLE)]).await;
    let (to_caller, mut messages) = countersign_engine::way(64);
    let mut passage = passage();
    passage.to_caller = to_caller;
    passage.progress_token = Some(serde_json::value::RawValue::from_string(r#""mine""#.to_owned()).unwrap());
    let arguments = json!({"n": 5, "api_key": "hush-hush"});
    let outcome = gateway.outcome("workflow_whole", &arguments, passage).await;
    let Outcome::Result { result, from } = &outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!((from.server.as_ref(), from.subject.as_str()), (None, "workflow_whole"));
    // Not one digit is lost on the way through two tools.
    assert!(
        result
            .get()
            .contains(r#""b":{"b":{"big":123456789012345678901234567890,"f":1.0,"n":5}}"#),
        "{result}"
    );
    let (run, failed) = told(outcome);
    assert!(!failed);
    assert_eq!(
        (&run["workflow"], &run["status"]),
        (&json!("whole"), &json!("completed"))
    );
    assert_eq!(run["output"]["each"], json!([{"one": {"i": 6}}, {"one": {"i": 7}}]));
    assert_eq!(
        steps(&run),
        [
            "first completed",
            "each[0].one completed",
            "each[1].one completed",
            "both.a completed",
            "both.b completed",
            "never skipped"
        ]
    );

    // Progress under the caller's own token rises with each message.
    let mut said = Vec::new();
    while let Some(ToCaller::Notification { method, params }) = messages.try_recv() {
        assert_eq!(method, "notifications/progress");
        let params: Value = serde_json::from_str(params.get()).unwrap();
        assert_eq!(params["progressToken"], "mine");
        said.push((
            params["progress"].as_u64().unwrap(),
            params["message"].as_str().unwrap().to_owned(),
        ));
    }
    assert!(said.windows(2).all(|pair| pair[0].0 < pair[1].0), "{said:?}");
    assert!(
        said.iter()
            .any(|(_, message)| message == "step `each[1].one`: completed"),
        "{said:?}"
    );

    // The record holds no credential, and the trail every call with its road.
    let kept = gateway.only_run().await;
    assert_eq!(kept["execution_id"], run["execution_id"]);
    assert_eq!(kept["status"], "completed");
    assert_eq!(kept["input"], json!({"n": 5, "api_key": "[redacted]"}));
    assert_eq!(kept["output"]["secret_token"], "[redacted]");
    assert_eq!(steps(&kept), steps(&run));
    let trail = gateway.fixture.ledger.recent(20).await.unwrap();
    let inner = trail.iter().filter(|entry| entry.origin == "workflow").count();
    assert_eq!(inner, 5);
    assert!(
        trail
            .iter()
            .any(|entry| entry.method == "workflow" && entry.fate.as_deref() == Some("done"))
    );
    gateway.engine.shutdown().await;
}

#[tokio::test]
async fn a_failed_run_cleans_up_says_where_and_is_recorded_as_failed() {
    let file = r#"
steps:
  - {id: one, tool: x_s_echo, args: {a: 1}}
  - {id: two, tool: x_s_fail}
  - {id: three, tool: x_s_echo}
on_failure: [{id: note, tool: x_s_note, args: {what: "{{ vars.failure }}", a: "{{ results.one.a }}"}}]
"#;
    let gateway = Gateway::start("echo fail note", &[("bad", file)]).await;
    let (run, failed) = gateway.call("workflow_bad", json!({})).await;
    assert!(failed);
    assert_eq!(run["error"], json!({"step": "two", "message": "no"}));
    assert_eq!(steps(&run), ["one completed", "two failed", "note completed"]);
    assert_eq!(gateway.calls(), ["echo", "fail", "note"]);
    let kept = gateway.only_run().await;
    assert_eq!(
        (&kept["status"], &kept["error"]),
        (&json!("failed"), &json!("step `two`: no"))
    );

    let (told, failed) = gateway.call("workflow_bad", json!({"x": 1})).await;
    assert!(failed && told["code"] == "bad_arguments", "{told}");
    assert_eq!(told["message"], "workflow_bad: unknown argument `x`; it takes none");
    gateway.engine.shutdown().await;
}

const HANGS: &str = r#"
steps: [{id: done, tool: x_s_echo}, {id: both, parallel: {steps: [{id: wait, tool: x_s_hang}]}}]
on_failure: [{id: note, tool: x_s_note, args: {why: "{{ vars.failure.message }}"}}]
"#;

#[tokio::test]
async fn i5_a_run_that_is_taken_back_ends_its_calls_cleans_up_and_knows_what_it_does_not_know() {
    let gateway = Gateway::start("echo hang note", &[("hangs", HANGS)]).await;
    let passage = passage();
    let cancel = passage.cancel.clone();
    let arguments = json!({});
    let (outcome, ()) = tokio::join!(gateway.outcome("workflow_hangs", &arguments, passage), async {
        gateway.called("hang").await;
        cancel.cancel();
    });
    assert!(matches!(outcome, Outcome::Cancelled), "{outcome:?}");
    assert!(gateway.calls().contains(&"note".to_owned()), "{:?}", gateway.calls());
    let kept = gateway.only_run().await;
    assert_eq!(kept["status"], "failed");
    assert_eq!(kept["error"], "step `both.wait`: the caller took the run back");
    let mut told = steps(&kept);
    told.sort();
    assert_eq!(told, ["both.wait outcome_unknown", "done completed", "note completed"]);
    assert_eq!(gateway.fixture.lines("cancelled").len(), 1, "the server is told");
    gateway.engine.shutdown().await;
}

#[tokio::test]
async fn a_run_ends_with_the_gateway_and_is_recorded() {
    let gateway = Gateway::start("echo hang note", &[("hangs", HANGS)]).await;
    let (engine, ledger) = (Arc::clone(&gateway.engine), gateway.fixture.ledger.clone());
    let arguments = json!({});
    let (outcome, ()) = tokio::join!(gateway.outcome("workflow_hangs", &arguments, passage()), async {
        gateway.called("hang").await;
        engine.shutdown().await;
    });
    let (run, failed) = told(outcome);
    assert!(failed && run["error"]["message"] == "the gateway stops", "{run}");
    assert!(!gateway.calls().contains(&"note".to_owned()));
    drop(ledger);
    let again = countersign_store::Ledger::sqlite(&gateway.fixture.folder.path().join("state.db")).unwrap();
    let kept = again
        .execution("local", run["execution_id"].as_str().unwrap())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(kept.status, "failed");
}

#[tokio::test]
async fn i5_a_step_that_takes_too_long_is_unknown_unless_it_only_reads_and_only_that_is_made_again() {
    let file = r#"
steps:
  - {id: reads, tool: x_s_readhang, timeout: 30ms, retry: {attempts: 2, on: [unavailable]}, allow_failure: true}
  - {id: writes, tool: x_s_hang, timeout: 30ms, retry: {attempts: 3}, allow_failure: true}
  - {id: once, tool: x_s_readdie, retry: {attempts: 3}}
output: "{{ results.once }}"
"#;
    let gateway = Gateway::start("hang readhang readdie", &[("slow", file)]).await;
    let (run, failed) = gateway.call("workflow_slow", json!({})).await;
    assert!(!failed, "{run}");
    assert_eq!(
        steps(&run),
        ["reads failed", "writes outcome_unknown", "once completed"]
    );
    assert_eq!(run["steps"][0]["error"], "no answer within 30 ms");
    let calls = gateway.calls();
    let count = |tool: &str| calls.iter().filter(|called| *called == tool).count();
    assert_eq!((count("readhang"), count("hang"), count("readdie")), (2, 1, 2));

    let (problems, _) = gateway
        .call("core_workflow_validate", json!({"workflow": "slow"}))
        .await;
    assert_eq!(problems["valid"], true);
    assert!(
        problems["problems"][0]["message"]
            .as_str()
            .unwrap()
            .contains("`retry` is for steps that only read"),
        "{problems}"
    );
    gateway.engine.shutdown().await;
}

#[tokio::test]
async fn a_wall_clock_ends_a_run() {
    let file = "timeout: 50ms\nsteps: [{id: wait, tool: x_s_hang}]\non_failure: [{id: note, tool: x_s_note}]\n";
    let gateway = Gateway::start("hang note", &[("slow", file)]).await;
    let (run, failed) = gateway.call("workflow_slow", json!({})).await;
    assert!(failed);
    assert_eq!(run["error"]["message"], "the run took longer than its `timeout` allows");
    assert_eq!(steps(&run), ["wait outcome_unknown", "note completed"]);
    gateway.engine.shutdown().await;
}

#[tokio::test]
async fn workflows_run_inside_of_others_and_never_inside_of_themselves() {
    let inner = "args: {v: {}}\nsteps: [{id: a, tool: x_s_echo, args: {v: \"{{ input.v }}\"}}]\noutput: {v: \"{{ results.a.v }}\"}\n";
    let outer = "steps: [{id: in, tool: workflow_inner, args: {v: [1.0]}}]\noutput: \"{{ results.in.output.v }}\"\n";
    let looping = "args: {me: {}}\nsteps: [{id: in, tool: \"workflow_{{ input.me }}\", args: {me: loops}}]\n";
    let failing = "steps: [{id: in, tool: workflow_failed}]\n";
    let failed = "steps: [{id: a, tool: x_s_fail}]\n";
    let files = [
        ("inner", inner),
        ("outer", outer),
        ("loops", looping),
        ("failing", failing),
        ("failed", failed),
    ];
    let gateway = Gateway::start("echo fail", &files).await;
    let (run, is_failed) = gateway.call("workflow_outer", json!({})).await;
    assert!(!is_failed);
    assert_eq!(run["output"].to_string(), "[1.0]");

    let (run, is_failed) = gateway.call("workflow_loops", json!({"me": "loops"})).await;
    assert!(is_failed);
    assert!(
        run["error"]["message"]
            .as_str()
            .unwrap()
            .contains("is under way already"),
        "{run}"
    );

    let (run, is_failed) = gateway.call("workflow_failing", json!({})).await;
    assert!(is_failed);
    assert_eq!(run["error"], json!({"step": "in", "message": "no"}));
    let (list, _) = gateway
        .call("core_workflow_execution_list", json!({"status": "failed"}))
        .await;
    assert_eq!(list["total"], 3, "{list}");
    gateway.engine.shutdown().await;
}

#[tokio::test]
async fn a_run_belongs_to_its_own_principal() {
    let gateway = Gateway::start("echo", &[("one", "steps: [{id: a, tool: x_s_echo}]\n")]).await;
    let (run, _) = gateway.call("workflow_one", json!({})).await;
    let other = Caller {
        principal: Arc::new(Principal::of("mallory", "mallory", Authentication::LocalOnly)),
        ..caller()
    };
    let ask = json!({"execution_id": run["execution_id"]});
    let (refused, failed) =
        told(call_as(&gateway.engine, &other, "core_workflow_execution_get", &ask, passage()).await);
    assert!(failed && refused["code"] == "execution_not_found", "{refused}");
    let listed = call_as(
        &gateway.engine,
        &other,
        "core_workflow_execution_list",
        &json!({}),
        passage(),
    )
    .await;
    assert_eq!(told(listed).0["total"], 0);
    gateway.engine.shutdown().await;
}

#[tokio::test]
async fn workflows_are_listed_shown_and_validated() {
    let files = [
        (
            "reads",
            "description: Only reads\nlabels: {team: sre}\nsteps: [{id: a, tool: x_s_read, args: {password: hunter2}}]\n",
        ),
        ("writes", "steps: [{id: a, tool: x_s_echo}]\n"),
        (
            "lost",
            "steps: [{id: a, tool: x_s_ehco}, {id: b, tool: x_s_none, condition: {template: '{{ true }}'}}]\n",
        ),
    ];
    let gateway = Gateway::start("echo read", &files).await;
    let (list, _) = gateway.call("core_workflow_list", json!({})).await;
    assert_eq!(list["total"], 2);
    assert_eq!(
        list["workflows"][0],
        json!({"name": "reads", "tool": "workflow_reads", "description": "Only reads", "labels": {"team": "sre"},
               "effect": "read_only", "read_only": true})
    );
    let (page, _) = gateway
        .call("core_workflow_list", json!({"limit": 1, "offset": 1}))
        .await;
    assert_eq!(page["workflows"][0]["name"], "writes");
    let (shown, _) = gateway.call("core_workflow_get", json!({"workflow": "reads"})).await;
    assert_eq!(
        shown["steps"],
        json!([{"id": "a", "tool": "x_s_read", "args": {"password": "[redacted]"}}])
    );
    let (refused, failed) = gateway.call("core_workflow_get", json!({"workflow": "lost"})).await;
    assert!(failed && refused["code"] == "workflow_not_found");
    let (told, _) = gateway.call("core_workflow_validate", json!({})).await;
    assert_eq!(
        (&told["valid"], &told["workflows"]),
        (&json!(false), &json!(["lost", "reads", "writes"]))
    );
    let messages: Vec<&str> = told["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["message"].as_str().unwrap())
        .collect();
    assert_eq!(
        messages,
        [
            "tool `x_s_ehco` is published by no server, so the workflow is not offered",
            "tool `x_s_none` is published by no server, so the step fails when it runs"
        ]
    );
    assert!(
        told["problems"][0]["help"].as_str().unwrap().contains("x_s_echo"),
        "{told}"
    );
    assert_eq!(told["problems"][0]["line"], 1);
    gateway.engine.shutdown().await;
}

#[tokio::test]
async fn i12_an_edit_brings_a_workflow_and_a_bad_one_leaves_the_others() {
    let gateway = Gateway::start("echo", &[("one", "steps: [{id: a, tool: x_s_echo}]\n")]).await;
    let mut changes = gateway.engine.changes();
    let mut edited = workflows(&[
        ("one", "steps: [{id: a, tool: x_s_echo}]\n"),
        ("two", "steps: [{id: a, tool: x_s_echo}]\n"),
    ]);
    edited.set_aside = Arc::from([countersign_engine::SetAside {
        file: "workflows/three.yaml".to_owned(),
        place: Some((2, 3)),
        message: "it is broken".to_owned(),
        help: None,
    }]);
    gateway.engine.apply(with(edited), &[trusted(&gateway.fixture, "")]);
    let change = tokio::time::timeout(CEILING, changes.recv()).await.unwrap().unwrap();
    assert!(matches!(change, Change::Tools { .. }), "{change:?}");
    let (list, _) = gateway.call("core_workflow_list", json!({})).await;
    assert_eq!(list["total"], 2);
    let (told, _) = gateway.call("core_workflow_validate", json!({})).await;
    assert_eq!(
        told["problems"],
        json!([{"severity": "error", "file": "workflows/three.yaml", "line": 2, "column": 3, "message": "it is broken"}])
    );
    gateway.engine.shutdown().await;
}

#[tokio::test]
async fn i5_a_run_whose_process_died_is_interrupted_and_nothing_of_it_runs_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    let file = "steps: [{id: a, tool: x_s_echo}, {id: b, tool: x_s_hang}]\n";
    let fixture = Fixture::new("echo hang");
    let ledger = countersign_store::Ledger::sqlite(&path).unwrap();
    let engine = Engine::start(
        with(workflows(&[("one", file)])),
        &[trusted(&fixture, "")],
        ledger.clone(),
    );
    engine.listing_world(&caller()).await;
    let caller = caller();
    let arguments = json!({});
    let running = call_as(&engine, &caller, "workflow_one", &arguments, passage());
    let died = async {
        while !fixture.lines("calls").contains(&"hang".to_owned()) {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        copied(&path, folder.path())
    };
    // What stands on the disk while the run is under way is what a killed process leaves behind.
    let left = tokio::select! {
        outcome = running => panic!("{outcome:?}"),
        left = died => left,
    };
    let next = countersign_store::Ledger::sqlite(&left).unwrap();
    let query = countersign_store::ExecutionQuery {
        principal: "local".to_owned(),
        workflow: None,
        status: None,
        limit: 10,
        offset: 0,
    };
    let (runs, total) = next.executions(query).await.unwrap();
    assert_eq!((runs[0].status.as_str(), total), ("interrupted", 1));
    let run = next.execution("local", &runs[0].id).await.unwrap().unwrap();
    let statuses: Vec<&str> = run.steps.iter().map(|step| step.status.as_str()).collect();
    assert_eq!(statuses, ["completed", "outcome_unknown"]);
    let again = Fixture::new("echo hang");
    let engine_again = Engine::start(with(workflows(&[("one", file)])), &[trusted(&again, "")], next);
    engine_again.listing_world(&caller).await;
    assert!(again.lines("calls").is_empty());
    engine_again.shutdown().await;
    engine.shutdown().await;
}

/// A copy of the database as it stands on the disk, its log included, without the locks of the run that goes on.
fn copied(path: &Path, folder: &Path) -> std::path::PathBuf {
    let copy = folder.join("copy.db");
    for ending in ["", "-wal"] {
        let from = format!("{}{ending}", path.display());
        std::fs::copy(from, format!("{}{ending}", copy.display())).unwrap();
    }
    copy
}
