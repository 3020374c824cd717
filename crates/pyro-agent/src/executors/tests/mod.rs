//! Trees of processes, with the command lines that the launchers of Spark's sources make.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

use crate::executors::cgroup::place;
use crate::executors::command_line::{Manager, Role, claim};
use crate::executors::discover::{Executor, Process, discover};
use crate::executors::proc_tree::ProcTree;

/// Two executors and a driver among other processes.
pub const STANDALONE: &str = include_str!("trees/standalone.tree");

/// Makes a `/proc` of a recorded tree, or adds to one.
pub fn plant(root: &Path, tree: &str) {
    let mut pid = String::new();
    for line in tree.lines().filter(|line| !line.starts_with('#')) {
        if let Some(number) = line.strip_prefix('[') {
            pid = number.strip_suffix(']').unwrap().to_owned();
            fs::create_dir(root.join(&pid)).unwrap();
        }
        let Some((name, value)) = line.split_once(": ") else {
            continue;
        };
        let (file, text) = match name {
            "word" => ("cmdline", format!("{value}\0")),
            "env" => ("environ", format!("{value}\0")),
            "start" => {
                let zeros = "0 ".repeat(18);
                ("stat", format!("{pid} (ja) va) S {zeros}{value} 0 0\n"))
            }
            name => (name, format!("{value}\n")),
        };
        append(&root.join(&pid).join(file), &text);
    }
}

/// Finds what is in a recorded tree.
fn found(tree: &str) -> Vec<Executor> {
    let root = tempfile::tempdir().unwrap();
    plant(root.path(), tree);
    fs::create_dir(root.path().join("self")).unwrap();
    let tree = ProcTree::new(root.path());
    let pids = tree.pids().unwrap();
    let jvms: Vec<Process> = pids.into_iter().filter_map(|pid| tree.jvm(pid)).collect();
    discover(&jvms)
}

fn append(path: &Path, text: &str) {
    let before = fs::read_to_string(path).unwrap_or_default();
    fs::write(path, before + text).unwrap();
}

/// What matters most of each.
fn brief(found: &[Executor]) -> Vec<(i32, Role, Option<&str>, &str)> {
    found
        .iter()
        .map(|one| (one.pid, one.role, one.app.as_deref(), one.executor.as_str()))
        .collect()
}

#[test]
fn standalone() {
    let found = found(STANDALONE);
    assert_eq!(
        brief(&found),
        [
            (2230, Role::Executor, Some("app-20261126101500-0003"), "0"),
            (2231, Role::Executor, Some("app-20261126101620-0004"), "11"),
            (2301, Role::Driver, None, "driver"),
        ]
    );
    let first = &found[0];
    assert_eq!(first.manager, Some(Manager::Standalone));
    assert_eq!((first.cores, first.resource_profile), (Some(8), Some(0)));
    assert_eq!(first.hostname.as_deref(), Some("10.0.0.2"));
    assert_eq!((first.uid, first.start_ticks), (Some(1001), Some(90112)));
    assert_eq!(first.place.cgroup_version, Some(1));
    assert_eq!(
        first.place.cgroup.as_deref(),
        Some("/system.slice/spark-worker.service")
    );
    assert_eq!(first.place.container, None);
    assert_eq!((found[1].resource_profile, found[1].uid), (None, None));
}

#[test]
fn yarn() {
    let found_v1 = found(include_str!("trees/yarn-v1.tree"));
    let app = Some("application_1789345678901_0042");
    assert_eq!(
        brief(&found_v1),
        [
            (3105, Role::Executor, app, "2"),
            (3200, Role::Driver, app, "driver"),
        ]
    );
    let place = &found_v1[0].place;
    let container = "container_e17_1789345678901_0042_02_000003";
    assert_eq!(place.container.as_deref(), Some(container));
    assert_eq!(
        (place.yarn_attempt, place.cgroup_version),
        (Some(2), Some(1))
    );
    assert_eq!(found_v1[0].resource_profile, Some(1));
    assert_eq!(found_v1[0].pid_inside, None);

    let found_v2 = found(include_str!("trees/yarn-v2.tree"));
    let place = &found_v2[0].place;
    assert_eq!(
        (place.yarn_attempt, place.cgroup_version),
        (Some(1), Some(2))
    );
    assert_eq!(place.yarn_app.as_deref(), found_v2[0].app.as_deref());
    assert_eq!(found_v2[0].manager, Some(Manager::Yarn));
}

#[test]
fn yarn_without_control_groups() {
    let found = found(include_str!("trees/yarn-none.tree"));
    let app = Some("application_1789345678901_0042");
    assert_eq!(
        brief(&found),
        [
            (3105, Role::Executor, app, "2"),
            (3200, Role::Driver, app, "driver"),
            (3300, Role::Driver, None, "driver"),
        ]
    );
    let container = |number| format!("container_e17_1789345678901_0042_02_00000{number}");
    for (one, number) in found.iter().zip([3, 1]) {
        let place = &one.place;
        assert_eq!(place.container, Some(container(number)));
        assert_eq!(
            (place.yarn_app.as_deref(), place.yarn_attempt),
            (app, Some(2))
        );
    }
    assert_eq!(found[2].place.container, None);
}

#[test]
fn the_container_that_a_control_group_names_has_precedence_over_that_of_logs() {
    let of_logs = "container_1789345678901_0042_02_000003";
    let of_runtime = "d".repeat(64);
    for (cgroup, container) in [
        (format!("0::/docker/{of_runtime}"), of_runtime.as_str()),
        ("0::/user.slice".to_owned(), of_logs),
    ] {
        let logs = format!("-Dspark.yarn.app.container.log.dir=/var/log/x/{of_logs}");
        let class = "org.apache.spark.executor.YarnCoarseGrainedExecutorBackend";
        let app = "application_1789345678901_0042";
        let words = ["java", &logs, class, "--executor-id", "2", "--app-id", app];
        let process = Process {
            cmdline: words.join("\0").into_bytes(),
            cgroup,
            ..Process::default()
        };
        let found = discover(&[process]).remove(0);
        assert_eq!(found.place.container.as_deref(), Some(container));
        assert_eq!(found.place.yarn_app.as_deref(), Some(app));
        assert_eq!(found.place.yarn_attempt, Some(2));
    }
}

#[test]
fn an_application_is_of_whoever_can_have_it() {
    let app = |line: &str| {
        let words: Vec<&str> = "java org.apache.spark.deploy.SparkSubmit"
            .split(' ')
            .chain(line.split(' '))
            .collect();
        let process = Process {
            cmdline: words.join("\0").into_bytes(),
            app_of_pod: Some("spark-pod".to_owned()),
            ..Process::default()
        };
        discover(&[process]).remove(0).app
    };
    let some = |app: &str| Some(app.to_owned());
    assert_eq!(app("--properties-file p a.py"), some("spark-pod"));
    assert_eq!(
        app("--master k8s://h --conf spark.app.id=x a.py"),
        some("x")
    );
    assert_eq!(
        app("--conf spark.master=k8s://h -c spark.app.id=x a.py"),
        some("x")
    );
    // These managers give their own.
    for master in ["spark://h:7077", "yarn", "local[*]"] {
        assert_eq!(
            app(&format!("--master {master} --conf spark.app.id=x a.py")),
            None
        );
    }
}

#[test]
fn kubernetes() {
    let found = found(include_str!("trees/kubernetes.tree"));
    let app = "spark-0f5c6d3a7e2b4d0c8a9e1b2c3d4e5f60";
    assert_eq!(
        brief(&found),
        [
            (9010, Role::Executor, Some(app), "3"),
            (9110, Role::Driver, Some(app), "driver"),
            (9210, Role::Executor, Some("spark-x"), "4"),
            (9310, Role::Executor, Some("spark-x"), "5"),
        ]
    );
    let (first, crio, cgroupfs, inside) = (&found[0], &found[1], &found[2], &found[3]);
    assert_eq!(first.pod.as_deref(), Some("job-9d8c7b6a5f4e3d2c-exec-3"));
    assert_eq!((first.pid_inside, first.uid), (Some(15), Some(185)));
    let uid = |one: &Executor| one.place.pod_uid.clone().unwrap_or_default();
    assert_eq!(uid(first), "1f0c7f1e-3a52-4f0e-9d3b-0a6d3b1c2e4f");
    assert_eq!(uid(crio), "7b1d9a40-93f2-4f64-8d0e-4c8b3f6f2a10");
    assert_eq!(uid(cgroupfs), "2c9e4b1a-7d60-4a11-b3f3-5f0c1d2e3f40");
    for (one, digit) in [(first, "a"), (crio, "b"), (cgroupfs, "c")] {
        assert_eq!(one.place.container, Some(digit.repeat(64)));
    }
    assert_eq!(cgroupfs.place.cgroup_version, Some(1));
    assert_eq!(
        (&inside.place.container, &inside.place.pod_uid),
        (&None, &None)
    );
}

#[test]
fn a_driver_is_who_runs_it() {
    let words = |line: &'static str| line.split(' ').collect::<Vec<_>>();
    let driver = |line| claim(&words(line)).map(|claim| claim.role) == Some(Role::Driver);
    let submit = "java -cp x org.apache.spark.deploy.SparkSubmit";
    for (options, runs) in [
        ("--class org.apache.spark.repl.Main spark-shell", true),
        ("--master yarn --deploy-mode client a.py", true),
        ("--deploy-mode=cluster a.py", false),
        ("--kill driver-1", false),
        ("--status driver-1", false),
        ("--version", false),
        ("-v --help", false),
        ("a.py --kill x --status y --version --help", true),
        ("--name --version a.py", true),
        ("-v --supervise a.jar --deploy-mode cluster", true),
        ("--conf spark.submit.deployMode=cluster a.py", false),
        ("--conf=spark.submit.deployMode=cluster a.py", false),
        (
            "-c spark.a=1 -c spark.submit.deployMode=cluster a.py",
            false,
        ),
        (
            "-c spark.submit.deployMode=cluster -c spark.submit.deployMode=client a.py",
            true,
        ),
        (
            "-c spark.submit.deployMode=cluster --deploy-mode client a.py",
            true,
        ),
        ("a.py --conf spark.submit.deployMode=cluster", true),
        ("--deploy-mode", true),
        ("a=b.py --deploy-mode=cluster", true),
    ] {
        let line: &'static str = format!("{submit} {options}").leak();
        assert_eq!(driver(line), runs, "{options}");
    }
    for other in [
        "java -cp org.apache.spark.deploy.SparkSubmit Main",
        "java Main org.apache.spark.deploy.SparkSubmit",
        "java",
        "java -cp",
        "java org.apache.spark.executor.CoarseGrainedExecutorBackend --executor-id 1",
        "java org.apache.spark.executor.CoarseGrainedExecutorBackend --app-id a --executor-id",
        "",
    ] {
        assert_eq!(claim(&words(other)), None, "{other}");
    }
}

#[test]
fn places_that_are_none() {
    for text in [
        "",
        "rubbish",
        "0::/user.slice/user-0.slice",
        "0::/container_1_2_3",
        "0::/container_e1_1_2_x_3",
        "0::/container_1_2_3_4_5",
        "0::/podx/short",
        "0::/podzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz",
    ] {
        let place = place(text);
        assert_eq!(
            (place.container, place.pod_uid, place.yarn_app),
            (None, None, None),
            "{text}"
        );
    }
}

proptest! {
    #[test]
    fn nothing_panics_and_names_stay_as_they_are(
        app in "[^\0]{1,40}", executor in "[^\0]{1,10}", cgroup in "\\PC{0,80}|([0-9]:[a-z,]{0,9}:/[a-z_0-9/-]{0,90}\n){0,4}",
        noise in prop::collection::vec(any::<u8>(), 0..80), status in "\\PC{0,40}|NSpid:\\PC{0,20}",
    ) {
        let class = "org.apache.spark.executor.CoarseGrainedExecutorBackend";
        let words = ["java", class, "--app-id", &app, "--executor-id", &executor];
        let process = |cmdline: Vec<u8>| Process { pid: 7, cmdline, cgroup: cgroup.clone(), status: status.clone(), ..Process::default() };
        let found = discover(&[process(words.join("\0").into_bytes()), process(noise)]);
        prop_assert_eq!(found[0].app.as_deref(), Some(app.as_str()));
        prop_assert_eq!(&found[0].executor, &executor);
    }
}
