//! A folder as a store: a shared file system, or the disk of one machine.

use std::fs::{File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{self, AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::ship::ports::Store;
use crate::umask;

/// All that anybody may do but write, where the folder lets anybody write: a chunk is its writer's.
const NOT_WRITTEN_BY_OTHERS: u32 = 0o775;

/// Chunks as files of a folder. Who may read them is who may read that folder: its rights are theirs, whatever umask
/// an executor has.
#[derive(Debug)]
pub struct FolderStore {
    root: PathBuf,
}

impl FolderStore {
    /// Chunks go below this folder, which must exist: a shared folder that is not mounted is not taken for an empty one.
    /// Lifts the umask of this process.
    pub fn new(root: PathBuf) -> Self {
        umask::lift();
        Self { root }
    }

    fn write(&self, key: &str, object: &[u8]) -> io::Result<()> {
        let mut folder = File::from(fs::open(&self.root, FOLDER, Mode::empty())?);
        let rights = folder.metadata()?.permissions().mode() & NOT_WRITTEN_BY_OTHERS;
        let (folders, name) = key.rsplit_once('/').unwrap_or(("", key));
        for inner in folders.split('/').filter(|part| !part.is_empty()) {
            folder = opened(&folder, inner, rights)?;
        }
        let temporary = Path::new(name).with_extension("tmp");
        let remove = || fs::unlinkat(&folder, &temporary, AtFlags::empty());
        match remove() {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        // Others may write where a group does: whatever they put there is not written to.
        let how =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let own = Mode::RUSR | Mode::WUSR;
        let mut file = File::from(fs::openat(&folder, &temporary, how, own)?);
        // A file system may have no rights; then there is nothing to give.
        let _ = file.set_permissions(Permissions::from_mode(rights & 0o666));
        file.write_all(object)
            // What the local disk gives back afterwards must be on this one.
            .and_then(|()| file.sync_data())
            .and_then(|()| Ok(fs::renameat(&folder, &temporary, &folder, name)?))
            .inspect_err(|_| {
                let _ = remove();
            })
    }
}

const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Opens a folder in a folder, which is made if it is missing; a link in its place leads nowhere.
fn opened(folder: &File, name: &str, rights: u32) -> io::Result<File> {
    let open = || fs::openat(folder, name, FOLDER | OFlags::NOFOLLOW, Mode::empty());
    let remove = || fs::unlinkat(folder, name, AtFlags::REMOVEDIR);
    match open() {
        Err(Errno::NOENT) => {}
        done => return Ok(File::from(done?)),
    }
    // Made with its rights, and not given them afterwards: that would take the bit from it by which a shared folder
    // hands its group on, where we are not of that group.
    loop {
        let starts_count = umask::starts_count();
        match fs::mkdirat(folder, name, Mode::from_raw_mode(rights)) {
            Ok(()) => {}
            // Another agent was first.
            Err(Errno::EXIST) => return Ok(File::from(open()?)),
            Err(error) => return Err(error.into()),
        }
        let made = File::from(open()?);
        let has_rights = made.metadata()?.permissions().mode() & rights == rights;
        // Once more only where a program that was started meanwhile had the umask back: a file system may have no rights.
        if has_rights || umask::starts_count() == starts_count || remove().is_err() {
            return Ok(made);
        }
    }
}

impl Store for FolderStore {
    fn put(&mut self, key: &str, object: &[u8]) -> Result<(), String> {
        let written = self.write(key, object);
        written.map_err(|error| format!("{}: {error}", self.root.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::process::{Child, Command};
    use std::thread;

    #[test]
    fn objects_replace_one_another_whole() {
        let root = tempfile::tempdir().unwrap();
        let mut store = FolderStore::new(root.path().to_owned());
        store.put("a/b/000000000000.chunk", b"one").unwrap();
        store.put("a/b/000000000000.chunk", b"two").unwrap();
        let folder = root.path().join("a/b");
        assert_eq!(fs::read(folder.join("000000000000.chunk")).unwrap(), b"two");
        assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
    }

    #[test]
    fn whoever_may_read_the_folder_may_read_its_chunks() {
        for (rights, folders, chunks) in [
            (0o700, 0o700, 0o600),
            (0o2770, 0o2770, 0o660),
            (0o755, 0o755, 0o644),
            (0o1777, 0o775, 0o664),
        ] {
            let root = tempfile::tempdir().unwrap();
            fs::set_permissions(root.path(), Permissions::from_mode(rights)).unwrap();
            let mut store = FolderStore::new(root.path().to_owned());
            store.put("a/b/000000000000.chunk", b"one").unwrap();
            let of = |name: &str| {
                fs::metadata(root.path().join(name))
                    .unwrap()
                    .permissions()
                    .mode()
                    & 0o7777
            };
            assert_eq!((of("a"), of("a/b")), (folders, folders));
            assert_eq!(of("a/b/000000000000.chunk"), chunks);
        }
    }

    #[test]
    fn folders_have_all_of_their_rights_while_programs_are_started() {
        let root = tempfile::tempdir().unwrap();
        fs::set_permissions(root.path(), Permissions::from_mode(0o2777)).unwrap();
        let mut store = FolderStore::new(root.path().to_owned());
        let start_many = || {
            let started = (0..100).map(|_| umask::start(&mut Command::new("true")).unwrap());
            let started: Vec<Child> = started.collect();
            for mut child in started {
                child.wait().unwrap();
            }
        };
        thread::scope(|scope| {
            let starts = [(); 4].map(|()| scope.spawn(start_many));
            for folder in 0.. {
                let key = format!("{folder}{}/1.chunk", "/a".repeat(50));
                store.put(&key, b"one").unwrap();
                for folder in Path::new(&key).ancestors().skip(1) {
                    let about = fs::metadata(root.path().join(folder)).unwrap();
                    assert_eq!(about.permissions().mode() & 0o775, 0o775, "{key}");
                }
                if starts.iter().all(|starts| starts.is_finished()) {
                    break;
                }
            }
        });
    }

    #[test]
    fn a_link_in_the_place_of_a_chunk_or_its_folder_leads_nowhere() {
        let (root, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let victim = other.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        let mut store = FolderStore::new(root.path().to_owned());
        for planted in [
            (|from: &Path, to: &Path| symlink(from, to).unwrap()) as fn(&Path, &Path),
            |from, to| fs::hard_link(from, to).unwrap(),
            |_, to| {
                rustix::fs::mknodat(
                    rustix::fs::CWD,
                    to,
                    rustix::fs::FileType::Fifo,
                    Mode::RUSR,
                    0,
                )
                .unwrap()
            },
        ] {
            planted(&victim, &root.path().join("1.tmp"));
            store.put("1.chunk", b"one").unwrap();
            assert_eq!(fs::read(root.path().join("1.chunk")).unwrap(), b"one");
        }
        symlink(other.path(), root.path().join("app-1")).unwrap();
        assert!(store.put("app-1/1.chunk", b"one").is_err());
        assert_eq!(fs::read_dir(other.path()).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(victim).unwrap(), "precious");
    }

    #[test]
    fn a_folder_that_is_not_mounted_is_away() {
        let root = tempfile::tempdir().unwrap();
        let mut store = FolderStore::new(root.path().join("mount"));
        let failure = store.put("a/000000000000.chunk", b"one").unwrap_err();
        assert!(failure.contains("mount: No such file"), "{failure}");
        fs::create_dir(root.path().join("mount")).unwrap();
        store.put("a/000000000000.chunk", b"one").unwrap();
    }
}
