//! A server as a child process: started without a shell, its whole process group ended with it.

mod lines;
mod log;
mod warden;

use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use countersign_core::server::{EnvMode, Transport};
use countersign_wire::rpc;
use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::connection::{Connection, Link, Whose};
use crate::duplex::{Inbox, Letter, Outbox};
use crate::ending::Ending;
use lines::{Line, Lines};

pub(crate) use log::Log;
pub(crate) use warden::Warden;
use warden::Watched;

/// What a child gets in a clean environment (spec 2.2).
const CLEAN: &[&str] = &["PATH", "HOME", "LANG"];
/// How long a child may take to end after its standard input was closed.
const AFTER_EOF: Duration = Duration::from_secs(1);
/// How long it may take after it was asked to end.
const AFTER_TERM: Duration = Duration::from_millis(500);
/// How long what it wrote last is read after it ended.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// `SIGTERM`
#[cfg(unix)]
const TERM: i32 = 15;

/// Starts a child; the connection is before its handshake.
///
/// # Errors
/// Why it cannot be started, without any secret.
pub(crate) fn start(
    transport: &Transport,
    whose: Whose,
    limit: usize,
    ending: &Ending,
) -> Result<Arc<Connection>, String> {
    let process = spawn(transport)?;
    let mut child = Child {
        // The child leads its group, so that its number is the group's.
        _watched: ending.warden.watch(process.id()),
        process,
        reaped: false,
    };
    let pipes = (
        child.process.stdin().take(),
        child.process.stdout().take(),
        child.process.stderr().take(),
    );
    let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
        return Err("it has no pipes".to_owned());
    };
    let (outbox, messages) = Outbox::new();
    let connection = Connection::new(whose, Link::Duplex(outbox), ending);
    tokio::spawn(write(stdin, messages, Arc::clone(&connection)));
    tokio::spawn(drain(stderr, Arc::clone(&connection.log)));
    let reader = tokio::spawn(read(stdout, Arc::clone(&connection), limit));
    ending.spawn(supervise(child, reader, Arc::clone(&connection)));
    Ok(connection)
}

fn spawn(transport: &Transport) -> Result<Box<dyn ChildWrapper>, String> {
    let Transport::Stdio {
        command: program,
        args,
        env,
        env_mode,
        env_passthrough,
        cwd,
    } = transport
    else {
        return Err("it is not a stdio server".to_owned());
    };
    let mut command = Command::new(program.reveal());
    command.args(args.iter().map(countersign_core::secret::Secret::reveal));
    match env_mode {
        EnvMode::Clean => {
            command.env_clear();
            let copied = CLEAN.iter().copied().chain(env_passthrough.iter().map(String::as_str));
            command.envs(copied.filter_map(|name| std::env::var_os(name).map(|value| (name, value))));
        }
        EnvMode::Inherit => {}
    }
    if cfg!(windows) {
        command.env("PYTHONUTF8", "1");
    }
    command.envs(env.iter().map(|(name, value)| (name, value.reveal())));
    if let Some(folder) = cwd {
        command.current_dir(folder.reveal());
    }
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut wrapped = CommandWrap::from(command);
    wrapped.wrap(KillOnDrop);
    #[cfg(unix)]
    wrapped.wrap(process_wrap::tokio::ProcessGroup::leader());
    wrapped.spawn().map_err(|error| match cwd {
        // The system's error is the same as for a missing program.
        Some(folder) if !std::path::Path::new(folder.reveal()).is_dir() => {
            format!("its working folder `{}` is no folder", folder.shown())
        }
        Some(_) | None => format!("`{}` cannot be started: {error}", program.shown()),
    })
}

/// A child process; dropped before it was reaped, its whole group is killed.
#[derive(Debug)]
struct Child {
    process: Box<dyn ChildWrapper>,
    _watched: Watched,
    reaped: bool,
}

impl Child {
    /// Kills what is left of the group.
    fn kill(&mut self) {
        self.process.start_kill().ok();
    }

    fn terminate(&self) {
        #[cfg(unix)]
        self.process.signal(TERM).ok();
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.reaped {
            self.kill();
        }
    }
}

/// Waits for the child's end, or ends it when the connection is closed.
async fn supervise(mut child: Child, mut reader: JoinHandle<Option<String>>, connection: Arc<Connection>) {
    let broke = tokio::select! {
        status = child.process.wait() => {
            child.kill();
            child.reaped = true;
            // What it wrote before it ended may hold answers.
            tokio::time::timeout(LAST_WORDS, &mut reader).await.ok();
            Some(ended(status.ok()))
        }
        reason = &mut reader => match reason {
            Ok(Some(reason)) => Some(reason),
            // The end of its output mostly means its own end; how it ended says more.
            Ok(None) | Err(_) => match tokio::time::timeout(LAST_WORDS, child.process.wait()).await {
                Ok(status) => {
                    child.kill();
                    child.reaped = true;
                    Some(ended(status.ok()))
                }
                Err(_elapsed) => Some("it closed its output".to_owned()),
            },
        },
        () = connection.closed() => None,
    };
    if let Some(reason) = broke {
        connection.broke(&reason);
    }
    connection.closed.cancel();
    if !child.reaped {
        for (patience, terminate) in [(AFTER_EOF, true), (AFTER_TERM, false)] {
            if tokio::time::timeout(patience, child.process.wait()).await.is_ok() {
                break;
            }
            if terminate {
                child.terminate();
            }
        }
        child.kill();
        child.process.wait().await.ok();
        child.reaped = true;
    }
    reader.abort();
    connection.gone.cancel();
}

fn ended(status: Option<ExitStatus>) -> String {
    match status {
        Some(status) => format!("its process ended ({status})"),
        None => "its process ended".to_owned(),
    }
}

/// Writes messages until the connection is closed; then the child sees the end of its input.
async fn write(mut stdin: ChildStdin, mut messages: mpsc::Receiver<Letter>, connection: Arc<Connection>) {
    loop {
        let letter = tokio::select! {
            letter = messages.recv() => match letter {
                Some(letter) => letter,
                None => return,
            },
            () = connection.closed.cancelled() => return,
        };
        // A child that was not reading: what was given up meanwhile must not run after all.
        if letter.request.is_some_and(|id| !connection.pending.waits(id)) {
            continue;
        }
        // What callers send passes raw, and raw JSON may hold line feeds between its tokens.
        let mut line = rpc::one_line(&letter.text).into_owned();
        line.push('\n');
        let written = async {
            stdin.write_all(line.as_bytes()).await?;
            stdin.flush().await
        };
        tokio::select! {
            written = written => if written.is_err() { break },
            () = connection.closed.cancelled() => return,
        }
    }
    // A broken pipe mostly means that the child ended; how it ended says more.
    if tokio::time::timeout(LAST_WORDS * 2, connection.closed.cancelled())
        .await
        .is_err()
    {
        connection.broke("it closed its input");
    }
}

/// Reads messages; returns why it stopped before their end.
async fn read(stdout: ChildStdout, connection: Arc<Connection>, limit: usize) -> Option<String> {
    let mut lines = Lines::new(stdout, limit);
    let mut inbox = Inbox::new(connection);
    loop {
        let taken = match lines.next().await {
            Ok(Some(Line::Text(text))) => inbox.take(&text),
            Ok(Some(Line::NotUtf8(text))) => inbox.skip(&text, "not UTF-8"),
            Ok(Some(Line::TooLarge(cut))) => inbox.too_large(limit, &cut),
            Ok(None) => return None,
            Err(error) => return Some(format!("its output cannot be read: {error}")),
        };
        if let Err(reason) = taken {
            return Some(reason);
        }
    }
}

/// Always drained: a child whose pipe is full would stop.
async fn drain(stderr: ChildStderr, log: Arc<Log>) {
    log.drain(stderr).await;
}
