//! What holds for every schedule.

use proptest::collection::vec;
use proptest::prelude::*;
use pyro_sim::{Executor, Law, Node, Outcome, Plan, Task, run};

fn executor(slots: u32) -> Executor {
    Executor {
        slots,
        ..Executor::default()
    }
}

fn tasks(durations: &[u32]) -> Vec<Task> {
    let task = |&duration: &u32| Task {
        duration_ns: f64::from(duration),
        delay_ns: f64::from(duration / 10),
        ..Task::default()
    };
    durations.iter().map(task).collect()
}

/// A start, stages that wait for some of those before them, an end behind all.
fn any_plan() -> impl Strategy<Value = Plan> {
    vec((vec(0u32..1000, 0..12), 0u32..500, any::<u32>()), 1..10).prop_map(|stages| {
        let mut nodes = vec![Node::default()];
        for (index, (durations, delay, parents)) in stages.iter().enumerate() {
            let chosen = (0..index as u32).filter(|parent| parents >> parent & 1 == 1);
            nodes.push(Node {
                after: std::iter::once(0).chain(chosen.map(|p| p + 1)).collect(),
                delay_ns: f64::from(*delay),
                tasks: tasks(durations),
                load: 1.0,
                ..Node::default()
            });
        }
        let end = nodes.len() as u32;
        nodes.push(Node {
            after: (0..end).collect(),
            ..Node::default()
        });
        Plan {
            nodes,
            end,
            ..Plan::default()
        }
    })
}

fn on(plan: &Plan, slots: u32) -> Outcome {
    run(plan, &[executor(slots)], None, None).unwrap()
}

fn critical_path(plan: &Plan) -> f64 {
    let mut done = vec![0.0f64; plan.nodes.len()];
    for (index, node) in plan.nodes.iter().enumerate() {
        let ready = node
            .after
            .iter()
            .map(|&b| done[b as usize])
            .fold(0.0, f64::max);
        let longest = node.tasks.iter().map(|t| t.duration_ns).fold(0.0, f64::max);
        done[index] = ready + node.delay_ns + longest;
    }
    done[plan.end as usize]
}

fn work(plan: &Plan) -> f64 {
    plan.nodes
        .iter()
        .flat_map(|node| &node.tasks)
        .map(|task| task.duration_ns)
        .sum()
}

proptest! {
    #[test]
    fn never_below_the_critical_path_nor_below_work_over_slots(
        plan in any_plan(), slots in 1u32..20
    ) {
        let outcome = on(&plan, slots);
        let bound = critical_path(&plan).max(work(&plan) / f64::from(slots));
        prop_assert!(outcome.elapsed_ns >= bound - 1e-6, "{} < {bound}", outcome.elapsed_ns);
        // Graham's bound for list schedules; delays of the driver are on the path.
        let most = critical_path(&plan) + work(&plan) / f64::from(slots);
        prop_assert!(outcome.elapsed_ns <= most + 1e-6, "{} > {most}", outcome.elapsed_ns);
    }

    #[test]
    fn with_slots_for_all_it_is_the_critical_path(plan in any_plan()) {
        prop_assert!((on(&plan, 1000).elapsed_ns - critical_path(&plan)).abs() < 1e-6);
    }

    #[test]
    fn every_slot_second_has_one_cause(plan in any_plan(), slots in 1u32..20) {
        let time = on(&plan, slots).slot_time;
        let parts = time.useful_ns + time.retries_ns + time.scheduling_delay_ns + time.driver_ns
            + time.waiting_to_launch_ns + time.too_few_tasks_ns + time.stage_tail_ns;
        prop_assert!((parts - time.total_ns).abs() < 1e-6);
        prop_assert!((time.useful_ns + time.scheduling_delay_ns - work(&plan)).abs() < 1e-6);
    }

    #[test]
    fn a_stage_alone_does_not_take_longer_with_more_slots(
        durations in vec(0u32..1000, 1..60), slots in 1u32..20
    ) {
        let nodes = vec![
            Node::default(),
            Node { after: vec![0], tasks: tasks(&durations), ..Node::default() },
        ];
        let plan = Plan { nodes, end: 1, ..Plan::default() };
        prop_assert!(on(&plan, slots + 1).elapsed_ns <= on(&plan, slots).elapsed_ns);
    }

    #[test]
    fn the_same_request_has_the_same_outcome(plan in any_plan(), slots in 1u32..20) {
        prop_assert_eq!(on(&plan, slots), on(&plan, slots));
    }

    #[test]
    fn doubling_a_stage_alone_on_the_path_adds_its_length(
        first in vec(1u32..1000, 1..12), second in vec(1u32..1000, 1..12), slots in 1u32..8
    ) {
        let chain = |factor: f64| {
            let mut doubled = tasks(&first);
            for task in &mut doubled {
                task.duration_ns *= factor;
            }
            let nodes = vec![
                Node::default(),
                Node { after: vec![0], tasks: doubled, ..Node::default() },
                Node { after: vec![1], delay_ns: 7.0, tasks: tasks(&second), ..Node::default() },
            ];
            on(&Plan { nodes, end: 2, ..Plan::default() }, slots)
        };
        let (once, twice) = (chain(1.0), chain(2.0));
        let length = once.complete_ns[1].unwrap() - once.submit_ns[1].unwrap();
        prop_assert!((twice.elapsed_ns - once.elapsed_ns - length).abs() < 1e-6);
    }

    #[test]
    fn contention_never_makes_it_shorter(
        plan in any_plan(), slots in 1u32..8, steps in vec(0.0f64..1.0, 9)
    ) {
        let mut slowdowns = vec![1.0, 1.0];
        for step in steps {
            slowdowns.push(slowdowns[slowdowns.len() - 1] + step);
        }
        let law = Law::new(slowdowns).unwrap();
        let executors = [executor(slots)];
        let slowed = run(&plan, &executors, Some(&law), None).unwrap();
        let bound = critical_path(&plan).max(work(&plan) / f64::from(slots));
        prop_assert!(slowed.elapsed_ns >= bound - 1e-6);
        // What was gauged is what a run under the law would have needed: never more than it took.
        let gauged = run(&plan, &executors, None, Some(&law)).unwrap();
        let all: Vec<f64> = plan.nodes.iter().flat_map(|n| &n.tasks).map(|t| t.duration_ns).collect();
        for (work, took) in gauged.work_ns.iter().zip(all) {
            prop_assert!(*work <= took + 1e-6);
        }
    }
}
