//! One suite for every backend, and what only a file can show.

use std::sync::Arc;

use countersign_core::admit::{Admission, Ask, Origin, Permit, Rules, View, World, judge, settle};
use countersign_core::catalogue::{Catalogue, Naming, Parts};
use countersign_core::exact::Exact;
use countersign_core::outcome::Fate;
use countersign_core::principal::{Caller, Endpoint, Principal};
use countersign_core::stages::{Pins, Rights, Toolset, WriteGate};
use countersign_core::time::Millis;
use rusqlite::Connection;

use super::*;

fn world() -> World {
    let naming = Naming {
        prefix: "x".to_owned(),
        max_length: 64,
    };
    World {
        catalogue: Arc::new(Catalogue::build(Parts {
            version: 1,
            naming,
            servers: Vec::new(),
            workflows: Arc::default(),
        })),
        rules: Arc::new(Rules {
            rights: Rights::Open { because: "test" },
            pins: Pins::Off { because: "test" },
            gate: WriteGate::Off { because: "test" },
            presets: Arc::default(),
        }),
        view: View::Whole { because: "test" },
        now: Millis(0),
    }
}

/// A permit for a core tool: `core_server_stop` is mutating, `core_server_list` is read-only.
fn permit(tool: &str) -> Permit {
    let caller = Caller {
        principal: Arc::new(Principal::local()),
        endpoint: Endpoint::Main,
        toolset: Toolset::Unscoped { because: "test" },
    };
    let ask = Ask::Tool {
        name: tool.to_owned(),
        arguments: Exact::empty_object(),
    };
    let world = world();
    let Admission::Proceed(permit) = settle(&world, judge(&world, &caller, ask, Origin::Direct).unwrap());
    permit
}

fn note(at: i64) -> Note {
    Note {
        at: Millis(at),
        principal: "local".to_owned(),
        kind: "refused",
        origin: "direct",
        method: "tools/call".to_owned(),
        subject: "x_nothing".to_owned(),
        reason: "Tool not found: x_nothing".to_owned(),
    }
}

struct Backends {
    ledgers: Vec<(&'static str, Ledger)>,
    _folder: tempfile::TempDir,
}

fn backends() -> Backends {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Ledger::sqlite(&folder.path().join("state.db")).unwrap();
    Backends {
        ledgers: vec![("memory", Ledger::memory()), ("sqlite", sqlite)],
        _folder: folder,
    }
}

#[tokio::test]
async fn i6_every_decision_has_its_line_newest_first() {
    for (name, ledger) in &backends().ledgers {
        let recorded = ledger.begin(permit("core_server_list"), Millis(10)).await.unwrap();
        let (call, receipt) = recorded.into_parts();
        assert_eq!(call.operation().subject(), "core_server_list");
        ledger
            .finish(
                receipt,
                End {
                    fate: Fate::Done,
                    at: Millis(17),
                },
            )
            .unwrap();
        ledger.note(note(20)).unwrap();

        let entries = ledger.recent(10).await.unwrap();
        let lines: Vec<_> = entries
            .iter()
            .map(|e| (e.kind.as_str(), e.subject.as_str(), e.fate.as_deref(), e.duration_ms))
            .collect();
        assert_eq!(
            lines,
            [
                ("refused", "x_nothing", None, None),
                ("call", "core_server_list", Some("done"), Some(7))
            ],
            "{name}"
        );
        assert!(entries[0].seq > entries[1].seq, "{name}");
        assert!(
            entries[1].reason.starts_with("view: visible"),
            "{name}: {}",
            entries[1].reason
        );
        assert_eq!(ledger.recent(1).await.unwrap().len(), 1, "{name}");
        ledger.writable().await.unwrap();
    }
}

#[tokio::test]
async fn i5_a_receipt_that_is_dropped_reports_an_unknown_outcome() {
    for (name, ledger) in &backends().ledgers {
        drop(ledger.begin(permit("core_server_stop"), Millis(1)).await.unwrap());
        let fate = ledger.recent(1).await.unwrap().remove(0).fate;
        assert_eq!(fate.as_deref(), Some("outcome_unknown"), "{name}");
    }
}

#[tokio::test]
async fn a_mutating_intent_is_on_disk_before_the_call() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    let ledger = Ledger::sqlite(&path).unwrap();
    let recorded = ledger.begin(permit("core_server_stop"), Millis(1)).await.unwrap();
    let other = Connection::open(&path).unwrap();
    let (subject, effect): (String, String) = other
        .query_row("SELECT subject, effect FROM trail", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    assert_eq!((subject.as_str(), effect.as_str()), ("core_server_stop", "mutating"));
    drop(recorded);
}

#[tokio::test]
async fn i6_a_mutating_call_is_refused_when_its_intent_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    let ledger = Ledger::sqlite(&path).unwrap();
    Connection::open(&path)
        .unwrap()
        .execute_batch("DROP TABLE trail; DROP TABLE probe;")
        .unwrap();
    assert!(matches!(
        ledger.begin(permit("core_server_stop"), Millis(1)).await,
        Err(Error::Write(_))
    ));
    assert!(matches!(ledger.writable().await, Err(Error::Write(_))));
}

#[tokio::test]
async fn i5_what_a_dead_run_left_open_is_an_unknown_outcome() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    let ledger = Ledger::sqlite(&path).unwrap();
    let recorded = ledger.begin(permit("core_server_stop"), Millis(1)).await.unwrap();
    ledger.close().await;
    drop(recorded);

    let next = Ledger::sqlite(&path).unwrap();
    assert_eq!(
        next.recent(1).await.unwrap().remove(0).fate.as_deref(),
        Some("outcome_unknown")
    );
}

#[tokio::test]
async fn a_run_that_goes_on_keeps_its_open_calls() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    let ledger = Ledger::sqlite(&path).unwrap();
    let recorded = ledger.begin(permit("core_server_stop"), Millis(1)).await.unwrap();

    let other = Ledger::sqlite(&path).unwrap();
    assert_eq!(other.recent(1).await.unwrap().remove(0).fate, None);
    let (_, receipt) = recorded.into_parts();
    ledger
        .finish(
            receipt,
            End {
                fate: Fate::Done,
                at: Millis(2),
            },
        )
        .unwrap();
    assert_eq!(ledger.recent(1).await.unwrap().remove(0).fate.as_deref(), Some("done"));
}

#[tokio::test]
async fn a_closed_ledger_records_nothing_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::sqlite(&folder.path().join("state.db")).unwrap();
    ledger.note(note(1)).unwrap();
    ledger.close().await;
    assert!(matches!(ledger.note(note(2)), Err(Error::Closed)));
    assert!(matches!(
        ledger.begin(permit("core_server_list"), Millis(3)).await,
        Err(Error::Closed)
    ));
    let left: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|file| file.unwrap().file_name())
        .collect();
    assert!(
        !left.iter().any(|name| name.to_string_lossy().contains(".run-")),
        "{left:?}"
    );
}

#[test]
fn a_ledger_of_a_newer_version_is_refused_untouched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    Connection::open(&path)
        .unwrap()
        .execute_batch("PRAGMA user_version = 99")
        .unwrap();
    let error = Ledger::sqlite(&path).unwrap_err().to_string();
    assert!(error.contains("schema 99, newer than"), "{error}");
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let error = Ledger::sqlite(Path::new("/nowhere/state.db")).unwrap_err().to_string();
    assert!(error.contains("`/nowhere/state.db`"), "{error}");
}

#[tokio::test]
async fn ten_thousand_queued_notes_are_all_written() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::sqlite(&folder.path().join("state.db")).unwrap();
    for at in 0..10_000 {
        ledger.note(note(at)).unwrap();
    }
    let entries = ledger.recent(20_000).await.unwrap();
    assert_eq!(entries.len(), 10_000);
    assert!(entries.iter().rev().map(|entry| entry.at.0).eq(0..10_000));
}
