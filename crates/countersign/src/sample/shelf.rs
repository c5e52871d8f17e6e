//! The notes in their file: read for each request, replaced as a whole, never overwritten when broken.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// One note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Note {
    /// Its number, as text.
    pub(super) id: String,
    /// One line.
    pub(super) title: String,
    /// The whole text.
    pub(super) text: String,
    /// When it was written, RFC 3339.
    pub(super) created: String,
}

/// All notes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Shelf {
    /// The layout of this file.
    version: u32,
    /// The next note's number; numbers are never used twice.
    pub(super) next: u64,
    /// The notes, oldest first.
    pub(super) notes: Vec<Note>,
}

/// Why the notes cannot be read or kept.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// A file operation failed.
    #[error("cannot use `{path}`: {source}")]
    File {
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// What was to be kept has no JSON form.
    #[error("cannot write the notes as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

const VERSION: u32 = 1;

impl Default for Shelf {
    fn default() -> Self {
        Self {
            version: VERSION,
            next: 1,
            notes: Vec::new(),
        }
    }
}

/// The file and, while it is held, the lock that keeps other processes from changing it.
#[derive(Debug)]
pub(super) struct Held {
    file: PathBuf,
    _lock: File,
}

impl Held {
    /// Waits for the lock beside the file; the lock ends with the value.
    pub(super) fn lock(file: &Path) -> Result<Self, Error> {
        let beside = with_ending(file, "lock");
        let lock = File::create(&beside)
            .and_then(|lock| lock.lock().map(|()| lock))
            .map_err(at(&beside))?;
        Ok(Self {
            file: file.to_owned(),
            _lock: lock,
        })
    }

    /// Reads the notes; an absent file holds none. A file that cannot be understood is set aside
    /// under a name of its own and said on stderr, so that nothing in it is lost.
    pub(super) fn read(&self) -> Result<Shelf, Error> {
        let text = match fs::read(&self.file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Shelf::default()),
            Err(error) => return Err(at(&self.file)(error)),
        };
        let why = match serde_json::from_slice::<Shelf>(&text) {
            Ok(shelf) if shelf.version == VERSION => return Ok(shelf),
            Ok(shelf) => format!("version {} is not known to this program", shelf.version),
            Err(error) => error.to_string(),
        };
        let aside = self.free_name();
        fs::rename(&self.file, &aside).map_err(at(&self.file))?;
        crate::out::say(&format!(
            "notes: `{}` cannot be read ({why}); it is kept as `{}` and an empty store is begun",
            self.file.display(),
            aside.display()
        ));
        Ok(Shelf::default())
    }

    /// Replaces the file as a whole: a crash leaves the old notes or the new ones.
    pub(super) fn write(&self, shelf: &Shelf) -> Result<(), Error> {
        let text = serde_json::to_vec_pretty(shelf)?;
        let fresh = with_ending(&self.file, "new");
        let written = File::create(&fresh).and_then(|mut file| file.write_all(&text).and_then(|()| file.sync_all()));
        written.map_err(at(&fresh))?;
        fs::rename(&fresh, &self.file).map_err(at(&self.file))
    }

    fn free_name(&self) -> PathBuf {
        let mut number = 1_u32;
        loop {
            let name = with_ending(&self.file, &format!("broken-{number}"));
            if !name.exists() {
                return name;
            }
            number = number.saturating_add(1);
        }
    }
}

fn with_ending(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::File {
        path: path.display().to_string(),
        source,
    }
}
