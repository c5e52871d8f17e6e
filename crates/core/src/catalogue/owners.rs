//! Which server answers for a URI: exact addresses first, then templates (RFC 6570).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Owner, Resource};
use crate::names::ServerName;

/// URIs and templates longer than this are only compared as a whole, to bound the work.
const MATCHED_LENGTH: usize = 8192;

/// Templates with more variables than this are only compared as a whole.
const VARIABLES: usize = 32;

/// The owners of all addresses of a snapshot.
#[derive(Debug, Default)]
pub(super) struct Owners {
    /// URIs and the texts of templates, which completions name.
    exact: BTreeMap<String, Vec<ServerName>>,
    templates: Vec<(Vec<Part>, ServerName)>,
    /// Every server that offers resources.
    offering: Vec<ServerName>,
}

/// A piece of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(String),
    /// `{name}`: at least one character, no `/`.
    Segment,
    /// An expression with an operator: anything.
    Anything,
}

impl Owners {
    /// `apps` are the resources that tools name, which their servers answer for whether they list them or not.
    pub(super) fn build(
        resources: &[Resource],
        templates: &[Resource],
        apps: &[(Arc<str>, ServerName)],
        offering: Vec<ServerName>,
    ) -> Self {
        let mut owners = Self {
            offering,
            ..Self::default()
        };
        for resource in resources.iter().chain(templates) {
            add(
                owners.exact.entry(resource.definition.uri.clone()).or_default(),
                &resource.server,
            );
        }
        for (uri, server) in apps {
            add(owners.exact.entry(uri.to_string()).or_default(), server);
        }
        for template in templates {
            if let Some(parts) = parts(&template.definition.uri) {
                owners.templates.push((parts, template.server.clone()));
            }
        }
        owners
    }

    /// The URIs of apps that several servers answer for, each with them.
    pub(super) fn shared_apps(&self) -> impl Iterator<Item = (&str, &[ServerName])> {
        let shared = self.exact.iter().filter(|(_, servers)| servers.len() > 1);
        shared
            .filter(|(uri, _)| uri.starts_with("ui://"))
            .map(|(uri, servers)| (uri.as_str(), servers.as_slice()))
    }

    pub(super) fn offering(&self, name: &str) -> Option<&ServerName> {
        self.offering.iter().find(|server| server.as_str() == name)
    }

    pub(super) fn of(&self, uri: &str) -> Owner {
        if let Some(servers) = self.exact.get(uri) {
            return owner(servers.clone());
        }
        let mut servers = Vec::new();
        if uri.len() <= MATCHED_LENGTH {
            for (parts, server) in &self.templates {
                if !servers.contains(server) && matches(parts, uri) {
                    servers.push(server.clone());
                }
            }
        }
        match (servers.as_slice(), self.offering.as_slice()) {
            ([], [only]) => Owner::One(only.clone()),
            _ => owner(servers),
        }
    }
}

fn add(servers: &mut Vec<ServerName>, server: &ServerName) {
    if !servers.contains(server) {
        servers.push(server.clone());
    }
}

fn owner(mut servers: Vec<ServerName>) -> Owner {
    match servers.len() {
        0 => Owner::Nobody,
        1 => servers.pop().map_or(Owner::Nobody, Owner::One),
        _ => Owner::Many(servers),
    }
}

/// The pieces of a template; nothing when it is malformed or too large to be matched.
fn parts(template: &str) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some((literal, tail)) = rest.split_once('{') {
        let (expression, tail) = tail.split_once('}')?;
        if !literal.is_empty() {
            parts.push(Part::Literal(literal.to_owned()));
        }
        let simple = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '%' | '-');
        parts.push(if expression.chars().all(simple) {
            Part::Segment
        } else {
            Part::Anything
        });
        rest = tail;
    }
    if !rest.is_empty() {
        parts.push(Part::Literal(rest.to_owned()));
    }
    let variables = parts.iter().filter(|part| !matches!(part, Part::Literal(_))).count();
    (variables <= VARIABLES && template.len() <= MATCHED_LENGTH).then_some(parts)
}

/// Whether the parts can be laid over the whole URI. `reached` holds every place that the parts so
/// far can end at, so the work is bounded by parts times length.
fn matches(parts: &[Part], uri: &str) -> bool {
    let bytes = uri.as_bytes();
    let mut reached = vec![false; bytes.len() + 1];
    if let Some(start) = reached.first_mut() {
        *start = true;
    }
    for part in parts {
        reached = match part {
            Part::Literal(literal) => after_literal(&reached, bytes, literal.as_bytes()),
            Part::Segment => spread(&reached, bytes, |byte| byte != b'/', Shortest::One),
            Part::Anything => spread(&reached, bytes, |_| true, Shortest::Nothing),
        };
        if !reached.contains(&true) {
            return false;
        }
    }
    reached.last() == Some(&true)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shortest {
    Nothing,
    One,
}

fn after_literal(reached: &[bool], bytes: &[u8], literal: &[u8]) -> Vec<bool> {
    let mut next = vec![false; reached.len()];
    for (place, _) in reached.iter().enumerate().filter(|(_, reached)| **reached) {
        if bytes.get(place..).is_some_and(|rest| rest.starts_with(literal))
            && let Some(end) = next.get_mut(place + literal.len())
        {
            *end = true;
        }
    }
    next
}

fn spread(reached: &[bool], bytes: &[u8], allowed: impl Fn(u8) -> bool, shortest: Shortest) -> Vec<bool> {
    let mut next = Vec::with_capacity(reached.len());
    // Whether a value that began at an earlier place may end here.
    let mut open = false;
    let mut before = None;
    for (place, here) in reached.iter().enumerate() {
        open = open && before.is_some_and(&allowed);
        let begun = open;
        next.push(begun || (*here && shortest == Shortest::Nothing));
        open = open || *here;
        before = bytes.get(place).copied();
    }
    next
}
