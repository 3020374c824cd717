//! Whether processes of other users can be read.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::outcome::{Outcome, no, read, yes};

const REMEDY: &str = "Run as root or give pyro-probe CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH to measure processes of other users.";
/// `CAP_DAC_READ_SEARCH` and `CAP_SYS_PTRACE` in a set of capabilities (capability.h).
const NEEDED: u64 = 1 << 2 | 1 << 19;

/// Tries the first process below `proc` that has another user; without one, says what our rights allow.
pub(super) fn other_users(proc: &Path) -> Outcome {
    let own = text(&proc.join("self/status")).unwrap_or_default();
    let user = field(&own, "Uid:").unwrap_or_default();
    let mut pids: Vec<u32> = fs::read_dir(proc)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    pids.sort_unstable();
    for pid in pids {
        let folder = proc.join(pid.to_string());
        let status = text(&folder.join("status")).unwrap_or_default();
        // Threads of the kernel have no memory of their own.
        let theirs = field(&status, "Uid:").is_some_and(|theirs| theirs != user);
        if !theirs || field(&status, "VmSize:").is_none() {
            continue;
        }
        let files = [
            format!("task/{pid}/schedstat"),
            format!("task/{pid}/stat"),
            "io".into(),
        ];
        let tried = files.iter().map(|file| {
            let path = folder.join(file);
            text(&path).map_err(|error| (path, error))
        });
        match tried.collect::<Result<Vec<_>, _>>() {
            Ok(_) => return yes(format!("{}/io can be read", folder.display())),
            // It ended meanwhile.
            Err((_, error)) if error.kind() == ErrorKind::NotFound && !folder.exists() => {}
            Err((path, error)) => return no(format!("{}: {error}", path.display()), REMEDY),
        }
    }
    let held = field(&own, "CapEff:").and_then(|set| u64::from_str_radix(set, 16).ok());
    match held {
        Some(held) if held & NEEDED == NEEDED => yes(
            "no other user has processes here now; CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH are held",
        ),
        _ => no(
            "no other user has processes here now; CAP_SYS_PTRACE or CAP_DAC_READ_SEARCH is not held",
            REMEDY,
        ),
    }
}

fn text(path: &Path) -> std::io::Result<String> {
    read(&path.to_string_lossy())
}

/// The first word behind a name of `/proc/PID/status`.
fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    let line = status.lines().find(|line| line.starts_with(name))?;
    line[name.len()..].split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &str = "000001fffeffffff";

    fn process(
        proc: &Path,
        name: &str,
        user: u32,
        memory: bool,
        rights: &str,
    ) -> std::path::PathBuf {
        let folder = proc.join(name);
        fs::create_dir_all(folder.join(format!("task/{name}"))).unwrap();
        let memory = if memory { "VmSize:\t10 kB\n" } else { "" };
        let status = format!("Name:\tx\nUid:\t{user}\t{user}\n{memory}CapEff:\t{rights}\n");
        fs::write(folder.join("status"), status).unwrap();
        for file in ["schedstat", "stat"] {
            fs::write(folder.join(format!("task/{name}/{file}")), "1").unwrap();
        }
        folder
    }

    #[test]
    fn a_process_of_another_user_is_tried_and_not_the_first_of_all() {
        let proc = tempfile::tempdir().unwrap();
        process(proc.path(), "self", 0, true, ALL);
        process(proc.path(), "1", 0, true, ALL);
        process(proc.path(), "2", 7, false, ALL);
        let theirs = process(proc.path(), "10", 7, true, "0");
        // A folder is no file: stands for what may not be read.
        fs::create_dir(theirs.join("io")).unwrap();
        let denied = other_users(proc.path());
        assert!(
            !denied.available && denied.reason.contains("/10/io: "),
            "{}",
            denied.reason
        );
        assert_eq!(denied.remedy, REMEDY);
        fs::remove_dir(theirs.join("io")).unwrap();
        fs::write(theirs.join("io"), "rchar: 1").unwrap();
        let allowed = other_users(proc.path());
        assert!(allowed.available && allowed.reason.ends_with("/10/io can be read"));
    }

    #[test]
    fn without_one_the_rights_decide() {
        for (rights, available) in [
            (ALL, true),
            ("0000000000080000", false),
            ("4", false),
            ("80004", true),
            ("?", false),
        ] {
            let proc = tempfile::tempdir().unwrap();
            process(proc.path(), "self", 5, true, rights);
            process(proc.path(), "77", 5, true, rights);
            assert_eq!(other_users(proc.path()).available, available, "{rights}");
        }
        assert!(!other_users(Path::new("/nowhere")).available);
    }
}
