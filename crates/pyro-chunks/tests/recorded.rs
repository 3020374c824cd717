//! Chunks of version 1 that were written once are read for good.

use std::fs;
use std::path::Path;

use pyro_chunks::join::join_folder;

#[test]
fn the_recorded_store_is_read() {
    let store = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/chunks");
    let out = tempfile::tempdir().unwrap();
    let joined = join_folder(&store, out.path()).unwrap();
    let [log, report] = joined.streams.as_slice() else {
        panic!("{joined:?}");
    };
    assert_eq!((log.tally.chunks_count, log.tally.missing_count), (2, 1));
    assert_eq!(
        (log.tally.missing_bytes, log.tally.gap_at_byte),
        (160, Some(150))
    );
    let text = fs::read_to_string(out.path().join(&log.path)).unwrap();
    assert_eq!((text.len(), text.lines().count()), (310, 40));
    let report = fs::read_to_string(out.path().join(&report.path)).unwrap();
    assert_eq!(report, "{\"version\": 2}");
}
