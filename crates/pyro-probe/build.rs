//! Names the folder of the BPF objects that were compiled beforehand (`make bpf`), and refuses
//! objects that were made of other sources. No compiler of BPF is needed here.

use std::path::{Path, PathBuf};

const SOURCES: &str = "src/bpf";
const OBJECTS: &str = "bpf";

fn main() {
    println!("cargo::rerun-if-changed={SOURCES}");
    println!("cargo::rerun-if-changed={OBJECTS}");
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let architecture = std::env::var("CARGO_CFG_TARGET_ARCH").expect("set by cargo");
    let objects = root.join(OBJECTS).join(&architecture);
    assert!(
        objects.is_dir(),
        "{} is missing: there are BPF programs for x86_64 and aarch64 only",
        objects.display()
    );
    let manifest = root.join(OBJECTS).join("manifest.txt");
    let text = std::fs::read_to_string(&manifest).expect("committed with the objects");
    let made_of = text.lines().find_map(|line| line.strip_prefix("sources "));
    assert_eq!(
        made_of,
        Some(hash(&root.join(SOURCES)).as_str()),
        "{SOURCES} changed since the BPF objects were made. Run: make bpf",
    );
    println!("cargo::rustc-env=BPF_OBJECTS={}", objects.display());
}

/// FNV-1a (64 bits) of names and contents of all C files, as `tools/build_bpf.py` computes it: it
/// guards against forgetting and needs no crate; CI compares the objects themselves.
fn hash(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).expect("part of the sources");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|end| end == "c" || end == "h"))
        .collect();
    paths.sort();
    let mut value: u64 = 0xcbf2_9ce4_8422_2325;
    for path in paths {
        let name = path.file_name().expect("a file").as_encoded_bytes();
        let content = std::fs::read(&path).expect("readable");
        for part in [name, b"\0", &content, b"\0"] {
            for &byte in part {
                value = (value ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
    }
    format!("{value:016x}")
}
