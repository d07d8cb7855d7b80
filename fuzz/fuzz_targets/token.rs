#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| farroot_fuzz::targets::token::run(data));
