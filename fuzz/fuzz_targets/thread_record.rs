//! Any bytes as records of the iterator over threads: no panic.
#![no_main]

#[allow(dead_code)]
#[path = "../../crates/pyro-probe/src/parse/mod.rs"]
mod parse;

use libfuzzer_sys::fuzz_target;
use parse::thread_record::{Observation, records};

fuzz_target!(|bytes: &[u8]| {
    records(bytes, i64::MIN, &mut |observed| {
        if let Observation::Seen(record) = observed {
            assert!(record.frames().count() <= bytes.len() / 8);
            assert!(record.counters.comm.as_str().len() <= 15);
        }
    });
});
