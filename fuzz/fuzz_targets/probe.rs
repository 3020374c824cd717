//! Any bytes as both streams of the probe: no panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pyro_ingest::probe::ingest_probe;

fuzz_target!(|bytes: &[u8]| {
    let out = tempfile::tempdir().expect("a temporary folder");
    let path = out.path().join("probe-h-series.arrows");
    std::fs::write(&path, bytes).expect("a temporary file");
    let path = path.to_string_lossy().into_owned();
    let report = ingest_probe(&[path.clone()], &[path], &out.path().to_string_lossy());
    report.expect("only the disk can fail");
});
