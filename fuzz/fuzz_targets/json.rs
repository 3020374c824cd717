//! Any bytes as a line of JSON: what serde_json takes, skipping takes, to the same byte.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pyro_ingest::eventlog::json::{Cursor, padded};

fuzz_target!(|bytes: &[u8]| {
    if bytes.contains(&b'\n') {
        return;
    }
    let line = padded(bytes);
    let mut cursor = Cursor::new(&line, bytes.len());
    let skipped = cursor.skip();
    assert!(cursor.position() <= bytes.len());
    if serde_json::from_slice::<serde_json::Value>(bytes).is_ok() {
        assert!(skipped.is_ok() && cursor.finished());
    }
});
