//! JSON-RPC envelopes; the laws are in `src/framing.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| countersign_fuzz::framing::check(data));
