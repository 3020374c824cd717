//! Any bytes as what `perf_event_open` and its folder in `/sys` hold: no panic.
#![no_main]

#[allow(dead_code)]
#[path = "../../crates/pyro-probe/src/perf/format.rs"]
mod format;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut values = Vec::new();
    for expected in 0..6 {
        let times = format::group(bytes, expected, &mut values);
        assert_eq!(values.len(), if times.is_some() { expected } else { 0 });
    }
    let text = String::from_utf8_lossy(bytes);
    assert!(format::list(&text).len() <= 8192);
    format::number(&text);
    // A term, and the format file of its field.
    let (terms, field) = text.split_once('\n').unwrap_or((&text, "config:0-63"));
    let _ = format::config(terms, |_| format::Field::parse(field));
});
