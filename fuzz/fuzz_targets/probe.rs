//! Any bytes as streams of the probe: no panic.
#![no_main]

mod scratch;

use libfuzzer_sys::fuzz_target;
use pyro_ingest::probe::ingest_probe;

fuzz_target!(|bytes: &[u8]| {
    let out = scratch::folder();
    let names = ["series", "threads", "states", "kernel-stacks"];
    let paths = names.map(|name| {
        let path = out.join(format!("probe-h-{name}.arrows"));
        std::fs::write(&path, bytes).expect("a temporary file");
        path.to_string_lossy().into_owned()
    });
    let report = ingest_probe(&paths, &out.to_string_lossy());
    report.expect("only the disk can fail");
});
