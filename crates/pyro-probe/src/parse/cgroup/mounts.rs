//! Where control groups are mounted.

use std::path::Path;

/// A mounted hierarchy.
#[derive(Debug, PartialEq, Eq)]
pub struct Mount {
    /// Group shown at the mount point.
    pub root: String,
    /// Mount point.
    pub point: String,
    /// Controllers and other super block options; empty for v2.
    pub controllers: Vec<String>,
}

/// Control group mounts in `/proc/self/mountinfo`.
pub fn mounts(text: &str) -> Vec<Mount> {
    text.lines()
        .filter_map(|line| {
            let (head, tail) = line.split_once(" - ")?;
            let mut head = head.split(' ').skip(3);
            let (root, point) = (head.next()?.to_owned(), head.next()?.to_owned());
            let mut tail = tail.split(' ');
            let controllers = match tail.next()? {
                "cgroup2" => Vec::new(),
                "cgroup" => tail.nth(1)?.split(',').map(str::to_owned).collect(),
                _ => return None,
            };
            Some(Mount {
                root,
                point,
                controllers,
            })
        })
        .collect()
}

/// Folder of a group below a mount; `None` for a group outside the mount.
pub fn folder(mount: &Mount, group: &str) -> Option<String> {
    let below = group.strip_prefix(mount.root.trim_end_matches('/'))?;
    let below = below.trim_matches('/');
    let outside = below.split('/').any(|part| part == "..");
    (!outside).then(|| {
        format!("{}/{below}", mount.point)
            .trim_end_matches('/')
            .to_owned()
    })
}

/// The group that rules a process's CPUs and those above it, as far as they are mounted: paths and
/// folders, the innermost first. `groups` are the lines of its `/proc/PID/cgroup`.
pub fn ruling_cpus(mounts: &[Mount], groups: &[(&str, &str)]) -> Vec<(String, String)> {
    let first = |controllers: &str| controllers.split(',').any(|name| name == "cpu");
    // In version 2 one hierarchy has all controllers but those that are mounted by themselves.
    let of_second = || {
        groups
            .iter()
            .find(|(controllers, _)| controllers.is_empty())
    };
    let Some((controllers, group)) = groups
        .iter()
        .find(|group| first(group.0))
        .or_else(of_second)
    else {
        return Vec::new();
    };
    let ours = |mount: &&Mount| match *controllers {
        "" => mount.controllers.is_empty(),
        _ => mount.controllers.iter().any(|name| name == "cpu"),
    };
    let found = mounts
        .iter()
        .filter(ours)
        .find_map(|mount| Some((mount, folder(mount, group)?)));
    let Some((mount, folder)) = found else {
        return Vec::new();
    };
    let above = Path::new(&folder).ancestors();
    above
        .take_while(|folder| folder.starts_with(&mount.point))
        .filter_map(|folder| {
            let below = folder.strip_prefix(&mount.point).ok()?;
            let path = format!("{}/{}", mount.root.trim_end_matches('/'), below.display());
            let path = path.trim_end_matches('/');
            let path = if path.is_empty() { "/" } else { path };
            Some((path.to_owned(), folder.display().to_string()))
        })
        .collect()
}
