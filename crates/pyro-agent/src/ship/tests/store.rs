//! The store fails.

use proptest::prelude::*;

use super::joined::{joined, whole};
use super::world::{Fate, World};

const SECOND: i64 = 1_000_000_000;

fn lines(from: usize, to: usize) -> Vec<u8> {
    (from..to)
        .flat_map(|line| format!("line {line}\n").into_bytes())
        .collect()
}

#[test]
fn a_minute_without_a_store_loses_nothing() {
    let world = World::default();
    world.fate(|_, now| match now {
        now if (20 * SECOND..80 * SECOND).contains(&now) => Fate::Fails,
        _ => Fate::Arrives,
    });
    let mut shipper = world.shipper();
    for round in 0..36 {
        for file in ["a.log", "b.log", "c.log"] {
            world.append(file, &lines(round * 10, round * 10 + 10));
        }
        shipper.round(false);
        let report = shipper.report();
        let away = report.away_since_wall_ns.is_some();
        // It may be back for as long as the longest wait before that is noticed.
        assert!(away || !(4..16).contains(&round), "{round}");
        assert!(!away || (4..28).contains(&round), "{round}");
        world.wait(5);
    }
    for file in ["a.log", "b.log", "c.log"] {
        assert_eq!(whole(&world, file), lines(0, 360));
    }
    let inner = world.0.borrow();
    // Three of each file that failed at once would be 36 attempts, and as many chunks more.
    let report = shipper.report();
    assert!(
        report.failed_puts_count <= 14,
        "{}",
        report.failed_puts_count
    );
    assert!(
        report.chunks_count <= 3 * (36 - 10),
        "what waits is joined: {}",
        report.chunks_count
    );
    assert_eq!((inner.overwritten, report.waiting_bytes), (0, 0));
}

#[test]
fn a_slow_store_delays_and_loses_nothing() {
    let world = World::default();
    world.fate(|_, _| Fate::Slow(2 * SECOND));
    let mut shipper = world.shipper();
    for round in 0..20 {
        for file in 0..8 {
            world.append(&format!("{file}.log"), &lines(round * 10, round * 10 + 10));
        }
        shipper.round(false);
        world.wait(1);
    }
    assert!(shipper.report().waiting_bytes > 0);
    world.fate(|_, _| Fate::Arrives);
    shipper.round(true);
    shipper.round(true);
    for file in 0..8 {
        assert_eq!(whole(&world, &format!("{file}.log")), lines(0, 200));
    }
}

#[test]
fn one_object_that_is_never_taken_does_not_stop_the_others() {
    let world = World::default();
    world.fate(|key, _| match key.contains("poison.log") {
        true => Fate::Fails,
        false => Fate::Arrives,
    });
    let mut shipper = world.shipper();
    for round in 0..10 {
        for file in ["a.log", "poison.log", "z.log"] {
            world.append(file, &lines(round * 10, round * 10 + 10));
        }
        shipper.round(false);
        world.wait(5);
    }
    for file in ["a.log", "z.log"] {
        assert_eq!(whole(&world, file), lines(0, 100));
    }
    let report = shipper.report();
    assert!(report.waiting_bytes > 0 && report.away_since_wall_ns.is_none());
    assert_eq!(report.last_failure.as_deref(), Some("no answer"));
}

#[test]
fn a_store_that_lies_is_found_out_by_the_reader() {
    let world = World::default();
    world.fate(|key, _| match key.ends_with("000000000002.chunk") {
        true => Fate::Lies,
        false => Fate::Arrives,
    });
    let mut shipper = world.shipper();
    for round in 0..5 {
        world.append("a.log", &lines(round * 10, round * 10 + 10));
        shipper.round(false);
    }
    let (bytes, tally) = joined(&world).remove("a.log").unwrap();
    assert_eq!(bytes, [lines(0, 20), lines(30, 50)].concat());
    let missing = lines(20, 30).len() as u64;
    assert_eq!((tally.missing_count, tally.missing_bytes), (1, missing));
    assert_eq!(tally.gap_at_byte, Some(lines(0, 20).len() as u64));
}

#[test]
fn the_last_round_does_not_wait_for_a_store_that_failed() {
    let world = World::default();
    world.fate(|_, _| Fate::Fails);
    let mut shipper = world.shipper();
    world.append("a.log", &lines(0, 10));
    for _ in 0..5 {
        shipper.round(false);
        world.wait(60);
    }
    shipper.round(false);
    world.fate(|_, _| Fate::Arrives);
    assert!(shipper.round(false).waiting, "it is left alone");
    shipper.hurry();
    assert!(!shipper.round(false).waiting);
    assert_eq!(whole(&world, "a.log"), lines(0, 10));
}

#[test]
fn what_cannot_be_read_any_more_is_told() {
    let world = World::default();
    world.fate(|_, now| {
        if now < 60 * SECOND {
            Fate::Fails
        } else {
            Fate::Arrives
        }
    });
    let mut shipper = world.shipper();
    world.append("a.log", &lines(0, 10));
    world.append("b.log", &lines(0, 10));
    shipper.round(false);
    world.0.borrow_mut().files.remove("a.log");
    world.append("b.log", &lines(10, 20));
    world.wait(100);
    shipper.round(true);
    assert_eq!(whole(&world, "b.log"), lines(0, 20));
    assert!(!joined(&world).contains_key("a.log"));
    assert_eq!(shipper.report().lost_bytes, lines(0, 10).len() as u64);
}

#[test]
fn a_folder_that_cannot_be_read_for_once_loses_nothing() {
    let world = World::default();
    let mut shipper = world.shipper();
    world.append("a.log", &lines(0, 10));
    world.0.borrow_mut().unreadable = true;
    shipper.round(false);
    assert!(shipper.report().last_problem.is_some());
    world.0.borrow_mut().unreadable = false;
    shipper.round(false);
    assert_eq!(whole(&world, "a.log"), lines(0, 10));
}

#[test]
fn a_folder_that_cannot_be_read_is_not_done() {
    let world = World::default();
    let mut shipper = world.shipper();
    world.append("a.log", &lines(0, 10));
    shipper.round(false);
    world.append("a.log", &lines(10, 20));
    world.0.borrow_mut().unreadable = true;
    assert!(!shipper.round(true).is_done(), "a file");
    world.0.borrow_mut().unreadable = false;
    world.0.borrow_mut().unlisted = true;
    assert!(!shipper.round(true).is_done(), "the folder");
    world.0.borrow_mut().unlisted = false;
    assert!(shipper.round(true).is_done());
    assert_eq!(whole(&world, "a.log"), lines(0, 20));
}

fn any_fate() -> impl Strategy<Value = Fate> {
    prop::sample::select(vec![
        Fate::Arrives,
        Fate::Arrives,
        Fate::Fails,
        Fate::Unanswered,
        Fate::Half,
        Fate::Slow(3 * SECOND),
    ])
}

proptest! {
    /// Whatever a store does that says what it has: in the end everything is there, once.
    #[test]
    fn all_failures_that_are_told_are_made_good(
        fates in prop::collection::vec(any_fate(), 0..60),
        waits in prop::collection::vec(0i64..20, 12),
    ) {
        let world = World::default();
        let mut fates = fates.into_iter();
        world.fate(move |_, _| fates.next().unwrap_or(Fate::Arrives));
        let mut shipper = world.shipper();
        for (round, wait) in waits.into_iter().enumerate() {
            world.append("a.log", &lines(round * 10, round * 10 + 10));
            world.append("b.txt", &lines(round * 10, round * 10 + 10));
            shipper.round(false);
            world.wait(wait);
        }
        for _ in 0..100 {
            world.wait(60);
            if !shipper.round(true).waiting {
                break;
            }
        }
        prop_assert_eq!(whole(&world, "a.log"), lines(0, 120));
        prop_assert_eq!(whole(&world, "b.txt"), lines(0, 120));
        prop_assert_eq!(shipper.report().waiting_bytes, 0);
    }
}

#[test]
fn a_file_that_is_replaced_is_not_read_once_it_is_too_large() {
    let world = World::default();
    let minute = 60_000_000_000;
    world.fate(move |_, now_ns| match now_ns < minute {
        true => Fate::Fails,
        false => Fate::Arrives,
    });
    world.append("r.json", b"{}");
    let mut shipper = world.shipper();
    shipper.round(false);
    world.append("r.json", &vec![b' '; crate::ship::MAX_PIECE_BYTES]);
    world.wait(120);
    shipper.round(true);
    assert!(world.0.borrow().store.is_empty());
    let report = shipper.report();
    assert_eq!(report.files_left_out_count, 1);
    assert_eq!(
        report.last_problem.as_deref(),
        Some("r.json: too large by now")
    );
}
