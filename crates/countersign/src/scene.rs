//! One caller before one folder: the servers are started and listed, and nothing is called, recorded or served.

mod layers;
mod who;

use std::path::PathBuf;
use std::sync::Arc;

use countersign_config::{Config, Environment, Places};
use countersign_core::admit::{View, World};
use countersign_core::catalogue::{Availability, Server};
use countersign_core::toolset::Reasons;
use countersign_engine::Engine;
use countersign_store::Ledger;

use crate::args::Whose;
use crate::failure::Failure;
use crate::folder;
use crate::gateway::{Pages, engine_settings};

#[cfg(test)]
pub(crate) use layers::Rule;
pub(crate) use layers::{Layer, layers, rule_at};
pub(crate) use who::{Who, Whom, at_fault};

/// The folder as it was read once, with the places of what it says.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) config: Config,
    pub(crate) places: Places,
}

/// What a caller has before it.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) read: Read,
    pub(crate) who: Who,
    pub(crate) world: World,
    pub(crate) engine: Arc<Engine>,
}

impl Read {
    /// Reads the folder that the flag or the customs of this machine name.
    pub(crate) fn of(flag: Option<PathBuf>) -> Result<Self, Failure> {
        let dir = folder::existing(flag)?;
        let read = countersign_config::load_with_places(&dir, &Environment::process());
        let (config, places) = read.map_err(folder::refused)?;
        Ok(Self { config, places })
    }
}

impl Scene {
    /// Reads the folder, finds the caller, starts the servers as `serve` would and lists them once.
    pub(crate) async fn open(whose: Whose) -> Result<Self, Failure> {
        let read = Read::of(whose.folder.config)?;
        let who = Who::find(&read, whose.who.as_deref(), whose.toolset.as_deref())?;
        Ok(Self::of(read, who).await)
    }

    /// The same for a caller that is known.
    pub(crate) async fn of(read: Read, who: Who) -> Self {
        let settings = engine_settings(&read.config, Pages::Nowhere);
        let engine = Engine::start(settings, &read.config.servers, Ledger::memory());
        let world = engine.listing_world(&who.caller).await;
        Self {
            read,
            who,
            world,
            engine,
        }
    }

    /// Ends the servers.
    pub(crate) async fn close(&self) {
        self.engine.shutdown().await;
    }

    /// What the caller's toolsets select rule by rule; nothing where it has none, or one that cannot be used.
    pub(crate) fn reasons(&self) -> Option<Reasons<'_>> {
        match &self.world.view {
            View::Narrowed(narrowed) => {
                Reasons::of(&self.world.catalogue, &self.world.rules.presets, narrowed.bounds()).ok()
            }
            View::Whole { .. } | View::Refused(_) => None,
        }
    }
}

/// Whether a server that should run did not answer, so that nobody knows what it offers.
pub(crate) fn is_silent(server: &Server) -> bool {
    match &server.availability {
        Availability::Unlisted | Availability::Unavailable { .. } => true,
        Availability::Ready | Availability::Suspended | Availability::Stopped | Availability::AuthRequired => false,
    }
}

/// How a server stands, as the rest of a sentence that begins with it.
pub(crate) fn standing(server: &Server) -> String {
    match &server.availability {
        Availability::Ready => "is ready".to_owned(),
        Availability::Unlisted => "did not answer in time".to_owned(),
        Availability::Unavailable { reason } => format!("is unavailable: {reason}"),
        Availability::Suspended => "is suspended".to_owned(),
        Availability::Stopped => "is stopped".to_owned(),
        Availability::AuthRequired => "waits for a sign-in".to_owned(),
    }
}
