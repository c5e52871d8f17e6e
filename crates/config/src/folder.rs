//! The configuration folder on disk: which one, and what is in it.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use countersign_core::exact::Digest;

use crate::problem::{Problem, Source};

/// The largest file that is read, in bytes.
const LARGEST_FILE: u64 = 4 * 1024 * 1024;

/// The names that the files of this version have.
pub(crate) const GATEWAY_FILE: &str = "countersign.yaml";
pub(crate) const CATALOGUE_FILE: &str = "mcp.json";
pub(crate) const IDENTITIES_FILE: &str = "identities.yaml";

/// The folder of workflows, one in each file.
const WORKFLOWS: &str = "workflows";

/// How many workflows there may be.
const MOST_WORKFLOWS: usize = 1_000;

/// Files and folders of later versions, and what ignoring them would mean.
const LATER: &[(&str, &str)] = &[
    ("authz.yaml", "calls would be served without the rights it describes"),
    (
        "tools.lock",
        "tools would be served without being compared with what was reviewed",
    ),
];

/// Folders of later versions, with the ending of the files in them; an empty ending means folders.
const LATER_FOLDERS: &[(&str, &str, &str)] = &[
    (
        "workloads",
        "",
        "its agents would be served without the narrowing it describes",
    ),
    ("policies", ".js", "calls would be served without the checks it makes"),
];

/// Which folder to use: the flag, else `$COUNTERSIGN_CONFIG`, else `./countersign` when it is a
/// folder, else the user's own (spec 2.1). An empty variable counts as unset.
#[must_use]
pub fn default_dir(flag: Option<PathBuf>, variable: Option<OsString>, user: Option<PathBuf>) -> PathBuf {
    let here = Path::new("countersign");
    flag.or_else(|| variable.filter(|value| !value.is_empty()).map(PathBuf::from))
        .or_else(|| here.is_dir().then(|| here.to_owned()))
        .or(user)
        .unwrap_or_else(|| here.to_owned())
}

/// The bytes of everything in the folder that matters, read at one time.
#[derive(Clone)]
pub(crate) struct Files {
    /// The folder.
    pub(crate) dir: PathBuf,
    /// What was read, by name within the folder: bytes, or why they could not be read.
    files: BTreeMap<&'static str, Result<Vec<u8>, String>>,
    /// The files of `workflows`, by name without the ending.
    workflows: BTreeMap<String, Result<Vec<u8>, String>>,
    /// Why the folder as a whole, or something in it, is refused.
    refused: Vec<(String, String, Option<String>)>,
}

impl Files {
    /// Reads the folder. What cannot be read is found out by [`Files::problems`] and [`Files::source`].
    pub(crate) fn read(dir: &Path) -> Self {
        let mut found = Self {
            dir: dir.to_owned(),
            files: BTreeMap::new(),
            workflows: BTreeMap::new(),
            refused: Vec::new(),
        };
        match fs::metadata(dir) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => found.refuse("", "is not a folder", None),
            Err(error) => {
                let help = "make it, or name another one with `--config` or `$COUNTERSIGN_CONFIG`".to_owned();
                found.refuse(
                    "",
                    &format!("cannot be read as the configuration folder: {error}"),
                    Some(help),
                );
            }
        }
        if !found.refused.is_empty() {
            return found;
        }
        for name in [GATEWAY_FILE, CATALOGUE_FILE, IDENTITIES_FILE] {
            let path = dir.join(name);
            match bytes(&path) {
                Ok(bytes) => {
                    found.files.insert(name, Ok(bytes));
                }
                // A link that leads nowhere is still a file that somebody meant.
                Err(error) if error.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(&path).is_err() => {}
                Err(error) => {
                    found.files.insert(name, Err(error.to_string()));
                }
            }
        }
        found.read_workflows();
        found.refuse_later_files();
        found.refuse_misnamed_files();
        found
    }

    fn read_workflows(&mut self) {
        let folder = self.dir.join(WORKFLOWS);
        match entries(&folder, ".yaml") {
            Ok(names) => {
                for name in names.into_iter().take(MOST_WORKFLOWS + 1) {
                    let read = bytes(&folder.join(&name)).map_err(|error| error.to_string());
                    let stem = name.strip_suffix(".yaml").unwrap_or(&name);
                    self.workflows.insert(stem.to_owned(), read);
                }
                if self.workflows.len() > MOST_WORKFLOWS {
                    self.refuse(WORKFLOWS, &format!("holds more than {MOST_WORKFLOWS} files"), None);
                }
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
            Err(error) => self.refuse(WORKFLOWS, &format!("cannot be read: {error}"), None),
        }
        for name in entries(&folder, ".yml").unwrap_or_default() {
            let help = format!("rename it to `{}.yaml`", name.trim_end_matches(".yml"));
            self.refuse(&format!("{WORKFLOWS}/{name}"), "is not a name that is read", Some(help));
        }
    }

    /// The same from memory, for tests.
    #[cfg(test)]
    pub(crate) fn of(dir: &str, files: &[(&'static str, &str)]) -> Self {
        let files = files
            .iter()
            .map(|(name, text)| (*name, Ok(text.as_bytes().to_vec())))
            .collect();
        Self {
            dir: PathBuf::from(dir),
            files,
            workflows: BTreeMap::new(),
            refused: Vec::new(),
        }
    }

    /// The same with workflows, by name without the ending.
    #[cfg(test)]
    pub(crate) fn with_workflows(mut self, workflows: &[(&str, &str)]) -> Self {
        let workflows = workflows
            .iter()
            .map(|(stem, text)| ((*stem).to_owned(), Ok(text.as_bytes().to_vec())));
        self.workflows.extend(workflows);
        self
    }

    /// The workflows' texts, by name without the ending.
    pub(crate) fn workflows(&self) -> impl Iterator<Item = (String, Result<Source, Problem>)> {
        self.workflows.iter().map(|(stem, bytes)| {
            let shown = self.shown(&format!("{WORKFLOWS}/{stem}.yaml"));
            (stem.clone(), source(shown, bytes))
        })
    }

    /// The files that are there.
    pub(crate) fn names(&self) -> BTreeSet<&'static str> {
        self.files.keys().copied().collect()
    }

    /// What is wrong with the folder itself.
    pub(crate) fn problems(&self) -> Vec<Problem> {
        let problem = |(name, what, help): &(String, String, Option<String>)| {
            let mut problem = Problem::of_file(&self.shown(name), what.clone());
            problem.help.clone_from(help);
            problem
        };
        self.refused.iter().map(problem).collect()
    }

    /// A file's text, when the file is there. One byte order mark at its start is dropped.
    pub(crate) fn source(&self, name: &str) -> Option<Result<Source, Problem>> {
        Some(source(self.shown(name), self.files.get(name)?))
    }

    /// A digest over everything that was read, and over everything that is refused.
    pub(crate) fn digest(&self) -> Digest {
        let mut all = Vec::new();
        let mut add = |part: &[u8]| {
            all.extend_from_slice(part.len().to_string().as_bytes());
            all.push(b':');
            all.extend_from_slice(part);
        };
        let files = self.files.iter().map(|(name, content)| (*name, content));
        let workflows = self.workflows.iter().map(|(name, content)| (name.as_str(), content));
        for (name, content) in files.chain(workflows) {
            add(name.as_bytes());
            match content {
                Ok(bytes) => add(bytes),
                Err(error) => add(error.as_bytes()),
            }
        }
        for (name, what, _) in &self.refused {
            add(name.as_bytes());
            add(what.as_bytes());
        }
        Digest::of(&all)
    }

    fn shown(&self, name: &str) -> String {
        if name.is_empty() {
            self.dir.display().to_string()
        } else {
            self.dir.join(name).display().to_string()
        }
    }

    fn refuse(&mut self, name: &str, what: &str, help: Option<String>) {
        self.refused.push((name.to_owned(), what.to_owned(), help));
    }

    fn refuse_later(&mut self, name: &str, consequence: &str) {
        let help = format!("remove it; it is refused rather than ignored because {consequence}");
        self.refuse(name, "is not supported by this version of countersign", Some(help));
    }

    fn refuse_later_files(&mut self) {
        for (name, consequence) in LATER {
            // `symlink_metadata`: a link that leads nowhere is still a file that somebody meant.
            if fs::symlink_metadata(self.dir.join(name)).is_ok() {
                self.refuse_later(name, consequence);
            }
        }
        for (folder, ending, consequence) in LATER_FOLDERS {
            match entries(&self.dir.join(folder), ending) {
                Ok(names) => {
                    for name in names {
                        self.refuse_later(&format!("{folder}/{name}"), consequence);
                    }
                }
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
                Err(error) => self.refuse(folder, &format!("cannot be read: {error}"), None),
            }
        }
    }

    /// A file under a name that is nearly ours would be ignored without a word.
    fn refuse_misnamed_files(&mut self) {
        for (wrong, right) in [
            ("countersign.yml", GATEWAY_FILE),
            ("countersign.json", GATEWAY_FILE),
            ("mcp.jsonc", CATALOGUE_FILE),
            ("mcp.yaml", CATALOGUE_FILE),
            ("identities.yml", IDENTITIES_FILE),
            ("identities.json", IDENTITIES_FILE),
            ("authz.yml", "authz.yaml"),
        ] {
            if fs::symlink_metadata(self.dir.join(wrong)).is_ok() {
                let help = format!("the file that is read is `{right}`; rename or remove this one");
                self.refuse(wrong, "is not a name that is read", Some(help));
            }
        }
    }
}

fn source(shown: String, content: &Result<Vec<u8>, String>) -> Result<Source, Problem> {
    let bytes = match content {
        Ok(bytes) => bytes,
        Err(error) => return Err(Problem::of_file(&shown, format!("cannot be read: {error}"))),
    };
    match str::from_utf8(bytes) {
        Ok(text) => {
            let text = text.strip_prefix('\u{feff}').unwrap_or(text);
            Ok(Source {
                name: shown,
                text: Arc::from(text),
            })
        }
        Err(error) => {
            let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
            let what = format!("is not UTF-8: the first bad byte is on line {line}");
            Err(Problem::of_file(&shown, what).with_help("save the file as UTF-8"))
        }
    }
}

fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
    match u64::try_from(bytes.len()) {
        Ok(length) if length <= LARGEST_FILE => Ok(bytes),
        Ok(_) | Err(_) => Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 4 MiB")),
    }
}

/// The names in a folder that end so, or its folders when the ending is empty; sorted, without hidden ones.
fn entries(folder: &Path, ending: &str) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let wanted = if ending.is_empty() {
            entry.path().is_dir()
        } else {
            name.ends_with(ending)
        };
        if wanted && !name.starts_with('.') {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}
