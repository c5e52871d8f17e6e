//! The sample servers of `quickstart`: real MCP servers over stdio, run as any upstream is.

mod answer;
mod clock;
mod notes;
mod server;
mod shelf;

use std::io;
use std::path::PathBuf;

use crate::failure::Failure;

/// Which sample.
#[derive(Debug)]
pub(crate) enum Sample {
    /// A notes store in a file.
    Notes(PathBuf),
    /// A clock.
    Clock,
}

/// Serves one sample until its input ends.
pub(crate) fn run(sample: Sample) -> Result<(), Failure> {
    let (input, output) = (io::stdin().lock(), io::stdout().lock());
    match sample {
        Sample::Notes(file) => server::serve(&mut notes::Notes::new(file), input, output)?,
        Sample::Clock => server::serve(&mut clock::Clock, input, output)?,
    }
    Ok(())
}

#[cfg(test)]
mod tests;
