//! Everything a decision looks at, and what of it one request can discover.

use std::sync::Arc;

use crate::catalogue::{Catalogue, Prompt, Resource, Server, Tool};
use crate::names::ServerName;
use crate::principal::Caller;
use crate::refusal::{Code, Kind, Outside, Refusal};
use crate::stages::{Pins, Rights, Toolset, WriteGate};
use crate::time::Millis;
use crate::toolset::{self, Bounds, Error, Layer, Narrowed, Origin, Presets, Selectors};

/// What is in force for every request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// Which rights a caller needs.
    pub rights: Rights,
    /// Whether definitions must be reviewed.
    pub pins: Pins,
    /// Whether mutating calls stop and ask.
    pub gate: WriteGate,
    /// The presets that toolsets may name.
    pub presets: Arc<Presets>,
}

/// Everything a decision looks at: one instant, one view.
#[derive(Debug, Clone)]
pub struct World {
    /// The snapshot.
    pub catalogue: Arc<Catalogue>,
    /// What is in force.
    pub rules: Arc<Rules>,
    /// What of the snapshot the request is narrowed to.
    pub view: View,
    /// The clock's reading.
    pub now: Millis,
}

/// What of a snapshot a request is narrowed to.
#[derive(Debug, Clone)]
pub enum View {
    /// All of it.
    Whole {
        /// Why.
        because: &'static str,
    },
    /// What toolsets leave of it. INVARIANT: made of the world's own catalogue.
    Narrowed(Arc<Narrowed>),
    /// Nothing: a toolset was declared that cannot be used.
    Refused(Arc<Error>),
}

impl View {
    /// What a caller's toolset leaves of a snapshot.
    #[must_use]
    pub fn of(toolset: &Toolset, catalogue: &Catalogue, presets: &Presets) -> Self {
        match toolset {
            Toolset::Unscoped { because } => Self::Whole { because },
            Toolset::Bad(error) => Self::Refused(Arc::clone(error)),
            Toolset::Within(bounds) => Self::within(bounds, catalogue, presets),
        }
    }

    /// What toolsets leave of a snapshot.
    #[must_use]
    pub fn within(bounds: &Arc<Bounds>, catalogue: &Catalogue, presets: &Presets) -> Self {
        match toolset::narrow(catalogue, presets, bounds) {
            Ok(narrowed) => Self::Narrowed(Arc::new(narrowed)),
            Err(error) => Self::Refused(Arc::new(error)),
        }
    }
}

impl World {
    /// The same world narrowed further by a toolset of its own, such as the argument of a meta-tool.
    #[must_use]
    pub fn narrowed(&self, origin: Origin, declared: Result<Selectors, Error>) -> Self {
        let view = match (&self.view, declared) {
            (View::Refused(error), _) => View::Refused(Arc::clone(error)),
            (View::Whole { .. } | View::Narrowed(_), Err(error)) => View::Refused(Arc::new(error)),
            (View::Whole { .. }, Ok(selectors)) => self.within(Bounds::of(origin, selectors)),
            (View::Narrowed(narrowed), Ok(selectors)) => self.within(narrowed.bounds().within(origin, selectors)),
        };
        Self { view, ..self.clone() }
    }

    fn within(&self, bounds: Bounds) -> View {
        View::within(&Arc::new(bounds), &self.catalogue, &self.rules.presets)
    }

    /// Why nothing is served, when the toolset of the request cannot be used.
    #[must_use]
    pub fn refused(&self) -> Option<&Error> {
        match &self.view {
            View::Refused(error) => Some(error),
            View::Whole { .. } | View::Narrowed(_) => None,
        }
    }

    /// What toolsets leave, when the request is narrowed by some.
    #[must_use]
    pub fn toolset(&self) -> Option<&Narrowed> {
        match &self.view {
            View::Narrowed(narrowed) => Some(narrowed),
            View::Whole { .. } | View::Refused(_) => None,
        }
    }

    /// The tools that the request can discover, in listing order; a family's with the members that are selected.
    pub fn tools(&self) -> impl Iterator<Item = &Tool> {
        (0..self.catalogue.tools().len()).filter_map(|place| self.tool_at(place))
    }

    /// How many tools the request can discover.
    #[must_use]
    pub fn tool_count(&self) -> usize {
        match &self.view {
            View::Whole { .. } => self.catalogue.tools().len(),
            View::Narrowed(narrowed) => narrowed.count(),
            View::Refused(_) => 0,
        }
    }

    /// The tool of that exposed name, if the request can discover it.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.tool_at(self.catalogue.place(name)?)
    }

    /// The tool that stands there in the catalogue's list, if the request can discover it.
    #[must_use]
    pub fn tool_at(&self, place: usize) -> Option<&Tool> {
        match &self.view {
            View::Whole { .. } => self.catalogue.tools().get(place),
            View::Narrowed(narrowed) => narrowed.tool(&self.catalogue, place),
            View::Refused(_) => None,
        }
    }

    /// Whether the resources and prompts of a server are inside.
    #[must_use]
    pub fn shows_server(&self, server: &str) -> bool {
        match &self.view {
            View::Whole { .. } => true,
            View::Narrowed(narrowed) => self
                .catalogue
                .server_place(server)
                .is_some_and(|place| narrowed.has_server(place)),
            View::Refused(_) => false,
        }
    }

    /// As [`World::shows_server`], also for a server that is not listed yet and of which a tool could be inside then.
    #[must_use]
    pub fn could_show_server(&self, server: &Server) -> bool {
        match &self.view {
            View::Whole { .. } => true,
            View::Refused(_) => false,
            View::Narrowed(narrowed) => {
                let is_listed = !server.listing.tools.is_empty();
                self.shows_server(server.entry.name.as_str())
                    || (!is_listed
                        && toolset::could_select_of(&self.catalogue, &self.rules.presets, narrowed.bounds(), server))
            }
        }
    }

    /// The servers that are inside, sorted by name.
    pub fn servers(&self) -> impl Iterator<Item = &Server> {
        let servers = self.catalogue.servers().iter();
        servers.filter(|server| self.shows_server(server.entry.name.as_str()))
    }

    /// The prompts that the request can discover, in listing order.
    pub fn prompts(&self) -> impl Iterator<Item = &Prompt> {
        let prompts = self.catalogue.prompts().iter();
        prompts.filter(|prompt| self.shows_server(prompt.server.as_str()))
    }

    /// The resources that the request can discover, in listing order.
    pub fn resources(&self) -> impl Iterator<Item = &Resource> {
        self.shown(self.catalogue.resources())
    }

    /// The resource templates that the request can discover, in listing order.
    pub fn templates(&self) -> impl Iterator<Item = &Resource> {
        self.shown(self.catalogue.templates())
    }

    fn shown<'w>(&'w self, resources: &'w [Resource]) -> impl Iterator<Item = &'w Resource> {
        let mut last: Option<(&ServerName, bool)> = None;
        resources.iter().filter(move |resource| {
            // The resources of a server stand together.
            let is_shown = match last {
                Some((server, is_shown)) if *server == resource.server => is_shown,
                Some(_) | None => self.shows_server(resource.server.as_str()),
            };
            last = Some((&resource.server, is_shown));
            is_shown
        })
    }

    /// The refusal of a tool that is in the catalogue and outside the request's toolset; nothing when it is inside,
    /// or no tool has the name.
    #[must_use]
    pub fn refuse_tool(&self, name: &str) -> Option<Refusal> {
        self.refuse_tool_at(self.catalogue.place(name)?, name)
    }

    pub(super) fn refuse_tool_at(&self, place: usize, name: &str) -> Option<Refusal> {
        match &self.view {
            View::Whole { .. } => None,
            View::Refused(error) => Some(bad(error)),
            View::Narrowed(narrowed) if narrowed.has_tool(place) => None,
            View::Narrowed(narrowed) => {
                let layer = narrowed.outside_for_tool(&self.catalogue, place, None)?;
                Some(outside((Kind::Tool, name), None, layer))
            }
        }
    }

    /// The refusal of what a server that is not inside publishes; nothing when the server is inside.
    #[must_use]
    pub fn refuse_of_server(&self, server: &str, kind: Kind, name: &str) -> Option<Refusal> {
        let place = self.catalogue.server_place(server);
        match &self.view {
            View::Whole { .. } => None,
            View::Refused(error) => Some(bad(error)),
            View::Narrowed(narrowed) if place.is_some_and(|place| narrowed.has_server(place)) => None,
            View::Narrowed(narrowed) => {
                let layer = match place {
                    Some(place) => narrowed.outside_for_server(&self.catalogue, place),
                    None => narrowed.bounds().narrowest(),
                };
                layer.map(|layer| outside((kind, name), None, layer))
            }
        }
    }

    /// Whether the world's view is the one of that caller, so that nobody is judged in another's.
    pub(super) fn is_of(&self, caller: &Caller) -> bool {
        match (&caller.toolset, &self.view) {
            (Toolset::Unscoped { .. }, View::Whole { .. })
            | (Toolset::Bad(_) | Toolset::Within(_), View::Refused(_)) => true,
            (Toolset::Within(bounds), View::Narrowed(narrowed)) => {
                Arc::ptr_eq(bounds, narrowed.bounds()) || bounds == narrowed.bounds()
            }
            (Toolset::Unscoped { .. }, View::Narrowed(_) | View::Refused(_))
            | (Toolset::Within(_), View::Whole { .. })
            | (Toolset::Bad(_), View::Whole { .. } | View::Narrowed(_)) => false,
        }
    }
}

/// The refusal of a toolset that cannot be used.
pub(super) fn bad(error: &Error) -> Refusal {
    Refusal::new(Code::BadToolset, error.to_string())
}

/// The refusal of what a toolset does not select, of one member where the call names one.
pub(super) fn outside((kind, name): (Kind, &str), server: Option<&ServerName>, layer: &Layer) -> Refusal {
    Refusal::outside(Outside {
        kind,
        name: name.to_owned(),
        server: server.cloned(),
        toolset: layer.selectors.clone(),
        bound: !layer.origin.is_declared(),
    })
}
