//! Globs; the laws are in `src/globs.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| countersign_fuzz::globs::check(data));
