//! CPU quotas of the control groups that rule the followed processes, and of those above them: that
//! of a pod stands above its containers', and a process may be moved into a group with one.

use std::collections::{BTreeMap, BTreeSet};

use crate::output::Recorder;
use crate::parse::{cgroup, process};
use crate::sys::{Buffer, Descriptors, ProcFile, mono_ns};

/// A group and the files that say what it may use.
#[derive(Debug)]
struct Group {
    limits: Vec<(&'static str, ProcFile)>,
    stat: ProcFile,
    /// It has had a quota since it was first read: without one its series have no rows.
    limited: bool,
}

/// Where a process stood when it was last looked at.
#[derive(Debug)]
struct Member {
    file: ProcFile,
    text: String,
    /// Paths of its group and of those above it.
    groups: Vec<String>,
}

/// Groups that rule followed processes, by path, as far as they are visible.
#[derive(Debug)]
pub struct Quotas {
    descriptors: Descriptors,
    mounts: Vec<cgroup::Mount>,
    /// Folders whose series are recorded elsewhere.
    known: Vec<String>,
    members: BTreeMap<i32, Member>,
    groups: BTreeMap<String, Group>,
}

impl Quotas {
    /// Watches groups below `mounts`, but for the `known` folders.
    pub fn new(mounts: Vec<cgroup::Mount>, known: &[String], descriptors: &Descriptors) -> Self {
        Self {
            descriptors: descriptors.clone(),
            mounts,
            known: known.to_vec(),
            members: BTreeMap::new(),
            groups: BTreeMap::new(),
        }
    }

    /// Looks where processes stand, and reads the groups that have a quota.
    pub fn pass(
        &mut self,
        pids: impl Iterator<Item = i32>,
        recorder: &mut Recorder,
        buffer: &mut Buffer,
    ) {
        if self.locate(pids, buffer) {
            self.keep(recorder);
        }
        let mut gone = Vec::new();
        for (path, group) in &mut self.groups {
            let scope = recorder.scope(&scope_of(path));
            if !group.read(scope, recorder, buffer) {
                recorder.end(Some(scope));
                gone.push(path.clone());
            }
        }
        for path in gone {
            self.groups.remove(&path);
        }
    }

    /// Reads where processes stand; true if one came, went or was moved.
    fn locate(&mut self, pids: impl Iterator<Item = i32>, buffer: &mut Buffer) -> bool {
        let pids: BTreeSet<i32> = pids.collect();
        let before = self.members.len();
        self.members.retain(|pid, _| pids.contains(pid));
        let mut changed = self.members.len() != before;
        for pid in pids {
            let member = self.members.entry(pid).or_insert_with(|| Member {
                file: ProcFile::new(&format!("/proc/{pid}/cgroup"), &self.descriptors),
                text: String::new(),
                groups: Vec::new(),
            });
            if let Ok(text) = member.file.read(buffer)
                && text != member.text
            {
                text.clone_into(&mut member.text);
                changed = true;
                let found = cgroup::ruling_cpus(&self.mounts, &process::cgroups(text));
                member.groups = found.iter().map(|one| one.0.clone()).collect();
                for (path, folder) in found {
                    if !self.known.contains(&folder) && !self.groups.contains_key(&path) {
                        let group = Group::at(&folder, &self.descriptors);
                        self.groups.insert(path, group);
                    }
                }
            }
        }
        changed
    }

    /// Keeps the groups in which, or below which, a process stands.
    fn keep(&mut self, recorder: &mut Recorder) {
        let members = &self.members;
        self.groups.retain(|path, _| {
            let holds = members.values().any(|member| member.groups.contains(path));
            if !holds {
                let scope = recorder.scope(&scope_of(path));
                recorder.end(Some(scope));
            }
            holds
        });
    }
}

fn scope_of(path: &str) -> String {
    format!("cgroup{path}")
}

impl Group {
    fn at(folder: &str, descriptors: &Descriptors) -> Self {
        let file = |name: &str| ProcFile::new(&format!("{folder}/{name}"), descriptors);
        Self {
            limits: cgroup::CPU_LIMITS.map(|name| (name, file(name))).into(),
            stat: file("cpu.stat"),
            limited: false,
        }
    }

    /// Records its quota, if it has one, and what this did; false once it is gone.
    fn read(&mut self, scope: usize, recorder: &mut Recorder, buffer: &mut Buffer) -> bool {
        let (now, mut limits) = (mono_ns(), Vec::new());
        self.limits.retain_mut(|(name, file)| {
            let text = file.read(buffer);
            if let Ok(text) = &text {
                cgroup::cpu_limit(name, text, &mut |series, value| {
                    limits.push((series, value))
                });
            }
            text.is_ok()
        });
        self.limited |= limits
            .iter()
            .any(|(series, _)| *series == cgroup::CPU_QUOTA);
        if !self.limited {
            return !self.limits.is_empty();
        }
        for (series, value) in limits {
            recorder.record(now, scope, series, value);
        }
        let Ok(text) = self.stat.read(buffer) else {
            return false;
        };
        cgroup::throttling(text, &mut |series, value| {
            recorder.record(now, scope, series, value)
        });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::fs;
    use std::path::Path;

    fn put(folder: &Path, files: &[(&str, &str)]) {
        fs::create_dir_all(folder).unwrap();
        for (name, text) in files {
            fs::write(folder.join(name), text).unwrap();
        }
    }

    const MOVED: i32 = -1;

    /// Watches a process whose number no process has, below a recorded tree.
    struct Watched {
        quotas: Quotas,
        recorder: Recorder,
        buffer: Buffer,
        stands: std::path::PathBuf,
        tree: tempfile::TempDir,
    }

    impl Watched {
        fn new(kind: &str, own: &str, text: &str) -> Self {
            let tree = tempfile::tempdir().unwrap();
            let point = tree.path().join("cg");
            let line = format!("31 20 0:27 / {} rw - {kind}\n", point.display());
            let known = [format!("{}{own}", point.display())];
            let descriptors = Descriptors::new(32);
            let mut quotas = Quotas::new(cgroup::mounts(&line), &known, &descriptors);
            let stands = tree.path().join("stands");
            fs::write(&stands, text).unwrap();
            let member = Member {
                file: ProcFile::new(&stands.to_string_lossy(), &descriptors),
                text: String::new(),
                groups: Vec::new(),
            };
            quotas.members.insert(MOVED, member);
            let (recorder, buffer) = (Recorder::default(), Buffer::default());
            Self {
                quotas,
                recorder,
                buffer,
                stands,
                tree,
            }
        }

        fn put(&self, group: &str, files: &[(&str, &str)]) {
            put(&self.tree.path().join("cg").join(group), files);
        }

        /// What a pass records, as (scope, series, value).
        fn pass(&mut self) -> Vec<(String, &'static str, i64)> {
            let pids = [MOVED].into_iter();
            self.quotas.pass(pids, &mut self.recorder, &mut self.buffer);
            let scopes = self.recorder.scopes.clone();
            let rows = self.recorder.rows.drain(..);
            rows.map(|row| (scopes[row.scope].clone(), row.name, row.value))
                .collect()
        }
    }

    #[test]
    fn the_quota_of_a_pod_above_the_container() {
        let mut watched = Watched::new("cgroup2 cgroup2 rw", "/pod/job", "0::/pod/job\n");
        watched.put("", &[("cpu.stat", "usage_usec 9\n")]);
        let stat = "usage_usec 9\nnr_periods 8\nnr_throttled 5\nthrottled_usec 70\n";
        let limited = [("cpu.max", "90000 100000\n"), ("cpu.stat", stat)];
        watched.put("pod", &limited);
        // The process's own group is recorded with all its series.
        watched.put("pod/job", &limited);
        let pod = |series, value| ("cgroup/pod".to_owned(), series, value);
        assert_eq!(
            watched.pass(),
            [
                pod("cpu_quota_ns", 90_000_000),
                pod("cpu_period_ns", 100_000_000),
                pod("cpu_periods_count", 8),
                pod("cpu_throttled_periods_count", 5),
                pod("cpu_throttled_ns", 70_000),
            ]
        );
        assert_eq!(watched.pass(), [], "nothing changed");
    }

    #[test]
    fn a_process_is_moved_below_a_group_with_a_quota_and_back() {
        let mut watched = Watched::new("cgroup cgroup rw,cpu", "", "3:cpu:/\n0::/\n");
        let files = |quota| {
            [
                ("cpu.cfs_quota_us", quota),
                ("cpu.cfs_period_us", "50000\n"),
                (
                    "cpu.stat",
                    "nr_periods 3\nnr_throttled 2\nthrottled_time 77\n",
                ),
            ]
        };
        watched.put("", &files("-1\n"));
        watched.put("tills", &files("40000\n"));
        watched.put("tills/job", &files("-1\n"));
        assert_eq!(watched.pass(), []);
        fs::write(&watched.stands, "3:cpu:/tills/job\n0::/\n").unwrap();
        let rows = watched.pass();
        assert!(rows.iter().all(|row| row.0 == "cgroup/tills"), "{rows:?}");
        assert_eq!(rows[0].1, "cpu_quota_ns");
        assert_eq!(rows[4], ("cgroup/tills".to_owned(), "cpu_throttled_ns", 77));
        let throttled = [(
            "cpu.stat",
            "nr_periods 9\nnr_throttled 8\nthrottled_time 99\n",
        )];
        watched.put("tills", &throttled);
        assert_eq!(watched.pass().len(), 3, "the quota stays as it is");
        fs::write(&watched.stands, "3:cpu:/\n0::/\n").unwrap();
        let last = watched.pass();
        assert!(
            last.iter()
                .all(|row| row.1 == "cpu_quota_ns" || row.1 == "cpu_period_ns")
        );
        assert!(watched.quotas.groups.is_empty());
    }

    #[test]
    fn a_group_that_is_removed_ends_its_series() {
        let mut watched = Watched::new("cgroup2 cgroup2 rw", "/", "0::/pod\n");
        watched.put(
            "pod",
            &[("cpu.max", "1000 9000\n"), ("cpu.stat", "nr_periods 1\n")],
        );
        assert_eq!(watched.pass().len(), 3);
        watched.quotas.groups.get_mut("/pod").unwrap().stat =
            ProcFile::new("/nonexistent", &watched.quotas.descriptors);
        watched.pass();
        assert!(watched.quotas.groups.is_empty());
    }
}
