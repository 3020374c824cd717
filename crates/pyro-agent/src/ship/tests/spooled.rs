//! More waits than may.

use proptest::prelude::*;

use super::joined::{joined, whole};
use super::world::{Fate, World};

const SECOND: i64 = 1_000_000_000;

fn line(number: usize, bytes: usize) -> Vec<u8> {
    format!("{number:0width$}\n", width = bytes - 1).into_bytes()
}

#[test]
fn over_the_bound_the_newest_is_dropped_counted_and_told() {
    let world = World::default();
    world.fate(|_, now| match now {
        now if (10 * SECOND..300 * SECOND).contains(&now) => Fate::Fails,
        _ => Fate::Arrives,
    });
    let mut shipper = world.bounded(100_000);
    let rounds = 100;
    for round in 0..rounds {
        for number in 0..10 {
            world.append("big.log", &line(round * 10 + number, 1000));
        }
        world.append("small.log", &line(round, 10));
        shipper.round(false);
        assert!(shipper.report().waiting_bytes <= 100_000 + 20_000);
        world.wait(5);
    }
    world.wait(60);
    shipper.round(true);
    shipper.round(true);
    assert_eq!(
        whole(&world, "small.log").len(),
        rounds * 10,
        "a small stream pays nothing"
    );
    let (bytes, tally) = joined(&world).remove("big.log").unwrap();
    let report = shipper.report();
    assert!(report.dropped_bytes > 300_000, "{}", report.dropped_bytes);
    assert_eq!(tally.dropped_bytes, report.dropped_bytes);
    assert_eq!(
        tally.bytes_count + tally.dropped_bytes,
        rounds as u64 * 10_000
    );
    assert_eq!(
        (
            tally.missing_count,
            tally.missing_bytes,
            tally.left_out_bytes
        ),
        (0, 0, 0)
    );
    let text = String::from_utf8(bytes).unwrap();
    let numbers: Vec<usize> = text.lines().map(|line| line.parse().unwrap()).collect();
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(numbers.contains(&0) && numbers.contains(&(rounds * 10 - 1)));
    // What waited longest is what was kept.
    let kept = numbers.iter().take_while(|&&number| number < 60).count();
    assert_eq!(kept, 60);
}

#[test]
fn when_nobody_writes_any_more_nothing_is_dropped() {
    let world = World::default();
    let text: Vec<u8> = (0..9000).flat_map(|number| line(number, 1000)).collect();
    world.append("big.log", &text);
    let mut shipper = world.bounded(1000);
    while shipper.round(true).waiting {}
    assert!(whole(&world, "big.log") == text);
    assert_eq!(shipper.report().dropped_bytes, 0);
}

proptest! {
    #[test]
    fn every_byte_arrives_or_is_told_wherever_it_is_killed(
        bound in 1_000u64..50_000,
        away in 0i64..100,
        dies_at in 0u64..60,
        sizes in prop::collection::vec(1usize..60, 20),
    ) {
        let world = World::default();
        world.fate(move |_, now| if now < away * SECOND { Fate::Fails } else { Fate::Arrives });
        world.0.borrow_mut().dies_at = Some((dies_at, dies_at % 2 == 0));
        let mut shipper = world.bounded(bound);
        let mut written = 0;
        for (round, lines) in sizes.into_iter().enumerate() {
            for number in 0..lines {
                world.append("a.log", &line(round * 100 + number, 100));
            }
            written += lines as u64 * 100;
            shipper.round(false);
            if world.0.borrow().effects > dies_at {
                world.0.borrow_mut().dies_at = None;
                shipper = world.bounded(bound);
            }
            world.wait(5);
        }
        world.0.borrow_mut().dies_at = None;
        for _ in 0..4 {
            world.wait(60);
            shipper.round(true);
        }
        let (bytes, tally) = joined(&world).remove("a.log").unwrap();
        prop_assert_eq!(tally.bytes_count + tally.dropped_bytes, written);
        prop_assert_eq!((tally.missing_bytes, tally.left_out_bytes, tally.repeated_bytes), (0, 0, 0));
        let text = String::from_utf8(bytes).unwrap();
        let numbers: Vec<usize> = text.lines().map(|line| line.parse().unwrap()).collect();
        prop_assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
