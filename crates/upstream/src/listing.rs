//! Everything a server publishes: all lists, all pages, each element read by itself (I12).

mod pages;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use countersign_core::definition::{Problem, PromptDefinition, ResourceDefinition, ToolDefinition};
use countersign_core::listing::Listing;
use countersign_core::names::ServerName;
use countersign_core::principal::PrincipalKey;
use countersign_wire::codes;
use countersign_wire::object::quote;
use countersign_wire::param_headers;

use crate::connection::Connection;
use crate::exchange::Failure;
use crate::pending::Delivered;
use crate::pool::Pool;
use crate::server::Purpose;
use crate::text::{code_of, message_of};
use crate::{Error, params};
use pages::{Page, Pages};

/// Connects if needed and lists everything. A definition that is `known` is not read again.
///
/// # Errors
/// When the server cannot be used, or does not give its tools.
pub(crate) async fn list(
    pool: &Pool,
    name: &ServerName,
    principal: &PrincipalKey,
    known: &Arc<Listing>,
) -> Result<Listing, Error> {
    let mut again = true;
    loop {
        let server = pool.known(name)?;
        let lease = server.checkout(principal, Purpose::List).await?;
        let source = Source {
            connection: &lease,
            patience: server.call_timeout(),
            limit: server.limit(),
        };
        match source.everything(known).await {
            Ok(listing) => return Ok(listing),
            Err(Failure::SignIn(reason)) => {
                server.set_aside_if_signed_out(&lease);
                return Err(server.requires_sign_in(reason));
            }
            // Listing changes nothing, so it is asked once more.
            Err(failure) if std::mem::take(&mut again) && !matches!(failure, Failure::Refused { .. }) => {
                if matches!(failure, Failure::SessionLost) {
                    server.discard(&lease, "the server does not know the session any more");
                }
            }
            Err(failure) => return Err(server.unavailable(failure.reason())),
        }
    }
}

/// The elements of one list, raw, and what was wrong with the list itself.
#[derive(Debug, Default)]
struct Elements {
    raw: Vec<Box<str>>,
    problem: Option<Problem>,
}

impl Elements {
    /// A list that could not be had.
    fn failed(method: &str, failure: Failure) -> Self {
        Self {
            raw: Vec::new(),
            problem: Some(Problem {
                name: method.to_owned(),
                what: format!("the list failed: {}", failure.reason()),
            }),
        }
    }
}

struct Source<'a> {
    connection: &'a Arc<Connection>,
    patience: Duration,
    limit: usize,
}

impl Source<'_> {
    async fn everything(&self, known: &Arc<Listing>) -> Result<Listing, Failure> {
        let Some(facts) = self.connection.facts() else {
            return Err(Failure::NotSent("its handshake is not done".to_owned()));
        };
        let offers = facts.capabilities;
        let (tools, resources, templates, prompts) = tokio::join!(
            self.elements(offers.tools, "tools/list", "tools"),
            self.elements(offers.resources, "resources/list", "resources"),
            self.elements(offers.resources, "resources/templates/list", "resourceTemplates"),
            self.elements(offers.prompts, "prompts/list", "prompts"),
        );
        let fetched = Fetched {
            has_header_params: self.connection.is_modern(),
            // Without its tools a server has no listing; any other list that fails is set aside alone.
            tools: tools?,
            resources: resources.unwrap_or_else(|failure| Elements::failed("resources/list", failure)),
            templates: templates.unwrap_or_else(|failure| Elements::failed("resources/templates/list", failure)),
            prompts: prompts.unwrap_or_else(|failure| Elements::failed("prompts/list", failure)),
        };
        let empty = Listing {
            protocol: facts.version.as_str().to_owned(),
            instructions: facts.instructions.clone(),
            capabilities: offers,
            ..Listing::default()
        };
        // Thousands of definitions take a while to read, and the threads here serve calls.
        let known = Arc::clone(known);
        let reading = tokio::task::spawn_blocking(move || fetched.read(empty, &known));
        reading
            .await
            .map_err(|error| Failure::Lost(format!("its lists cannot be read: {error}")))
    }

    /// All pages of one list.
    async fn elements(&self, offered: bool, method: &str, member: &str) -> Result<Elements, Failure> {
        let mut elements = Elements::default();
        if !offered {
            return Ok(elements);
        }
        let mut pages = Pages::new(self.limit);
        let mut cursor: Option<String> = None;
        loop {
            let members = cursor
                .as_deref()
                .map_or_else(String::new, |cursor| format!(r#""cursor":{}"#, quote(cursor)));
            let params = params::of_own(&members, Some(self.connection.version()));
            let result = match self.connection.ask(method, Some(&params), self.patience).await? {
                Delivered::Result(result) => result,
                Delivered::Error(error) if code_of(&error) == Some(codes::METHOD_NOT_FOUND) => return Ok(elements),
                Delivered::Error(error) => {
                    return Err(Failure::Lost(format!("it refuses `{method}`: {}", message_of(&error))));
                }
            };
            let page = Page::read(result.get(), member).map_err(Failure::Lost)?;
            elements
                .raw
                .extend(page.elements.iter().map(|element| Box::from(element.get())));
            match pages.after(&page) {
                Ok(Some(next)) => cursor = Some(next),
                Ok(None) => return Ok(elements),
                Err(what) => {
                    elements.problem = Some(Problem {
                        name: method.to_owned(),
                        what,
                    });
                    return Ok(elements);
                }
            }
        }
    }
}

/// The four lists of a server, not yet read.
struct Fetched {
    /// Whether callers are to mirror parameters into headers.
    has_header_params: bool,
    tools: Elements,
    resources: Elements,
    templates: Elements,
    prompts: Elements,
}

impl Fetched {
    fn read(self, mut listing: Listing, known: &Listing) -> Listing {
        let problems = &mut listing.problems;
        listing.tools = TOOLS.read(&self.tools, &known.tools, problems);
        if self.has_header_params {
            listing.tools = well_headed(listing.tools, problems);
        }
        listing.resources = RESOURCES.read(&self.resources, &known.resources, problems);
        listing.templates = TEMPLATES.read(&self.templates, &known.templates, problems);
        listing.prompts = PROMPTS.read(&self.prompts, &known.prompts, problems);
        listing
    }
}

/// The tools whose `x-mcp-header` annotations can be followed; a client must leave out the others (SEP-2243).
fn well_headed(tools: Vec<Arc<ToolDefinition>>, problems: &mut Vec<Problem>) -> Vec<Arc<ToolDefinition>> {
    let kept = tools.into_iter().filter(|tool| {
        if !tool.has_header_params {
            return true;
        }
        let headers = param_headers::of_schema(&tool.input_schema);
        if let Err(what) = &headers {
            problems.push(Problem {
                name: tool.name.to_string(),
                what: what.to_string(),
            });
        }
        headers.is_ok()
    });
    kept.collect()
}

/// How the elements of one list are read.
struct Kind<T> {
    parse: fn(&str) -> Result<T, Problem>,
    name: fn(&T) -> &str,
    raw: fn(&T) -> &str,
}

const TOOLS: Kind<ToolDefinition> = Kind {
    parse: ToolDefinition::parse,
    name: |tool| tool.name.as_str(),
    raw: ToolDefinition::raw,
};

const RESOURCES: Kind<ResourceDefinition> = Kind {
    parse: ResourceDefinition::parse_resource,
    name: |resource| &resource.uri,
    raw: ResourceDefinition::raw,
};

const TEMPLATES: Kind<ResourceDefinition> = Kind {
    parse: ResourceDefinition::parse_template,
    ..RESOURCES
};

const PROMPTS: Kind<PromptDefinition> = Kind {
    parse: PromptDefinition::parse,
    name: |prompt| prompt.name.as_str(),
    raw: PromptDefinition::raw,
};

impl<T> Kind<T> {
    /// Reads elements, but none that is known byte for byte. Of two with one name the first is kept and
    /// the second is named.
    fn read(&self, elements: &Elements, known: &[Arc<T>], problems: &mut Vec<Problem>) -> Vec<Arc<T>> {
        problems.extend(elements.problem.clone());
        let known: HashMap<&str, &Arc<T>> = known.iter().map(|known| ((self.raw)(known), known)).collect();
        let mut seen = HashSet::new();
        let mut kept = Vec::with_capacity(elements.raw.len());
        for (place, raw) in elements.raw.iter().enumerate() {
            let read = match known.get(&**raw) {
                Some(known) => Ok(Arc::clone(known)),
                None => (self.parse)(raw).map(Arc::new),
            };
            let problem = match read {
                Ok(definition) if seen.insert((self.name)(&definition).to_owned()) => {
                    kept.push(definition);
                    continue;
                }
                Ok(again) => Problem {
                    name: (self.name)(&again).to_owned(),
                    what: "listed more than once; the first one is served".to_owned(),
                },
                Err(problem) => problem.at(place),
            };
            // A server that repeats a page repeats its problems.
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
        kept
    }
}

#[cfg(test)]
mod tests;
