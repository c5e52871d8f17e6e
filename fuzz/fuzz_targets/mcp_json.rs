//! The server catalogue and imported files; the laws are in `src/mcp_json.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| countersign_fuzz::mcp_json::check(data));
