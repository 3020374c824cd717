//! Chunks that arrived from hosts, joined to raw files, with doubts about what did not.

use std::collections::BTreeMap;
use std::path::Path;

use pyro_chunks::Source;
use pyro_chunks::join::{Joined, JoinedStream, join_folder};
use pyro_model::{Doubt, Error, IngestReport, Result, Severity};
use serde_json::json;

/// Makes files of all chunks below `store` in `out`: `stats.streams` has each of them.
///
/// # Errors
/// If the store cannot be listed.
pub fn join_chunks(store: &Path, out: &Path) -> Result<IngestReport> {
    let joined = join_folder(store, out).map_err(|error| Error::io(store, error))?;
    let doubts = doubts(&joined);
    Ok(IngestReport {
        doubts,
        stats: BTreeMap::from([
            ("streams", json!(joined.streams)),
            ("others_count", json!(joined.others_count)),
        ]),
        ..IngestReport::default()
    })
}

fn doubts(joined: &Joined) -> Vec<Doubt> {
    let mut doubts: Vec<Doubt> = joined.streams.iter().flat_map(of_stream).collect();
    doubts.extend(joined.unlisted.iter().map(|what| {
        let message = format!("a folder of the store could not be listed: {what}");
        Doubt::new("chunks_unjoined", Severity::Error, message)
    }));
    doubts.extend(open(joined));
    doubts
}

fn of_stream(stream: &JoinedStream) -> Vec<Doubt> {
    let tally = &stream.tally;
    let mut doubts = Vec::new();
    let mut doubt = |code, severity, message: String, count| {
        let doubt = Doubt::new(code, severity, message).times(count);
        let doubt = doubt.in_file(stream.path.clone());
        doubts.push(match tally.gap_at_byte {
            Some(at) => doubt.at_byte(at),
            None => doubt,
        });
    };
    let warning = Severity::Warning;
    if let Some(problem) = &stream.problem {
        doubt(
            "chunks_unjoined",
            Severity::Error,
            format!("no file could be made: {problem}"),
            1,
        );
    }
    if let Some(damage) = &tally.damage {
        let count = tally.damaged_count;
        doubt(
            "chunks_damaged",
            warning,
            format!("{count} chunks are not used; the first: {damage}"),
            count,
        );
    }
    if tally.missing_count > 0 || tally.missing_bytes > 0 {
        let (count, bytes) = (tally.missing_count, tally.missing_bytes);
        let message = format!("{count} chunks never arrived; {bytes} bytes are missing");
        doubt("chunks_missing", warning, message, count.max(1));
    }
    if tally.dropped_bytes > 0 {
        let bytes = tally.dropped_bytes;
        doubt(
            "chunks_dropped",
            warning,
            format!("{bytes} bytes were dropped on the host"),
            1,
        );
    }
    if tally.left_out_bytes > 0 {
        let bytes = tally.left_out_bytes;
        let message = format!("{bytes} bytes arrived and cannot be used without what is missing");
        doubt("chunks_left_out", warning, message, 1);
    }
    doubts
}

/// One doubt for each source that has streams without an end, with the moment of its last chunk.
fn open(joined: &Joined) -> impl Iterator<Item = Doubt> {
    let mut open: BTreeMap<&Source, (u64, i64)> = BTreeMap::new();
    for stream in &joined.streams {
        if let (Some(source), false, Some(last)) = (
            &stream.source,
            stream.tally.ended,
            stream.tally.last_wall_ns,
        ) {
            let found = open.entry(source).or_insert((0, last));
            *found = (found.0 + 1, found.1.max(last));
        }
    }
    open.into_iter().map(|(source, (count, last))| {
        let Source {
            app,
            executor,
            host,
            ..
        } = source;
        let message = format!(
            "{count} streams of {app} {executor} on {host} have no end; the last chunk is of {}",
            utc(last)
        );
        Doubt::new("chunks_open", Severity::Info, message).times(count)
    })
}

/// Unix time for people, to the second, by the clock of the host that wrote it.
fn utc(wall_ns: i64) -> String {
    let seconds = wall_ns.div_euclid(1_000_000_000);
    let (day, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    // Years begin in March, so that the day that is not in each comes last.
    let days = day + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    let year = era * 400 + year + next;
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pyro_chunks::{Header, Kind, testing};
    use std::fs;
    use std::path::PathBuf;

    fn header(sequence: u64, offset: u64) -> Header {
        testing::header("gc-1.log", Kind::Lines, sequence, offset)
    }

    fn put(store: &Path, header: &Header) -> PathBuf {
        testing::put(store, header, b"line\n")
    }

    #[test]
    fn whole_streams_have_no_doubt() {
        let (store, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        put(store.path(), &header(0, 0));
        put(
            store.path(),
            &Header {
                last: true,
                ..header(1, 5)
            },
        );
        let report = join_chunks(store.path(), out.path()).unwrap();
        assert_eq!(report.doubts, []);
        assert_eq!(report.stats["streams"][0]["executor"], "1");
        assert_eq!(report.stats["streams"][0]["bytes_count"], 10);
        let made = out.path().join("app/1/a/h/gc-1.log");
        assert_eq!(fs::read_to_string(made).unwrap(), "line\nline\n");
    }

    #[test]
    fn what_is_missing_is_a_doubt_with_how_much() {
        let (store, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        put(store.path(), &header(0, 0));
        put(store.path(), &header(2, 10));
        put(
            store.path(),
            &Header {
                skipped_bytes: 100,
                ..header(3, 115)
            },
        );
        let damaged = put(store.path(), &header(4, 120));
        fs::write(damaged, b"PYROCHNK\x01\0\0\0").unwrap();
        let report = join_chunks(store.path(), out.path()).unwrap();
        let found: Vec<_> = report
            .doubts
            .iter()
            .map(|doubt| (doubt.code, doubt.count))
            .collect();
        let expected = [
            ("chunks_damaged", 1),
            ("chunks_missing", 1),
            ("chunks_dropped", 1),
            ("chunks_open", 1),
        ];
        assert_eq!(found, expected);
        let open = &report.doubts[3].message;
        assert!(
            open.ends_with("the last chunk is of 1970-01-01 00:00:00 UTC"),
            "{open}"
        );
        let missing = &report.doubts[1];
        assert!(missing.message.contains("5 bytes"), "{}", missing.message);
        assert_eq!(missing.byte_offset, Some(5));
        assert_eq!(missing.file.as_deref(), Some("app/1/a/h/gc-1.log"));
        assert!(join_chunks(&store.path().join("none"), out.path()).is_err());
    }

    #[test]
    fn times_are_for_people() {
        let second = 1_000_000_000;
        for (seconds, text) in [
            (1_795_989_673, "2026-11-29 22:01:13 UTC"),
            (1_709_251_199, "2024-02-29 23:59:59 UTC"),
            (951_868_800, "2000-03-01 00:00:00 UTC"),
            (-1, "1969-12-31 23:59:59 UTC"),
        ] {
            assert_eq!(utc(seconds * second), text);
        }
    }
}
