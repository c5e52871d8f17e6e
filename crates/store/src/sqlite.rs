//! A ledger in one SQLite file, written by one thread that commits in groups.

use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use countersign_core::outcome::Fate;
use countersign_core::time::Millis;
use rusqlite::{Connection, params};
use tokio::sync::oneshot;

use crate::entry::Entry;
use crate::executions::{Change, rows as executions};
use crate::queue::{Haste, Limits, Queue};
use crate::schema::{self, Run};
use crate::sealed::{self, Sealed};
use crate::sessions::{self, Row, Sessions};
use crate::{Durability, Error};

/// How long queued entries may wait for company before they are written.
const GATHER: Duration = Duration::from_millis(20);
/// How many entries one transaction takes at most.
const GROUP: usize = 2_000;
/// How far the writer may fall behind before calls are refused.
const BACKLOG: usize = 65_536;

const LIMITS: Limits = Limits {
    gather: GATHER,
    group: GROUP,
    backlog: BACKLOG,
};

#[derive(Debug, Clone)]
pub(crate) struct Sqlite {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    jobs: Arc<Queue<Job>>,
    calls: AtomicI64,
    writer: Mutex<Option<std::thread::JoinHandle<()>>>,
}

/// Whoever waits for the disk.
type Done = oneshot::Sender<Result<(), Error>>;
/// Is told when something is on disk.
pub(crate) type Written = oneshot::Receiver<Result<(), Error>>;
/// Whoever waits for the latest entries, and how many.
type Read = (usize, oneshot::Sender<Result<Vec<Entry>, Error>>);

#[derive(Debug)]
enum Job {
    Intent {
        call: i64,
        entry: Box<Entry>,
        done: Option<Done>,
    },
    Note {
        entry: Box<Entry>,
    },
    End {
        call: i64,
        fate: Fate,
        duration_ms: Option<i64>,
    },
    Recent {
        limit: usize,
        done: oneshot::Sender<Result<Vec<Entry>, Error>>,
    },
    Probe {
        done: Done,
    },
    Bind {
        row: Box<Row>,
        done: Done,
    },
    Unbind {
        session: Arc<str>,
        done: Option<Done>,
    },
    Seen {
        at: Millis,
    },
    Keep {
        sealed: Box<Sealed>,
        done: Done,
    },
    Drop {
        kind: String,
        key: String,
        done: Done,
    },
    Execution {
        change: Box<Change>,
    },
    /// What is read after all that was queued before.
    Look(Look),
}

/// A reading, which tells its outcome to whoever waits.
struct Look(Box<dyn FnOnce(&Connection) + Send>);

impl std::fmt::Debug for Look {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Look")
    }
}

impl Sqlite {
    pub(crate) fn open(path: &Path) -> Result<(Self, Sessions, Arc<[Sealed]>), Error> {
        let (connection, run) = schema::open(path)?;
        let failed = |source| Error::Open {
            path: path.display().to_string(),
            source,
        };
        let sessions = Sessions::load(&connection).map_err(failed)?;
        let kept = sealed::load(&connection).map_err(failed)?;
        let jobs = Arc::new(Queue::new(LIMITS));
        let inbox = Arc::clone(&jobs);
        let writer = std::thread::Builder::new()
            .name("ledger".to_owned())
            .spawn(move || {
                let mut writer = Writer {
                    connection,
                    run,
                    // What the schema was opened with.
                    synced: Synced::Always,
                };
                // Whatever ends the writer, nobody waits for it in vain.
                let inbox = Inbox(inbox);
                while let Some(group) = inbox.0.take() {
                    writer.commit(group);
                }
            })
            .map_err(|source| Error::Lock {
                path: path.display().to_string(),
                source,
            })?;
        let shared = Shared {
            jobs,
            calls: AtomicI64::new(0),
            writer: Mutex::new(Some(writer)),
        };
        let opened = Self {
            shared: Arc::new(shared),
        };
        Ok((opened, sessions, kept))
    }

    pub(crate) async fn intent(&self, entry: Entry, durability: Durability) -> Result<i64, Error> {
        let call = self.shared.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let entry = Box::new(entry);
        match durability {
            Durability::Queued => self.send(Job::Intent {
                call,
                entry,
                done: None,
            })?,
            Durability::Durable => {
                let (done, written) = oneshot::channel();
                self.send(Job::Intent {
                    call,
                    entry,
                    done: Some(done),
                })?;
                written.await.unwrap_or(Err(Error::Closed))?;
            }
        }
        Ok(call)
    }

    pub(crate) fn note(&self, entry: Entry) -> Result<(), Error> {
        self.send(Job::Note { entry: Box::new(entry) })
    }

    pub(crate) fn end(&self, call: i64, fate: Fate, duration_ms: Option<i64>) -> Result<(), Error> {
        self.send(Job::End {
            call,
            fate,
            duration_ms,
        })
    }

    pub(crate) async fn recent(&self, limit: usize) -> Result<Vec<Entry>, Error> {
        let (done, read) = oneshot::channel();
        self.send(Job::Recent { limit, done })?;
        read.await.unwrap_or(Err(Error::Closed))
    }

    pub(crate) async fn writable(&self) -> Result<(), Error> {
        let (done, written) = oneshot::channel();
        self.send(Job::Probe { done })?;
        written.await.unwrap_or(Err(Error::Closed))
    }

    /// Queues a binding; the receiver is told when it is on disk.
    pub(crate) fn bind(&self, row: Row) -> Result<Written, Error> {
        let (done, written) = oneshot::channel();
        let row = Box::new(row);
        self.send(Job::Bind { row, done })?;
        Ok(written)
    }

    /// Queues the end of a binding; the receiver is told when it is on disk.
    pub(crate) fn unbind(&self, session: Arc<str>) -> Result<Written, Error> {
        let (done, written) = oneshot::channel();
        let done = Some(done);
        self.send(Job::Unbind { session, done })?;
        Ok(written)
    }

    /// Queues the end of a binding that nobody waits for.
    pub(crate) fn forget(&self, session: Arc<str>) -> Result<(), Error> {
        self.send(Job::Unbind { session, done: None })
    }

    /// Queues the time until which all bindings are known to have lived.
    pub(crate) fn seen(&self, at: Millis) -> Result<(), Error> {
        self.send(Job::Seen { at })
    }

    pub(crate) async fn keep_sealed(&self, sealed: Sealed) -> Result<(), Error> {
        let (done, written) = oneshot::channel();
        let sealed = Box::new(sealed);
        self.send(Job::Keep { sealed, done })?;
        written.await.unwrap_or(Err(Error::Closed))
    }

    pub(crate) async fn drop_sealed(&self, kind: &str, key: &str) -> Result<(), Error> {
        let (done, written) = oneshot::channel();
        let (kind, key) = (kind.to_owned(), key.to_owned());
        self.send(Job::Drop { kind, key, done })?;
        written.await.unwrap_or(Err(Error::Closed))
    }

    /// Queues a change of a run of a workflow.
    pub(crate) fn execution(&self, change: Change) -> Result<(), Error> {
        let change = Box::new(change);
        self.send(Job::Execution { change })
    }

    /// Reads, with all that was queued before.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Error> {
        let (done, found) = oneshot::channel();
        let look = move |connection: &Connection| {
            let found = read(connection).map_err(|error| Error::Write(Arc::new(error)));
            // A reader that is gone no longer needs to know.
            drop(done.send(found));
        };
        self.send(Job::Look(Look(Box::new(look))))?;
        found.await.unwrap_or(Err(Error::Closed))
    }

    pub(crate) async fn close(&self) {
        self.shared.jobs.close();
        let writer = self.shared.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer {
            let joined = tokio::task::spawn_blocking(move || writer.join()).await;
            if !matches!(joined, Ok(Ok(()))) {
                tracing::error!("the ledger's writer ended badly");
            }
        }
    }

    fn send(&self, job: Job) -> Result<(), Error> {
        let haste = job.haste();
        self.shared.jobs.push(job, haste)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.jobs.close();
    }
}

/// The writer's end of the queue.
struct Inbox(Arc<Queue<Job>>);

impl Drop for Inbox {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// When a commit is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Synced {
    /// When it is done.
    Always,
    /// Some time after it is done.
    Later,
}

/// The thread that owns the connection.
struct Writer {
    connection: Connection,
    run: Run,
    synced: Synced,
}

impl Writer {
    /// Writes a group in one transaction. Whoever waits is told after the commit; a group that cannot
    /// be written fails for all who wait, so that no mutating call goes on without its record.
    fn commit(&mut self, group: Vec<Job>) {
        let durable = group.iter().any(|job| job.haste() == Haste::Now);
        let mut waiting: Vec<Done> = Vec::new();
        let mut reads = Vec::new();
        let written = self.write(group, durable, &mut waiting, &mut reads).map_err(Arc::new);
        if let Err(error) = &written {
            tracing::error!(%error, "the ledger cannot be written");
        }
        for done in waiting {
            // A caller that is gone no longer needs to know.
            drop(done.send(written.clone().map_err(Error::Write)));
        }
        for (limit, done) in reads {
            let entries = read_recent(&self.connection, limit).map_err(|error| Error::Write(Arc::new(error)));
            drop(done.send(entries));
        }
    }

    fn write(
        &mut self,
        group: Vec<Job>,
        durable: bool,
        waiting: &mut Vec<Done>,
        reads: &mut Vec<Read>,
    ) -> rusqlite::Result<()> {
        // WAL with NORMAL never corrupts; it may lose the last queued entries with the power, which
        // is what "queued" means. What somebody waits for is synced.
        let (wanted, word) = if durable {
            (Synced::Always, "FULL")
        } else {
            (Synced::Later, "NORMAL")
        };
        if self.synced != wanted {
            self.connection.pragma_update(None, "synchronous", word)?;
            self.synced = wanted;
        }
        let mut failure = None;
        let transaction = self.connection.transaction()?;
        for job in group {
            let step = match job {
                Job::Intent { call, entry, done } => {
                    waiting.extend(done);
                    insert(&transaction, &self.run.id, Some(call), &entry)
                }
                Job::Note { entry } => insert(&transaction, &self.run.id, None, &entry),
                Job::End {
                    call,
                    fate,
                    duration_ms,
                } => end(&transaction, &self.run.id, call, fate, duration_ms),
                Job::Probe { done } => {
                    waiting.push(done);
                    probe(&transaction)
                }
                Job::Bind { row, done } => {
                    waiting.push(done);
                    row.insert(&transaction)
                }
                Job::Unbind { session, done } => {
                    waiting.extend(done);
                    sessions::delete(&transaction, &session)
                }
                Job::Seen { at } => sessions::saw(&transaction, at),
                Job::Keep { sealed, done } => {
                    waiting.push(done);
                    sealed::insert(&transaction, &sealed)
                }
                Job::Drop { kind, key, done } => {
                    waiting.push(done);
                    sealed::delete(&transaction, &kind, &key)
                }
                Job::Execution { change } => executions::write(&transaction, &self.run.id, &change),
                // Within the transaction, so that it sees what was queued before it.
                Job::Look(Look(look)) => {
                    look(&transaction);
                    Ok(())
                }
                Job::Recent { limit, done } => {
                    reads.push((limit, done));
                    Ok(())
                }
            };
            // Go on collecting those who wait, so that each of them is told.
            failure = failure.or(step.err());
        }
        match failure {
            Some(error) => Err(error),
            None => transaction.commit(),
        }
    }
}

impl Job {
    /// Whether somebody waits for it.
    fn haste(&self) -> Haste {
        match self {
            Self::Intent { done: Some(_), .. }
            | Self::Unbind { done: Some(_), .. }
            | Self::Bind { .. }
            | Self::Keep { .. }
            | Self::Drop { .. }
            | Self::Probe { .. }
            | Self::Look(_)
            | Self::Recent { .. } => Haste::Now,
            Self::Intent { done: None, .. }
            | Self::Unbind { done: None, .. }
            | Self::Seen { .. }
            | Self::Execution { .. }
            | Self::Note { .. }
            | Self::End { .. } => Haste::Soon,
        }
    }
}

fn insert(connection: &Connection, run: &str, call: Option<i64>, entry: &Entry) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO trail (run, call, at, principal, kind, origin, method, server, subject, effect, args_sha256, reason)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?
        .execute(params![
            run, call, entry.at.0, entry.principal, entry.kind, entry.origin, entry.method, entry.server, entry.subject,
            entry.effect, entry.args_sha256, entry.reason
        ])
        .map(drop)
}

fn end(connection: &Connection, run: &str, call: i64, fate: Fate, duration_ms: Option<i64>) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE trail SET fate = ?3, duration_ms = ?4 WHERE run = ?1 AND call = ?2 AND fate IS NULL")?
        .execute(params![run, call, fate.word(), duration_ms])
        .map(drop)
}

fn probe(connection: &Connection) -> rusqlite::Result<()> {
    connection
        .execute(
            "INSERT INTO probe (id, at) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET at = at + 1",
            [],
        )
        .map(drop)
}

fn read_recent(connection: &Connection, limit: usize) -> rusqlite::Result<Vec<Entry>> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, at, principal, kind, origin, method, server, subject, effect, args_sha256, reason, fate, duration_ms
         FROM trail ORDER BY seq DESC LIMIT ?1",
    )?;
    let rows = statement.query_map(params![i64::try_from(limit).unwrap_or(i64::MAX)], |row| {
        Ok(Entry {
            seq: row.get(0)?,
            at: Millis(row.get(1)?),
            principal: row.get(2)?,
            kind: row.get(3)?,
            origin: row.get(4)?,
            method: row.get(5)?,
            server: row.get(6)?,
            subject: row.get(7)?,
            effect: row.get(8)?,
            args_sha256: row.get(9)?,
            reason: row.get(10)?,
            fate: row.get(11)?,
            duration_ms: row.get(12)?,
        })
    })?;
    rows.collect()
}
