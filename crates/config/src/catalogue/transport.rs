//! How a server is reached: the keys of each transport, and which do not go together.

mod auth;
mod web;

use std::collections::BTreeMap;
use std::path::Path;

use countersign_core::auth::Auth;
use countersign_core::secret::Secret;
use countersign_core::server::{EnvMode, PrivateNetwork, Sharing, Transport};

use super::{Rules, credential};
use crate::fields::{Field, Fields, Reader};
use crate::nearest;
use crate::tree::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Stdio,
    Http,
    Sse,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        match word {
            "stdio" => Some(Self::Stdio),
            "http" | "streamable-http" | "streamableHttp" | "streamable_http" => Some(Self::Http),
            "sse" => Some(Self::Sse),
            _ => None,
        }
    }
}

/// How a server is reached, and what depends on that.
pub(super) struct Reached {
    pub(super) transport: Transport,
    pub(super) sharing: Sharing,
    pub(super) auth: Auth,
    pub(super) private_network: PrivateNetwork,
}

/// Reads the transport of an entry, and what depends on it.
pub(super) fn read(
    reader: &mut Reader<'_>,
    fields: &mut Fields<'_>,
    server: &Field<'_>,
    rules: &Rules<'_>,
) -> Option<Reached> {
    let declared = fields.take(reader, &["type", "transport"]);
    let command = fields.take(reader, &["command"]);
    let url = fields.take(reader, &["url"]);
    let kind = kind(reader, server, declared, (command.as_ref(), url.as_ref()));
    let stdio = Process::take(reader, fields);
    let web = web::Keys::take(reader, fields);
    let shared = fields.take(reader, &["shared"]);
    let kind = kind?;
    let (transport, auth, private_network) = match kind {
        Kind::Stdio => {
            web.refuse(reader, kind);
            (
                stdio.read(reader, &command?, rules),
                Auth::None,
                PrivateNetwork::Allowed,
            )
        }
        Kind::Http | Kind::Sse => {
            stdio.refuse(reader, kind);
            let url = web::url(reader, &url?);
            let web::Read {
                headers,
                auth,
                private_network,
            } = web.read(reader);
            let transport = url.map(|url| match kind {
                Kind::Http => Transport::Http { url, headers },
                Kind::Stdio | Kind::Sse => Transport::Sse { url, headers },
            });
            (transport, auth, private_network)
        }
    };
    let sharing = sharing(reader, kind, shared, &auth);
    Some(Reached {
        transport: transport?,
        sharing,
        auth,
        private_network,
    })
}

fn sharing(reader: &mut Reader<'_>, kind: Kind, shared: Option<Field<'_>>, auth: &Auth) -> Sharing {
    let Some(field) = shared else {
        return Sharing::PerPrincipal;
    };
    if kind == Kind::Sse {
        does_not_go_with(reader, &field, kind);
        return Sharing::PerPrincipal;
    }
    match reader.flag(&field) {
        Some(true) if auth.is_on() => {
            let what = format!(
                "is not used beside `auth: {}`, with which every principal has a session of its own",
                auth.word()
            );
            reader.warn(&field, &what);
            Sharing::PerPrincipal
        }
        Some(true) => Sharing::Shared,
        Some(false) | None => Sharing::PerPrincipal,
    }
}

fn kind(
    reader: &mut Reader<'_>,
    server: &Field<'_>,
    declared: Option<Field<'_>>,
    (command, url): (Option<&Field<'_>>, Option<&Field<'_>>),
) -> Option<Kind> {
    if let (Some(_), Some(url)) = (command, url) {
        reader.wrong_key(
            url,
            "contradicts `command`",
            "keep `command` for a server that is started here, `url` for one that runs elsewhere",
        );
        return None;
    }
    let Some(declared) = declared else {
        if command.is_none() && url.is_none() {
            reader.wrong_key(
                server,
                "has neither `command` nor `url`",
                "write `command` for a server that is started here, `url` for one that runs elsewhere",
            );
            return None;
        }
        return Some(if command.is_some() { Kind::Stdio } else { Kind::Http });
    };
    let word = reader.literal(&declared)?;
    let Some(kind) = Kind::parse(&word) else {
        let what = format!("must be `stdio`, `http` or `sse`, not `{word}`");
        reader.wrong_with_help(
            &declared,
            &what,
            nearest::help(&word, &["stdio", "http", "sse", "streamable-http"]),
        );
        return None;
    };
    let (needed, present) = match kind {
        Kind::Stdio => ("command", command.is_some()),
        Kind::Http | Kind::Sse => ("url", url.is_some()),
    };
    if present {
        return Some(kind);
    }
    match command.or(url) {
        Some(other) => {
            let what = format!("does not go with `{}: {word}`", declared.path);
            reader.wrong_key(other, &what, format!("write `{needed}`, or remove `{}`", declared.path));
        }
        None => reader.wrong_key(
            server,
            &format!("has no `{needed}`"),
            format!("`{}: {word}` needs it", declared.path),
        ),
    }
    None
}

/// An empty list or map says nothing, so it is only worth a warning.
fn does_not_go_with(reader: &mut Reader<'_>, field: &Field<'_>, kind: Kind) {
    let empty = match &field.node.value {
        Value::List(items) => items.is_empty(),
        Value::Map(members) => members.is_empty(),
        Value::Null | Value::Boolean(_) | Value::Number(_) | Value::Text(_) => false,
    };
    let what = format!("has no meaning for a server of type `{}`", kind.word());
    if empty {
        reader.warn(field, &what)
    } else {
        reader.wrong_key(field, &what, "remove it")
    }
}

/// The keys of a server that is started here.
struct Process<'t> {
    args: Option<Field<'t>>,
    env: Option<Field<'t>>,
    env_mode: Option<Field<'t>>,
    env_passthrough: Option<Field<'t>>,
    cwd: Option<Field<'t>>,
}

impl<'t> Process<'t> {
    fn take(reader: &mut Reader<'_>, fields: &mut Fields<'t>) -> Self {
        Self {
            args: fields.take(reader, &["args"]),
            env: fields.take(reader, &["env"]),
            env_mode: fields.take(reader, &["envMode", "env_mode"]),
            env_passthrough: fields.take(reader, &["envPassthrough", "env_passthrough"]),
            cwd: fields.take(reader, &["cwd"]),
        }
    }

    fn refuse(self, reader: &mut Reader<'_>, kind: Kind) {
        for field in [self.args, self.env, self.env_mode, self.env_passthrough, self.cwd]
            .into_iter()
            .flatten()
        {
            does_not_go_with(reader, &field, kind);
        }
    }

    fn read(self, reader: &mut Reader<'_>, command: &Field<'_>, rules: &Rules<'_>) -> Option<Transport> {
        let args = self.args.map_or_else(Vec::new, |field| args(reader, &field));
        let env = self.env.map_or_else(BTreeMap::new, |field| env(reader, &field));
        let env_mode = self
            .env_mode
            .and_then(|field| env_mode(reader, &field))
            .unwrap_or(EnvMode::Clean);
        let env_passthrough = self
            .env_passthrough
            .map_or_else(Vec::new, |field| env_passthrough(reader, &field));
        let cwd = self.cwd.and_then(|field| cwd(reader, &field, rules.dir));
        let command = program(reader, command, rules)?;
        Some(Transport::Stdio {
            command,
            args,
            env,
            env_mode,
            env_passthrough,
            cwd,
        })
    }
}

fn program(reader: &mut Reader<'_>, field: &Field<'_>, rules: &Rules<'_>) -> Option<Secret> {
    let command = process_text(reader, field)?;
    if command.reveal().trim().is_empty() {
        reader.wrong_with_help(field, "must name a program", "write its name or its path");
        return None;
    }
    let allowed = |entry: &Secret| entry.reveal() == command.reveal();
    if !rules.commands.is_empty() && !rules.commands.iter().any(allowed) {
        let what = format!("is `{}`, which is not in `commandAllowlist`", command.shown());
        reader.wrong_with_help(
            field,
            &what,
            "add it there, as it is written here, or use a program of the list",
        );
        return None;
    }
    Some(command)
}

fn args(reader: &mut Reader<'_>, field: &Field<'_>) -> Vec<Secret> {
    let items = reader.list(field).unwrap_or_default();
    credential::hidden_arguments(items.iter().filter_map(|item| process_text(reader, item)).collect())
}

fn env(reader: &mut Reader<'_>, field: &Field<'_>) -> BTreeMap<String, Secret> {
    let mut env = BTreeMap::new();
    for (name, value) in reader.entries(field).unwrap_or_default() {
        if !is_environment_name(name) {
            reader.wrong_key(
                &value,
                "is not the name of a variable",
                "use a name without `=`, blanks and control characters",
            );
        } else if let Some(secret) = reader.secret_or_number(&value)
            && let Some(secret) = without_nul(reader, &value, secret)
        {
            env.insert(name.to_owned(), credential::hidden_by_name(name, secret));
        }
    }
    env
}

fn env_mode(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<EnvMode> {
    let word = reader.literal(field)?;
    match word.as_str() {
        "clean" => Some(EnvMode::Clean),
        "inherit" => Some(EnvMode::Inherit),
        other => {
            let what = format!("must be `clean` or `inherit`, not `{other}`");
            reader.wrong_with_help(field, &what, nearest::help(other, &["clean", "inherit"]));
            None
        }
    }
}

fn env_passthrough(reader: &mut Reader<'_>, field: &Field<'_>) -> Vec<String> {
    let mut names = Vec::new();
    for item in reader.list(field).unwrap_or_default() {
        let Some(name) = reader.literal(&item) else { continue };
        if is_environment_name(&name) {
            names.push(name);
        } else {
            reader.wrong(&item, "is not the name of a variable");
        }
    }
    names
}

/// A relative folder is meant from where the file is, wherever the gateway was started.
fn cwd(reader: &mut Reader<'_>, field: &Field<'_>, dir: &Path) -> Option<Secret> {
    let cwd = process_text(reader, field)?;
    if cwd.reveal().is_empty() {
        reader.wrong(field, "must be the path of a folder");
        return None;
    }
    let joined = dir.join(cwd.reveal()).to_string_lossy().into_owned();
    Some(if cwd.is_hidden() {
        Secret::hidden(joined)
    } else {
        Secret::plain(joined)
    })
}

fn process_text(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<Secret> {
    let secret = reader.secret(field)?;
    without_nul(reader, field, secret)
}

fn without_nul(reader: &mut Reader<'_>, field: &Field<'_>, secret: Secret) -> Option<Secret> {
    if secret.reveal().contains('\0') {
        reader.wrong(field, "holds a NUL character, which no program can be given");
        return None;
    }
    Some(secret)
}

fn is_environment_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c == '=' || c.is_whitespace() || c.is_control())
}
