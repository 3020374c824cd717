//! Any bytes as a recording of the flight recorder, read by its own description of types: no panic.
#![no_main]

mod scratch;

use libfuzzer_sys::fuzz_target;
use pyro_ingest::jfr::ingest_jfr;

fuzz_target!(|bytes: &[u8]| {
    let out = scratch::folder();
    let path = out.join("profile-driver-1.jfr");
    std::fs::write(&path, bytes).expect("a temporary file");
    let path = path.to_string_lossy().into_owned();
    let report = ingest_jfr(&[path], &[], &out.to_string_lossy(), "host", &[], None);
    report.expect("only the disk can fail");
});
