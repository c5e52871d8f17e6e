//! References of other clients in our words: `${env:X}`, `${input:x}`, `${workspaceFolder}`.

use crate::expand::{self, Piece};
use crate::tree::{Member, Node, Value};

/// VS Code's questions to the user, by id.
#[derive(Clone)]
pub(super) struct Inputs<'t>(&'t [Node]);

impl<'t> Inputs<'t> {
    pub(super) fn of(member: Option<&'t Member>) -> Self {
        match member {
            Some(Member {
                node: Node {
                    value: Value::List(items),
                    ..
                },
                ..
            }) => Self(items),
            Some(_) | None => Self(&[]),
        }
    }

    fn text(&self, id: &str, key: &str) -> Option<&'t str> {
        let input = self
            .0
            .iter()
            .find(|input| input.member("id").and_then(|id| id.node.text()) == Some(id))?;
        input.member(key)?.node.text()
    }
}

/// Translates the texts of one server and tells what the operator has to do.
pub(super) struct Translator<'a, 'i> {
    pub(super) server: &'a str,
    pub(super) inputs: &'a Inputs<'i>,
    pub(super) warnings: &'a mut Vec<String>,
}

impl Translator<'_, '_> {
    /// A sentence about this server, once.
    pub(super) fn warn(&mut self, what: &str) {
        let warning = format!("server `{}`: {what}", self.server);
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// The text with every reference in our words. `path` names it in warnings.
    pub(super) fn translated(&mut self, path: &str, text: &str) -> String {
        let mut ours = String::with_capacity(text.len());
        for piece in expand::pieces(text) {
            match piece {
                Piece::Literal(literal) => ours.push_str(literal),
                // Other clients know no escape: two dollars are two dollars.
                Piece::Dollar => ours.push_str("$$$$"),
                Piece::Reference(body) => ours.push_str(&self.reference(path, body)),
                Piece::Unclosed(rest) => {
                    ours.push_str("$${");
                    ours.push_str(rest);
                }
            }
        }
        ours
    }

    fn reference(&mut self, path: &str, body: &str) -> String {
        let as_it_is = format!("${{{body}}}");
        let (name, default) = body
            .split_once(":-")
            .map_or((body, None), |(name, default)| (name, Some(default)));
        if let Some(variable) = body.strip_prefix("env:") {
            return self.variable(path, variable);
        }
        if let Some(id) = body.strip_prefix("input:") {
            return self.input(path, id);
        }
        match name {
            "userHome" => "${HOME}".to_owned(),
            "pathSeparator" | "/" => "/".to_owned(),
            "workspaceFolder" | "workspaceRoot" => {
                self.warn(&format!(
                    "`{path}` names the other client's folder; set the variable `WORKSPACE_FOLDER` to it"
                ));
                "${WORKSPACE_FOLDER}".to_owned()
            }
            name if body.starts_with("file:/") || expand::is_variable_name(name) => {
                match default {
                    Some(default) if default.contains("${") => {
                        self.warn(&format!("`{path}` has `{as_it_is}`, whose default is a reference, which is not supported; write the value"));
                    }
                    Some(_) | None => {}
                }
                as_it_is
            }
            _ => {
                self.warn(&format!(
                    "`{path}` has `{as_it_is}`, which has no meaning here; write the value"
                ));
                as_it_is
            }
        }
    }

    fn variable(&mut self, path: &str, name: &str) -> String {
        if expand::is_variable_name(name) {
            return format!("${{{name}}}");
        }
        let ours = variable_name(name);
        self.warn(&format!("`{path}` names the variable `{name}`; set it as `{ours}`"));
        format!("${{{ours}}}")
    }

    fn input(&mut self, path: &str, id: &str) -> String {
        let variable = variable_name(id);
        let asked = self
            .inputs
            .text(id, "description")
            .map_or(String::new(), |text| format!(" (\"{text}\")"));
        match self
            .inputs
            .text(id, "default")
            .filter(|default| !default.contains(['}', '$']))
        {
            Some(default) => {
                self.warn(&format!(
                    "`{path}` was asked for{asked}; set the variable `{variable}`, else its default holds"
                ));
                format!("${{{variable}:-{default}}}")
            }
            None => {
                self.warn(&format!("`{path}` was asked for{asked}; set the variable `{variable}`"));
                format!("${{{variable}}}")
            }
        }
    }
}

/// `api-key` becomes `API_KEY`.
fn variable_name(text: &str) -> String {
    let name: String = text
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_uppercase()
            } else {
                '_'
            }
        })
        .collect();
    if expand::is_variable_name(&name) {
        name
    } else {
        format!("INPUT_{name}")
    }
}
