//! `initialize`: the handshake of the legacy era.

use countersign_engine::Abilities;
use countersign_wire::authored;
use countersign_wire::object::Object;
use countersign_wire::rpc::Fault;
use countersign_wire::version::{Era, Version};

use super::{Request, capabilities, invalid};
use crate::abilities;
use crate::settings::InForce;
use crate::surfaces::Surfaces;

/// How long a client's capabilities may be: every session keeps its client's.
const CAPABILITIES_BYTES: usize = 8 * 1024;

/// What a handshake agreed on.
#[derive(Debug)]
pub(crate) struct Opening {
    pub(crate) version: Version,
    pub(crate) abilities: Abilities,
    /// The result, raw.
    pub(crate) result: String,
}

/// Agrees on a version: the one that was asked for where it has sessions and is served, else the
/// newest that has. Never waits for a server.
pub(crate) fn initialize(in_force: &InForce, surfaces: Surfaces, request: &Request<'_>) -> Result<Opening, Fault> {
    let requested = request.text("protocolVersion")?;
    let declared = request.params.get("capabilities");
    if declared.is_some_and(|declared| Object::parse(declared.get()).is_err()) {
        return Err(invalid("`params.capabilities` must be an object".to_owned()));
    }
    if declared.is_some_and(|declared| declared.get().len() > CAPABILITIES_BYTES) {
        return Err(invalid(format!(
            "`params.capabilities` is longer than {CAPABILITIES_BYTES} bytes"
        )));
    }
    let served =
        Version::parse(&requested).filter(|version| Version::SERVED.contains(version) && version.era() == Era::Legacy);
    let version = served.unwrap_or(Version::NEWEST_LEGACY);
    let result = authored::initialize_result(
        version,
        &capabilities(version),
        &in_force.server_info,
        Some(surfaces.instructions()),
    );
    Ok(Opening {
        version,
        abilities: abilities::of_session(declared),
        result,
    })
}
