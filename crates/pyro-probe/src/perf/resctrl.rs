//! Memory bandwidth of the followed threads by cache monitoring (Intel MBM, AMD QoS): a monitoring
//! group of its own below `/sys/fs/resctrl`, created for the run and removed after it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::perf::memory::Refused;
use crate::perf::rows::{Count, Emit, Kept, Row};
use crate::perf::sysfs::Sysfs;

/// Files of a monitored cache.
const MEASURES: [&str; 2] = ["mbm_total_bytes", "mbm_local_bytes"];
const PREFIX: &str = "pyrometer-";

/// One figure: the files of the caches of one scope.
#[derive(Debug)]
struct Figure {
    scope: String,
    measure: &'static str,
    files: Vec<PathBuf>,
    kept: Kept,
}

/// Our monitoring group.
#[derive(Debug)]
pub struct Resctrl {
    group: PathBuf,
    figures: Vec<Figure>,
    since_ns: i64,
    /// Threads that could not be put into the group.
    pub refused: u64,
}

impl Resctrl {
    /// Creates a group below `root`, and removes leftovers of probes that were killed.
    ///
    /// # Errors
    /// Why bandwidth cannot be monitored so, and what to do.
    pub fn create(root: &Path, sysfs: &Sysfs, own_pid: u32, now: i64) -> Result<Self, Refused> {
        let groups = root.join("mon_groups");
        if !groups.is_dir() {
            let remedy = "Where the CPU has it (Intel RDT, AMD QoS): mount -t resctrl resctrl /sys/fs/resctrl";
            return Err((
                format!("{}: no monitoring of memory bandwidth", root.display()),
                remedy,
            ));
        }
        remove_left(&groups);
        let group = groups.join(format!("{PREFIX}{own_pid}"));
        if let Err(error) = fs::create_dir(&group)
            && error.kind() != io::ErrorKind::AlreadyExists
        {
            let remedy =
                "Run as root; if there is no space left, remove unused groups below mon_groups.";
            return Err((format!("{}: {error}", group.display()), remedy));
        }
        let figures = figures(&group.join("mon_data"), sysfs);
        let group = Self {
            group,
            figures,
            since_ns: now,
            refused: 0,
        };
        if group.figures.is_empty() {
            let remedy = "Use a CPU with memory bandwidth monitoring (MBM).";
            return Err((
                "resctrl is there, but counts no memory bandwidth".to_owned(),
                remedy,
            ));
        }
        Ok(group)
    }

    /// Figures read from it.
    pub fn figures_count(&self) -> usize {
        self.figures.len()
    }

    /// Puts a thread into the group; threads that it starts later are in it too.
    pub fn follow(&mut self, tid: i32) {
        if fs::write(self.group.join("tasks"), tid.to_string()).is_err() {
            self.refused += 1;
        }
    }

    /// Reads all figures; one of which a cache says `Unavailable` has no row.
    pub fn read(&mut self, now: i64, emit: &mut Emit) {
        for figure in &mut self.figures {
            let bytes: Option<i64> = figure.files.iter().map(|file| read(file)).sum();
            let Some(value) = bytes else { continue };
            let time = now - self.since_ns;
            let count = Count {
                value,
                enabled_ns: time,
                running_ns: time,
            };
            let (scope, measure) = (&figure.scope, figure.measure);
            figure.kept.take(now, count, &mut |t, count| {
                emit(row(scope, measure, t, count))
            });
        }
    }

    /// The last readings become rows.
    pub fn end(&mut self, emit: &mut Emit) {
        for figure in &mut self.figures {
            let (scope, measure) = (&figure.scope, figure.measure);
            figure
                .kept
                .end(&mut |t, count| emit(row(scope, measure, t, count)));
        }
    }
}

impl Drop for Resctrl {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.group);
    }
}

fn row<'a>(scope: &'a str, event: &'a str, t_mono_ns: i64, count: Count) -> Row<'a> {
    Row {
        t_mono_ns,
        scope,
        thread: None,
        event,
        count,
    }
}

fn read(file: &Path) -> Option<i64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

fn figures(mon_data: &Path, sysfs: &Sysfs) -> Vec<Figure> {
    let mut found: Vec<Figure> = Vec::new();
    let mut caches: Vec<(i32, PathBuf)> = fs::read_dir(mon_data)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let id = entry
                .file_name()
                .to_str()?
                .strip_prefix("mon_L3_")?
                .parse()
                .ok()?;
            Some((id, entry.path()))
        })
        .collect();
    caches.sort();
    for (id, folder) in caches {
        let scope = sysfs.cache_scope(id);
        for measure in MEASURES {
            let file = folder.join(measure);
            if !file.exists() {
                continue;
            }
            match found
                .iter_mut()
                .find(|figure| figure.scope == scope && figure.measure == measure)
            {
                Some(figure) => figure.files.push(file),
                None => found.push(Figure {
                    scope: scope.clone(),
                    measure,
                    files: vec![file],
                    kept: Kept::default(),
                }),
            }
        }
    }
    found
}

fn remove_left(groups: &Path) {
    for entry in fs::read_dir(groups).into_iter().flatten().flatten() {
        let pid = entry
            .file_name()
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX)?.parse::<u32>().ok());
        if pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::sysfs::tests_support::{EPYC, machine};

    fn lay_out(root: &Path, pid: u32, caches: &[(&str, &str, &str)]) {
        let group = root.join(format!("mon_groups/pyrometer-{pid}/mon_data"));
        for (cache, total, local) in caches {
            fs::create_dir_all(group.join(cache)).unwrap();
            fs::write(
                group.join(cache).join("mbm_total_bytes"),
                format!("{total}\n"),
            )
            .unwrap();
            fs::write(
                group.join(cache).join("mbm_local_bytes"),
                format!("{local}\n"),
            )
            .unwrap();
        }
    }

    #[test]
    fn caches_of_a_node_are_one_figure_and_the_group_goes() {
        let folder = tempfile::tempdir().unwrap();
        let (_machine, epyc) = machine(EPYC);
        let pid = std::process::id();
        fs::create_dir_all(folder.path().join("mon_groups/pyrometer-4294967294")).unwrap();
        lay_out(
            folder.path(),
            pid,
            &[
                ("mon_L3_00", "100", "60"),
                ("mon_L3_01", "7", "Unavailable"),
            ],
        );
        let mut resctrl = Resctrl::create(folder.path(), &epyc, pid, 1000).unwrap();
        assert!(
            !folder
                .path()
                .join("mon_groups/pyrometer-4294967294")
                .exists(),
            "left by one that is dead"
        );
        resctrl.follow(42);
        let group = folder.path().join(format!("mon_groups/pyrometer-{pid}"));
        assert_eq!(fs::read_to_string(group.join("tasks")).unwrap(), "42");
        let mut rows = Vec::new();
        let mut keep =
            |row: Row| rows.push((row.scope.to_owned(), row.event.to_owned(), row.count));
        resctrl.read(3000, &mut keep);
        let count = |value| Count {
            value,
            enabled_ns: 2000,
            running_ns: 2000,
        };
        assert_eq!(
            rows,
            [
                (
                    "node/0".to_owned(),
                    "mbm_total_bytes".to_owned(),
                    count(100)
                ),
                ("node/0".to_owned(), "mbm_local_bytes".to_owned(), count(60)),
                ("node/1".to_owned(), "mbm_total_bytes".to_owned(), count(7)),
            ]
        );
        // The kernel's files go with the folder; here they are in the way.
        fs::remove_dir_all(group.join("mon_data")).unwrap();
        fs::remove_file(group.join("tasks")).unwrap();
        drop(resctrl);
        assert!(!group.exists());
    }

    #[test]
    fn what_is_missing_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let sysfs = Sysfs::at(folder.path());
        let (reason, _) = Resctrl::create(folder.path(), &sysfs, 1, 0).unwrap_err();
        assert!(reason.contains("no monitoring"), "{reason}");
        fs::create_dir(folder.path().join("mon_groups")).unwrap();
        let (reason, _) = Resctrl::create(folder.path(), &sysfs, 1, 0).unwrap_err();
        assert!(reason.contains("counts no memory bandwidth"), "{reason}");
        assert_eq!(
            fs::read_dir(folder.path().join("mon_groups"))
                .unwrap()
                .count(),
            0
        );
    }
}
