//! What references stand for: variables and files, handed in as a value so that tests need no process environment.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The largest file that `${file:…}` reads, in bytes.
const LARGEST_REFERENCED_FILE: u64 = 1024 * 1024;

/// A lookup of variables and a reader of files.
#[derive(Clone)]
pub struct Environment {
    variables: Variables,
    files: Files,
}

/// What the environment says of a variable.
#[derive(Clone, PartialEq, Eq)]
pub enum Variable {
    /// It is set.
    Set(String),
    /// It is not set.
    Unset,
    /// It is set to something that is not UTF-8.
    NotText,
}

#[derive(Clone)]
enum Variables {
    Process,
    Fixed(Arc<BTreeMap<String, String>>),
}

#[derive(Clone)]
enum Files {
    Disk,
    Fixed(Arc<BTreeMap<PathBuf, String>>),
}

impl Environment {
    /// This process's variables and the files of this machine.
    #[must_use]
    pub fn process() -> Self {
        Self {
            variables: Variables::Process,
            files: Files::Disk,
        }
    }

    /// These variables and no others; files are those of this machine.
    #[must_use]
    pub fn with_variables<K: Into<String>, V: Into<String>>(variables: impl IntoIterator<Item = (K, V)>) -> Self {
        let variables = variables
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        Self {
            variables: Variables::Fixed(Arc::new(variables)),
            files: Files::Disk,
        }
    }

    /// The same environment with these files and no others.
    #[must_use]
    pub fn with_files<P: Into<PathBuf>, T: Into<String>>(self, files: impl IntoIterator<Item = (P, T)>) -> Self {
        let files = files
            .into_iter()
            .map(|(path, text)| (path.into(), text.into()))
            .collect();
        Self {
            files: Files::Fixed(Arc::new(files)),
            ..self
        }
    }

    /// What the variable of that name is set to.
    #[must_use]
    pub fn variable(&self, name: &str) -> Variable {
        match &self.variables {
            Variables::Process => match std::env::var(name) {
                Ok(value) => Variable::Set(value),
                Err(std::env::VarError::NotPresent) => Variable::Unset,
                Err(std::env::VarError::NotUnicode(_)) => Variable::NotText,
            },
            Variables::Fixed(variables) => variables
                .get(name)
                .map_or(Variable::Unset, |value| Variable::Set(value.clone())),
        }
    }

    /// The text of a file.
    ///
    /// # Errors
    /// When it cannot be read, is not UTF-8, or is larger than 1 MiB.
    pub fn file(&self, path: &Path) -> io::Result<String> {
        match &self.files {
            Files::Disk => {
                // A pipe would be empty at the second reading, and could hold up the first.
                if !std::fs::metadata(path)?.is_file() {
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
                }
                let mut text = String::new();
                std::fs::File::open(path)?
                    .take(LARGEST_REFERENCED_FILE + 1)
                    .read_to_string(&mut text)?;
                match u64::try_from(text.len()) {
                    Ok(length) if length <= LARGEST_REFERENCED_FILE => Ok(text),
                    Ok(_) | Err(_) => Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 1 MiB")),
                }
            }
            Files::Fixed(files) => files
                .get(path)
                .cloned()
                .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound)),
        }
    }
}

/// Values stay out: they are what references hide.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment").finish_non_exhaustive()
    }
}

impl fmt::Debug for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Set(_) => "Set([secret])",
            Self::Unset => "Unset",
            Self::NotText => "NotText",
        })
    }
}
