use super::*;
use proptest::prelude::*;
use pyro_model::TaskSpan;

fn fixture() -> Vec<u8> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/fixtures/jfr/profile-burn-20632.jfr"
    );
    std::fs::read(path).unwrap()
}

fn ingest(bytes: &[u8]) -> IngestReport {
    ingest_named("profile-burn-20632.jfr", bytes, SpanIndex::default())
}

fn ingest_named(name: &str, bytes: &[u8], spans: SpanIndex) -> IngestReport {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let path = path.to_str().unwrap().to_owned();
    ingest_recordings(
        &[path],
        &spans,
        folder.path().to_str().unwrap(),
        "host",
        None,
    )
    .unwrap()
}

/// The tables of recordings that were read on so many threads, byte by byte, and the report.
fn on_threads(threads: usize, files: &[&[u8]], spans: &SpanIndex) -> (String, Vec<Vec<u8>>) {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<String> = (0..files.len())
        .map(|number| format!("{}/profile-driver-{number}.jfr", folder.path().display()))
        .collect();
    for (path, bytes) in paths.iter().zip(files) {
        std::fs::write(path, bytes).unwrap();
    }
    let out = folder.path().to_str().unwrap();
    let origins = vec![("host", spans); paths.len()];
    let report = ingest_on(threads, &paths, &origins, out, None).unwrap();
    let tables = ["samples", "jit", "frames", "stacks"];
    let read = |name| std::fs::read(folder.path().join(format!("{name}.parquet"))).unwrap();
    (report.to_json().replace(out, ""), tables.map(read).into())
}

fn codes(report: &IngestReport) -> Vec<&'static str> {
    report.doubts.iter().map(|doubt| doubt.code).collect()
}

fn rows(report: &IngestReport, event: &str) -> u64 {
    report.stats["samples_by_event"][event]["rows"]
        .as_u64()
        .unwrap()
}

#[test]
fn a_recording_is_read_whole() {
    let report = ingest(&fixture());
    assert_eq!(codes(&report), ["samples_without_tasks"]);
    assert_eq!(report.stats["cpu_interval_ns"], 10_000_000);
    assert_eq!(report.stats["wall_interval_ns"], 50_000_000);
    assert_eq!((rows(&report, "cpu"), rows(&report, "lock")), (259, 1));
    let kinds = ["cpu", "wall", "alloc", "lock"];
    assert_eq!(
        kinds.iter().map(|kind| rows(&report, kind)).sum::<u64>(),
        report.tables["samples"]
    );
    let ignored: u64 = report.stats["events_ignored"]
        .as_object()
        .unwrap()
        .values()
        .map(|n| n.as_u64().unwrap())
        .sum();
    // Settings and facts of the JVM are used, but make no rows.
    assert!(ignored < report.stats["events"].as_u64().unwrap() - report.tables["samples"]);
}

#[test]
fn samples_that_are_not_time_are_left_out_with_a_doubt() {
    let mut bytes = fixture();
    // The setting `event` = `cpu`, as two strings behind each other, becomes another event.
    let setting = b"\x03\x05event\x03\x03cpu";
    let at = bytes
        .windows(setting.len())
        .position(|window| window == setting)
        .unwrap();
    bytes[at + setting.len() - 3..at + setting.len()].copy_from_slice(b"l1d");
    let report = ingest(&bytes);
    assert_eq!(
        codes(&report),
        ["jfr_events_ignored", "samples_without_tasks"]
    );
    assert_eq!((rows(&report, "cpu"), report.doubts[0].count), (0, 259));
    assert!(report.doubts[0].message.contains("l1d"));
}

/// The fixture in which strings are others, none longer: the bytes of its length fill the rest.
fn fixture_with(strings: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = fixture();
    for (from, to) in strings {
        let old = [&[3, from.len() as u8][..], from.as_bytes()].concat();
        let mut length = vec![0x80_u8; from.len() - to.len()];
        length.push(0);
        length[0] |= to.len() as u8;
        let new = [&[3_u8][..], &length[..], to.as_bytes()].concat();
        let at = bytes.windows(old.len()).position(|window| window == old);
        let at = at.unwrap();
        bytes[at..at + old.len()].copy_from_slice(&new);
    }
    bytes
}

#[test]
fn wall_samples_of_the_event_weigh_its_own_period() {
    let whole = ingest(&fixture());
    let report = ingest(&fixture_with(&[
        ("wall", "none"),
        ("jstackdepth", "event"),
        ("2048", "wall"),
        ("10000000", "20000000"),
    ]));
    let weight = |report: &IngestReport| {
        let weight = &report.stats["samples_by_event"]["wall"]["weight"];
        weight.as_i64().unwrap()
    };
    assert_eq!(report.stats["wall_interval_ns"], 20_000_000);
    assert_eq!(rows(&report, "cpu"), 0);
    assert_eq!(weight(&report), weight(&whole) / 50 * 20 + 259 * 20_000_000);
}

#[test]
fn time_that_both_samplers_of_the_jdk_saw_counts_once() {
    // One event of that type, which is now called so, and the setting that it is on.
    let mut bytes = fixture_with(&[("jdk.OSInformation", "jdk.CPUTimeSample")]);
    let setting = b"i\x03\x07enabled\x03\x04true";
    let at = bytes.windows(setting.len()).position(|w| w == setting);
    bytes[at.unwrap()] = b'm';
    let report = ingest(&bytes);
    assert_eq!(
        codes(&report),
        ["jfr_samples_of_same_time", "samples_without_tasks"]
    );
    assert_eq!((rows(&report, "cpu"), report.doubts[0].count), (1, 259));
}

#[test]
fn what_the_recorder_lost_is_a_doubt() {
    let report = ingest(&fixture_with(&[
        ("jdk.CPUInformation", "jdk.DataLoss"),
        ("hwThreads", "amount"),
        ("jdk.ObjectAllocationInNewTLAB", "jdk.CPUTimeSamplesLost"),
        ("allocationSize", "lostSamples"),
    ]));
    assert_eq!(
        codes(&report),
        [
            "jfr_events_lost",
            "jfr_events_lost",
            "samples_without_tasks"
        ]
    );
    assert_eq!(report.doubts[0].count, 1);
    assert!(report.doubts[0].message.contains(" 2 bytes"));
    assert!(report.doubts[1].count > 0);
}

#[test]
fn chunks_follow_each_other() {
    let once = ingest(&fixture());
    let twice = ingest(&fixture().repeat(2));
    assert_eq!(twice.stats["chunks"], 2);
    assert_eq!(twice.tables["samples"], 2 * once.tables["samples"]);
    assert_eq!(
        (twice.tables["stacks"], twice.tables["frames"]),
        (once.tables["stacks"], once.tables["frames"])
    );
}

/// What is on disk after kill -9: the header still has its placeholders and the constant pool,
/// which is written last, is missing.
fn killed() -> Vec<u8> {
    let mut bytes = fixture();
    let pool = u64::from_be_bytes(bytes[16..24].try_into().unwrap()) as usize;
    bytes.truncate(pool);
    bytes[8..16].copy_from_slice(&(1_u64 << 30).to_be_bytes());
    bytes[16..32].fill(0);
    bytes
}

#[test]
fn a_killed_recording_keeps_its_samples_without_stacks() {
    let whole = ingest(&fixture());
    let report = ingest(&killed());
    assert_eq!(codes(&report), ["jfr_truncated", "samples_without_tasks"]);
    assert_eq!(rows(&report, "cpu"), rows(&whole, "cpu"));
    assert_eq!(
        report.stats["samples_by_event"]["cpu"]["weight"],
        whole.stats["samples_by_event"]["cpu"]["weight"]
    );
    assert_eq!(
        report.stats["samples_by_event"]["cpu"]["without_stack"],
        rows(&whole, "cpu")
    );
    // An earlier chunk of the same file stays whole.
    let mut bytes = fixture();
    bytes.extend(killed());
    let report = ingest(&bytes);
    assert_eq!(rows(&report, "cpu"), 2 * rows(&whole, "cpu"));
    assert_eq!(
        report.stats["samples_by_event"]["cpu"]["without_stack"],
        rows(&whole, "cpu")
    );
}

#[test]
fn a_cut_event_is_told_with_its_place() {
    let mut bytes = killed();
    bytes.truncate(bytes.len() - 3);
    let report = ingest(&bytes);
    let doubt = report
        .doubts
        .iter()
        .find(|doubt| doubt.code == "jfr_truncated")
        .unwrap();
    let at = doubt.byte_offset.unwrap() as usize;
    assert!(
        at < bytes.len() && at + 64 > bytes.len(),
        "{at} of {}",
        bytes.len()
    );
}

#[test]
fn what_is_no_recording_is_a_doubt() {
    for bytes in [&b"x"[..], b"FLR\0", &[0; 100], &[b'x'; 5000]] {
        let report = ingest(bytes);
        assert_eq!(codes(&report), ["jfr_unreadable"]);
        assert_eq!(report.tables["samples"], 0);
    }
    let mut bytes = fixture();
    let whole = bytes.len() as u64;
    bytes.extend_from_slice(b"trailing rubbish");
    let report = ingest(&bytes);
    assert_eq!(
        report
            .doubts
            .iter()
            .find(|d| d.code == "jfr_unreadable")
            .unwrap()
            .byte_offset,
        Some(whole)
    );
    assert_eq!(rows(&report, "cpu"), 259);
    assert_eq!(ingest(b"").tables["samples"], 0);
}

#[test]
fn the_process_is_told_by_the_name_or_by_the_recording() {
    let known = || {
        let span = TaskSpan {
            pid: 20632,
            tid: 1,
            ..TaskSpan::default()
        };
        SpanIndex::new(vec![span], vec![])
    };
    let codes_of = |name| codes(&ingest_named(name, &fixture(), known()));
    assert_eq!(codes_of("profile-driver-20632.jfr"), Vec::<&str>::new());
    assert_eq!(codes_of("mine.jfr"), Vec::<&str>::new());
    assert_eq!(codes_of("profile-driver-7.jfr"), ["samples_without_tasks"]);
    assert_eq!(codes_of("profile-java-7.jfr"), Vec::<&str>::new());
}

#[test]
fn tables_are_the_same_on_any_number_of_threads() {
    let whole = fixture();
    let long = [whole.repeat(25), killed()].concat();
    let rubbish = [whole.repeat(3), b"rubbish".to_vec()].concat();
    let files = [&long[..], b"", &rubbish, &whole, b"FLR", &long];
    let span = TaskSpan {
        pid: 0,
        tid: 20_650,
        ..TaskSpan::default()
    };
    let spans = SpanIndex::new(vec![span], vec![]);
    let one = on_threads(1, &files, &spans);
    assert!(one.0.contains("jfr_truncated") && one.1[0].len() > 10_000);
    for threads in [2, 3, 8] {
        assert!(on_threads(threads, &files, &spans) == one, "{threads}");
    }
}

#[test]
fn threads_end_where_a_table_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let gone = folder.path().join("gone").display().to_string();
    let long = folder.path().join("long.jfr");
    std::fs::write(&long, fixture().repeat(60)).unwrap();
    let paths = [long.display().to_string(), gone];
    let out = folder.path().to_str().unwrap();
    let failed = ingest_on(4, &paths, &[], out, None);
    assert!(matches!(failed, Err(Error::Io { path, .. }) if path.ends_with("gone")));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn damaged_chunks_are_the_same_on_any_number_of_threads(
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..9_000, any::<u8>(), any::<bool>()), 1..12),
    ) {
        let whole = fixture();
        let pool = u64::from_be_bytes(whole[16..24].try_into().unwrap()) as usize;
        let mut chunks = vec![whole; 6];
        for (chunk, at, byte, in_pool) in edits {
            let bytes = chunk.get_mut(&mut chunks);
            let from = if in_pool { pool } else { 68 };
            let at = (from + at).min(bytes.len() - 1);
            bytes[at] = byte;
        }
        let bytes = chunks.concat();
        let spans = SpanIndex::default();
        let one = on_threads(1, &[&bytes], &spans);
        prop_assert!(on_threads(3, &[&bytes], &spans) == one);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn no_input_panics(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..24),
        cut in any::<prop::sample::Index>(),
        whole in any::<bool>(),
    ) {
        let mut bytes = fixture();
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if !whole {
            bytes.truncate(cut.index(bytes.len()));
        }
        ingest(&bytes);
    }

    #[test]
    fn no_damage_to_types_and_pools_panics(edits in prop::collection::vec((0_usize..9_000, any::<u8>()), 1..8), in_pool in any::<bool>()) {
        let mut bytes = fixture();
        let pool = u64::from_be_bytes(bytes[16..24].try_into().unwrap()) as usize;
        let from = if in_pool { pool } else { 68 };
        for (at, byte) in edits {
            let at = (from + at).min(bytes.len() - 1);
            bytes[at] = byte;
        }
        ingest(&bytes);
    }
}
