//! The shipper is killed, at every point where it could be.

use std::collections::BTreeSet;

use super::joined::whole;
use super::world::{Fate, World};

const ROUNDS: usize = 8;

/// Lines that fill more than a page in each round.
fn lines(round: usize) -> Vec<u8> {
    let line = |line| format!("{:099}\n", round * 1000 + line).into_bytes();
    (0..60).flat_map(line).collect()
}

/// Writes and ships for some rounds; the first shipper is killed at an effect, and another goes on
/// `pause` rounds later. Returns whether it came to that.
fn live(world: &World, dies_at: Option<(u64, bool)>, pause: usize) -> bool {
    world.0.borrow_mut().dies_at = dies_at;
    let mut shipper = world.shipper();
    let mut resumed = None;
    for round in 0..ROUNDS {
        world.append("a.log", &lines(round));
        world.append("b", &lines(round + 500));
        if resumed.is_none_or(|at| round >= at) {
            if resumed == Some(round) {
                world.0.borrow_mut().dies_at = None;
                shipper = world.shipper();
            }
            shipper.round(round + 1 == ROUNDS);
        }
        let inner = world.0.borrow();
        let died = dies_at.is_some_and(|(at, _)| inner.effects > at);
        drop(inner);
        if died && resumed.is_none() {
            resumed = Some((round + 1 + pause).min(ROUNDS - 1));
        }
        world.wait(5);
    }
    for _ in 0..40 {
        let effects = world.0.borrow().effects;
        if dies_at.is_some_and(|(at, _)| effects > at) {
            world.0.borrow_mut().dies_at = None;
            shipper = world.shipper();
        }
        world.wait(60);
        if !shipper.round(true).waiting && world.0.borrow().dies_at.is_none() {
            break;
        }
    }
    resumed.is_some()
}

fn check(plan: impl Fn(&World)) {
    let world = World::default();
    plan(&world);
    assert!(!live(&world, None, 0));
    let effects = world.0.borrow().effects;
    assert!(effects > 40);
    for at in 0..effects {
        for (before, pause) in [(true, 0), (false, 0), (true, 3), (false, 3)] {
            let world = World::default();
            plan(&world);
            live(&world, Some((at, before)), pause);
            for (file, from) in [("a.log", 0), ("b", 500)] {
                let expected: Vec<u8> = (from..from + ROUNDS).flat_map(lines).collect();
                let found = whole(&world, file);
                assert!(
                    found == expected,
                    "{file}, killed {} effect {at}, pause {pause}: {} of {} bytes",
                    if before { "before" } else { "after" },
                    found.len(),
                    expected.len()
                );
            }
            let inner = world.0.borrow();
            let attempt = |key: &String| key.split('/').nth(2).map(str::to_owned);
            let attempts: BTreeSet<_> = inner.store.keys().filter_map(attempt).collect();
            assert_eq!(attempts.len(), 1, "{attempts:?}");
        }
    }
}

#[test]
fn nothing_is_lost_or_there_twice_wherever_it_is_killed() {
    check(|_| {});
}

#[test]
fn nor_with_a_store_that_fails_now_and_then() {
    check(|world| {
        let mut turn = 0;
        world.fate(move |_, _| {
            turn += 1;
            match turn % 5 {
                1 => Fate::Unanswered,
                3 => Fate::Half,
                _ => Fate::Arrives,
            }
        });
    });
}
