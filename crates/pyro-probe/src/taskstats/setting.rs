//! A setting of the kernel that is changed for as long as probes run, and put back as it was found.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::sys;

/// The switch of delay accounting.
pub const SWITCH: &str = "/proc/sys/kernel/task_delayacct";
/// Where records are kept: gone after a boot, as the settings are.
pub const RECORDS: &str = "/run/pyrometer";

/// A change that we hold; put back when it is dropped, at the latest.
///
/// Its record, `<setting>-<pid>-<start>`, keeps the value that was found: a probe that was killed
/// leaves it behind, and the next one knows what to put back.
#[derive(Debug)]
pub struct Setting {
    path: PathBuf,
    record: PathBuf,
    found: String,
    held: bool,
}

impl Drop for Setting {
    fn drop(&mut self) {
        let _ = self.put_back();
    }
}

impl Setting {
    /// Sets `path` to `value`; `None` if it was so already, and not because of a probe.
    ///
    /// # Errors
    /// If it may not be written; nothing is left then.
    pub fn hold(path: &Path, value: &str, records: &Path) -> io::Result<Option<Self>> {
        let at = |error: io::Error| io::Error::other(format!("{}: {error}", path.display()));
        let read = || {
            fs::read_to_string(path)
                .map_err(at)
                .map(|text| text.trim().to_owned())
        };
        let before = read()?;
        // The folder is there before the first probe changes anything, and stays.
        if before == value && !records.exists() {
            return Ok(None);
        }
        let _lock = match fs::create_dir_all(records).and_then(|()| lock(records)) {
            Ok(lock) => lock,
            // Who may keep no record may change nothing: it stays as it is.
            Err(_) if before == value => return Ok(None),
            Err(error) => return Err(error),
        };
        // From here on no other probe changes or records anything.
        let (now, name) = (read()?, name(path));
        let found = found(records, &name);
        if now == value && found.is_empty() {
            return Ok(None);
        }
        let mut setting = Self {
            path: path.to_owned(),
            record: records.join(format!("{name}-{}", own_mark())),
            found: match found.first() {
                Some(other) => first_line(other)?,
                None => now,
            },
            held: false,
        };
        fs::write(&setting.record, &setting.found)?;
        if let Err(error) = fs::write(path, value) {
            let _ = fs::remove_file(&setting.record);
            return Err(at(error));
        }
        setting.held = true;
        Ok(Some(setting))
    }

    /// Puts the value back that was found, unless another probe still counts on it.
    ///
    /// # Errors
    /// If it may not be written; the record stays then.
    pub fn put_back(&mut self) -> io::Result<()> {
        let Some(records) = self.record.parent().filter(|_| self.held) else {
            return Ok(());
        };
        self.held = false;
        let _lock = lock(records)?;
        let mut others = found(records, &name(&self.path));
        others.retain(|other| *other != self.record);
        if others.iter().any(|record| lives(record)) {
            return fs::remove_file(&self.record);
        }
        fs::write(&self.path, &self.found)?;
        others.push(self.record.clone());
        others.iter().try_for_each(fs::remove_file)
    }
}

/// Puts `path` back as the records of those that are gone say, unless one still counts on it.
///
/// # Errors
/// If a record cannot be read or the setting not be written; the records stay then.
pub fn put_back_of_dead(path: &Path, records: &Path) -> io::Result<()> {
    let name = name(path);
    if found(records, &name).is_empty() {
        return Ok(());
    }
    let _lock = lock(records)?;
    let left = found(records, &name);
    let Some(first) = left.first().filter(|_| !left.iter().any(|at| lives(at))) else {
        return Ok(());
    };
    fs::write(path, first_line(first)?)?;
    left.iter().try_for_each(fs::remove_file)
}

/// What a record says was found; a second line would say what was set.
fn first_line(record: &Path) -> io::Result<String> {
    let text = fs::read_to_string(record)?;
    Ok(text.lines().next().unwrap_or("").trim().to_owned())
}

/// `kernel.task_delayacct` of `/proc/sys/kernel/task_delayacct`.
fn name(path: &Path) -> String {
    let text = path.to_string_lossy();
    let below = text.strip_prefix("/proc/sys/").unwrap_or(&text);
    below.trim_start_matches('/').replace('/', ".")
}

fn found(records: &Path, name: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(records) else {
        return Vec::new();
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut found: Vec<_> = paths
        .filter(|path| marks(path).is_some_and(|(setting, _, _)| setting == name))
        .collect();
    found.sort();
    found
}

fn lock(records: &Path) -> io::Result<File> {
    let folder = File::open(records)?;
    folder.lock()?;
    Ok(folder)
}

/// When a process started; `None` where it has ended.
fn start_ticks(pid: &str) -> Option<i64> {
    sys::start_ticks(pid.parse().ok()?)
}

fn own_mark() -> String {
    let pid = std::process::id();
    format!("{pid}-{}", start_ticks(&pid.to_string()).unwrap_or(0))
}

/// Setting, pid and start of a record.
fn marks(record: &Path) -> Option<(&str, &str, &str)> {
    let (rest, ticks) = record.file_name()?.to_str()?.rsplit_once('-')?;
    let (setting, pid) = rest.rsplit_once('-')?;
    Some((setting, pid, ticks))
}

fn lives(record: &Path) -> bool {
    marks(record).is_some_and(|(_, pid, ticks)| {
        start_ticks(pid).is_some_and(|started| started.to_string() == ticks)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let (path, records) = (folder.path().join("switch"), folder.path().join("records"));
        fs::write(&path, "0\n").unwrap();
        (folder, path, records)
    }

    #[test]
    fn changed_and_put_back() {
        let (_folder, path, records) = here();
        let mut setting = Setting::hold(&path, "1", &records).unwrap().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "1");
        assert_eq!(fs::read_dir(&records).unwrap().count(), 1);
        setting.put_back().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "0");
        assert_eq!(fs::read_dir(&records).unwrap().count(), 0);
        drop(Setting::hold(&path, "1", &records).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "0", "dropped");
        assert_eq!(fs::read_dir(&records).unwrap().count(), 0);
    }

    #[test]
    fn what_was_so_before_is_not_ours() {
        let (_folder, path, records) = here();
        fs::write(&path, "1\n").unwrap();
        assert!(Setting::hold(&path, "1", &records).unwrap().is_none());
        assert!(!records.exists());
    }

    #[test]
    fn the_last_of_several_probes_puts_it_back() {
        let (_folder, path, records) = here();
        fs::create_dir(&records).unwrap();
        let other = records.join(format!(
            "{}-1-{}",
            name(&path),
            start_ticks("1").expect("there is an init")
        ));
        fs::write(&other, "0").unwrap();
        fs::write(&path, "1").unwrap();
        let mut setting = Setting::hold(&path, "1", &records).unwrap().unwrap();
        assert_eq!(setting.found, "0", "what the first probe found");
        setting.put_back().unwrap();
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "1",
            "the other one lives"
        );
        assert!(other.exists());
    }

    #[test]
    fn a_killed_probe_is_made_good_by_the_next() {
        let (_folder, path, records) = here();
        fs::create_dir(&records).unwrap();
        let dead = records.join(format!("{}-1-7", name(&path)));
        fs::write(&dead, "0").unwrap();
        fs::write(&path, "1").unwrap();
        Setting::hold(&path, "1", &records)
            .unwrap()
            .unwrap()
            .put_back()
            .unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "0");
        assert_eq!(fs::read_dir(&records).unwrap().count(), 0);
    }

    #[test]
    fn what_another_probe_puts_back_meanwhile_is_what_was_found() {
        let (_folder, path, records) = here();
        fs::create_dir(&records).unwrap();
        let other = records.join(format!("{}-1-7", name(&path)));
        fs::write(&other, "0").unwrap();
        fs::write(&path, "1").unwrap();
        let held = lock(&records).unwrap();
        let mut setting = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| Setting::hold(&path, "1", &records));
            // Long enough for it to come to the lock.
            std::thread::sleep(std::time::Duration::from_millis(200));
            fs::write(&path, "0").unwrap();
            fs::remove_file(&other).unwrap();
            drop(held);
            waiting.join().unwrap().unwrap().unwrap()
        });
        assert_eq!(fs::read_to_string(&path).unwrap(), "1", "it is on");
        setting.put_back().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "0");
    }

    #[test]
    fn what_the_dead_changed_is_put_back_unless_one_lives() {
        let (_folder, path, records) = here();
        put_back_of_dead(&path, &records).unwrap();
        fs::create_dir(&records).unwrap();
        put_back_of_dead(&path, &records).unwrap();
        let (dead, alive) = (
            records.join(format!("{}-1-7", name(&path))),
            records.join(format!("{}-{}", name(&path), own_mark())),
        );
        fs::write(&path, "1").unwrap();
        fs::write(&dead, "0\n1\n").unwrap();
        fs::write(&alive, "0").unwrap();
        put_back_of_dead(&path, &records).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "1", "one lives");
        fs::remove_file(&alive).unwrap();
        put_back_of_dead(&path, &records).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "0");
        assert_eq!(fs::read_dir(&records).unwrap().count(), 0);
    }

    #[test]
    fn a_process_that_nobody_waited_for_has_ended() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id().to_string();
        let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while start_ticks(&pid).is_some() {
            assert!(std::time::Instant::now() < until, "a zombie lives on");
            std::thread::yield_now();
        }
        assert!(Path::new(&format!("/proc/{pid}/stat")).exists());
        assert!(child.wait().unwrap().success());
    }

    #[test]
    fn what_may_not_be_written_leaves_nothing() {
        let (folder, _, records) = here();
        let missing = folder.path().join("missing");
        assert!(Setting::hold(&missing, "1", &records).is_err());
        let message = Setting::hold(folder.path(), "1", &records)
            .unwrap_err()
            .to_string();
        assert!(
            message.contains(&*folder.path().to_string_lossy()),
            "{message}"
        );
        assert!(!records.exists() || fs::read_dir(&records).unwrap().count() == 0);
    }

    #[test]
    fn settings_are_named_as_sysctl_does() {
        assert_eq!(
            name(Path::new("/proc/sys/kernel/task_delayacct")),
            "kernel.task_delayacct"
        );
    }
}
