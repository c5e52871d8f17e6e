//! References in values: `${VAR}`, `${VAR:-default}`, `${file:/path}`, and `$$` for a dollar (spec 2.1).

#[cfg(test)]
mod tests;

use std::path::Path;

use countersign_core::secret::Secret;

use crate::environment::{Environment, Variable};

/// Each value that a reference stood for, in the order of the files: a snapshot's hash covers them.
pub(crate) type Trace = Vec<String>;

/// Why a text cannot be expanded. `what` follows the key it is about.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) what: String,
    pub(crate) help: Option<String>,
}

/// The text with every reference replaced; hidden as soon as there was one.
pub(crate) fn expand(text: &str, environment: &Environment, trace: &mut Trace) -> Result<Secret, Fault> {
    let mut expanded = String::with_capacity(text.len());
    let mut hidden = false;
    for piece in pieces(text) {
        match piece {
            Piece::Literal(literal) => expanded.push_str(literal),
            Piece::Dollar => expanded.push('$'),
            Piece::Reference(body) => {
                hidden = true;
                let value = resolve(body, environment)?;
                expanded.push_str(&value);
                trace.push(value);
            }
            Piece::Unclosed(_) => return Err(unclosed()),
        }
    }
    Ok(if hidden {
        Secret::hidden(expanded)
    } else {
        Secret::plain(expanded)
    })
}

/// The text with `$$` replaced, where a reference is not allowed.
pub(crate) fn literal(text: &str) -> Result<String, Fault> {
    let mut plain = String::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Literal(literal) => plain.push_str(literal),
            Piece::Dollar => plain.push('$'),
            Piece::Reference(_) | Piece::Unclosed(_) => {
                return Err(Fault {
                    what: "must not hold a reference: its value is shown to callers".to_owned(),
                    help: Some("write the value itself, or `$${` for the text `${`".to_owned()),
                });
            }
        }
    }
    Ok(plain)
}

/// A part of a value.
pub(crate) enum Piece<'t> {
    /// Text that stands for itself.
    Literal(&'t str),
    /// `$$`
    Dollar,
    /// What stands between `${` and `}`.
    Reference(&'t str),
    /// `${` without `}`, and what follows it.
    Unclosed(&'t str),
}

/// The parts of a value, in order. A `$` before anything else stands for itself.
pub(crate) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, tail) = rest.split_at(at);
        if !before.is_empty() {
            pieces.push(Piece::Literal(before));
        }
        if let Some(after) = tail.strip_prefix("$$") {
            pieces.push(Piece::Dollar);
            rest = after;
        } else if let Some(after) = tail.strip_prefix("${") {
            let Some((body, after)) = after.split_once('}') else {
                pieces.push(Piece::Unclosed(after));
                return pieces;
            };
            pieces.push(Piece::Reference(body));
            rest = after;
        } else {
            let (dollar, after) = tail.split_at(1);
            pieces.push(Piece::Literal(dollar));
            rest = after;
        }
    }
    if !rest.is_empty() {
        pieces.push(Piece::Literal(rest));
    }
    pieces
}

/// Whether a text is a variable's name.
pub(crate) fn is_variable_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn resolve(body: &str, environment: &Environment) -> Result<String, Fault> {
    if let Some(path) = body.strip_prefix("file:") {
        return file(path, environment);
    }
    let (name, default) = match body.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (body, None),
    };
    if !is_variable_name(name) {
        return Err(odd_name(body));
    }
    if default.is_some_and(|default| default.contains("${")) {
        return Err(Fault {
            what: format!("has the reference `{name}` with another reference as its default"),
            help: Some("references do not nest; write the default itself".to_owned()),
        });
    }
    match (environment.variable(name), default) {
        // As in a shell, `:-` stands in for an empty variable too.
        (Variable::Set(value), Some(default)) if value.is_empty() => Ok(default.replace("$$", "$")),
        (Variable::Set(value), _) => Ok(value),
        (Variable::Unset, Some(default)) => Ok(default.replace("$$", "$")),
        (Variable::Unset, None) => Err(unset(name)),
        (Variable::NotText, _) => Err(Fault {
            what: format!("names the variable `{name}`, which is not UTF-8"),
            help: None,
        }),
    }
}

fn file(path: &str, environment: &Environment) -> Result<String, Fault> {
    let path = Path::new(path);
    let shown = path.display();
    if !path.is_absolute() {
        return Err(Fault {
            what: format!("names the file `{shown}`, which is not an absolute path"),
            help: Some("write `${file:/path/to/file}`".to_owned()),
        });
    }
    match environment.file(path) {
        Ok(text) => Ok(text.trim().to_owned()),
        Err(error) => Err(Fault {
            what: format!("names the file `{shown}`, which cannot be read: {error}"),
            help: None,
        }),
    }
}

fn unclosed() -> Fault {
    Fault {
        what: "has a `${` without a `}`".to_owned(),
        help: Some("close the reference, or write `$${` for the text `${`".to_owned()),
    }
}

fn unset(name: &str) -> Fault {
    let help = match name {
        "workspaceFolder" => "VS Code fills in `${workspaceFolder}`; write the folder itself".to_owned(),
        "userHome" => "Cursor fills in `${userHome}`; write `${HOME}`".to_owned(),
        _ => format!("set it, or give a default: `${{{name}:-value}}`"),
    };
    Fault {
        what: format!("names the variable `{name}`, which is not set"),
        help: Some(help),
    }
}

fn odd_name(body: &str) -> Fault {
    let shown: String = body.chars().take(64).collect();
    let help = if let Some(name) = body.strip_prefix("env:").filter(|name| is_variable_name(name)) {
        format!("write `${{{name}}}`")
    } else if body.starts_with("input:") {
        "VS Code asks the user for it; put the value into a variable and write `${VARIABLE}`".to_owned()
    } else {
        "write `${VARIABLE}`, `${VARIABLE:-default}` or `${file:/path}`, and `$${` for the text `${`".to_owned()
    };
    Fault {
        what: format!("has `${{{shown}}}`, which is not a reference"),
        help: Some(help),
    }
}
