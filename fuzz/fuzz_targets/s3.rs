#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::targets::s3::run(data));
