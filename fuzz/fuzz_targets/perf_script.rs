//! Any bytes as the text of `perf script`: no panic, and as many samples in the table as in the
//! stacks.
#![no_main]

mod scratch;

use libfuzzer_sys::fuzz_target;
use pyro_ingest::folded::import_perf_script;
use pyro_stacks::folded::perf_script::{PerfScript, fold};
use pyro_stacks::folded::{Folded, NameStyle};

fuzz_target!(|bytes: &[u8]| {
    let mut script = PerfScript::new(bytes);
    let mut folded = Folded::default();
    let read = fold(&mut script, None, true, NameStyle::default(), &mut folded);
    let out = scratch::folder();
    let path = out.join("perf.txt");
    std::fs::write(&path, bytes).expect("a temporary file");
    let (path, folder) = (path.to_string_lossy(), out.to_string_lossy());
    let imported = import_perf_script(&path, &folder, None, &mut || true);
    assert_eq!(read.is_ok(), imported.is_ok());
    if let Ok(report) = imported {
        assert_eq!(report.tables["samples"], script.samples);
    }
});
