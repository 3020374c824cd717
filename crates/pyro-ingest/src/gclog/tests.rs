use super::*;
use proptest::prelude::*;

const LOG: &str = "\
[100000000ns][5000000ns][1][info][gc] Using G1
[200000000ns][105000000ns][1][info][gc,start] GC(0) Pause Young (Normal) (G1 Evacuation Pause)
[205589000ns][110589000ns][1][info][gc          ] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 8M->6M(64M) 5.589ms
[205650000ns][110650000ns][1][info][safepoint   ] Safepoint \"G1CollectForAllocation\", Time since last: 19590434 ns, Reaching safepoint: 3152 ns, Cleanup: 4861 ns, At safepoint: 5642305 ns, Total: 5650318 ns
";

fn ingest(files: &[(&str, &[u8])]) -> IngestReport {
    let folder = tempfile::tempdir().unwrap();
    let mut paths = Vec::new();
    for (name, content) in files {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        paths.push(path.to_str().unwrap().to_owned());
    }
    let out = folder.path().join("out");
    std::fs::create_dir(&out).unwrap();
    ingest_gc(&paths, &[], out.to_str().unwrap()).unwrap()
}

fn codes(report: &IngestReport) -> Vec<&'static str> {
    report.doubts.iter().map(|doubt| doubt.code).collect()
}

#[test]
fn a_whole_log_raises_no_doubt() {
    let report = ingest(&[("gc-7.log", LOG.as_bytes())]);
    assert_eq!(
        (report.tables["gc_pauses"], report.tables["safepoints"]),
        (1, 1)
    );
    assert_eq!(codes(&report), Vec::<&str>::new());
    assert_eq!(report.stats["bytes"], LOG.len());
}

#[test]
fn a_cut_log_says_where() {
    // Cut inside the last line, in each of its places.
    let begin = LOG[..LOG.len() - 1].rfind('\n').unwrap() + 1;
    for cut in begin + 48..LOG.len() - 4 {
        let report = ingest(&[("gc-7.log", &LOG.as_bytes()[..cut])]);
        assert_eq!(codes(&report), ["gc_log_truncated"], "cut at {cut}");
        assert_eq!(report.doubts[0].byte_offset, Some(begin as u64));
        assert_eq!(report.doubts[0].line, Some(4));
        assert_eq!(
            (report.tables["gc_pauses"], report.tables["safepoints"]),
            (1, 0)
        );
    }
}

#[test]
fn garbage_is_counted_with_its_first_place() {
    let mut bytes = LOG.as_bytes().to_vec();
    bytes.extend_from_slice(b"\xff\xfe\x00\nkilled\n\n  indented\n");
    let report = ingest(&[("gc-7.log", &bytes)]);
    assert_eq!(codes(&report), ["gc_log_unreadable"]);
    let doubt = &report.doubts[0];
    assert_eq!(
        (doubt.count, doubt.line, doubt.byte_offset),
        (2, Some(5), Some(LOG.len() as u64))
    );
    let report = ingest(&[("gc-7.log", b"nothing\nof the kind\n")]);
    assert_eq!(codes(&report), ["gc_log_unreadable"]);
    assert_eq!(report.doubts[0].count, 2);
}

#[test]
fn a_line_without_end_is_read_in_bounded_pieces() {
    let report = ingest(&[("gc-7.log", &vec![b'x'; 300_000])]);
    assert_eq!(codes(&report), ["gc_log_unreadable", "gc_log_truncated"]);
}

#[test]
fn rotated_files_share_the_collector() {
    let (first, rest) = LOG.split_at(LOG.find('\n').unwrap() + 1);
    let report = ingest(&[
        ("gc-7.log", rest.as_bytes()),
        ("gc-7.log.0", first.as_bytes()),
    ]);
    assert_eq!(report.tables["gc_pauses"], 1);
    assert_eq!(codes(&report), Vec::<&str>::new());
    let report = ingest(&[
        ("gc-7.log", rest.as_bytes()),
        ("gc-8.log.0", first.as_bytes()),
    ]);
    assert_eq!(codes(&report), ["gc_collector_unknown"]);
}

#[test]
fn a_lone_stamp_is_recognised_by_its_size() {
    let uptime = Process::default().resolve(Decorations {
        single_ns: Some(5_000_000),
        ..Decorations::default()
    });
    assert_eq!((uptime.mono_ns, uptime.uptime_ns), (None, Some(5_000_000)));
    let mono = Process::default().resolve(Decorations {
        single_ns: Some(5_000_000_000_000),
        ..Decorations::default()
    });
    assert_eq!(
        (mono.mono_ns, mono.uptime_ns),
        (Some(5_000_000_000_000), None)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn no_input_panics(edits in prop::collection::vec((0..LOG.len(), any::<u8>()), 0..12), cut in 0..LOG.len()) {
        let mut bytes = LOG.as_bytes().to_vec();
        for (at, byte) in edits {
            bytes[at] = byte;
        }
        bytes.rotate_left(cut / 3);
        bytes.truncate(cut);
        ingest(&[("gc-7.log", &bytes)]);
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        let _ = decorations::split(&text);
        let _ = message::parse(&text);
        let _ = message::parse(&format!("GC(1) Pause {text}ms"));
        let _ = message::parse(&format!("Safepoint \"x\", {text} ns"));
    }
}
