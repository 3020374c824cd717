use std::path::Path;

use super::*;
use arrow_ipc::writer::StreamWriter;
use proptest::prelude::*;

/// A stream of `batches` batches of 10 rows each, and where each message starts.
fn stream(batches: i64, finish: bool) -> (Vec<u8>, Vec<u64>) {
    let mut writer = StreamWriter::try_new(Vec::new(), &OsSeriesBuilder::schema()).unwrap();
    let mut rows = OsSeriesBuilder::default();
    let mut ends = vec![writer.get_ref().len() as u64];
    for batch in 0..batches {
        for row in 0..10 {
            rows.host.append_value("h");
            rows.t_mono_ns.append_value(batch * 10 + row);
            rows.scope.append_value(format!("process/{}", batch + row));
            rows.name.append_value("cpu_ns");
            rows.value.append_value(7 * row);
        }
        writer.write(&rows.finish().unwrap()).unwrap();
        ends.push(writer.get_ref().len() as u64);
    }
    if finish {
        writer.finish().unwrap();
    }
    (writer.get_ref().clone(), ends)
}

fn ingest_bytes(bytes: &[u8]) -> (u64, Vec<Doubt>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("probe-h-series.arrows");
    std::fs::write(&path, bytes).unwrap();
    let paths = [path.to_string_lossy().into_owned()];
    let report = ingest_probe(&[], &paths, &folder.path().to_string_lossy()).unwrap();
    assert!(Path::new(&folder.path().join("thread_counters.parquet")).exists());
    (report.tables["os_series"], report.doubts)
}

#[test]
fn a_whole_stream_has_no_doubt() {
    let (bytes, _) = stream(5, true);
    assert_eq!(ingest_bytes(&bytes), (50, vec![]));
}

#[test]
fn cut_anywhere_all_whole_batches_are_kept_and_the_byte_is_named() {
    let (bytes, ends) = stream(3, true);
    for length in (0..bytes.len()).step_by(41) {
        let whole = ends[1..]
            .iter()
            .filter(|&&end| end <= length as u64)
            .count() as u64;
        let (rows, doubts) = ingest_bytes(&bytes[..length]);
        assert_eq!(rows, whole * 10, "cut at {length}");
        assert_eq!(doubts.len(), 1, "cut at {length}");
        assert_eq!(doubts[0].code, "probe_stream_cut");
        let offset = doubts[0].byte_offset.unwrap();
        let batch_end = ends
            .iter()
            .rev()
            .find(|&&end| end <= length as u64)
            .copied()
            .unwrap_or(0);
        // Dictionaries precede their batch, so the cut message may start after the batch before.
        assert!(
            offset >= batch_end && offset <= length as u64,
            "cut at {length}: {offset}"
        );
    }
}

#[test]
fn a_tail_of_zeros_is_named() {
    let (mut bytes, ends) = stream(2, false);
    bytes.extend([0; 4096]);
    let (rows, doubts) = ingest_bytes(&bytes);
    assert_eq!((rows, doubts[0].code), (20, "probe_stream_unreadable"));
    assert_eq!(doubts[0].byte_offset, ends.last().copied());
}

#[test]
fn another_schema_is_refused_by_name() {
    for (name, message) in [
        ("host", "column host is of type Int64"),
        ("x", "no column host"),
    ] {
        let column: arrow_array::ArrayRef =
            std::sync::Arc::new(arrow_array::Int64Array::from(vec![1]));
        let batch = RecordBatch::try_from_iter([(name, column)]).unwrap();
        let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        let (rows, doubts) = ingest_bytes(writer.get_ref());
        assert_eq!((rows, doubts[0].code), (0, "probe_stream_unreadable"));
        assert!(doubts[0].message.contains(message), "{}", doubts[0].message);
    }
}

#[test]
fn thread_rows_come_through_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let mut rows = ThreadCountersBuilder::default();
    for row in 0..3_i64 {
        rows.host.append_value("h");
        rows.pid.append_value(1);
        rows.tid.append_value(row);
        rows.t_mono_ns.append_value(row);
        rows.comm.append_value("Executor task l");
        rows.state.append_option((row > 0).then_some("R"));
        rows.run_ns.append_value(10 * row);
        rows.run_delay_ns.append_value(row);
        rows.timeslices_count.append_value(row);
        rows.user_ns.append_option((row > 0).then_some(5));
        rows.system_ns.append_option((row > 0).then_some(6));
        rows.minor_faults_count
            .append_option((row > 0).then_some(7));
        rows.major_faults_count
            .append_option((row > 0).then_some(8));
        rows.cpu.append_option((row > 0).then_some(1));
        rows.first.append_value(row == 0);
        rows.last.append_value(row == 2);
    }
    let batch = rows.finish().unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    let mut sink = ParquetSink::<ThreadCountersBuilder>::create(folder.path()).unwrap();
    let bytes = writer.get_ref().as_slice();
    let mut frames = Frames::new(bytes, bytes.len() as u64);
    read_stream(&mut frames, |batch| copy_threads(batch, &mut sink)).unwrap();
    let copied = sink.rows.finish().unwrap();
    assert_eq!(format!("{copied:?}"), format!("{batch:?}"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn damage_never_panics_and_keeps_what_lies_before_it(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let (mut bytes, ends) = stream(4, true);
        let mut first = bytes.len() as u64;
        for (index, byte) in &flips {
            let at = index.index(bytes.len());
            if bytes[at] != *byte {
                bytes[at] = *byte;
                first = first.min(at as u64);
            }
        }
        let whole = ends[1..].iter().filter(|&&end| end <= first).count() as u64;
        let mut rows = 0;
        let mut frames = Frames::new(bytes.as_slice(), bytes.len() as u64);
        let _ = read_stream(&mut frames, |batch| {
            words(batch, "scope", false)?;
            numbers::<Int64Type>(batch, "value", false)?;
            rows += batch.num_rows() as u64;
            Ok(())
        });
        prop_assert!(rows >= whole * 10, "{rows} rows, damage at {first}");
    }
}
