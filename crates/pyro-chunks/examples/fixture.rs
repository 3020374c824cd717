//! Makes the store of `tests/fixtures/chunks`: a log of which a chunk is missing, and two versions of a report.

use std::path::Path;

use pyro_chunks::{Header, Kind, Source, testing};

fn main() {
    let root = std::env::args().nth(1).expect("the folder");
    let lines = |from: usize, to: usize| -> String {
        (from..to).map(|line| format!("line {line}\n")).collect()
    };
    let (first, second) = (lines(0, 20), lines(20, 40));
    let offset = (first.len() + second.len()) as u64;
    put(&root, header("gc-7.log", Kind::Lines, 0, 0), &first);
    put(
        &root,
        header("gc-7.log", Kind::Lines, 2, offset),
        &lines(40, 60),
    );
    for version in 1..3 {
        let report = header("probe-h.report.json", Kind::Whole, version - 1, 0);
        put(&root, report, &format!("{{\"version\": {version}}}"));
    }
}

fn put(root: &str, header: Header, text: &str) {
    testing::put(Path::new(root), &header, text.as_bytes());
}

fn header(file: &str, kind: Kind, sequence: u64, offset: u64) -> Header {
    let plain = testing::header(file, kind, sequence, offset);
    Header {
        source: Source {
            app: "app-1".to_owned(),
            attempt: "18f0".to_owned(),
            ..plain.source
        },
        last: true,
        cut_wall_ns: 1_700_000_000_000_000_000 + sequence as i64,
        ..plain
    }
}
