//! Everything a server publishes: all lists, all pages, each element read by itself (I12).

mod pages;

use std::collections::HashSet;
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
use crate::text::{code_of, message_of};
use crate::{Error, params};
use pages::{Page, Pages};

/// Connects if needed and lists everything.
///
/// # Errors
/// When the server cannot be used, or does not give its tools.
pub(crate) async fn list(pool: &Pool, name: &ServerName, principal: &PrincipalKey) -> Result<Listing, Error> {
    let mut again = true;
    loop {
        let server = pool.known(name)?;
        let lease = server.checkout(principal).await?;
        match everything(&lease, server.call_timeout(), server.limit()).await {
            Ok(listing) => return Ok(listing),
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

async fn everything(connection: &Arc<Connection>, patience: Duration, limit: usize) -> Result<Listing, Failure> {
    let Some(facts) = connection.facts() else {
        return Err(Failure::NotSent("its handshake is not done".to_owned()));
    };
    let offers = facts.capabilities;
    let source = Source {
        connection,
        patience,
        limit,
    };
    let (tools, resources, templates, prompts) = tokio::join!(
        source.elements(offers.tools, "tools/list", "tools"),
        source.elements(offers.resources, "resources/list", "resources"),
        source.elements(offers.resources, "resources/templates/list", "resourceTemplates"),
        source.elements(offers.prompts, "prompts/list", "prompts"),
    );
    let mut problems = Vec::new();
    // Without its tools a server has no listing; any other list that fails is set aside alone.
    let tools = distinct(
        tools?,
        ToolDefinition::parse,
        |tool| tool.name.to_string(),
        &mut problems,
    );
    let tools = if connection.is_modern() {
        well_headed(tools, &mut problems)
    } else {
        tools
    };
    let mut read = |list: Result<Elements, Failure>, method: &str| {
        list.unwrap_or_else(|failure| {
            problems.push(Problem {
                name: method.to_owned(),
                what: format!("the list failed: {}", failure.reason()),
            });
            Elements::default()
        })
    };
    let (resources, templates, prompts) = (
        read(resources, "resources/list"),
        read(templates, "resources/templates/list"),
        read(prompts, "prompts/list"),
    );
    Ok(Listing {
        protocol: facts.version.as_str().to_owned(),
        instructions: facts.instructions.clone(),
        capabilities: offers,
        tools,
        resources: distinct(
            resources,
            ResourceDefinition::parse_resource,
            |it| it.uri.clone(),
            &mut problems,
        ),
        templates: distinct(
            templates,
            ResourceDefinition::parse_template,
            |it| it.uri.clone(),
            &mut problems,
        ),
        prompts: distinct(
            prompts,
            PromptDefinition::parse,
            |it| it.name.to_string(),
            &mut problems,
        ),
        problems,
    })
}

/// The tools whose `x-mcp-header` annotations can be followed; a client must leave out the others (SEP-2243).
fn well_headed(tools: Vec<Arc<ToolDefinition>>, problems: &mut Vec<Problem>) -> Vec<Arc<ToolDefinition>> {
    let kept = tools.into_iter().filter(|tool| {
        if !tool.has_header_params() {
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

/// The elements of one list, raw, and what was wrong with the list itself.
#[derive(Debug, Default)]
struct Elements {
    raw: Vec<Box<str>>,
    problem: Option<Problem>,
}

struct Source<'a> {
    connection: &'a Arc<Connection>,
    patience: Duration,
    limit: usize,
}

impl Source<'_> {
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

/// Reads elements; of two with one name the first is kept and the second is named.
fn distinct<T>(
    elements: Elements,
    read: fn(&str) -> Result<T, Problem>,
    name: impl Fn(&T) -> String,
    problems: &mut Vec<Problem>,
) -> Vec<Arc<T>> {
    problems.extend(elements.problem);
    let mut seen = HashSet::new();
    let mut kept = Vec::with_capacity(elements.raw.len());
    for (place, raw) in elements.raw.iter().enumerate() {
        let problem = match read(raw) {
            Ok(definition) if seen.insert(name(&definition)) => {
                kept.push(Arc::new(definition));
                continue;
            }
            Ok(again) => Problem {
                name: name(&again),
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
