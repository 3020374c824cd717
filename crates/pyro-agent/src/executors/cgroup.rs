//! Containers and pods in `/proc/PID/cgroup`.

use serde::Serialize;

/// Where a process stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Version of the control groups that hold memory: 1 or 2; `None` where the file does not say.
    pub cgroup_version: Option<u8>,
    /// Path in that hierarchy.
    pub cgroup: Option<String>,
    /// Container: of YARN, or of the runtime below Kubernetes.
    pub container: Option<String>,
    /// UID of the pod.
    pub pod_uid: Option<String>,
    /// Application of YARN, from the name of its container.
    pub yarn_app: Option<String>,
    /// Attempt at that application, from 1.
    pub yarn_attempt: Option<u32>,
}

/// Reads the text of `/proc/PID/cgroup`.
pub fn place(text: &str) -> Place {
    let lines = text.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        Some((parts.next()?, parts.next()?))
    });
    let lines: Vec<_> = lines.collect();
    let holds = |name: &str| {
        let mut with = lines.iter();
        with.find(|(controllers, _)| controllers.split(',').any(|controller| controller == name))
    };
    let memory = holds("memory").map(|&(_, path)| (1, path));
    let unified = holds("").map(|&(_, path)| (2, path));
    let Some((version, path)) = memory.or(unified) else {
        return Place::default();
    };
    // YARN may limit the CPU and not the memory: the container is in the hierarchy of the CPU then.
    let paths = std::iter::once(path).chain(lines.iter().map(|&(_, path)| path));
    let parts: Vec<&str> = paths.flat_map(|path| path.split('/')).collect();
    let yarn = parts.iter().find_map(|part| yarn(part));
    let runtime = parts.iter().find_map(|part| runtime(part));
    let (yarn_app, yarn_attempt, yarn_container) = match yarn {
        Some((app, attempt, container)) => (Some(app), Some(attempt), Some(container)),
        None => (None, None, None),
    };
    Place {
        cgroup_version: Some(version),
        cgroup: Some(path.to_owned()),
        container: yarn_container.or(runtime),
        pod_uid: parts.iter().find_map(|part| pod(part)),
        yarn_app,
        yarn_attempt,
    }
}

impl Place {
    /// Takes application and attempt of YARN from the folder of a container's logs, where control groups do not say them,
    /// and the container where they name none.
    pub fn or_of_logs(self, folder: Option<&str>) -> Self {
        let name = folder.and_then(|folder| folder.trim_end_matches('/').rsplit('/').next());
        match name.and_then(yarn) {
            Some((app, attempt, container)) if self.yarn_app.is_none() => Self {
                container: self.container.or(Some(container)),
                yarn_app: Some(app),
                yarn_attempt: Some(attempt),
                ..self
            },
            _ => self,
        }
    }
}

/// `container_[eEPOCH_]CLUSTER_APP_ATTEMPT_NUMBER`: application, attempt, container.
fn yarn(part: &str) -> Option<(String, u32, String)> {
    let mut numbers = part.strip_prefix("container_")?.split('_');
    let mut first = numbers.next()?;
    if first.starts_with('e') {
        first = numbers.next()?;
    }
    let (app, attempt, number) = (numbers.next()?, numbers.next()?, numbers.next()?);
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let sound = [first, app, attempt, number].into_iter().all(digits) && numbers.next().is_none();
    let app = sound.then(|| format!("application_{first}_{app}"))?;
    Some((app, attempt.parse().ok()?, part.to_owned()))
}

/// `podUID` (cgroupfs) or `kubepods-…-podUID.slice` (systemd, where `_` stands for `-`).
fn pod(part: &str) -> Option<String> {
    let part = part.strip_suffix(".slice").unwrap_or(part);
    let uid = match part.rsplit_once("-pod") {
        Some((before, uid)) if before.starts_with("kube") => uid,
        _ => part.strip_prefix("pod")?,
    };
    let uid = uid.replace('_', "-");
    let of_uid = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    (matches!(uid.len(), 32 | 36) && uid.bytes().all(of_uid)).then_some(uid)
}

/// 64 hexadecimal digits, alone or as `<runtime>-<digits>.scope`.
fn runtime(part: &str) -> Option<String> {
    let part = part.strip_suffix(".scope").unwrap_or(part);
    let id = part.rsplit(['-', ':']).next()?;
    let sound = id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    sound.then(|| id.to_owned())
}
