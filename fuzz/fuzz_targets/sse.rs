//! Event streams; the laws are in `src/sse.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| countersign_fuzz::sse::check(data));
