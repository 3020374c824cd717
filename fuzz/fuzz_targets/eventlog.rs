//! Any bytes, in any codec that their head claims, as an event log: no panic, every line accounted for.
#![no_main]

mod scratch;

use libfuzzer_sys::fuzz_target;
use pyro_ingest::eventlog::try_bytes;

fuzz_target!(|bytes: &[u8]| {
    let out = scratch::folder();
    if let Ok(report) = try_bytes(bytes.to_vec(), out) {
        let count = |name: &str| report.stats[name].as_u64().expect("a count");
        let read =
            count("events_count") + count("unreadable_lines_count") + count("blank_lines_count");
        assert_eq!(read, count("lines_count"));
    }
});
