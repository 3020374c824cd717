//! What the command line of a JVM says of its part in a Spark application.

use serde::Serialize;

/// Part in an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Runs tasks.
    Executor,
    /// Runs the application's own code.
    Driver,
}

/// What started it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Manager {
    /// Spark's own cluster manager, or `local-cluster`.
    Standalone,
    /// Hadoop YARN.
    Yarn,
    /// Kubernetes.
    Kubernetes,
}

/// What a command line says. It is said by whoever started the process: names are data, nothing more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Part in the application.
    pub role: Role,
    /// What started it; `None`: the command line does not say.
    pub manager: Option<Manager>,
    /// Application id.
    pub app: Option<String>,
    /// Executor id, or `driver`.
    pub executor: String,
    /// Cores that Spark gives it.
    pub cores: Option<u32>,
    /// Host as the driver knows it.
    pub hostname: Option<String>,
    /// Name of its pod.
    pub pod: Option<String>,
    /// Resource profile.
    pub resource_profile: Option<u32>,
    /// Where a container of YARN has its logs: the folder is named after it.
    pub container_logs: Option<String>,
    /// A driver that the environment of a pod may name the application of.
    pub may_be_of_pod: bool,
}

/// Main classes of executors.
const EXECUTORS: [(&str, Manager); 3] = [
    (
        "org.apache.spark.executor.CoarseGrainedExecutorBackend",
        Manager::Standalone,
    ),
    (
        "org.apache.spark.executor.YarnCoarseGrainedExecutorBackend",
        Manager::Yarn,
    ),
    (
        "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend",
        Manager::Kubernetes,
    ),
];

/// Main classes of JVMs that run a driver. `SparkSubmit` does so unless it hands the application to the cluster.
const DRIVERS: [(&str, Option<Manager>); 3] = [
    ("org.apache.spark.deploy.SparkSubmit", None),
    (
        "org.apache.spark.deploy.worker.DriverWrapper",
        Some(Manager::Standalone),
    ),
    (
        "org.apache.spark.deploy.yarn.ApplicationMaster",
        Some(Manager::Yarn),
    ),
];

/// With this YARN's launchers tell each JVM where its logs go.
const CONTAINER_LOGS: &str = "-Dspark.yarn.app.container.log.dir=";

/// Words of the JVM that are followed by a value of their own.
const WITH_VALUE: [&str; 9] = [
    "-cp",
    "-classpath",
    "--class-path",
    "-p",
    "--module-path",
    "--add-modules",
    "--add-opens",
    "--add-exports",
    "--add-reads",
];

/// Options of `SparkSubmit` with which it runs no application.
const ASKING: [&str; 6] = [
    "--help",
    "-h",
    "--kill",
    "--status",
    "--usage-error",
    "--version",
];

/// Its other options that are followed by no value.
const SWITCHES: [&str; 4] = ["--load-spark-defaults", "--supervise", "--verbose", "-v"];

/// The settings that `--deploy-mode` and `--master` stand for, as `--conf` says them.
const DEPLOY_MODE: &str = "spark.submit.deployMode=";
const MASTER: &str = "spark.master=";

/// The application's id, which its submitter chooses on Kubernetes alone.
const APP: &str = "spark.app.id=";

/// Reads the words of a command line; `None`: no executor and no driver.
pub fn claim(words: &[&str]) -> Option<Claim> {
    let (program, rest) = words.split_first()?;
    // Shells and `tini` that start a JVM have the same words, or one word that holds them.
    let program = program.rsplit('/').next()?;
    if !program.starts_with("java") {
        return None;
    }
    let (class, options) = main_class(rest)?;
    let of_jvm = &rest[..rest.len() - options.len()];
    let executor = EXECUTORS.iter().find(|(name, _)| *name == class);
    let driver = DRIVERS.iter().find(|(name, _)| *name == class);
    let submit = Submit::read(options);
    match (executor, driver) {
        (Some(&(_, manager)), _) => Some(Claim {
            role: Role::Executor,
            manager: Some(manager),
            app: Some(value(options, "--app-id")?.to_owned()),
            executor: value(options, "--executor-id")?.to_owned(),
            cores: number(options, "--cores"),
            hostname: value(options, "--hostname").map(str::to_owned),
            pod: value(options, "--podName").map(str::to_owned),
            resource_profile: number(options, "--resourceProfileId"),
            container_logs: container_logs(manager, of_jvm),
            may_be_of_pod: false,
        }),
        (None, Some(&(_, manager))) if !submit.hands_over => Some(Claim {
            role: Role::Driver,
            manager,
            app: submit
                .app
                .filter(|_| submit.is_on_kubernetes())
                .map(str::to_owned),
            executor: "driver".to_owned(),
            cores: None,
            hostname: None,
            pod: None,
            resource_profile: None,
            container_logs: manager.and_then(|manager| container_logs(manager, of_jvm)),
            may_be_of_pod: manager.is_none()
                && (submit.master.is_none() || submit.is_on_kubernetes()),
        }),
        _ => None,
    }
}

/// The main class, and what follows it.
fn main_class<'a, 'b>(words: &'b [&'a str]) -> Option<(&'a str, &'b [&'a str])> {
    let mut at = 0;
    loop {
        let word = words.get(at)?;
        match word {
            word if WITH_VALUE.contains(word) => at += 2,
            word if word.starts_with(['-', '@']) => at += 1,
            word => return Some((word, &words[at + 1..])),
        }
    }
}

fn container_logs(manager: Manager, of_jvm: &[&str]) -> Option<String> {
    let mut folders = of_jvm
        .iter()
        .filter_map(|word| word.strip_prefix(CONTAINER_LOGS));
    // The last one counts, as it does for the JVM.
    let last = folders.next_back();
    last.filter(|_| manager == Manager::Yarn).map(str::to_owned)
}

/// The first value of an option.
fn value<'a>(options: &[&'a str], name: &str) -> Option<&'a str> {
    let at = options.iter().position(|word| *word == name)?;
    options.get(at + 1).copied()
}

fn number(options: &[&str], name: &str) -> Option<u32> {
    value(options, name)?.parse().ok()
}

/// What `SparkSubmit` is to do.
#[derive(Default)]
struct Submit<'a> {
    /// It only hands an application to a cluster, or asks after one.
    hands_over: bool,
    master: Option<&'a str>,
    app: Option<&'a str>,
}

impl<'a> Submit<'a> {
    /// Reads its words as it does: what follows the application is its own, and an option wins over a setting.
    fn read(options: &[&'a str]) -> Self {
        let (mut mode, mut mode_set, mut master_set) = (None, None, None);
        let mut submit = Self::default();
        let mut words = options.iter().copied();
        while let Some(word) = words.next() {
            let (name, joined) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") && !value.is_empty() => {
                    (name, Some(value))
                }
                _ => (word, None),
            };
            submit.hands_over |= ASKING.contains(&name);
            if SWITCHES.contains(&name) {
                continue;
            }
            if submit.hands_over || !name.starts_with('-') {
                break;
            }
            // It refuses what it does not know: every other option has a value.
            let value = joined.or_else(|| words.next()).unwrap_or_default();
            match name {
                "--deploy-mode" => mode = Some(value),
                "--master" => submit.master = Some(value),
                "--conf" | "-c" => {
                    mode_set = value.strip_prefix(DEPLOY_MODE).or(mode_set);
                    master_set = value.strip_prefix(MASTER).or(master_set);
                    submit.app = value.strip_prefix(APP).or(submit.app);
                }
                _ => {}
            }
        }
        submit.master = submit.master.or(master_set);
        submit.hands_over |= mode.or(mode_set) == Some("cluster");
        submit
    }

    fn is_on_kubernetes(&self) -> bool {
        self.master
            .is_some_and(|master| master.starts_with("k8s://"))
    }
}
