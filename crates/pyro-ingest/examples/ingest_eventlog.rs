//! Ingests event logs and prints what it cost: `ingest_eventlog OUT LOG…`.
//!
//! MB/s is uncompressed megabytes per CPU second of this process, from start to finished tables.

use std::path::PathBuf;
use std::time::Instant;

fn main() {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let Some(out) = arguments.next() else {
        eprintln!("usage: ingest_eventlog OUT LOG...");
        std::process::exit(2);
    };
    let paths: Vec<_> = arguments.collect();
    let start = Instant::now();
    let report = std::fs::create_dir_all(&out)
        .map_err(|error| pyro_model::Error::io(&out, error))
        .and_then(|()| pyro_ingest::eventlog::ingest(&paths, &out, &mut || true));
    match report {
        Ok(report) => {
            let wall = start.elapsed().as_secs_f64();
            let (cpu, peak) = usage();
            let bytes = report.stats["uncompressed_bytes"].as_f64().unwrap_or(0.0);
            println!("{}", report.to_json());
            eprintln!(
                "{:.1} MB, {wall:.3} s wall, {cpu:.3} s CPU, {:.0} MB/s per CPU second, peak RSS {:.0} MiB",
                bytes / 1e6,
                bytes / 1e6 / cpu,
                peak / 1024.0
            );
        }
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}

/// CPU seconds and peak KiB of this process.
fn usage() -> (f64, f64) {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let nanoseconds = read("/proc/self/schedstat")
        .split(' ')
        .next()
        .and_then(|n| n.parse::<f64>().ok());
    let status = read("/proc/self/status");
    let peak = status.lines().find_map(|line| {
        line.strip_prefix("VmHWM:")?
            .trim()
            .split(' ')
            .next()?
            .parse()
            .ok()
    });
    (
        nanoseconds.unwrap_or(f64::NAN) / 1e9,
        peak.unwrap_or(f64::NAN),
    )
}
