//! Small graphs whose schedules can be worked out by hand.

use pyro_sim::{
    Executor, Law, Node, Outcome, Plan, Result, Scheduler, Task, TaskKinds, Times, run,
};

fn stage(after: &[u32], delay_ns: f64, durations: &[f64]) -> Node {
    let tasks = durations.iter().map(|&duration_ns| Task {
        duration_ns,
        ..Task::default()
    });
    Node {
        after: after.to_vec(),
        delay_ns,
        tasks: tasks.collect(),
        load: 1.0,
        ..Node::default()
    }
}

fn point(after: &[u32], delay_ns: f64) -> Node {
    stage(after, delay_ns, &[])
}

/// Node 0 is the start, the last one the end.
fn plan(nodes: Vec<Node>) -> Plan {
    let end = nodes.len() as u32 - 1;
    Plan {
        nodes,
        end,
        ..Plan::default()
    }
}

fn executor(slots: u32) -> Executor {
    Executor {
        slots,
        ..Executor::default()
    }
}

fn on(plan: &Plan, slots: u32) -> Outcome {
    run(plan, &[executor(slots)], None, None).unwrap()
}

fn parts(outcome: &Outcome) -> f64 {
    let time = &outcome.slot_time;
    time.useful_ns
        + time.retries_ns
        + time.scheduling_delay_ns
        + time.driver_ns
        + time.waiting_to_launch_ns
        + time.too_few_tasks_ns
        + time.stage_tail_ns
}

#[test]
fn two_stages_of_a_chain_with_the_driver_between() {
    let plan = plan(vec![
        point(&[], 0.0),
        stage(&[0], 5.0, &[4.0, 3.0, 3.0]),
        stage(&[1], 2.0, &[6.0]),
        point(&[2], 1.0),
    ]);
    // Two slots: 4 | 3 + 3, then 6 alone.
    let two = on(&plan, 2);
    assert_eq!(two.elapsed_ns, 5.0 + 6.0 + 2.0 + 6.0 + 1.0);
    assert_eq!(two.submit_ns, [0.0, 5.0, 13.0, 20.0].map(Some));
    assert_eq!(two.complete_ns, [0.0, 11.0, 19.0, 20.0].map(Some));
    assert_eq!(two.released_by, [None, Some(0), Some(1), Some(2)]);
    let time = two.slot_time;
    assert_eq!(time.total_ns, 40.0);
    assert_eq!(time.useful_ns, 16.0);
    assert_eq!(time.driver_ns, 16.0);
    assert_eq!(time.stage_tail_ns, 2.0);
    assert_eq!(time.too_few_tasks_ns, 6.0);
    assert_eq!(parts(&two), 40.0);
    assert_eq!(on(&plan, 1).elapsed_ns, 5.0 + 10.0 + 2.0 + 6.0 + 1.0);
    assert_eq!(on(&plan, 100).elapsed_ns, 5.0 + 4.0 + 2.0 + 6.0 + 1.0);
}

#[test]
fn the_earlier_job_is_served_first() {
    let plan = plan(vec![
        point(&[], 0.0),
        stage(&[0], 0.0, &[2.0, 2.0]),
        stage(&[0], 0.0, &[3.0]),
        point(&[1, 2], 0.0),
    ]);
    let one = on(&plan, 1);
    assert_eq!(one.complete_ns[1], Some(4.0));
    assert_eq!(one.complete_ns[2], Some(7.0));
}

#[test]
fn a_failed_attempt_is_tried_again_before_what_waits() {
    let mut work = stage(&[0], 0.0, &[1.0, 5.0, 2.0]);
    work.tasks[0].wasted = true;
    work.tasks[2].retry_of = Some(0);
    let plan = plan(vec![point(&[], 0.0), work, point(&[1], 0.0)]);
    let one = on(&plan, 1);
    assert_eq!(one.elapsed_ns, 8.0);
    assert_eq!(one.slot_time.retries_ns, 1.0);
    assert_eq!(on(&plan, 3).elapsed_ns, 5.0, "1 and 2 beside 5");
}

#[test]
fn an_executor_that_comes_later_helps_from_then_on() {
    let plan = plan(vec![
        point(&[], 0.0),
        stage(&[0], 0.0, &[4.0; 4]),
        point(&[1], 0.0),
    ]);
    let late = Executor {
        add: (0, 4.0),
        ..executor(1)
    };
    let outcome = run(&plan, &[executor(1), late], None, None).unwrap();
    assert_eq!(outcome.elapsed_ns, 12.0);
    assert_eq!(outcome.slot_time.total_ns, 12.0 + 8.0);
}

#[test]
fn a_lost_executor_takes_no_more_tasks() {
    let plan = plan(vec![
        point(&[], 0.0),
        stage(&[0], 0.0, &[4.0; 4]),
        point(&[1], 0.0),
    ]);
    let lost = Executor {
        remove: Some((0, 1.0)),
        ..executor(1)
    };
    let outcome = run(&plan, &[executor(1), lost], None, None).unwrap();
    assert_eq!(outcome.elapsed_ns, 12.0);
    assert_eq!(
        outcome.slot_time.total_ns,
        12.0 + 4.0,
        "its last task still ends there"
    );
    assert_eq!(outcome.kept_executors_count, 0);
}

#[test]
fn without_any_slot_left_the_last_executor_stays() {
    let plan = plan(vec![
        point(&[], 0.0),
        stage(&[0], 0.0, &[4.0; 2]),
        point(&[1], 0.0),
    ]);
    let lost = Executor {
        remove: Some((0, 1.0)),
        ..executor(1)
    };
    let outcome = run(&plan, &[lost], None, None).unwrap();
    assert_eq!((outcome.elapsed_ns, outcome.kept_executors_count), (8.0, 1));
}

#[test]
fn dynamic_allocation_keeps_what_has_work() {
    let plan = plan(vec![
        point(&[], 0.0),
        stage(&[0], 0.0, &[4.0; 4]),
        stage(&[1], 5.0, &[4.0, 4.0]),
        point(&[2], 0.0),
    ]);
    let given_up = Executor {
        remove: Some((0, 1.0)),
        dynamic: true,
        ..executor(1)
    };
    // It stays for the stage that waits, and goes before the next one.
    let outcome = run(&plan, &[executor(1), given_up], None, None).unwrap();
    assert_eq!(outcome.elapsed_ns, 8.0 + 5.0 + 8.0);
    assert_eq!(outcome.slot_time.total_ns, 21.0 + 8.0);
}

#[test]
fn tasks_wait_for_a_slot_near_their_data() {
    let mut work = stage(&[0], 0.0, &[2.0; 4]);
    work.near = vec![0];
    let mut plan = plan(vec![point(&[], 0.0), work, point(&[1], 0.0)]);
    let far = Executor {
        site: 1,
        host: 1,
        ..executor(1)
    };
    let cluster = [executor(1), far];
    plan.locality_wait_ns = 3.0;
    plan.launch_resets_wait = true;
    // A launch every 2: the wait of 3 is never over.
    assert_eq!(run(&plan, &cluster, None, None).unwrap().elapsed_ns, 8.0);
    plan.launch_resets_wait = false;
    // Refused since 0: the far slot is allowed from 3 on.
    assert_eq!(run(&plan, &cluster, None, None).unwrap().elapsed_ns, 6.0);
    plan.locality_wait_ns = 0.0;
    assert_eq!(run(&plan, &cluster, None, None).unwrap().elapsed_ns, 4.0);
}

#[test]
fn a_stage_runs_on_executors_of_its_kind() {
    let mut work = stage(&[0], 0.0, &[2.0; 2]);
    work.pool = 1;
    let plan = plan(vec![point(&[], 0.0), work, point(&[1], 0.0)]);
    let other = Executor {
        pool: 1,
        ..executor(1)
    };
    let outcome = run(&plan, &[executor(8), other], None, None).unwrap();
    assert_eq!(outcome.elapsed_ns, 4.0);
    assert!(run(&plan, &[executor(8)], None, None).is_err());
}

#[test]
fn tasks_of_a_host_share_its_cpus() {
    let plan = plan(vec![
        point(&[], 0.0),
        stage(&[0], 0.0, &[4.0, 2.0]),
        point(&[1], 0.0),
    ]);
    // One CPU: two tasks take twice as long. 2 ends at 4, then 2 of the other are left.
    let law = Law::new(vec![1.0, 1.0, 2.0]).unwrap();
    let outcome = run(&plan, &[executor(2)], Some(&law), None).unwrap();
    assert_eq!(outcome.elapsed_ns, 6.0);
    let elsewhere = Executor {
        host: 1,
        ..executor(1)
    };
    let apart = run(&plan, &[executor(1), elsewhere], Some(&law), None).unwrap();
    assert_eq!(
        apart.elapsed_ns, 4.0,
        "two hosts do not disturb one another"
    );
}

#[test]
fn work_gauged_under_a_law_gives_the_measured_schedule_back() {
    let measured = plan(vec![
        point(&[], 0.0),
        stage(&[0], 1.0, &[6.0, 4.0, 5.0, 3.0, 8.0]),
        point(&[1], 0.0),
    ]);
    let law = Law::new(vec![1.0, 1.0, 1.4, 2.1]).unwrap();
    let before = run(&measured, &[executor(3)], None, Some(&law)).unwrap();
    let mut work = measured.clone();
    for (task, &work_ns) in work.nodes[1].tasks.iter_mut().zip(&before.work_ns) {
        task.duration_ns = work_ns;
    }
    let again = run(&work, &[executor(3)], Some(&law), None).unwrap();
    assert!((again.elapsed_ns - before.elapsed_ns).abs() < 1e-9);
    let alone = run(&work, &[executor(1)], Some(&law), None).unwrap();
    let slower = run(&measured, &[executor(1)], None, None).unwrap();
    assert!(
        alone.elapsed_ns < slower.elapsed_ns,
        "alone nothing slows a task down"
    );
}

/// Two nodes, the second of two tasks.
fn scheduler(pool: &str, level: &[u8]) -> Result<Scheduler> {
    let plan = format!(
        r#"{{"end": 1, "launch_resets_wait": false, "after": [[], [0]], "load": [1, 1],
        "tasks_count": [0, 2], "pool": {pool}, "near": [[], []]}}"#
    );
    let retry_of: Vec<u8> = [-1i32; 2]
        .iter()
        .flat_map(|one| one.to_le_bytes())
        .collect();
    let tasks = TaskKinds {
        level,
        wasted: &[0, 0],
        retry_of: &retry_of,
    };
    Scheduler::new(&plan, tasks)
}

fn column(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|one| one.to_le_bytes()).collect()
}

fn answer(
    delays: &[f64],
    durations: &[f64],
    stretches: &[f64],
    scenario: &str,
) -> Result<Vec<f64>> {
    let request = format!(
        r#"{{"locality_wait_ns": 0, "clusters": [[{{"slots": 1, "host": 0, "add": [0, 0]}}]],
        "scenarios": [{scenario}]}}"#
    );
    let waits = vec![0.0; durations.len()];
    let times = Times {
        node_delay_ns: &column(delays),
        duration_ns: &column(durations),
        delay_ns: &column(&waits),
        stretches: &column(stretches),
    };
    let answers = scheduler("[0, 0]", &[0, 0])?.simulate(&request, &times)?;
    let answers: Vec<serde_json::Value> = serde_json::from_str(&answers).unwrap();
    Ok(answers
        .iter()
        .map(|one| one["elapsed_ns"].as_f64().unwrap())
        .collect())
}

#[test]
fn one_plan_is_scheduled_in_several_times() {
    let plain = answer(&[0.0, 5.0], &[10.0, 20.0], &[], "{}").unwrap();
    let slower = answer(&[0.0, 7.0], &[10.0, 30.0], &[], "{}").unwrap();
    assert_eq!((plain[0], slower[0]), (35.0, 47.0));
    let stretched = r#"{"stretch": 0}, {"stretch": 1}, {"tasks_ratios": {"1": 0.5}}"#;
    let several = answer(&[0.0, 5.0], &[10.0, 20.0], &[1.0, 1.0, 1.0, 2.0], stretched).unwrap();
    assert_eq!(several, [35.0, 65.0, 35.0]);
}

#[test]
fn columns_of_different_lengths_are_refused() {
    let lengths = "different lengths";
    for (pool, level) in [("[0]", &[0u8, 0][..]), ("[0, 0]", &[0][..])] {
        let error = scheduler(pool, level).unwrap_err();
        assert!(error.to_string().contains(lengths), "{error}");
    }
    let refused = [
        answer(&[0.0], &[1.0, 1.0], &[], "{}"),
        answer(&[0.0, 0.0], &[1.0], &[], "{}"),
        answer(&[0.0, 0.0], &[1.0, 1.0], &[1.0], "{}"),
        answer(
            &[0.0, 0.0],
            &[1.0, 1.0],
            &[],
            r#"{"tasks_ratios": {"2": 2.0}}"#,
        ),
        answer(&[0.0, 0.0], &[1.0, 1.0], &[], r#"{"stretch": 0}"#),
        answer(&[0.0, f64::NAN], &[1.0, 1.0], &[], "{}"),
    ];
    let said = [
        "each node or task",
        "each node or task",
        "each node",
        "no such node",
        "no stretch 0",
        "neither finite",
    ];
    for (error, what) in refused.into_iter().zip(said) {
        let error = error.unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn a_cycle_in_the_plan_is_refused() {
    let plan = plan(vec![point(&[1], 0.0), point(&[0], 0.0)]);
    let error = run(&plan, &[executor(1)], None, None).unwrap_err();
    assert!(error.to_string().contains("cycle"), "{error}");
}

/// Graham, "Bounds on multiprocessing timing anomalies", 1969: with a graph, one slot more can take
/// longer. The order of tasks stays; what is ready earlier takes a slot from what is critical.
#[test]
fn more_slots_can_take_longer_with_a_graph() {
    let one = |after: &[u32], duration: f64| stage(after, 0.0, &[duration]);
    let plan = plan(vec![
        one(&[], 3.0),
        one(&[], 2.0),
        one(&[], 2.0),
        one(&[], 2.0),
        one(&[3], 4.0),
        one(&[3], 4.0),
        one(&[3], 4.0),
        one(&[3], 4.0),
        one(&[0], 9.0),
        point(&[0, 1, 2, 3, 4, 5, 6, 7, 8], 0.0),
    ]);
    let from_start = |slots| {
        let mut plan = plan.clone();
        plan.nodes.push(point(&[], 0.0));
        let start = plan.nodes.len() as u32 - 1;
        for node in plan.nodes.iter_mut().take(4) {
            node.after = vec![start];
        }
        let executor = Executor {
            add: (start, 0.0),
            ..executor(slots)
        };
        run(&plan, &[executor], None, None).unwrap().elapsed_ns
    };
    assert_eq!((from_start(3), from_start(4)), (12.0, 15.0));
}
