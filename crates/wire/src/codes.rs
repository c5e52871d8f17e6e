//! JSON-RPC error codes of the protocol.

/// Not JSON.
pub const PARSE_ERROR: i64 = -32700;
/// Not a JSON-RPC message.
pub const INVALID_REQUEST: i64 = -32600;
/// No such method.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// Bad parameters; also unknown tools, and unknown resources from 2026-07-28 on.
pub const INVALID_PARAMS: i64 = -32602;
/// The gateway's own fault, or an upstream that cannot be reached.
pub const INTERNAL_ERROR: i64 = -32603;
/// Unknown resource before 2026-07-28.
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// Headers and body disagree (2026-07-28).
pub const HEADER_MISMATCH: i64 = -32020;
/// A capability that the client did not declare is needed (2026-07-28).
pub const MISSING_CAPABILITY: i64 = -32021;
/// The version is not served (2026-07-28).
pub const UNSUPPORTED_VERSION: i64 = -32022;
/// URL elicitation is needed (2025-11-25 only).
pub const URL_ELICITATION_REQUIRED: i64 = -32042;
