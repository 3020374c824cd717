use super::*;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_ipc::writer::StreamWriter;
use proptest::prelude::*;
use pyro_chunks::join::Joiner;
use pyro_chunks::{Chunk, Fault as Lost, Kind, testing};

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
    let report = ingest_probe(&paths, &folder.path().to_string_lossy()).unwrap();
    assert!(folder.path().join("os_series.parquet").exists());
    assert!(!folder.path().join("thread_counters.parquet").exists());
    (report.tables["os_series"], report.doubts)
}

#[test]
fn tables_are_the_same_on_any_number_of_threads() {
    let (whole, _) = stream(5, true);
    let read = |threads| {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().to_string_lossy().into_owned();
        let names = ["a-series", "b-series", "h-threads", "h-delays", "h-other"];
        let paths = names.map(|name| format!("{out}/probe-{name}.arrows"));
        for (path, length) in paths.iter().zip([0, 7, 0, 90, 0]) {
            std::fs::write(path, &whole[..whole.len() - length]).unwrap();
        }
        let report = ingest_on(threads, &paths, &out).unwrap();
        let table = std::fs::read(folder.path().join("os_series.parquet")).unwrap();
        (report.to_json().replace(&out, ""), table)
    };
    let one = read(1);
    assert!(one.0.contains("\"os_series\":100") && one.0.contains("probe_stream_cut"));
    assert!([2, 3, 8].iter().all(|&threads| read(threads) == one));
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
fn rows_come_through_unchanged_and_a_column_of_later_is_null() {
    let mut rows = KernelStacksBuilder::default();
    for stack in 0..3 {
        rows.host.append_value("h");
        rows.stack_id.append_value(stack);
        rows.symbols.append_value("do_syscall_64;futex_wait");
    }
    let batch = rows.finish().unwrap();
    assert_eq!(fitted::<KernelStacksBuilder>(&batch).unwrap(), batch);
    let old = batch.project(&[0, 1]).unwrap();
    let refused = fitted::<KernelStacksBuilder>(&old).unwrap_err();
    assert!(matches!(refused, Fault::Unreadable(what) if what == "no column symbols"));

    let mut rows = DelaysBuilder::default();
    rows.host.append_value("h");
    rows.t_mono_ns.append_value(1);
    rows.pid.append_value(2);
    rows.tid.append_value(3);
    rows.kind.append_value("blkio");
    rows.count.append_value(4);
    rows.total_ns.append_value(5);
    let batch = rows.finish().unwrap();
    let without: Vec<usize> = (0..7).filter(|&column| column != 3).collect();
    let old = fitted::<DelaysBuilder>(&batch.project(&without).unwrap()).unwrap();
    assert_eq!(old.column(3).null_count(), 1);
    assert_eq!(old.column(6), batch.column(6));
}

#[test]
fn every_stream_goes_to_its_table_and_an_unknown_one_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut rows = KernelStacksBuilder::default();
    rows.host.append_value("h");
    rows.stack_id.append_value(1);
    rows.symbols.append_value("do_syscall_64;futex_wait");
    let batch = rows.finish().unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    let names = [
        "a-b-kernel-stacks",
        "h-kernel-stacks.12",
        "h-moods",
        "h-kernel-stacks.x",
    ];
    let paths = names.map(|name| {
        let path = folder.path().join(format!("probe-{name}.arrows"));
        std::fs::write(&path, writer.get_ref()).unwrap();
        path.to_string_lossy().into_owned()
    });
    let report = ingest_probe(&paths, &folder.path().to_string_lossy()).unwrap();
    assert_eq!(report.tables.len(), 1);
    assert_eq!(report.tables["kernel_stacks"], 2);
    assert_eq!(report.doubts.len(), 2);
    for (doubt, path) in report.doubts.iter().zip(&paths[2..]) {
        assert!(doubt.message.contains("of this name"), "{}", doubt.message);
        assert_eq!(doubt.file.as_ref(), Some(path));
    }
}

/// One damaged byte anywhere, each value that names a type, a kind of message or a small number.
#[test]
fn no_single_damaged_byte_panics() {
    let (whole, ends) = stream(1, true);
    for at in 0..ends[1] as usize {
        for byte in (0..32).chain([0x7f, 0x80, 0xff]) {
            let mut bytes = whole.clone();
            bytes[at] = byte;
            let mut frames = Frames::new(bytes.as_slice(), bytes.len() as u64);
            let _ = read_stream(&mut frames, |batch| {
                fitted::<OsSeriesBuilder>(batch).map(|_| ())
            });
        }
    }
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
            rows += fitted::<OsSeriesBuilder>(batch)?.num_rows() as u64;
            Ok(())
        });
        prop_assert!(rows >= whole * 10, "{rows} rows, damage at {first}");
    }
}

/// Messages of a stream, and of which batch each is; `complete`: a batch has all its dictionaries.
fn messages(batches: usize, complete: bool) -> Vec<(Option<usize>, Vec<u8>)> {
    let (bytes, ends) = stream(batches as i64, true);
    let begun = || StreamWriter::try_new(Vec::new(), &OsSeriesBuilder::schema()).unwrap();
    let (mut parts, mut place) = (vec![(None, bytes[..ends[0] as usize].to_vec())], ends[0]);
    for (batch, &end) in ends[1..].iter().enumerate() {
        let mut part = bytes[place as usize..end as usize].to_vec();
        if complete {
            let mut one = Vec::new();
            let mut frames = Frames::new(bytes.as_slice(), bytes.len() as u64);
            let mut number = 0;
            let _ = read_stream(&mut frames, |rows| {
                if number == batch {
                    let mut writer = begun();
                    writer.write(rows).unwrap();
                    one = writer.get_ref()[ends[0] as usize..].to_vec();
                }
                number += 1;
                Ok(())
            });
            part = one;
        }
        let mut frames = Frames::new(part.as_slice(), part.len() as u64);
        while let Ok(Some(frame)) = frames.next() {
            frames.offset += frame.bytes.len() as u64;
            parts.push((Some(batch), frame.bytes));
        }
        place = end;
    }
    parts
}

fn chunk(sequence: usize, offset: usize, payload: &[u8]) -> Chunk {
    let header = testing::header("x", Kind::Messages, sequence as u64, offset as u64);
    testing::chunk(header, payload)
}

/// The numbers of the rows of a stream, whose words are looked at.
fn numbers(bytes: &[u8]) -> Vec<i64> {
    let mut numbers = Vec::new();
    let mut frames = Frames::new(bytes, bytes.len() as u64);
    let read = read_stream(&mut frames, |rows| {
        let rows = fitted::<OsSeriesBuilder>(rows)?;
        let times = rows["t_mono_ns"].as_primitive::<Int64Type>();
        let scopes = rows["scope"].as_dictionary::<Int32Type>();
        let scopes = scopes.downcast_dict::<arrow_array::StringArray>().unwrap();
        for (time, scope) in times.values().iter().zip(scopes) {
            assert_eq!(
                scope,
                Some(format!("process/{}", time / 10 + time % 10).as_str())
            );
        }
        numbers.extend(times.values());
        Ok(())
    });
    assert!(matches!(read, Err(Fault::Cut)), "{read:?}");
    numbers
}

#[test]
fn what_is_left_out_behind_a_gap_may_have_had_any_dictionary() {
    let all = messages(5, true);
    let of = |wanted: usize| {
        let of = all.iter().filter(move |&&(batch, _)| batch == Some(wanted));
        of.map(|(_, bytes)| bytes.as_slice()).collect::<Vec<_>>()
    };
    let (two, three) = (of(2), of(3));
    // Dictionaries of host, scope and name, and the rows.
    assert_eq!((two.len(), three.len()), (4, 4));
    let begin = [&[all[0].1.as_slice()], of(0).as_slice()].concat().concat();
    // One dictionary is still lacking when what came is sent once more, and more with it.
    let behind_a_gap = two[..2].concat();
    let repeated = [&two[1..], &three[..2]].concat().concat();
    let lost_bytes = of(1).concat().len();
    let (mut joiner, mut file) = (Joiner::default(), Vec::new());
    let mut place = 0;
    for (sequence, payload, gap, overlap) in [
        (0, begin, 0, 0),
        (2, behind_a_gap, lost_bytes, 0),
        (3, repeated, 0, two[1].len()),
        (4, three[2..].concat(), 0, 0),
        (5, of(4).concat(), 0, 0),
    ] {
        let offset = place + gap - overlap;
        let chunk = chunk(sequence, offset, &payload);
        place = offset + payload.len();
        let taken = joiner.take(sequence as u64, Ok(&chunk));
        file.extend(taken.keep.into_iter().flat_map(|range| &payload[range]));
    }
    let expected: Vec<i64> = (0..10).chain(40..50).collect();
    assert_eq!(numbers(&file), expected);
}

proptest! {
    /// Whatever chunks but the first are lost or damaged: the rows of each batch that arrived with its dictionaries
    /// are read, no row gets the words of another, and all bytes are accounted for.
    #[test]
    fn a_chunk_that_is_lost_costs_its_own_rows(
        complete: bool,
        sizes in prop::collection::vec(1..6usize, 40),
        fates in prop::collection::vec(0..5u8, 40),
    ) {
        let mut rest = messages(6, complete).into_iter();
        let (mut joiner, mut file) = (Joiner::default(), Vec::new());
        let (mut offset, mut lost, mut arrived) = (0, Vec::new(), 0);
        for (sequence, (size, fate)) in sizes.into_iter().zip(fates).enumerate() {
            let part: Vec<_> = rest.by_ref().take(size).collect();
            let payload: Vec<u8> = part.iter().flat_map(|(_, bytes)| bytes).copied().collect();
            let chunk = chunk(sequence, offset, &payload);
            offset += chunk.payload.len();
            if sequence > 0 && fate < 2 {
                lost.extend(part.iter().filter_map(|&(batch, _)| batch));
                if fate == 0 {
                    joiner.take(sequence as u64, Err(Lost::NotAChunk));
                }
                continue;
            }
            arrived = offset;
            let taken = joiner.take(sequence as u64, Ok(&chunk));
            prop_assert_eq!(taken.cut_to, None);
            file.extend(taken.keep.into_iter().flat_map(|range| &chunk.payload[range]));
        }
        let read = numbers(&file);
        let of = |batches: &mut dyn Iterator<Item = usize>| -> Vec<i64> {
            batches.flat_map(|batch| batch as i64 * 10..batch as i64 * 10 + 10).collect()
        };
        let whole = of(&mut (0..6).filter(|batch| !lost.contains(batch)));
        let first = lost.iter().min().copied().unwrap_or(6);
        if complete {
            prop_assert_eq!(read, whole);
        } else {
            prop_assert!(read.starts_with(&of(&mut (0..first))));
            prop_assert!(read.iter().all(|row| whole.contains(row)));
        }
        let tally = &joiner.tally;
        let counted = tally.bytes_count + tally.left_out_bytes + tally.missing_bytes;
        prop_assert_eq!(counted, arrived as u64);
        prop_assert_eq!(tally.bytes_count, file.len() as u64);
    }
}
