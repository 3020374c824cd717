//! Changes of known schedules, beside whole schedules.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::engine::schedule;
use crate::plan::{FAR, Node, Plan, Task};

const MS: f64 = 1e6;

/// Jobs one after another, each of some stages side by side and one that waits for them.
fn jobs(sizes: &[Vec<Vec<u32>>]) -> Plan {
    let mut nodes = vec![Node::default()];
    for (number, stages) in sizes.iter().enumerate() {
        let before = nodes.len() as u32 - 1;
        let first = nodes.len() as u32;
        for durations in stages {
            let task = |&ms: &u32| Task {
                duration_ns: f64::from(ms) * MS,
                level: (ms % 2) as u8 * 3,
                ..Task::default()
            };
            nodes.push(Node {
                after: vec![before],
                delay_ns: 3.5 * MS,
                tasks: durations.iter().map(task).collect(),
                near: vec![number as u32 % 2],
                ..Node::default()
            });
        }
        nodes.push(Node {
            after: (before..nodes.len() as u32).collect(),
            delay_ns: f64::from(first) * MS,
            ..Node::default()
        });
    }
    Plan {
        end: nodes.len() as u32 - 1,
        nodes,
        locality_wait_ns: 20.0 * MS,
        launch_resets_wait: false,
    }
}

fn cluster(slots: &[u32]) -> Vec<Executor> {
    let executor = |(number, &slots): (usize, &u32)| Executor {
        slots,
        host: number as u32,
        site: number as u32,
        add: (0, 40.0 * MS * number as f64),
        ..Executor::default()
    };
    slots.iter().enumerate().map(executor).collect()
}

fn work<'a>(plan: &'a Plan, layout: &'a Layout, lengths: &'a Lengths) -> Work<'a> {
    Work {
        plan,
        layout,
        lengths,
        locality_wait_ns: plan.locality_wait_ns,
    }
}

/// Milliseconds of a stage's tasks, how far from their data each may go, and the kind of its
/// executors.
type Stage = (Vec<(u32, u8)>, u32);

/// Jobs one after another of long stages side by side, where some tasks are tried again.
fn long_jobs(sizes: &[Vec<Stage>]) -> Plan {
    let mut nodes = vec![Node::default()];
    for (number, stages) in sizes.iter().enumerate() {
        let before = nodes.len() as u32 - 1;
        for (tasks, pool) in stages {
            let task = |(index, &(ms, kind)): (usize, &(u32, u8))| Task {
                duration_ns: f64::from(ms) * MS,
                level: if kind == 7 { FAR } else { kind % 2 },
                retry_of: (kind == 6 && index > 0).then(|| index as u32 - 1),
                ..Task::default()
            };
            nodes.push(Node {
                after: vec![before],
                delay_ns: 2.0 * MS,
                tasks: tasks.iter().enumerate().map(task).collect(),
                pool: *pool,
                near: vec![0; number % 2],
                ..Node::default()
            });
        }
        nodes.push(Node {
            after: (before..nodes.len() as u32).collect(),
            ..Node::default()
        });
    }
    Plan {
        end: nodes.len() as u32 - 1,
        nodes,
        locality_wait_ns: 20.0 * MS,
        launch_resets_wait: sizes.len().is_multiple_of(2),
    }
}

/// Executors of two kinds, some of which come later or go.
fn executors() -> impl Strategy<Value = Vec<Executor>> {
    let one = (1u32..4, 0u32..3, 0u32..2, 0u32..400, 0u32..900, 0u32..3);
    let one = one.prop_map(|(slots, host, pool, add, remove, kind)| Executor {
        slots,
        host,
        site: host,
        pool,
        add: (0, f64::from(add) * MS),
        remove: (kind > 0).then(|| (1, f64::from(remove) * MS)),
        dynamic: kind > 1,
    });
    (1u32..4, vec(one, 0..4)).prop_map(|(slots, mut all)| {
        let there = |pool| Executor {
            slots,
            pool,
            ..Executor::default()
        };
        all.extend([there(0), there(1)]);
        all
    })
}

proptest! {
    #[test]
    fn tasks_that_follow_one_another_end_as_step_by_step(
        sizes in vec(vec((vec((0u32..300, 0u8..8), 0..60), 0u32..2), 1..4), 1..4),
        cluster in executors(),
        factors in (0.5f64..1.5, 0.5f64..1.5),
    ) {
        let plan = long_jobs(&sizes);
        let (layout, lengths) = (Layout::of(&plan), Lengths::of(&plan));
        let as_it_is = work(&plan, &layout, &lengths);
        let known = Known::of(&as_it_is, &cluster);
        let whole = schedule(&as_it_is, &cluster, None, None).unwrap();
        prop_assert_eq!(known.elapsed_ns, whole.elapsed_ns);
        let mut other = lengths.clone();
        for (number, ns) in other.duration_ns.iter_mut().enumerate() {
            *ns *= if number % 3 == 0 { factors.0 } else { factors.1 };
        }
        let now = work(&plan, &layout, &other);
        let changed = Changed::between(&layout, &lengths, &other);
        let whole = schedule(&now, &cluster, None, None).unwrap();
        prop_assert_eq!(known.elapsed_ns(&now, &cluster, &changed), whole.elapsed_ns);
    }

    #[test]
    fn a_change_takes_as_long_as_in_the_whole_schedule(
        sizes in vec(vec(vec(0u32..300, 0..7), 1..4), 1..30),
        slots in vec(1u32..4, 1..4),
        edits in vec((any::<prop::sample::Index>(), 0.0f64..1.5), 0..4),
        gaps in vec((any::<prop::sample::Index>(), 0.0f64..1.5), 0..3),
    ) {
        let (plan, cluster) = (jobs(&sizes), cluster(&slots));
        let (layout, lengths) = (Layout::of(&plan), Lengths::of(&plan));
        let known = Known::of(&work(&plan, &layout, &lengths), &cluster);
        let mut other = lengths.clone();
        for (index, factor) in edits {
            if !other.duration_ns.is_empty() {
                let task = index.index(other.duration_ns.len());
                other.duration_ns[task] *= factor;
            }
        }
        for (index, factor) in gaps {
            let node = index.index(other.node_delay_ns.len());
            other.node_delay_ns[node] *= factor;
        }
        let now = work(&plan, &layout, &other);
        let changed = Changed::between(&layout, &lengths, &other);
        let whole = schedule(&now, &cluster, None, None).unwrap().elapsed_ns;
        prop_assert_eq!(known.elapsed_ns(&now, &cluster, &changed), whole);
    }

    #[test]
    fn a_unit_is_the_lowest_digit_that_is_set(digits in 1u64..1 << 53, place in -60i32..60) {
        let time = digits as f64 * 2f64.powi(place);
        let unit = 2f64.powi(place + digits.trailing_zeros() as i32);
        prop_assert_eq!(unit_of(time), unit);
        prop_assert!(is_multiple(time, unit) && !is_multiple(time, 2.0 * unit));
    }
}

#[test]
fn what_lies_before_and_behind_a_change_is_leapt_over() {
    let plan = jobs(&vec![vec![vec![100, 80, 60], vec![20]]; 50]);
    let (layout, lengths) = (Layout::of(&plan), Lengths::of(&plan));
    let cluster = cluster(&[2]);
    let known = Known::of(&work(&plan, &layout, &lengths), &cluster);
    let mut other = lengths.clone();
    other.duration_ns[100] = MS / 3.0;
    let changed = Changed::between(&layout, &lengths, &other);
    assert_eq!(changed.tasks.len(), 1);
    let now = work(&plan, &layout, &other);
    let (elapsed, leaps) = known.follow(Engine::new(now, &cluster, None, None), &changed);
    // To the change, from it to where numbers get coarser, and to the end.
    assert!((2..=4).contains(&leaps), "{leaps}");
    let whole = schedule(&now, &cluster, None, None).unwrap().elapsed_ns;
    assert_eq!(elapsed, whole);
    assert!(elapsed < known.elapsed_ns);
}

#[test]
fn tasks_of_a_stage_follow_one_another() {
    let plan = jobs(&[vec![(100..200).map(|ms| 2 * ms + 1).collect()]]);
    let (layout, lengths) = (Layout::of(&plan), Lengths::of(&plan));
    let cluster = cluster(&[1]);
    let mut engine = Engine::new(work(&plan, &layout, &lengths), &cluster, None, None);
    while engine.state.running == 0 {
        engine.step();
    }
    engine.rush();
    assert!(engine.waiting.is_empty(), "all are launched");
    assert_eq!(engine.state.running, 1);
}
