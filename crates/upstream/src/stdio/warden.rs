//! The warden: a process beside the gateway that ends the process groups which outlive it, even one that was killed.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

/// The warden of all children; it is started with the first of them.
#[derive(Debug, Default)]
pub(crate) struct Warden {
    program: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Unstarted,
    Running(Child, ChildStdin),
    /// It cannot be started, or it ended.
    Absent,
}

impl Warden {
    /// The warden that is this program's command `warden`; without a program there is none.
    pub(crate) fn new(program: Option<PathBuf>) -> Self {
        Self {
            program,
            state: Mutex::default(),
        }
    }

    /// Has a process group ended with the gateway, until the returned value is dropped.
    pub(crate) fn watch(self: &Arc<Self>, group: Option<u32>) -> Watched {
        if let Some(group) = group {
            self.say(&format!("+{group}\n"));
        }
        Watched {
            warden: Arc::clone(self),
            group,
        }
    }

    fn say(&self, line: &str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, State::Unstarted) {
            *state = self.started();
        }
        let State::Running(process, input) = &mut *state else {
            return;
        };
        if let Err(error) = input.write_all(line.as_bytes()) {
            tracing::warn!(%error, "the warden ended: children that ignore the end of their input would outlive a killed gateway");
            process.try_wait().ok();
            *state = State::Absent;
        }
    }

    fn started(&self) -> State {
        let Some(program) = &self.program else {
            return State::Absent;
        };
        let mut command = Command::new(program);
        command
            .arg("warden")
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // What ends the gateway's own group must not end the warden.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        match command.spawn() {
            Ok(mut process) => match process.stdin.take() {
                Some(input) => State::Running(process, input),
                None => State::Absent,
            },
            Err(error) => {
                tracing::warn!(%error, "the warden cannot be started: children that ignore the end of their input would outlive a killed gateway");
                State::Absent
            }
        }
    }
}

/// A process group that is watched.
#[derive(Debug)]
pub(crate) struct Watched {
    warden: Arc<Warden>,
    group: Option<u32>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            self.warden.say(&format!("-{group}\n"));
        }
    }
}
