//! Any bytes as an ELF file, as `/proc/PID/maps`, as a table of names, as an annotation: no panic.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code)]
#[path = "../../crates/pyro-probe/src/annotate/elf.rs"]
mod elf;
#[allow(dead_code)]
#[path = "../../crates/pyro-probe/src/annotate/maps.rs"]
mod maps;
#[allow(dead_code)]
#[path = "../../crates/pyro-probe/src/annotate/names.rs"]
mod names;
#[allow(dead_code)]
#[path = "../../crates/pyro-probe/src/annotate/spec.rs"]
mod spec;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(found) = elf::symbol(bytes, "my_wait_event_info") {
        let _ = found.in_process(0x7f00_0000_0000, 0x1000);
    }
    let text = String::from_utf8_lossy(bytes);
    for mapping in maps::files(&text) {
        assert!(mapping.start < mapping.end);
    }
    let _ = names::parse(&text);
    let _ = spec::parse(&text);
});
