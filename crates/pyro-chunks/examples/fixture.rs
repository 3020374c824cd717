//! Makes the store of `tests/fixtures/chunks`: a log of which a chunk is missing, and two versions of a report.

use std::fs;
use std::path::Path;

use pyro_chunks::{Header, Kind, Source, chunk_key, encode, stream_key};

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
    let stream = stream_key(&header.source, &header.file, header.generation);
    let path = Path::new(root).join(chunk_key(&stream, header.sequence));
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder that can be written");
    let object = encode(&header, text.as_bytes()).expect("small");
    fs::write(path, object).expect("a folder that can be written");
}

fn header(file: &str, kind: Kind, sequence: u64, offset: u64) -> Header {
    Header {
        source: Source {
            app: "app-1".to_owned(),
            executor: "1".to_owned(),
            attempt: "18f0".to_owned(),
            host: "h".to_owned(),
        },
        file: file.to_owned(),
        generation: 0,
        kind,
        sequence,
        offset,
        length: 0,
        skipped_bytes: 0,
        begins_whole: true,
        ends_whole: true,
        last: true,
        cut_wall_ns: 1_700_000_000_000_000_000 + sequence as i64,
        zstd: false,
    }
}
