//! One snapshot of the whole folder: read, checked as a whole, hashed.

#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use countersign_core::exact::Digest;
use countersign_core::identity::Identities;
use countersign_core::server::ServerEntry;
use countersign_core::workflow::Workflow;

use crate::bindings;
use crate::catalogue;
use crate::environment::Environment;
use crate::fields::Reader;
use crate::folder::{CATALOGUE_FILE, Files, GATEWAY_FILE, IDENTITIES_FILE};
use crate::gateway::{self, Gateway};
use crate::identities;
use crate::jsonc;
use crate::places::Places;
use crate::problem::{Problem, Problems, Severity, Source};
use crate::shown;
use crate::tree::Node;
use crate::workflows;
use crate::yaml;

/// Everything the folder says, checked as a whole.
#[derive(Clone)]
pub struct Config {
    /// The gateway's own settings.
    pub gateway: Gateway,
    /// Who may connect; absent, everyone is `local` (`identities.yaml`).
    pub identities: Option<Identities>,
    /// The servers, sorted by name.
    pub servers: Vec<Arc<ServerEntry>>,
    /// The workflows, sorted by name.
    pub workflows: Vec<Arc<Workflow>>,
    /// What is wrong with workflows that are set aside; the rest of the folder is good without them (I12).
    pub set_aside: Vec<Problem>,
    /// A digest over every file's content and every expanded value.
    pub hash: Digest,
    /// What the operator should look at.
    pub warnings: Vec<Problem>,
    /// The same as JSON with every secret masked, for `core_config_get`.
    pub shown: serde_json::Value,
}

/// Where snapshots come from: the folder, and later the resources of a cluster (spec 2.2).
pub trait Loader: fmt::Debug + Send + Sync + 'static {
    /// Reads everything once.
    fn load(&self) -> Loaded;

    /// A folder whose changes on disk tell early that there is something to read.
    fn folder(&self) -> Option<&Path>;
}

/// One reading of everything.
#[derive(Debug)]
pub struct Loaded {
    /// The snapshot, or every problem.
    pub result: Result<Config, Problems>,
    /// As [`Config::hash`], and known for broken content too.
    pub hash: Digest,
    /// The files that were there.
    pub files: BTreeSet<&'static str>,
}

/// The configuration folder as a source of snapshots.
#[derive(Debug, Clone)]
pub struct Folder {
    /// The folder.
    pub dir: PathBuf,
    /// What references stand for.
    pub environment: Environment,
}

impl Loader for Folder {
    fn load(&self) -> Loaded {
        evaluate(&Files::read(&self.dir), &self.environment)
    }

    fn folder(&self) -> Option<&Path> {
        Some(&self.dir)
    }
}

/// Reads and checks the configuration folder.
///
/// # Errors
/// Every problem of every file, when at least one is an error; workflows are not set aside here.
pub fn load(dir: &Path, environment: &Environment) -> Result<Config, Problems> {
    whole(&Files::read(dir), environment)
}

/// As [`load`], with the places of what was read, for explanations.
///
/// # Errors
/// As [`load`].
pub fn load_with_places(dir: &Path, environment: &Environment) -> Result<(Config, Places), Problems> {
    let files = Files::read(dir);
    let config = whole(&files, environment)?;
    Ok((config, Places::of(&files)))
}

fn whole(files: &Files, environment: &Environment) -> Result<Config, Problems> {
    let mut config = evaluate(files, environment).result?;
    let mut problems = std::mem::take(&mut config.set_aside);
    if problems.is_empty() {
        return Ok(config);
    }
    problems.append(&mut config.warnings);
    Problems::if_any_error(problems).map(|warnings| Config { warnings, ..config })
}

/// Checks what was read of the folder.
pub(crate) fn evaluate(files: &Files, environment: &Environment) -> Loaded {
    let mut found = Found {
        problems: files.problems(),
        values: Vec::new(),
    };
    let mut hidden = BTreeSet::new();
    let gateway = {
        let (source, node) = found.open(files, GATEWAY_FILE, yaml::parse);
        let source = source.unwrap_or_else(|| Source {
            name: String::new(),
            text: Arc::from(""),
        });
        let mut reader = Reader::new(&source, environment);
        let gateway = gateway::read(&mut reader, node.as_ref(), files);
        hidden.append(&mut reader.hidden);
        found.add(reader);
        gateway
    };
    let identities = identities(&mut found, files, environment, &gateway);
    let servers = match found.open(files, CATALOGUE_FILE, jsonc::parse) {
        (Some(source), Some(node)) => {
            let mut reader = Reader::new(&source, environment);
            let servers = catalogue::read(&mut reader, &node, &files.dir);
            found.add(reader);
            servers
        }
        (None | Some(_), _) => Vec::new(),
    };
    let mut read = workflows::read(files, environment, gateway.limits.tool_name_length);
    found.problems.append(&mut read.warnings);
    if found.problems.iter().any(|problem| problem.severity == Severity::Error) {
        // Whoever mends the folder is told of everything at once.
        found.problems.append(&mut read.errors);
    }
    let hash = found.hash(files);
    let result = Problems::if_any_error(found.problems).map(|warnings| {
        let shown = shown::view(&gateway, identities.as_ref(), (&servers, &read.workflows), &hidden);
        Config {
            gateway,
            identities,
            servers,
            workflows: read.workflows,
            set_aside: read.errors,
            hash,
            warnings,
            shown,
        }
    });
    Loaded {
        result,
        hash,
        files: files.names(),
    }
}

/// Reads who may connect. A file that is there and says nothing lets nobody in.
fn identities(found: &mut Found, files: &Files, environment: &Environment, gateway: &Gateway) -> Option<Identities> {
    if !files.names().contains(IDENTITIES_FILE) {
        return None;
    }
    let (source, node) = found.open(files, IDENTITIES_FILE, yaml::parse);
    let source = source?;
    let mut reader = Reader::new(&source, environment);
    let identities = identities::read(&mut reader, node.as_ref(), &gateway.presets);
    found.add(reader);
    if bindings::is_of_people_too(&gateway.bindings, &identities) {
        let what = "has an issuer with the same audience as `bindings.actor_tokens` of countersign.yaml".to_owned();
        let help =
            "give actor tokens an audience of their own; an actor would be served as a person whom nothing bounds";
        found
            .problems
            .push(Problem::of_file(&source.name, what).with_help(help));
    }
    if identities.keys.is_empty() && identities.issuers.is_empty() {
        let what = "names no key and no issuer, so nobody can connect over HTTP".to_owned();
        found.problems.push(Problem::of_file(&source.name, what).into_warning());
    }
    Some(identities)
}

/// What the reading of all files brought up.
struct Found {
    problems: Vec<Problem>,
    values: Vec<String>,
}

impl Found {
    fn open(
        &mut self,
        files: &Files,
        name: &str,
        parse: fn(&Source) -> (Option<Node>, Vec<Problem>),
    ) -> (Option<Source>, Option<Node>) {
        match files.source(name) {
            None if name == CATALOGUE_FILE && self.problems.is_empty() => {
                let path = files.dir.join(name).display().to_string();
                let problem = Problem::of_file(&path, "is not there, so there are no servers".to_owned());
                self.problems.push(problem.into_warning());
                (None, None)
            }
            None => (None, None),
            Some(Err(problem)) => {
                self.problems.push(problem);
                (None, None)
            }
            Some(Ok(source)) => {
                let (node, problems) = parse(&source);
                self.problems.extend(problems);
                (Some(source), node)
            }
        }
    }

    fn add(&mut self, reader: Reader<'_>) {
        self.problems.extend(reader.errors);
        self.problems.extend(reader.warnings);
        self.values.extend(reader.trace);
    }

    fn hash(&self, files: &Files) -> Digest {
        let mut all = files.digest().hex();
        for value in &self.values {
            all.push(':');
            all.push_str(&Digest::of(value.as_bytes()).hex());
        }
        Digest::of(all.as_bytes())
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("hash", &self.hash)
            .field("shown", &self.shown)
            .finish_non_exhaustive()
    }
}
