//! Compiles the BPF programs where clang is there; without it the probe is built without them.

use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCES: &str = "src/bpf";

fn main() {
    println!("cargo::rustc-check-cfg=cfg(bpf)");
    println!("cargo::rerun-if-env-changed=CLANG");
    println!("cargo::rerun-if-changed={SOURCES}");
    let architecture = match std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("x86_64") => "x86",
        Ok("aarch64") => "arm64",
        _ => return without("there are no BPF programs for this architecture yet"),
    };
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("set by cargo"));
    let clang = std::env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    if let Err(why) = try_target(&clang) {
        return without(&why);
    }
    for source in programs() {
        println!("cargo::rerun-if-changed={}", source.display());
        let object = out.join(source.with_extension("o").file_name().unwrap_or_default());
        let compiled = Command::new(&clang)
            .args(["-target", "bpf", "-O2", "-g", "-mcpu=v3"])
            .args(["-Wall", "-Wextra", "-Werror"])
            // The helpers of the kernel that a program does not call.
            .args(["-Wno-unused-variable", "-Wno-unused-function"])
            .arg(format!("-D__TARGET_ARCH_{architecture}"))
            .arg("-c")
            .arg(&source)
            .arg("-o")
            .arg(&object)
            .status();
        match compiled {
            Ok(status) if status.success() => {}
            Ok(status) => panic!("{clang} {}: {status}", source.display()),
            Err(error) => panic!("{clang}: {error}"),
        }
    }
    println!("cargo::rustc-cfg=bpf");
}

/// Whether this clang is there and knows BPF.
fn try_target(clang: &str) -> Result<(), String> {
    let tried = Command::new(clang)
        .args(["-target", "bpf", "-fsyntax-only", "-x", "c", "/dev/null"])
        .output()
        .map_err(|error| format!("{clang}: {error}"))?;
    match tried.status.success() {
        true => Ok(()),
        false => Err(format!("{clang} does not know the target bpf")),
    }
}

fn programs() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(Path::new(SOURCES)).expect("part of the sources");
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.to_string_lossy().ends_with(".bpf.c"))
        .collect()
}

fn without(why: &str) {
    println!("cargo::warning=the probe is built without BPF (tiers T0 and T1): {why}");
}
