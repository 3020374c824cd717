//! Any bytes as collapsed stacks: no panic; what is written is read again to the same bytes; and
//! what is drawn is text. As tables the stacks add up to the same.
#![no_main]

mod scratch;

use libfuzzer_sys::fuzz_target;
use pyro_ingest::folded::{FoldedOptions, import_folded};
use pyro_stacks::folded::{Folded, collapsed};
use pyro_stacks::svg::{self, SvgOptions};

fn read(bytes: &[u8]) -> Option<Folded> {
    let mut folded = Folded::default();
    collapsed::read(bytes, &mut folded).ok()?;
    Some(folded)
}

fuzz_target!(|bytes: &[u8]| {
    let Some(folded) = read(bytes) else { return };
    let mut text = Vec::new();
    folded.write(&mut text).expect("memory takes all");
    let again = read(&text).expect("what is written is read");
    let mut same = Vec::new();
    again.write(&mut same).expect("memory takes all");
    assert_eq!(text, same);

    let mut drawn = Vec::new();
    svg::write(&folded, &SvgOptions::default(), &mut drawn).expect("memory takes all");
    assert!(std::str::from_utf8(&drawn).is_ok());

    let out = scratch::folder();
    let path = out.join("stacks.txt");
    std::fs::write(&path, bytes).expect("a temporary file");
    let options = FoldedOptions {
        host: None,
        event: "cpu",
        unit: "samples",
    };
    let (path, folder) = (path.to_string_lossy(), out.to_string_lossy());
    let report = import_folded(&path, &folder, &options, &mut || true).expect("read before");
    assert_eq!(report.tables["samples"], folded.len() as u64);
});
