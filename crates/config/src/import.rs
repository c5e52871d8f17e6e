//! Another client's server list into our `mcp.json`.

mod entry;
mod text;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use crate::jsonc;
use crate::problem::{Problem, Source};
use crate::tree::{Member, Node, Value};
use text::Inputs;

/// What came out of another client's file.
#[derive(Clone)]
pub struct Imported {
    /// Our `mcp.json`, ready to be written. It may hold credentials that the other file had.
    pub mcp_json: String,
    /// The names of the servers in it, sorted.
    pub servers: Vec<String>,
    /// What was left out or needs the operator's hand, one sentence each.
    pub warnings: Vec<String>,
}

/// Turns another client's file into our `mcp.json`.
///
/// Reads what Claude Desktop, Claude Code (`~/.claude.json` with its projects too), Cursor, VS Code
/// (`mcp.json` and `settings.json`), Windsurf, Cline and Gemini CLI write. `origin` is the file's name.
///
/// # Errors
/// When the text is not JSON with comments, repeats a key, or holds no list of servers.
pub fn import(text: &str, origin: &str) -> Result<Imported, Problem> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let source = Source {
        name: origin.to_owned(),
        text: Arc::from(text),
    };
    let root = match jsonc::parse(&source) {
        (Some(root), problems) => match problems.into_iter().next() {
            None => root,
            Some(problem) => return Err(problem),
        },
        (None, problems) => {
            let unreadable = || Problem::of_file(origin, "cannot be read as JSON".to_owned());
            return Err(problems.into_iter().next().unwrap_or_else(unreadable));
        }
    };
    let lists = lists(&root);
    if lists.is_empty() {
        let problem = source.problem(root.span, "holds no list of servers");
        return Err(problem.with_help(
            "looked for `mcpServers`, `servers`, `mcp.servers`, `context_servers` and `projects.*.mcpServers`",
        ));
    }
    let mut taken = Taken::default();
    for list in &lists {
        taken.add(list);
    }
    Ok(taken.written())
}

/// One list of servers in the other file.
struct List<'t> {
    /// What it belongs to, such as a project's folder; empty for the file itself.
    owner: &'t str,
    servers: &'t [Member],
    inputs: Inputs<'t>,
}

fn lists(root: &Node) -> Vec<List<'_>> {
    let settings = root.member("mcp").map(|member| &member.node);
    let mut found = vec![
        ("", servers(root, "mcpServers")),
        ("", servers(root, "servers")),
        ("", servers(root, "context_servers")),
        ("", settings.and_then(|mcp| servers(mcp, "servers"))),
    ];
    if let Some(Member {
        node: Node {
            value: Value::Map(projects),
            ..
        },
        ..
    }) = root.member("projects")
    {
        found.extend(
            projects
                .iter()
                .map(|project| (project.key.as_str(), servers(&project.node, "mcpServers"))),
        );
    }
    let inputs = root
        .member("inputs")
        .or_else(|| settings.and_then(|mcp| mcp.member("inputs")));
    let list = |(owner, servers): (_, Option<_>)| {
        Some(List {
            owner,
            servers: servers?,
            inputs: Inputs::of(inputs),
        })
    };
    found.into_iter().filter_map(list).collect()
}

fn servers<'t>(holder: &'t Node, key: &str) -> Option<&'t [Member]> {
    match &holder.member(key)?.node.value {
        Value::Map(servers) => Some(servers),
        Value::Null | Value::Boolean(_) | Value::Number(_) | Value::Text(_) | Value::List(_) => None,
    }
}

/// What has been taken over so far.
#[derive(Default)]
struct Taken {
    servers: BTreeMap<String, Json>,
    warnings: Vec<String>,
}

impl Taken {
    fn add(&mut self, list: &List<'_>) {
        for server in list.servers {
            let name = self.valid_name(&server.key);
            let entry = entry::translated(&name, &server.node, &list.inputs, &mut self.warnings);
            let Some(entry) = entry else { continue };
            match self.servers.get(&name) {
                Some(present) if *present == entry => {}
                Some(_) => {
                    let other = self.free_name(&name);
                    let place = if list.owner.is_empty() {
                        "the file".to_owned()
                    } else {
                        format!("project `{}`", list.owner)
                    };
                    self.warn(format!(
                        "server `{name}` of {place} differs from another of that name and became `{other}`"
                    ));
                    self.servers.insert(other, entry);
                }
                None => {
                    self.servers.insert(name, entry);
                }
            }
        }
    }

    /// The name with everything that our names do not allow replaced.
    fn valid_name(&mut self, name: &str) -> String {
        let replaced: String = name
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') {
                    c
                } else {
                    '-'
                }
            })
            .collect();
        let trimmed: String = replaced.trim_start_matches(['.', '_', '-']).chars().take(64).collect();
        let valid = if trimmed.is_empty() {
            "server".to_owned()
        } else {
            trimmed
        };
        if valid != name {
            self.warn(format!(
                "server `{name}` became `{valid}`, since its name is not allowed here"
            ));
        }
        valid
    }

    fn free_name(&self, name: &str) -> String {
        let stem: String = name.chars().take(58).collect();
        let mut number: u32 = 2;
        loop {
            let candidate = format!("{stem}-{number}");
            if !self.servers.contains_key(&candidate) {
                return candidate;
            }
            number += 1;
        }
    }

    /// The same sentence may come from several lists; once is enough.
    fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    fn written(self) -> Imported {
        let servers = self.servers.keys().cloned().collect();
        let entries: Map<String, Json> = self.servers.into_iter().collect();
        let mut mcp_json = format!("{:#}", json!({"mcpServers": entries}));
        mcp_json.push('\n');
        Imported {
            mcp_json,
            servers,
            warnings: self.warnings,
        }
    }
}

/// The file itself stays out: it may hold credentials.
impl std::fmt::Debug for Imported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Imported")
            .field("servers", &self.servers)
            .field("warnings", &self.warnings)
            .finish_non_exhaustive()
    }
}
