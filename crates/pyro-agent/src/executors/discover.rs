//! From processes to executors.

use serde::Serialize;

use crate::executors::cgroup::{Place, place};
use crate::executors::command_line::{Manager, Role, claim};

/// What is read of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Process {
    /// Its number here.
    pub pid: i32,
    /// `cmdline`: words that end with a zero byte.
    pub cmdline: Vec<u8>,
    /// `cgroup`.
    pub cgroup: String,
    /// `status`, for the number in its own namespace and the user.
    pub status: String,
    /// Application that the environment of a pod of Spark names, where it may be read.
    pub app_of_pod: Option<String>,
    /// When it was started, in clock ticks since boot: tells it from another that gets its number.
    pub start_ticks: Option<u64>,
}

/// An executor or driver that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Executor {
    /// Part in the application.
    pub role: Role,
    /// What started it.
    pub manager: Option<Manager>,
    /// Application; null of a driver that nothing names.
    pub app: Option<String>,
    /// Executor id, or `driver`.
    pub executor: String,
    /// Number of the process here.
    pub pid: i32,
    /// Its number as it knows it itself, and names its files by.
    pub pid_inside: Option<i32>,
    /// When it was started, in clock ticks since boot.
    pub start_ticks: Option<u64>,
    /// User.
    pub uid: Option<u32>,
    /// Cores that Spark gives it.
    pub cores: Option<u32>,
    /// Host as the driver knows it.
    pub hostname: Option<String>,
    /// Name of its pod.
    pub pod: Option<String>,
    /// Resource profile.
    pub resource_profile: Option<u32>,
    /// Container, pod and control group.
    #[serde(flatten)]
    pub place: Place,
}

/// Finds executors and drivers among processes.
pub fn discover(processes: &[Process]) -> Vec<Executor> {
    processes.iter().filter_map(executor).collect()
}

fn executor(process: &Process) -> Option<Executor> {
    let text = String::from_utf8_lossy(&process.cmdline);
    let words: Vec<&str> = text
        .strip_suffix('\0')
        .unwrap_or(&text)
        .split('\0')
        .collect();
    let claim = claim(&words)?;
    let place = place(&process.cgroup).or_of_logs(claim.container_logs.as_deref());
    let app_of_pod = process.app_of_pod.clone().filter(|_| claim.may_be_of_pod);
    Some(Executor {
        role: claim.role,
        manager: claim.manager,
        app: claim.app.or(app_of_pod).or_else(|| place.yarn_app.clone()),
        executor: claim.executor,
        pid: process.pid,
        pid_inside: status(&process.status, "NSpid:")
            .and_then(|numbers| numbers.last()?.parse().ok()),
        start_ticks: process.start_ticks,
        uid: status(&process.status, "Uid:").and_then(|numbers| numbers.first()?.parse().ok()),
        cores: claim.cores,
        hostname: claim.hostname,
        pod: claim.pod,
        resource_profile: claim.resource_profile,
        place,
    })
}

/// The words of a line of `status`.
fn status<'a>(text: &'a str, name: &str) -> Option<Vec<&'a str>> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(rest.split_ascii_whitespace().collect())
}
