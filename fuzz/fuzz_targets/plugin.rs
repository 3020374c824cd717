//! Any bytes as records of the plugin: no panic, and spans are the same however they are read.
#![no_main]

mod scratch;

use libfuzzer_sys::fuzz_target;
use pyro_ingest::plugin::{ingest_plugin, read_spans};

fuzz_target!(|bytes: &[u8]| {
    let out = scratch::folder();
    let path = out.join("plugin-driver-driver-1.ndjson");
    std::fs::write(&path, bytes).expect("a temporary file");
    let (path, folder) = ([path.to_string_lossy().into_owned()], out.to_string_lossy());
    let report = ingest_plugin(&path, &folder).expect("only the disk can fail");
    let spans = read_spans(&path, &folder).expect("only the disk can fail");
    assert_eq!(report.tables["spans"], spans.len() as u64);
});
