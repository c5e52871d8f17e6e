//! Faults seen in the field and hostile callers, servers and files, against the real binary over raw bytes.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::struct_excessive_bools,
    reason = "all of this is test code; the lints' own exception knows test functions only"
)]
#![cfg(unix)]

#[path = "faults/accepts.rs"]
mod accepts;
#[path = "faults/arguments.rs"]
mod arguments;
#[path = "faults/bends.rs"]
mod bends;
#[path = "faults/cors.rs"]
mod cors;
#[path = "faults/duplicates.rs"]
mod duplicates;
#[path = "faults/expansion.rs"]
mod expansion;
#[path = "faults/gateway.rs"]
mod gateway;
#[path = "faults/gets.rs"]
mod gets;
#[path = "faults/headers.rs"]
mod headers;
#[path = "faults/hidden.rs"]
mod hidden;
#[path = "faults/http.rs"]
mod http;
#[path = "faults/invariants.rs"]
mod invariants;
#[path = "faults/jsonc.rs"]
mod jsonc;
#[path = "faults/large.rs"]
mod large;
#[path = "faults/log.rs"]
mod log;
#[path = "faults/lossless.rs"]
mod lossless;
#[path = "faults/names.rs"]
mod names;
#[path = "faults/pipes.rs"]
mod pipes;
#[path = "faults/rebinding.rs"]
mod rebinding;
#[path = "faults/reload.rs"]
mod reload;
#[path = "faults/resume.rs"]
mod resume;
#[path = "faults/secrets.rs"]
mod secrets;
#[path = "faults/servers.rs"]
mod servers;
#[path = "faults/sessions.rs"]
mod sessions;
#[path = "faults/standing.rs"]
mod standing;
#[path = "faults/toolsets.rs"]
mod toolsets;
#[path = "faults/unicode.rs"]
mod unicode;
#[path = "faults/upstream.rs"]
mod upstream;
