//! The lists, page by page: each page is rendered once per snapshot, and only the request's id is written anew.

use std::ops::Range;

use bytes::Bytes;
use countersign_core::catalogue::{Catalogue, PAGE};
use countersign_wire::meta;
use countersign_wire::object;
use countersign_wire::rpc::Fault;
use countersign_wire::version::Era;

use super::{Asking, Request, invalid};
use crate::answer::Answer;
use crate::cursor::{self, List};
use crate::meta_tools;
use crate::pages::Key;
use crate::speaker::Speaker;

/// One page of a list as a JSON-RPC response, in two pieces.
#[derive(Debug)]
pub(crate) struct Listed {
    /// All up to the request's id.
    pub(crate) head: String,
    /// All that follows, shared with whoever else gets the page.
    pub(crate) page: Bytes,
}

impl Listed {
    /// The response in one piece, for roads that cannot send two.
    pub(crate) fn whole(self) -> Answer {
        let mut text = self.head;
        // A page is made from a text, so that nothing is replaced.
        text.push_str(&String::from_utf8_lossy(&self.page));
        Answer {
            text,
            status: http::StatusCode::OK,
        }
    }
}

/// `tools/list`: the meta-tools, the catalogue itself, or both, as the surfaces say.
pub(super) async fn tools(asking: &Asking, request: &Request<'_>) -> Result<Listed, Fault> {
    if asking.surfaces.direct {
        if let Speaker::Session(session) = &asking.speaker {
            session.saw_direct();
        }
        return of(asking, request, List::Tools).await;
    }
    // The meta-tools are always there: nothing is waited for, and no cursor was ever given.
    page_number(request, List::Tools, 0)?;
    let world = asking.shared.engine.world(&asking.caller);
    Ok(listed(asking, request, &world.catalogue, (List::Tools, 0)))
}

/// A list of the catalogue.
pub(super) async fn of(asking: &Asking, request: &Request<'_>, list: List) -> Result<Listed, Fault> {
    let world = asking.shared.engine.listing_world(&asking.caller).await;
    let catalogue = &world.catalogue;
    let page = page_number(request, list, catalogue.version())?;
    if page > 0 && page.saturating_mul(PAGE) >= total(catalogue, list) {
        return Err(invalid(cursor::Error::Unknown.to_string()));
    }
    Ok(listed(asking, request, catalogue, (list, page)))
}

fn page_number(request: &Request<'_>, list: List, version: u64) -> Result<usize, Fault> {
    match request.params.get("cursor") {
        None => Ok(0),
        Some(_) => {
            let cursor = request.text("cursor")?;
            cursor::decode(list, version, &cursor).map_err(|error| invalid(error.to_string()))
        }
    }
}

fn listed(
    asking: &Asking,
    request: &Request<'_>,
    catalogue: &std::sync::Arc<Catalogue>,
    (list, page): (List, usize),
) -> Listed {
    let is_tools = list == List::Tools;
    let key = Key {
        list,
        page,
        meta: is_tools && asking.surfaces.meta && page == 0,
        direct: !is_tools || asking.surfaces.direct,
        // A client that shows no apps shows its model whatever is listed.
        apps: is_tools && asking.speaker.abilities().apps,
        era: asking.version().era(),
    };
    let render = || rendered(catalogue, key, &asking.in_force.server_info);
    Listed {
        head: [r#"{"jsonrpc":"2.0","id":"#, request.id].concat(),
        page: asking.shared.pages.page(catalogue, &asking.in_force, key, render),
    }
}

/// How many elements a list has.
fn total(catalogue: &Catalogue, list: List) -> usize {
    match list {
        List::Tools => catalogue.tools().len(),
        List::Prompts => catalogue.prompts().len(),
        List::Resources => catalogue.resources().len(),
        List::Templates => catalogue.templates().len(),
    }
}

/// Everything of the response that follows the request's id.
fn rendered(catalogue: &Catalogue, key: Key, server_info: &str) -> String {
    let start = key.page.saturating_mul(PAGE);
    let end = start.saturating_add(PAGE).min(total(catalogue, key.list));
    let mut text = format!(r#","result":{{"{}":["#, key.list.member());
    let mut elements = Elements {
        text: &mut text,
        is_first: true,
    };
    if key.meta {
        elements.push(|text| text.push_str(inner(meta_tools::rendered())));
    }
    if key.direct {
        elements.of_catalogue(catalogue, key, start..end);
    }
    text.push(']');
    if key.direct && end < total(catalogue, key.list) {
        let next = cursor::encode(key.list, catalogue.version(), key.page + 1);
        text.push_str(r#","nextCursor":"#);
        text.push_str(&object::quote(&next));
    }
    match key.era {
        Era::Legacy => {}
        Era::Modern => {
            text.push_str(r#","resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{"#);
            text.push_str(&object::quote(meta::SERVER_INFO));
            text.push(':');
            text.push_str(server_info);
            text.push('}');
        }
    }
    text.push_str("}}");
    text
}

/// One page of the catalogue's tools for callers of 2026-07-28, rendered anew.
pub(crate) fn page_of_tools(catalogue: &Catalogue, page: usize) -> String {
    let key = Key {
        list: List::Tools,
        page,
        meta: false,
        direct: true,
        apps: true,
        era: Era::Modern,
    };
    rendered(catalogue, key, "{}")
}

/// The elements of an array, with commas between them.
struct Elements<'t> {
    text: &'t mut String,
    is_first: bool,
}

impl Elements<'_> {
    fn push(&mut self, write: impl FnOnce(&mut String)) {
        if !std::mem::take(&mut self.is_first) {
            self.text.push(',');
        }
        write(self.text);
    }

    /// Definitions in the snapshot's own bytes.
    fn of_catalogue(&mut self, catalogue: &Catalogue, key: Key, range: Range<usize>) {
        match key.list {
            List::Tools => {
                let tools = catalogue.tools().get(range).unwrap_or_default().iter();
                for tool in tools.filter(|tool| key.apps || tool.definition.for_models) {
                    self.push(|text| tool.write_to(text));
                }
            }
            List::Prompts => {
                for prompt in catalogue.prompts().get(range).unwrap_or_default() {
                    self.push(|text| text.push_str(&prompt.rendered));
                }
            }
            List::Resources => self.resources(catalogue.resources().get(range).unwrap_or_default()),
            List::Templates => self.resources(catalogue.templates().get(range).unwrap_or_default()),
        }
    }

    fn resources(&mut self, resources: &[countersign_core::catalogue::Resource]) {
        for resource in resources {
            self.push(|text| text.push_str(resource.definition.raw()));
        }
    }
}

/// The elements of a rendered array, without its brackets.
fn inner(array: &str) -> &str {
    array
        .trim()
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or_default()
        .trim()
}

#[cfg(test)]
mod tests;
