//! Which files are of which process, and in which order.

use std::collections::BTreeMap;
use std::path::Path;

/// Files of each process, oldest first: `gc-7.log.0` … before `gc-7.log`, which is being written.
pub fn by_process(paths: &[String]) -> Vec<(Option<i64>, Vec<&str>)> {
    let mut groups: BTreeMap<(Option<i64>, String), Vec<&str>> = BTreeMap::new();
    for path in paths {
        let (stem, _) = rotation(path);
        let pid = pid_of(path);
        // Files without a pid in the name are one process each, rotations apart.
        let stem = if pid.is_some() {
            String::new()
        } else {
            stem.to_owned()
        };
        groups.entry((pid, stem)).or_default().push(path);
    }
    let age = |path: &&str| {
        let modified = std::fs::metadata(path).and_then(|m| m.modified()).ok();
        (rotation(path).1.is_none(), modified, path.to_string())
    };
    let mut sorted: Vec<_> = groups
        .into_iter()
        .map(|((pid, _), files)| (pid, files))
        .collect();
    sorted
        .iter_mut()
        .for_each(|(_, files)| files.sort_by_key(age));
    sorted
}

/// Splits `gc-7.log.3` into `gc-7.log` and 3.
fn rotation(path: &str) -> (&str, Option<u32>) {
    match path.rsplit_once('.') {
        Some((stem, number)) => number.parse().map_or((path, None), |n| (stem, Some(n))),
        None => (path, None),
    }
}

/// The last run of digits behind a `-`, `_` or `pid` in the file name: `gc-123.log`, `gc_pid123.log`.
fn pid_of(path: &str) -> Option<i64> {
    let name = Path::new(rotation(path).0).file_name()?.to_str()?;
    let name = name.split_once('.').map_or(name, |(stem, _)| stem);
    let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (head, number) = name.split_at(name.len() - digits);
    if head.ends_with(['-', '_']) || head.ends_with("pid") {
        number.parse().ok()
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pids_come_from_names() {
        assert_eq!(pid_of("/a/gc-123.log"), Some(123));
        assert_eq!(pid_of("/a/gc-123.log.4"), Some(123));
        assert_eq!(pid_of("gc_pid77.log"), Some(77));
        assert_eq!(pid_of("gc.log"), None);
        assert_eq!(pid_of("jdk17.log"), None);
    }
}
