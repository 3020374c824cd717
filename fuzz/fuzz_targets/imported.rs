//! Any bytes as a profile of another tool, pprof and speedscope: no panic.
#![no_main]

mod scratch;

use libfuzzer_sys::fuzz_target;
use pyro_ingest::imported::{import_pprof, import_speedscope};

fuzz_target!(|bytes: &[u8]| {
    let out = scratch::folder();
    let path = out.join("profile");
    std::fs::write(&path, bytes).expect("a temporary file");
    let (path, out) = (path.to_string_lossy(), out.to_string_lossy());
    // Most bytes are no profile: that is an answer, too.
    let _ = import_pprof(&path, &out);
    let _ = import_speedscope(&path, &out);
});
