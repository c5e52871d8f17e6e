//! Exact JSON; the laws are in `src/exact.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| countersign_fuzz::exact::check(data));
