//! Any bytes as records of the iterator over threads: no panic.
#![no_main]

#[allow(dead_code)]
#[path = "../../crates/pyro-probe/src/parse/thread_record.rs"]
mod thread_record;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    thread_record::records(bytes, &mut |record| {
        assert!(record.frames().count() <= bytes.len() / 8);
    });
});
