//! Any bytes as a GC and safepoint log: no panic.
#![no_main]

mod scratch;

use libfuzzer_sys::fuzz_target;
use pyro_ingest::gclog::ingest_gc;

fuzz_target!(|bytes: &[u8]| {
    let out = scratch::folder();
    let path = out.join("gc-1.log");
    std::fs::write(&path, bytes).expect("a temporary file");
    let path = path.to_string_lossy().into_owned();
    let report = ingest_gc(&[path], &[], &out.to_string_lossy());
    report.expect("only the disk can fail");
});
