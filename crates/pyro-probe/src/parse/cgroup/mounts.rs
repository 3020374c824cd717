//! Where control groups are mounted.

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
