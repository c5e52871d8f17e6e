//! The lists, page by page: each page is rendered once per snapshot, and only the request's id is written anew.

use std::hash::{DefaultHasher, Hash, Hasher};

use bytes::Bytes;
use countersign_core::admit::{View, World};
use countersign_core::catalogue::{PAGE, Resource};
use countersign_wire::meta;
use countersign_wire::object;
use countersign_wire::rpc::Fault;
use countersign_wire::version::Era;

use super::{Asking, Request, bad_toolset, invalid};
use crate::answer::Answer;
use crate::cursor::{self, List};
use crate::meta_tools;
use crate::pages::Key;
use crate::speaker::Speaker;
use crate::toolsets;

/// The key in `_meta` of a list that says why it is empty.
const NOTE: &str = "countersign/note";

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
    let engine = &asking.shared.engine;
    let key = key(asking, List::Tools, 0);
    let render = || {
        // What a toolset leaves is not shown here, so that a bad one is no error either.
        let world = engine.world(&asking.shared.local_caller());
        rendered(&world, key, 0, &asking.in_force.server_info)
    };
    let page = asking
        .shared
        .pages
        .page(&engine.catalogue(), &asking.in_force, key, render);
    Ok(Listed {
        head: head(request),
        page,
    })
}

/// A list of the catalogue.
pub(super) async fn of(asking: &Asking, request: &Request<'_>, list: List) -> Result<Listed, Fault> {
    let engine = &asking.shared.engine;
    let world = engine.listing_world(&asking.caller).await;
    let version = version(&world);
    let page = page_number(request, list, version)?;
    if page > 0 && page.saturating_mul(PAGE) >= total(&world, list) {
        return Err(invalid(cursor::Error::Unknown.to_string()));
    }
    let key = key(asking, list, page);
    let (pages, in_force) = (&asking.shared.pages, &asking.in_force);
    let render = || rendered(&world, key, version, &in_force.server_info);
    let page = match &world.view {
        View::Refused(error) => return Err(bad_toolset(error)),
        View::Whole { because: _ } => pages.page(&world.catalogue, in_force, key, render),
        View::Narrowed(narrowed) => {
            if list == List::Tools {
                toolsets::note_empty(engine, &asking.caller, &world, "tools/list");
            }
            pages.narrowed(narrowed, in_force, key, render)
        }
    };
    Ok(Listed {
        head: head(request),
        page,
    })
}

/// What cursors of a list are made for: the snapshot and, where the request is narrowed, its toolset.
fn version(world: &World) -> u64 {
    let Some(narrowed) = world.toolset() else {
        return world.catalogue.version();
    };
    let mut hasher = DefaultHasher::new();
    (world.catalogue.version(), narrowed.bounds(), narrowed.count()).hash(&mut hasher);
    hasher.finish()
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

fn head(request: &Request<'_>) -> String {
    [r#"{"jsonrpc":"2.0","id":"#, request.id].concat()
}

fn key(asking: &Asking, list: List, page: usize) -> Key {
    let is_tools = list == List::Tools;
    Key {
        list,
        page,
        meta: is_tools && asking.surfaces.meta && page == 0,
        direct: !is_tools || asking.surfaces.direct,
        // A client that shows no apps shows its model whatever is listed.
        apps: is_tools && asking.speaker.abilities().apps,
        era: asking.version().era(),
    }
}

/// How many elements a list has.
fn total(world: &World, list: List) -> usize {
    match list {
        List::Tools => world.tool_count(),
        List::Prompts => world.prompts().count(),
        List::Resources => world.resources().count(),
        List::Templates => world.templates().count(),
    }
}

/// Why a toolset left nothing of a list that is not empty without it.
fn note(world: &World, list: List) -> Option<String> {
    let narrowed = world.toolset()?;
    let (catalogue, what) = (&world.catalogue, list.member());
    let (is_empty, had_none) = match list {
        List::Tools => return toolsets::empty_note(narrowed),
        List::Prompts => (world.prompts().next().is_none(), catalogue.prompts().is_empty()),
        List::Resources => (world.resources().next().is_none(), catalogue.resources().is_empty()),
        List::Templates => (world.templates().next().is_none(), catalogue.templates().is_empty()),
    };
    let toolset = &narrowed.bounds().narrowest()?.selectors;
    (is_empty && !had_none).then(|| format!("the toolset [{toolset}] selects no server that has {what}"))
}

/// Everything of the response that follows the request's id.
fn rendered(world: &World, key: Key, version: u64, server_info: &str) -> String {
    let start = key.page.saturating_mul(PAGE);
    let end = start.saturating_add(PAGE);
    let mut text = format!(r#","result":{{"{}":["#, key.list.member());
    let mut elements = Elements {
        text: &mut text,
        is_first: true,
    };
    if key.meta {
        elements.push(|text| text.push_str(inner(meta_tools::rendered())));
    }
    if key.direct {
        elements.of_world(world, key, start);
    }
    text.push(']');
    if key.direct && end < total(world, key.list) {
        let next = cursor::encode(key.list, version, key.page + 1);
        text.push_str(r#","nextCursor":"#);
        text.push_str(&object::quote(&next));
    }
    let note = if key.direct { note(world, key.list) } else { None };
    let note = note.map(|note| format!("{}:{}", object::quote(NOTE), object::quote(&note)));
    match key.era {
        Era::Legacy => {
            if let Some(note) = note {
                text.push_str(&format!(r#","_meta":{{{note}}}"#));
            }
        }
        Era::Modern => {
            text.push_str(r#","resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{"#);
            text.push_str(&object::quote(meta::SERVER_INFO));
            text.push(':');
            text.push_str(server_info);
            if let Some(note) = note {
                text.push(',');
                text.push_str(&note);
            }
            text.push('}');
        }
    }
    text.push_str("}}");
    text
}

/// One page of the catalogue's tools for callers of 2026-07-28, rendered anew.
pub(crate) fn page_of_tools(world: &World, page: usize) -> String {
    let key = Key {
        list: List::Tools,
        page,
        meta: false,
        direct: true,
        apps: true,
        era: Era::Modern,
    };
    rendered(world, key, version(world), "{}")
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

    /// Definitions in the snapshot's own bytes, one page from `start` on.
    fn of_world(&mut self, world: &World, key: Key, start: usize) {
        match key.list {
            List::Tools => {
                let tools = world.tools().skip(start).take(PAGE);
                for tool in tools.filter(|tool| key.apps || tool.definition.for_models) {
                    self.push(|text| tool.write_to(text));
                }
            }
            List::Prompts => {
                for prompt in world.prompts().skip(start).take(PAGE) {
                    self.push(|text| text.push_str(&prompt.rendered));
                }
            }
            List::Resources => self.resources(world.resources().skip(start).take(PAGE)),
            List::Templates => self.resources(world.templates().skip(start).take(PAGE)),
        }
    }

    fn resources<'r>(&mut self, resources: impl Iterator<Item = &'r Resource>) {
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
