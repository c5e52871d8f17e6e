//! Templates of workflows; the laws are in `src/template.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| countersign_fuzz::template::check(data));
