//! Which files are of which process, and in which order.

use std::collections::BTreeMap;
use std::path::Path;

/// Files of one process.
#[derive(Debug, PartialEq, Eq)]
pub struct OfProcess<'a> {
    /// Its host, where it is known.
    pub host: Option<&'a str>,
    /// Process, where names of files have it.
    pub pid: Option<i64>,
    /// Oldest first: `gc-7.log.0` … before `gc-7.log`, which is being written.
    pub files: Vec<&'a str>,
}

/// Puts files together by process. Processes of several folders or hosts are several, whatever
/// their numbers; `hosts` are those of the files, as far as they are known.
pub fn by_process<'a>(paths: &'a [String], hosts: &'a [Option<String>]) -> Vec<OfProcess<'a>> {
    let mut groups: BTreeMap<_, Vec<&str>> = BTreeMap::new();
    for (number, path) in paths.iter().enumerate() {
        let (stem, _) = rotation(path);
        let pid = pid_of(path);
        let host = hosts.get(number).and_then(Option::as_deref);
        // Files without a pid in the name are one process each, rotations apart.
        let place = if pid.is_some() {
            Path::new(path)
                .parent()
                .and_then(Path::to_str)
                .unwrap_or_default()
        } else {
            stem
        };
        groups.entry((pid, place, host)).or_default().push(path);
    }
    let age = |path: &&str| {
        let modified = std::fs::metadata(path).and_then(|m| m.modified()).ok();
        (rotation(path).1.is_none(), modified, path.to_string())
    };
    let mut sorted: Vec<_> = groups
        .into_iter()
        .map(|((pid, _, host), files)| OfProcess { host, pid, files })
        .collect();
    sorted
        .iter_mut()
        .for_each(|process| process.files.sort_by_key(age));
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

    #[test]
    fn one_number_in_two_folders_or_on_two_hosts_is_two_processes() {
        let paths = ["/a/gc-7.log.0", "/b/gc-7.log", "/a/gc-7.log"].map(str::to_owned);
        let found = |hosts: &[Option<String>]| -> Vec<(Option<String>, usize)> {
            by_process(&paths, hosts)
                .iter()
                .map(|process| (process.host.map(str::to_owned), process.files.len()))
                .collect()
        };
        assert_eq!(found(&[]), [(None, 2), (None, 1)]);
        let host = |name: &str| Some(name.to_owned());
        assert_eq!(
            found(&[host("one"), host("two"), host("one")]),
            [(host("one"), 2), (host("two"), 1)]
        );
        assert_eq!(
            found(&[host("one"), None, host("two")]),
            [(host("one"), 1), (host("two"), 1), (None, 1)]
        );
    }
}
