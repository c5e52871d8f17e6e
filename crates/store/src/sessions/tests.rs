//! One suite for every backend, with clocks that step.

use std::path::Path;

use proptest::prelude::*;

use super::*;

const HOUR: i64 = 3_600_000;

/// A moment of a run: what the wall's clock says, and how long the run lasts already.
#[derive(Debug, Clone, Copy)]
struct Clock {
    start: Instant,
    wall: i64,
    elapsed: i64,
}

impl Clock {
    fn now() -> Self {
        Self {
            start: Instant::now(),
            wall: wall_now().0,
            elapsed: 0,
        }
    }

    fn after(mut self, milliseconds: i64) -> Self {
        self.wall += milliseconds;
        self.elapsed += milliseconds;
        self
    }

    fn stepped(mut self, milliseconds: i64) -> Self {
        self.wall += milliseconds;
        self
    }

    fn read(self) -> Reading {
        Reading {
            wall: Millis(self.wall),
            steady: self.start + Duration::from_millis(u64::try_from(self.elapsed).unwrap()),
        }
    }
}

fn bind(session: &str, subject: &str) -> Bind {
    Bind {
        session: session.to_owned(),
        subject: subject.to_owned(),
        toolset: Some(vec!["preset:read-only".to_owned(), "server:files".to_owned()]),
        roles: vec!["ops".to_owned()],
        plan: Some("pro".to_owned()),
        expires_at: None,
    }
}

fn live(ledger: &Ledger, now: Reading) -> Option<Arc<Binding>> {
    ledger.binding("s", now).map(|(binding, _)| binding)
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

/// A session whose binding ends at that time, in a file of its own.
async fn stored(path: &Path, expires_at: i64, now: Clock) -> Ledger {
    let ledger = Ledger::sqlite(path).unwrap();
    let expires_at = Some(Millis(expires_at));
    let bound = ledger
        .bind(
            Bind {
                expires_at,
                ..bind("s", "carol")
            },
            now.read(),
        )
        .await;
    assert!(matches!(bound, Ok(Bound::Created(_))));
    ledger
}

#[tokio::test]
async fn a_binding_is_created_once_then_replaced_and_another_subject_is_refused() {
    for (name, ledger) in &backends().ledgers {
        let now = Clock::now();
        let Ok(Bound::Created(first)) = ledger.bind(bind("s", "carol"), now.read()).await else {
            panic!("{name}: is new")
        };
        assert_eq!(first.expires_at, Millis(now.wall + 24 * HOUR), "{name}");
        let later = now.after(HOUR);
        assert_eq!(
            ledger.bind(bind("s", "carol"), later.read()).await.unwrap(),
            Bound::Replaced(Arc::clone(&first))
        );
        let other = ledger.bind(bind("s", "dave"), later.read()).await;
        assert!(matches!(other, Err(Unbound::OtherSubject)), "{name}: {other:?}");
        assert_eq!(live(ledger, later.read()), Some(first), "{name}");
        assert_eq!(ledger.binding("t", later.read()), None, "{name}");

        let narrower = Bind {
            toolset: Some(vec!["preset:none".to_owned()]),
            ..bind("s", "carol")
        };
        ledger.bind(narrower, later.read()).await.unwrap();
        let toolset = live(ledger, later.read()).unwrap().toolset.clone();
        assert_eq!(toolset, Some(vec!["preset:none".to_owned()]), "{name}");
    }
}

#[tokio::test]
async fn a_binding_that_was_ended_is_gone_and_its_session_is_free() {
    for (name, ledger) in &backends().ledgers {
        let now = Clock::now().read();
        assert!(!ledger.unbind("s", now).await.unwrap(), "{name}");
        ledger.bind(bind("s", "carol"), now).await.unwrap();
        assert!(ledger.unbind("s", now).await.unwrap(), "{name}");
        assert_eq!(ledger.binding("s", now), None, "{name}");
        assert!(
            matches!(ledger.bind(bind("s", "dave"), now).await, Ok(Bound::Created(_))),
            "{name}"
        );
    }
}

#[tokio::test]
async fn an_end_that_is_past_binds_nothing() {
    for (name, ledger) in &backends().ledgers {
        let now = Clock::now();
        for past in [now.wall, now.wall - 1, 0, i64::MIN] {
            let expires_at = Some(Millis(past));
            let bound = ledger
                .bind(
                    Bind {
                        expires_at,
                        ..bind("s", "carol")
                    },
                    now.read(),
                )
                .await;
            assert!(matches!(bound, Err(Unbound::Past)), "{name}: {past}: {bound:?}");
        }
        assert_eq!(ledger.binding("s", now.read()), None, "{name}");
    }
}

#[tokio::test]
async fn i8_a_clock_that_steps_never_lengthens_a_binding() {
    for (name, ledger) in &backends().ledgers {
        let now = Clock::now();
        ledger.bind(bind("s", "carol"), now.read()).await.unwrap();
        let back = now.after(23 * HOUR).stepped(-20 * HOUR);
        assert!(ledger.binding("s", back.read()).is_some(), "{name}");
        // The same words again, while the wall's clock is behind: the end stays where it is.
        ledger.bind(bind("s", "carol"), back.read()).await.unwrap();
        assert_eq!(
            ledger.binding("s", back.after(HOUR).read()),
            None,
            "{name}: 24 hours are over"
        );
    }
}

#[tokio::test]
async fn i8_a_binding_that_has_ended_stays_ended_when_the_clock_steps_back() {
    for (name, ledger) in &backends().ledgers {
        let now = Clock::now();
        ledger.bind(bind("s", "carol"), now.read()).await.unwrap();
        assert_eq!(ledger.binding("s", now.stepped(25 * HOUR).read()), None, "{name}");
        assert_eq!(ledger.binding("s", now.read()), None, "{name}");
    }
}

#[tokio::test]
async fn i8_a_restart_keeps_what_lives_and_brings_back_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    let now = Clock::now();
    let first = stored(&path, now.wall + HOUR, now).await;
    first.bind(bind("gone", "carol"), now.read()).await.unwrap();
    first.unbind("gone", now.read()).await.unwrap();
    let before = live(&first, now.read()).unwrap();
    first.close().await;
    let next = Ledger::sqlite(&path).unwrap();
    assert_eq!(live(&next, now.read()), Some(before));
    assert_eq!(next.binding("gone", now.read()), None);
    assert_eq!(next.binding("s", now.after(HOUR).read()), None);
    next.close().await;
    assert_eq!(
        Ledger::sqlite(&path).unwrap().binding("s", now.read()),
        None,
        "what has ended is not stored"
    );
}

#[test]
fn i8_a_clock_that_was_set_back_during_a_restart_leaves_no_more_than_was_left() {
    let now = Clock::now();
    let binding = Binding {
        session: "s".into(),
        subject: "carol".into(),
        toolset: None,
        roles: Vec::new(),
        plan: None,
        expires_at: Millis(now.wall + HOUR),
    };
    // It had lived until ten minutes before its end when the process ended.
    let seen = Millis(now.wall + 50 * 60_000);
    let back = now.stepped(-12 * HOUR);
    let ledger = Ledger {
        backend: Ledger::memory().backend,
        sessions: Arc::new(Sessions::of(vec![(binding, seen)], back.read())),
        sealed: Arc::default(),
    };
    assert!(ledger.binding("s", back.after(9 * 60_000).read()).is_some());
    assert_eq!(ledger.binding("s", back.after(10 * 60_000).read()), None);
}

#[tokio::test]
async fn a_binding_that_cannot_be_stored_is_not_in_force() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    let ledger = Ledger::sqlite(&path).unwrap();
    let now = Clock::now().read();
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch("DROP TABLE binding")
        .unwrap();
    let bound = ledger.bind(bind("s", "carol"), now).await;
    assert!(matches!(bound, Err(Unbound::Store(_))), "{bound:?}");
    assert_eq!(ledger.binding("s", now), None);
}

#[tokio::test]
async fn of_two_who_bind_one_session_at_once_one_wins() {
    for (name, ledger) in &backends().ledgers {
        let now = Clock::now().read();
        let (one, two) = tokio::join!(
            ledger.bind(bind("s", "carol"), now),
            ledger.bind(bind("s", "dave"), now)
        );
        assert!(one.is_ok() != two.is_ok(), "{name}: {one:?} {two:?}");
    }
}

proptest! {
    /// However the wall's clock steps, a binding never lives longer than it was given.
    #[test]
    fn i8_no_steps_of_the_clock_lengthen_a_binding(steps in prop::collection::vec((1..HOUR, -30 * HOUR..30 * HOUR), 1..20)) {
        let mut clock = Clock::now();
        let sessions = Sessions::of(Vec::new(), clock.read());
        let ledger = Ledger { backend: Ledger::memory().backend, sessions: Arc::new(sessions), sealed: Arc::default() };
        let mut given = bind("s", "carol");
        given.expires_at = Some(Millis(clock.wall + 5 * HOUR));
        ledger.enter(given, clock.read()).unwrap();
        let mut has_ended = false;
        for (passes, steps) in steps {
            clock = clock.after(passes).stepped(steps);
            let lives = ledger.binding("s", clock.read()).is_some();
            prop_assert!(!(lives && has_ended), "it came back");
            prop_assert!(!(lives && clock.elapsed >= 5 * HOUR), "it lives too long");
            has_ended |= !lives;
        }
    }
}

#[tokio::test]
async fn a_stored_binding_can_be_read_beside_the_gateway_that_has_the_file_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    assert!(stored_binding(&path, "s").is_err(), "there is no file");
    assert!(!path.exists(), "and none is made");
    let now = Clock::now();
    let ledger = stored(&path, now.wall + HOUR, now).await;
    let read = stored_binding(&path, "s").unwrap();
    let bound = ledger.binding("s", now.read()).map(|(binding, _)| binding);
    assert_eq!(read.as_ref(), bound.as_deref());
    assert_eq!(stored_binding(&path, "t").unwrap(), None);
    let row = stored_binding(&path, "s").unwrap().unwrap();
    assert_eq!((&*row.subject, row.expires_at), ("carol", Millis(now.wall + HOUR)));
}
