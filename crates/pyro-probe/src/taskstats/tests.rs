use std::collections::HashMap;

use super::delays::Taskstats;
use super::exits::{ExitEvent, Exits};
use super::rows::{Row, process_rows};
use super::threads::Threads;
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
    thread.delays[3] = thread.delays[1];
    Threads::default().ended((7, 8), boot, &thread, &mut |row| panic!("{row:?}"));
}

/// Rows of a thread that reclaimed memory, of what is read from now on.
fn reclaimed(threads: &mut Threads, now: i64, count: i64, elapsed_ns: i64) -> Vec<(i64, i64)> {
    let mut stats = stats(0, 0);
    stats.elapsed_ns = elapsed_ns;
    stats.delays[3] = Some(Delay {
        count,
        total_ns: 10 * count,
    });
    let mut rows = Vec::new();
    threads.lives((7, 8), now, &stats, &mut |row| {
        assert_eq!((row.kind, row.tid), ("freepages", Some(8)));
        rows.push((row.t_mono_ns, row.delay.total_ns));
    });
    rows
}

#[test]
fn waits_for_memory_lie_after_the_last_reading_of_the_process() {
    let mut threads = Threads::default();
    assert!(reclaimed(&mut threads, 1_000, 0, 900).is_empty());
    // Nobody has looked at the process yet: since the thread's start.
    assert_eq!(
        reclaimed(&mut threads, 1_100, 2, 1_000),
        [(100, 0), (1_100, 20)]
    );
    threads.looked(7, 1_090);
    assert!(reclaimed(&mut threads, 1_200, 2, 1_100).is_empty());
    threads.looked(7, 5_000);
    assert_eq!(
        reclaimed(&mut threads, 5_250, 3, 5_150),
        [(5_000, 20), (5_250, 30)]
    );
    // Another thread under the same number.
    assert_eq!(
        reclaimed(&mut threads, 5_900, 1, 200),
        [(5_700, 0), (5_900, 10)]
    );
    threads.forget(|_| false);
    assert_eq!(
        reclaimed(&mut threads, 6_000, 1, 300),
        [(5_700, 0), (6_000, 10)]
    );
}

#[test]
fn a_thread_that_ended_has_rows_of_all_that_delayed_it() {
    let mut rows = Vec::new();
    let mut threads = Threads::default();
    threads.ended((1, 2), 3, &stats(0, 0), &mut |row| rows.push(row));
    assert!(rows.is_empty());
    let mut both = stats(4, 9);
    both.delays[5] = both.delays[1];
    threads.ended((1, 2), 30, &both, &mut |row| rows.push(row));
    let found: Vec<_> = rows
        .iter()
        .map(|row| (row.kind, row.t_mono_ns, row.delay.total_ns))
        .collect();
    assert_eq!(
        found,
        [("compact", 0, 0), ("compact", 30, 9), ("blkio", 30, 9)]
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
        let mut threads = Threads::default();
        exits.take(
            5,
            (&stats, &mut threads),
            |pid| pid == 10,
            known,
            &mut |event| {
                if let ExitEvent::Ended(pid, last) = event {
                    ended.push((pid, last.tid));
                }
            },
        );
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
    taskstats.pass([me].into_iter(), |_| vec![], &mut |row| rows.push(row));
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
