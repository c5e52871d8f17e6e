//! Runs of workflows are kept, bounded, and survive a restart.

use rusqlite::Connection;

use super::*;

fn start(id: &str, principal: &str, at: i64) -> ExecutionStart {
    ExecutionStart {
        id: id.to_owned(),
        principal: principal.to_owned(),
        workflow: "triage".to_owned(),
        digest: "d".to_owned(),
        shown_input: r#"{"token":"[redacted]"}"#.to_owned(),
        input: r#"{"token":"hush-hush"}"#.to_owned(),
        at: Millis(at),
    }
}

fn step(place: usize, status: &str) -> ExecutionStep {
    ExecutionStep {
        place,
        path: format!("s{place}"),
        tool: Some("x_a".to_owned()),
        status: status.to_owned(),
        began: Millis(1),
        duration_ms: 0,
        error: None,
        result: (status == "completed").then(|| r#"{"secret":"hush-hush"}"#.to_owned()),
    }
}

fn end(status: &'static str) -> ExecutionEnd {
    ExecutionEnd {
        status,
        at: Millis(9),
        shown_output: Some("1".to_owned()),
        error: None,
    }
}

fn query(principal: &str) -> ExecutionQuery {
    ExecutionQuery {
        principal: principal.to_owned(),
        workflow: None,
        status: None,
        limit: 2,
        offset: 0,
    }
}

fn backends() -> (Vec<Ledger>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Ledger::sqlite(&folder.path().join("state.db")).unwrap();
    (vec![Ledger::memory(), sqlite], folder)
}

#[tokio::test]
async fn a_run_is_kept_with_its_steps_for_its_own_principal() {
    let (ledgers, _folder) = backends();
    for ledger in ledgers {
        for (id, principal) in [("a", "ada"), ("b", "bob"), ("c", "ada"), ("d", "ada")] {
            ledger.start_execution(start(id, principal, 1)).unwrap();
        }
        ledger.step_execution("a", step(0, "running")).unwrap();
        ledger.step_execution("a", step(0, "completed")).unwrap();
        ledger.step_execution("a", step(1, "running")).unwrap();
        let under_way = ledger.execution("ada", "a").await.unwrap().unwrap();
        assert_eq!((under_way.status.as_str(), under_way.ended), ("running", None));
        assert_eq!(under_way.steps, [step(0, "completed"), step(1, "running")]);

        ledger.end_execution("a", end("failed")).unwrap();
        let ended = ledger.execution("ada", "a").await.unwrap().unwrap();
        assert_eq!((ended.status.as_str(), ended.ended), ("failed", Some(Millis(9))));
        assert!(ended.steps.iter().all(|step| step.result.is_none()));
        assert_eq!(ledger.execution("bob", "a").await.unwrap(), None);
        assert_eq!(ledger.execution("ada", "z").await.unwrap(), None);

        let (found, total) = ledger.executions(query("ada")).await.unwrap();
        let ids: Vec<&str> = found.iter().map(|it| it.id.as_str()).collect();
        assert_eq!((ids, total), (vec!["d", "c"], 3));
        let failed = ExecutionQuery {
            status: Some("failed".to_owned()),
            workflow: Some("triage".to_owned()),
            ..query("ada")
        };
        assert_eq!(ledger.executions(failed).await.unwrap().1, 1);
        let others = ExecutionQuery {
            workflow: Some("other".to_owned()),
            ..query("ada")
        };
        assert_eq!(ledger.executions(others).await.unwrap().1, 0);
    }
}

#[tokio::test]
async fn runs_are_kept_for_21_days_and_the_latest_10_000() {
    let (ledgers, _folder) = backends();
    for ledger in ledgers {
        ledger.start_execution(start("old", "ada", 0)).unwrap();
        ledger.end_execution("old", end("completed")).unwrap();
        ledger.start_execution(start("open", "ada", 0)).unwrap();
        ledger.start_execution(start("new", "ada", AGE)).unwrap();
        assert!(ledger.execution("ada", "old").await.unwrap().is_some());
        ledger.start_execution(start("newer", "ada", AGE + 1)).unwrap();
        assert!(ledger.execution("ada", "old").await.unwrap().is_none());
        for place in 0..KEPT {
            let id = place.to_string();
            ledger.start_execution(start(&id, "ada", AGE + 2)).unwrap();
            ledger.end_execution(&id, end("completed")).unwrap();
        }
        let total = ledger.executions(query("ada")).await.unwrap().1;
        assert!((KEPT..=KEPT + 3).contains(&total), "{total}");
        assert!(
            ledger.execution("ada", "open").await.unwrap().is_some(),
            "a run under way is never forgotten"
        );
    }
}

#[tokio::test]
async fn i5_a_run_that_a_dead_process_left_is_interrupted_and_its_open_steps_are_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    let ledger = Ledger::sqlite(&path).unwrap();
    ledger.start_execution(start("a", "ada", 1)).unwrap();
    ledger.step_execution("a", step(0, "completed")).unwrap();
    ledger.step_execution("a", step(1, "running")).unwrap();
    ledger.execution("ada", "a").await.unwrap().unwrap();

    // A process that goes on keeps its runs.
    let other = Ledger::sqlite(&path).unwrap();
    assert_eq!(other.execution("ada", "a").await.unwrap().unwrap().status, "running");
    ledger.close().await;
    drop(ledger);

    let next = Ledger::sqlite(&path).unwrap();
    let found = next.execution("ada", "a").await.unwrap().unwrap();
    assert_eq!(found.status, "interrupted");
    let steps: Vec<&str> = found.steps.iter().map(|step| step.status.as_str()).collect();
    assert_eq!(steps, ["completed", "outcome_unknown"]);
    assert!(
        found.steps[1]
            .error
            .as_deref()
            .unwrap()
            .contains("it was not called again")
    );
}

#[tokio::test]
async fn i10_what_a_run_was_given_is_forgotten_when_it_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    let ledger = Ledger::sqlite(&path).unwrap();
    ledger.start_execution(start("a", "ada", 1)).unwrap();
    ledger.step_execution("a", step(0, "completed")).unwrap();
    ledger.end_execution("a", end("completed")).unwrap();
    ledger.execution("ada", "a").await.unwrap().unwrap();
    let other = Connection::open(&path).unwrap();
    let left: i64 = other
        .query_row(
            "SELECT (SELECT count(*) FROM execution WHERE input IS NOT NULL)
                  + (SELECT count(*) FROM execution_step WHERE result IS NOT NULL)",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(left, 0);
}
