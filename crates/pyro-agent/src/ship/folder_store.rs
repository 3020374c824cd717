//! A folder as a store: a shared file system, or the disk of one machine.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::PathBuf;

use crate::ship::ports::Store;

/// Chunks as files of a folder.
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
        fs::metadata(&self.root)?;
        let path = self.root.join(key);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let temporary = path.with_extension("tmp");
        let mut file = File::create(&temporary)?;
        file.write_all(object)
            // What the local disk gives back afterwards must be on this one.
            .and_then(|()| file.sync_data())
            .and_then(|()| fs::rename(&temporary, &path))
            .inspect_err(|_| drop(fs::remove_file(&temporary)))
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
    fn a_folder_that_is_not_mounted_is_away() {
        let root = tempfile::tempdir().unwrap();
        let mut store = FolderStore::new(root.path().join("mount"));
        let failure = store.put("a/000000000000.chunk", b"one").unwrap_err();
        assert!(failure.contains("mount: No such file"), "{failure}");
        fs::create_dir(root.path().join("mount")).unwrap();
        store.put("a/000000000000.chunk", b"one").unwrap();
    }
}
