//! Counters of threads.

use super::*;

#[test]
fn counters_that_take_turns_keep_both_times_and_raw_values() {
    let mut perf = start(MULTIPLEXED, "", 100);
    let mut rows = Vec::new();
    let mut emit = keep(&mut rows);
    perf.note((1, 7), || 100, true, false, &mut emit);
    perf.turn(false, || 200, &mut emit);
    perf.note((1, 7), || 250, false, false, &mut emit);
    perf.turn(false, || 300, &mut emit);
    perf.note((1, 7), || 350, false, false, &mut emit);
    perf.turn(true, || 400, &mut emit);
    perf.note((1, 7), || 500, false, true, &mut emit);
    drop(emit);
    assert_eq!(
        of(&rows, "cycles"),
        [
            (100, 0, 0, 0),
            (300, 2_000, 1_000, 1_000),
            (400, 4_000, 2_000, 2_000),
            (500, 5_000, 2_500, 2_500)
        ],
        "no reading at 200, when it had not run; a last one after its end"
    );
    assert_eq!(
        of(&rows, "instructions").last(),
        Some(&(500, 9_000, 2_500, 2_500))
    );
    assert_eq!(
        of(&rows, "branch-misses"),
        [(100, 0, 0, 0), (400, 30, 2_000, 500), (500, 36, 2_500, 600)],
        "a turn of one in four: not scaled up; read in slow passes"
    );
    assert_eq!(
        of(&rows, "page-faults"),
        [(100, 0, 0, 0), (500, 0, 0, 0)],
        "stood still: two rows"
    );
    assert!(
        perf.kernel.open.borrow().is_empty(),
        "all closed at the thread's end"
    );
    assert_eq!(perf.threads.figures.threads, 1);
}

#[test]
fn threads_are_spared_where_counters_were_not_asked_for_or_say_nothing_new() {
    for (recording, of_threads, counted, reason) in [
        (MULTIPLEXED, OfThreads::WithHardware, true, ""),
        (MULTIPLEXED, OfThreads::None, false, "not asked for"),
        (
            NO_PMU,
            OfThreads::WithHardware,
            false,
            "no hardware counter",
        ),
        (NO_PMU, OfThreads::None, false, "not asked for"),
    ] {
        let mut perf = start_with(recording, "", 100, of_threads);
        let mut rows = Vec::new();
        perf.note((1, 7), || 100, true, false, &mut keep(&mut rows));
        perf.end(|| 200, &mut keep(&mut rows));
        assert_eq!(!rows.is_empty(), counted, "{of_threads:?}");
        assert!(perf.kernel.open.borrow().is_empty());
        let report = perf.report();
        let clock = report["events"].as_array().unwrap().iter();
        let clock = clock
            .clone()
            .find(|event| event["event"] == "task-clock")
            .unwrap();
        assert_eq!(clock["counted"].as_bool(), Some(counted), "{clock}");
        let said = clock["reason"].as_str().unwrap_or_default();
        assert!(said.contains(reason), "{said}");
        assert_eq!(clock["remedy"].is_null(), counted);
    }
}

#[test]
fn a_machine_without_pmu_says_so_and_counts_what_the_kernel_does() {
    let mut perf = start(NO_PMU, "", 100);
    let mut rows = Vec::new();
    perf.note((1, 7), || 100, true, false, &mut keep(&mut rows));
    perf.end(|| 200, &mut keep(&mut rows));
    let mut events: Vec<&str> = rows.iter().map(|row| row.event.as_str()).collect();
    events.sort_unstable();
    events.dedup();
    assert_eq!(
        events,
        [
            "context-switches",
            "cpu-migrations",
            "page-faults",
            "task-clock"
        ]
    );
    assert_eq!(of(&rows, "task-clock"), [(100, 5, 5, 5), (200, 90, 90, 90)]);
    let report = perf.report();
    let cycles = report["events"]
        .as_array()
        .unwrap()
        .iter()
        .find(|event| event["event"] == "cycles")
        .unwrap();
    assert_eq!(
        (cycles["counted"].as_bool(), cycles["kind"].as_str()),
        (Some(false), Some("hardware"))
    );
    assert!(
        cycles["reason"].as_str().unwrap().contains("no PMU"),
        "{cycles}"
    );
    assert!(!cycles["remedy"].as_str().unwrap().is_empty());
}

#[test]
fn where_the_kernel_may_not_be_counted_programs_are() {
    let perf = start(PARANOID, "", 100);
    let events = perf.report()["events"].clone();
    let events = events.as_array().unwrap();
    assert!(
        events
            .iter()
            .all(|event| event["user_only"] == event["counted"]),
        "{events:?}"
    );
    assert!(
        events
            .iter()
            .any(|event| event["event"] == "cycles" && event["counted"] == true)
    );
    for name in ["node-loads", "cpu-migrations", "context-switches"] {
        let denied = events.iter().find(|event| event["event"] == name).unwrap();
        assert!(
            denied["remedy"]
                .as_str()
                .unwrap()
                .contains("perf_event_paranoid"),
            "{denied}"
        );
    }
}

#[test]
fn a_group_that_lost_its_place_takes_turns() {
    let lost = r#"{"event": [0, 0], "target": "thread 7", "readings": [null, [10, 4, 100, 50], [20, 8, 200, 90]]}"#;
    let mut perf = start(lost, "", 100);
    let mut rows = Vec::new();
    perf.note((1, 7), || 100, true, false, &mut keep(&mut rows));
    perf.note((1, 7), || 150, false, true, &mut keep(&mut rows));
    assert_eq!(of(&rows, "cycles"), [(100, 100, 10, 4), (150, 200, 20, 8)]);
    assert_eq!(perf.threads.figures.displaced, 1);
    assert!(perf.kernel.open.borrow().is_empty());
}

#[test]
fn the_limit_of_open_files_holds_and_is_reported() {
    let mut perf = start("", "", 6);
    let mut rows = Vec::new();
    for tid in 1..4 {
        perf.note((1, tid), || 100, true, false, &mut keep(&mut rows));
    }
    assert_eq!(
        perf.kernel.open.borrow().len(),
        6,
        "four of the kernel's own and the fixed two"
    );
    let figures = perf.threads.figures;
    assert_eq!(
        (figures.threads, figures.beyond_limit, figures.refused),
        (1, 3, 0)
    );
    perf.note((1, 1), || 200, false, true, &mut keep(&mut rows));
    perf.note((1, 9), || 300, true, false, &mut keep(&mut rows));
    assert_eq!(
        perf.threads.figures.threads, 2,
        "what was closed may be opened again"
    );
}

#[test]
fn many_threads_have_their_turn_in_the_next_passes() {
    let mut perf = start("", "", 100_000);
    let mut rows = Vec::new();
    for tid in 1..=150 {
        perf.note((1, tid), || 100, true, false, &mut keep(&mut rows));
    }
    for tid in 1..=150 {
        perf.note((1, tid), || 200, false, false, &mut keep(&mut rows));
    }
    let mut turns = Vec::new();
    for _ in 0..4 {
        let before = perf.threads.figures.readings;
        perf.turn(false, || 300, &mut keep(&mut rows));
        turns.push(perf.threads.figures.readings - before);
    }
    assert_eq!(
        turns,
        [64, 64, 22, 0],
        "the fast group of 64, 64, 22 threads"
    );
}

#[test]
fn this_machine_is_tried_and_closed_again() {
    for capability in capabilities() {
        match capability.outcome {
            Ok(reason) => assert!(!reason.is_empty(), "{}", capability.name),
            Err((reason, remedy)) => assert!(
                !reason.is_empty() && !remedy.is_empty(),
                "{}",
                capability.name
            ),
        }
    }
}
