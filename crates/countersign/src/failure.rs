//! How a command ends when it does not succeed: the exit code and what a person is told.

use std::fmt::Display;
use std::io;

use miette::{MietteDiagnostic, Report};

/// Why a command ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command did its work and the answer is no, or it could not do it: exit code 1.
    Failed(Report),
    /// The configuration or the usage is wrong: exit code 2.
    Configuration(Report),
    /// The gateway wants to know who asks, or refuses this caller: exit code 3.
    Authentication(Report),
    /// All is said already; only the exit code remains.
    Silent(u8),
    /// The reader of our output has gone; nothing is wrong.
    ReaderGone,
}

impl Failure {
    /// Exit code 1 with a sentence and the way out.
    pub(crate) fn failed(message: impl Display, help: impl Display) -> Self {
        Self::Failed(report(message, help))
    }

    /// Exit code 2 with a sentence and the way out.
    pub(crate) fn configuration(message: impl Display, help: impl Display) -> Self {
        Self::Configuration(report(message, help))
    }

    /// Exit code 3 with a sentence and the way out.
    pub(crate) fn authentication(message: impl Display, help: impl Display) -> Self {
        Self::Authentication(report(message, help))
    }

    /// The process's exit code (spec 2.7).
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::ReaderGone => 0,
            Self::Failed(_) => 1,
            Self::Configuration(_) => 2,
            Self::Authentication(_) => 3,
            Self::Silent(code) => *code,
        }
    }

    /// What is told to a person, if anything is left to tell.
    pub(crate) fn report(&self) -> Option<&Report> {
        match self {
            Self::Failed(report) | Self::Configuration(report) | Self::Authentication(report) => Some(report),
            Self::Silent(_) | Self::ReaderGone => None,
        }
    }
}

impl From<io::Error> for Failure {
    /// Errors of our own output; errors of files are given their path where they arise.
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::ReaderGone
        } else {
            Self::failed(
                format_args!("cannot write the output: {error}"),
                "check the terminal, pipe or file it goes to",
            )
        }
    }
}

fn report(message: impl Display, help: impl Display) -> Report {
    Report::new(MietteDiagnostic::new(message.to_string()).with_help(help.to_string()))
}
