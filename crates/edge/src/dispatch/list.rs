//! The lists, written from the snapshot's own bytes page by page.

use std::ops::Range;

use countersign_core::catalogue::{Catalogue, PAGE};
use countersign_wire::meta;
use countersign_wire::object;
use countersign_wire::rpc::Fault;
use countersign_wire::version::Era;

use super::{Asking, Request, invalid};
use crate::answer::Answer;
use crate::cursor::{self, List};
use crate::meta_tools;
use crate::speaker::Speaker;

/// `tools/list`: the meta-tools, the catalogue itself, or both, as the surfaces say.
pub(super) async fn tools(asking: &Asking, request: &Request<'_>) -> Result<Answer, Fault> {
    if !asking.surfaces.direct {
        // The meta-tools are always there: nothing is waited for, and no cursor was ever given.
        page_number(request, List::Tools, 0)?;
        return Ok(write(
            asking,
            request,
            "tools",
            [inner(meta_tools::rendered())].into_iter(),
            None,
        ));
    }
    if let Speaker::Session(session) = &asking.speaker {
        session.saw_direct();
    }
    let world = asking.shared.engine.listing_world().await;
    let catalogue = &world.catalogue;
    let page = page_number(request, List::Tools, catalogue.version())?;
    let rendered = catalogue.tools_page(page).map(|page| inner(page));
    if rendered.is_none() && page > 0 {
        return Err(invalid(cursor::Error::Unknown.to_string()));
    }
    let meta = (asking.surfaces.meta && page == 0).then(|| inner(meta_tools::rendered()));
    let next = catalogue
        .tools_page(page + 1)
        .map(|_| cursor::encode(List::Tools, catalogue.version(), page + 1));
    Ok(write(asking, request, "tools", meta.into_iter().chain(rendered), next))
}

/// `prompts/list`
pub(super) async fn prompts(asking: &Asking, request: &Request<'_>) -> Result<Answer, Fault> {
    let world = asking.shared.engine.listing_world().await;
    let (range, next) = paged(
        request,
        List::Prompts,
        &world.catalogue,
        world.catalogue.prompts().len(),
    )?;
    let prompts = world.catalogue.prompts().get(range).unwrap_or_default();
    Ok(write(
        asking,
        request,
        "prompts",
        prompts.iter().map(|prompt| &*prompt.rendered),
        next,
    ))
}

/// `resources/list`
pub(super) async fn resources(asking: &Asking, request: &Request<'_>) -> Result<Answer, Fault> {
    let world = asking.shared.engine.listing_world().await;
    let (range, next) = paged(
        request,
        List::Resources,
        &world.catalogue,
        world.catalogue.resources().len(),
    )?;
    let resources = world.catalogue.resources().get(range).unwrap_or_default();
    Ok(write(
        asking,
        request,
        "resources",
        resources.iter().map(|resource| resource.definition.raw()),
        next,
    ))
}

/// `resources/templates/list`
pub(super) async fn templates(asking: &Asking, request: &Request<'_>) -> Result<Answer, Fault> {
    let world = asking.shared.engine.listing_world().await;
    let (range, next) = paged(
        request,
        List::Templates,
        &world.catalogue,
        world.catalogue.templates().len(),
    )?;
    let templates = world.catalogue.templates().get(range).unwrap_or_default();
    Ok(write(
        asking,
        request,
        "resourceTemplates",
        templates.iter().map(|template| template.definition.raw()),
        next,
    ))
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

fn paged(
    request: &Request<'_>,
    list: List,
    catalogue: &Catalogue,
    total: usize,
) -> Result<(Range<usize>, Option<String>), Fault> {
    let page = page_number(request, list, catalogue.version())?;
    let start = page.saturating_mul(PAGE);
    if page > 0 && start >= total {
        return Err(invalid(cursor::Error::Unknown.to_string()));
    }
    let end = start.saturating_add(PAGE).min(total);
    let next = (end < total).then(|| cursor::encode(list, catalogue.version(), page + 1));
    Ok((start..end, next))
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

/// Writes the whole response at once; elements are raw JSON, and empty ones are none.
fn write<'e>(
    asking: &Asking,
    request: &Request<'_>,
    member: &str,
    elements: impl Iterator<Item = &'e str> + Clone,
    next: Option<String>,
) -> Answer {
    let length: usize = elements.clone().map(|element| element.len() + 1).sum();
    let mut text = String::with_capacity(length + 512);
    text.push_str(r#"{"jsonrpc":"2.0","id":"#);
    text.push_str(request.id);
    text.push_str(r#","result":{"#);
    text.push_str(&object::quote(member));
    text.push_str(":[");
    let mut first = true;
    for element in elements.filter(|element| !element.is_empty()) {
        if !first {
            text.push(',');
        }
        first = false;
        text.push_str(element);
    }
    text.push(']');
    if let Some(next) = next {
        text.push_str(r#","nextCursor":"#);
        text.push_str(&object::quote(&next));
    }
    match asking.version().era() {
        Era::Legacy => {}
        Era::Modern => {
            text.push_str(r#","resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{"#);
            text.push_str(&object::quote(meta::SERVER_INFO));
            text.push(':');
            text.push_str(&asking.in_force.server_info);
            text.push('}');
        }
    }
    text.push_str("}}");
    Answer {
        text,
        status: http::StatusCode::OK,
    }
}
