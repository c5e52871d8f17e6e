//! What the benchmarks measure of this crate without a listener.

use countersign_core::admit::World;
use countersign_core::exact::Exact;

use crate::{dispatch, meta_tools};

/// The answer of a meta-tool that reads the snapshot alone; `None` for all others, and for errors.
#[must_use]
pub fn meta_tool(name: &str, world: &World, arguments: &Exact) -> Option<String> {
    meta_tools::read(meta_tools::find(name)?, world, arguments)
}

/// One page of `tools/list` on the `direct` surface for callers of 2026-07-28, rendered anew.
#[must_use]
pub fn page_of_tools(world: &World, page: usize) -> String {
    dispatch::page_of_tools(world, page)
}
