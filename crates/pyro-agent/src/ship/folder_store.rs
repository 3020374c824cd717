//! A folder as a store: a shared file system, or the disk of one machine.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::process::umask;

use crate::ship::ports::Store;

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
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }

    fn write(&self, key: &str, object: &[u8]) -> io::Result<()> {
        let rights = fs::metadata(&self.root)?.permissions().mode() & NOT_WRITTEN_BY_OTHERS;
        let path = self.root.join(key);
        if let Some(folder) = path.parent() {
            self.make(folder, rights)?;
        }
        let temporary = path.with_extension("tmp");
        let mut how = OpenOptions::new();
        how.write(true).create(true).truncate(true).mode(0o600);
        // Others may write where a group does.
        how.custom_flags(OFlags::NOFOLLOW.bits() as i32);
        let opened = how.open(&temporary);
        let mut file = opened.inspect_err(|_| drop(fs::remove_file(&temporary)))?;
        // A file system may have no rights; then there is nothing to give.
        let _ = file.set_permissions(Permissions::from_mode(rights & 0o666));
        file.write_all(object)
            // What the local disk gives back afterwards must be on this one.
            .and_then(|()| file.sync_data())
            .and_then(|()| fs::rename(&temporary, &path))
            .inspect_err(|_| drop(fs::remove_file(&temporary)))
    }

    /// Makes the folders between the root and this one.
    fn make(&self, folder: &Path, rights: u32) -> io::Result<()> {
        if folder == self.root || folder.is_dir() {
            return Ok(());
        }
        if let Some(above) = folder.parent() {
            self.make(above, rights)?;
        }
        // Made with its rights, and not given them afterwards: that would take the bit from it by which a shared folder
        // hands its group on, where we are not of that group.
        let before = umask(Mode::empty());
        let made = DirBuilder::new().mode(rights).create(folder);
        umask(before);
        match made {
            // Another agent was first.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            done => done,
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
    fn a_link_in_the_place_of_a_chunk_leads_nowhere() {
        let (root, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let victim = other.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, root.path().join("1.tmp")).unwrap();
        let mut store = FolderStore::new(root.path().to_owned());
        assert!(store.put("1.chunk", b"one").is_err());
        store.put("1.chunk", b"one").unwrap();
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
