use std::collections::HashMap;

use super::delays::Taskstats;
use super::exits::{ExitEvent, Exits};
use super::rows::{Row, process_rows, thread_rows};
use crate::parse::taskstats::{Delay, KINDS, Stats};

fn stats(count: i64, total_ns: i64) -> Stats {
    let mut stats = Stats::default();
    stats.delays[1] = Some(Delay { count, total_ns });
    stats
}

#[test]
fn a_process_that_is_not_delayed_is_one_row() {
    let mut known = HashMap::new();
    let mut rows = Vec::new();
    for (t, count) in [(90, 3), (91, 3), (92, 3), (93, 5), (94, 6), (95, 6)] {
        process_rows(&mut known, 7, t, &stats(count, 10 * count), &mut |row| {
            rows.push((row.t_mono_ns, row.kind, row.delay.count));
        });
    }
    let blkio = |t, count| (t, "blkio", count);
    assert_eq!(
        rows,
        [blkio(90, 3), blkio(92, 3), blkio(93, 5), blkio(94, 6)]
    );
    let mut taskstats = Taskstats::default();
    std::mem::swap(&mut taskstats.last, &mut known);
    let mut take = |row: Row| rows.push((row.t_mono_ns, row.kind, row.delay.count));
    taskstats.forget(|pid| pid == 7, &mut take);
    taskstats.forget(|_| false, &mut take);
    assert_eq!(rows.last(), Some(&blkio(95, 6)));
    assert!(taskstats.last.is_empty());
}

#[test]
fn a_wait_since_the_boot_is_none() {
    let (mut known, mut rows) = (HashMap::new(), Vec::new());
    let boot = 65_647_639_000_000;
    for (passed, count, total) in [
        (0, 1, 5),
        (250, 2, 7),
        (500, 3, 7 + boot),
        (750, 4, 9 + boot),
    ] {
        let t = boot + passed * 1_000_000;
        process_rows(&mut known, 7, t, &stats(count, total), &mut |row| {
            rows.push((row.delay.count, row.delay.total_ns));
        });
    }
    assert_eq!(rows, [(1, 5), (2, 7), (3, 7), (4, 9)]);
    let mut thread = stats(1, boot);
    thread.elapsed_ns = 1_000_000;
    thread_rows(7, 8, boot, &thread, &mut |row| panic!("{row:?}"));
}

#[test]
fn a_thread_has_rows_of_what_delayed_it() {
    let mut rows = Vec::new();
    thread_rows(1, 2, 3, &stats(0, 0), &mut |row| rows.push(row));
    assert!(rows.is_empty());
    thread_rows(1, 2, 3, &stats(4, 9), &mut |row| rows.push(row));
    assert_eq!(
        (rows.len(), rows[0].tid, rows[0].delay.total_ns),
        (1, Some(2), 9)
    );
}

#[test]
fn a_thread_is_of_the_process_that_is_known_or_of_none() {
    let (mut exits, mut ended) = (Exits::default(), Vec::new());
    // (tid, process as the kernel says it from version 12 on, parent of that)
    for (tid, pid, parent_pid) in [
        (12, Some(10), 1),
        (13, None, 1),
        (14, None, 1),
        (20, None, 10),
        (31, Some(30), 1),
        (32, Some(32), 10),
    ] {
        let stats = Stats {
            tid,
            pid,
            parent_pid,
            ..stats(0, 0)
        };
        let known = |tid: i64| (tid == 13).then_some(10);
        exits.take(5, &stats, |pid| pid == 10, known, &mut |event| {
            if let ExitEvent::Ended(pid, last) = event {
                ended.push((pid, last.tid));
            }
        });
    }
    assert_eq!(ended, [(10, 12), (10, 13), (32, 32)]);
    assert_eq!((exits.taken_count, exits.unassigned_count), (3, 2));
}

#[test]
fn the_kernel_answers_or_says_why_not() {
    let folder = tempfile::tempdir().unwrap();
    let mut taskstats = Taskstats::start(folder.path());
    let report = taskstats.report();
    if report["available"] == false {
        assert!(!report["reason"].as_str().unwrap().is_empty(), "{report}");
        return;
    }
    let mut rows = Vec::new();
    let me = std::process::id() as i32;
    taskstats.pass([me].into_iter(), &mut |row| rows.push(row));
    assert_eq!(rows.len(), KINDS.len(), "{rows:?}");
    // The kernel adds up a thread's time at its switches and at ticks: let it be switched.
    let paused = || {
        std::thread::sleep(std::time::Duration::from_millis(1));
        std::fs::read_link("/proc/thread-self").unwrap()
    };
    let path = std::thread::spawn(paused).join().unwrap();
    let tid: i64 = path.file_name().unwrap().to_str().unwrap().parse().unwrap();
    let (mut ended, me) = (Vec::new(), i64::from(me));
    // Before Linux 5.19 the kernel does not say it.
    let process_of = |ended: i64| (ended == tid).then_some(me);
    // The thread may be joined before the kernel has reported its end.
    for _ in 0..100 {
        let mut take = |event| {
            if let ExitEvent::Ended(pid, record) = event {
                ended.push((pid, record.run_ns));
            }
        };
        taskstats.exits(|pid| pid == me, process_of, &mut take);
        if !ended.is_empty() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(
        ended.iter().any(|&(pid, run_ns)| pid == me && run_ns > 0),
        "{ended:?}"
    );
    taskstats.end();
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        0,
        "no record stays"
    );
}
