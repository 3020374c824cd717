//! The raw folder on the disk. Whoever writes there may be hostile to whoever ships it: links are never
//! followed, pipes and devices are never opened for long, and nothing outside the folder is read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use rustix::fs::{self, AtFlags, Dir, FallocateFlags, FileType, Mode, OFlags, SeekFrom};

use crate::ship::ports::{Files, Seen};

/// Folders in the folder are no deeper.
const MAX_DEPTH: usize = 3;
/// Ending of files that get their names once they are whole.
const UNFINISHED: &[u8] = b".tmp";

/// The files of a raw folder. Those that were seen are kept open: what is removed can still be shipped.
#[derive(Debug)]
pub struct Disk {
    folder: File,
    max_open: usize,
    open: BTreeMap<String, File>,
    unopened: u64,
}

impl Disk {
    /// Opens the folder, of which so many files are kept open.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(folder: &Path, max_open: usize) -> io::Result<Self> {
        Ok(Self {
            folder: File::from(fs::open(folder, FOLDER, Mode::empty())?),
            max_open,
            open: BTreeMap::new(),
            unopened: 0,
        })
    }

    /// Looks at the files of a folder, and opens those that were not seen before.
    fn look(
        &mut self,
        folder: &File,
        path: &str,
        depth: usize,
        seen: &mut Vec<Seen>,
    ) -> io::Result<()> {
        for entry in Dir::read_from(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let bytes = name.to_bytes();
            if bytes.starts_with(b".") || bytes.ends_with(UNFINISHED) {
                continue;
            }
            let Ok(stat) = fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            let kind = FileType::from_raw_mode(stat.st_mode);
            let Ok(name) = name.to_str() else {
                // A chunk could not say whose it is.
                self.unopened += u64::from(kind.is_file() || kind.is_dir());
                continue;
            };
            let whole = format!("{path}{name}");
            match kind {
                FileType::Directory if depth < MAX_DEPTH => {
                    let inner = fs::openat(folder, name, FOLDER, Mode::empty());
                    let whole = format!("{whole}/");
                    let listed = match inner {
                        Ok(inner) => self.look(&File::from(inner), &whole, depth + 1, seen),
                        Err(error) => Err(error.into()),
                    };
                    // One that cannot be listed does not keep the others from being shipped.
                    self.unopened += u64::from(listed.is_err());
                }
                FileType::RegularFile => match self.current(folder, name, &whole, stat.st_ino) {
                    Some(file) => seen.extend(described(whole, file, false)),
                    None => self.unopened += 1,
                },
                // Deeper than is followed.
                FileType::Directory => self.unopened += 1,
                _ => {}
            }
        }
        Ok(())
    }

    /// The open file of this name and number.
    fn current(&mut self, folder: &File, name: &str, whole: &str, inode: u64) -> Option<&File> {
        let known = self.open.get(whole).and_then(|file| file.metadata().ok());
        if known.is_none() && self.open.len() >= self.max_open {
            return None;
        }
        if known.is_none_or(|known| known.ino() != inode) {
            // Shipping and giving back what is shipped is all that is done with it.
            let writable = fs::openat(folder, name, FILE | OFlags::RDWR, Mode::empty());
            let opened = writable.or_else(|_| fs::openat(folder, name, FILE, Mode::empty()));
            let file = File::from(opened.ok()?);
            self.open.insert(whole.to_owned(), file);
        }
        self.open.get(whole)
    }

    fn file(&self, seen: &Seen) -> io::Result<&File> {
        let file = self.open.get(&seen.name).ok_or(io::ErrorKind::NotFound)?;
        match file.metadata()?.ino() == seen.inode {
            true => Ok(file),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

const FOLDER: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
/// A pipe or a device that took a file's place does not make us wait.
const FILE: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// What is to be known of a file; `None` if it is none.
fn described(name: String, file: &File, gone: bool) -> Option<Seen> {
    let about = file.metadata().ok()?;
    about.is_file().then(|| Seen {
        name,
        inode: about.ino(),
        length: about.len(),
        modified_ns: about
            .mtime()
            .saturating_mul(1_000_000_000)
            .saturating_add(about.mtime_nsec()),
        gone,
    })
}

impl Files for Disk {
    fn list(&mut self) -> io::Result<Vec<Seen>> {
        let folder = self.folder.try_clone()?;
        let mut seen = Vec::new();
        self.unopened = 0;
        self.look(&folder, "", 0, &mut seen)?;
        let here: BTreeSet<String> = seen.iter().map(|file| file.name.clone()).collect();
        let gone = self.open.iter().filter(|(name, _)| !here.contains(*name));
        seen.extend(gone.filter_map(|(name, file)| described(name.clone(), file, true)));
        Ok(seen)
    }

    fn unopened_count(&self) -> u64 {
        self.unopened
    }

    fn read(
        &mut self,
        file: &Seen,
        offset: u64,
        length: usize,
        into: &mut Vec<u8>,
    ) -> io::Result<()> {
        let opened = self.file(file)?;
        into.clear();
        into.resize(length, 0);
        opened.read_exact_at(into, offset)
    }

    fn free(&mut self, file: &Seen, from: u64, to: u64) -> io::Result<()> {
        let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match fs::fallocate(self.file(file)?, how, from, to.saturating_sub(from)) {
            // A file system without holes keeps what it has.
            Err(rustix::io::Errno::OPNOTSUPP) => Ok(()),
            done => Ok(done?),
        }
    }

    fn freed_bytes(&mut self, file: &Seen) -> u64 {
        let Ok(opened) = self.file(file) else {
            return 0;
        };
        match fs::seek(opened, SeekFrom::Data(0)) {
            Ok(first) => first,
            // There is nothing but a hole.
            Err(rustix::io::Errno::NXIO) => file.length,
            Err(_) => 0,
        }
    }

    fn release(&mut self, file: &Seen) {
        self.open.remove(&file.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn names(disk: &mut Disk) -> Vec<(String, u64, bool)> {
        let seen = disk.list().unwrap();
        let mut names: Vec<_> = seen
            .into_iter()
            .map(|file| (file.name, file.length, file.gone))
            .collect();
        names.sort();
        names
    }

    #[test]
    fn only_files_of_the_folder_are_seen() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret.log"), "secret").unwrap();
        let raw = tempfile::tempdir().unwrap();
        let at = |name: &str| raw.path().join(name);
        std::fs::create_dir_all(at("a/b/c/d")).unwrap();
        for name in [
            "gc.log",
            "a/b/c/in.log",
            "a/b/c/d/too-deep.log",
            ".state",
            "x.json.tmp",
        ] {
            std::fs::write(at(name), "text").unwrap();
        }
        symlink(outside.path().join("secret.log"), at("link.log")).unwrap();
        symlink(outside.path(), at("folder")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            at("pipe.log"),
            FileType::Fifo,
            Mode::RUSR,
            0,
        )
        .unwrap();
        let mut disk = Disk::open(raw.path(), 9).unwrap();
        let expected = [
            ("a/b/c/in.log".to_owned(), 4, false),
            ("gc.log".to_owned(), 4, false),
        ];
        assert_eq!(names(&mut disk), expected);
    }

    #[test]
    fn files_beyond_the_limit_are_counted_and_not_opened() {
        let raw = tempfile::tempdir().unwrap();
        for name in 0..12 {
            std::fs::write(raw.path().join(format!("{name}.log")), "text").unwrap();
        }
        let mut disk = Disk::open(raw.path(), 9).unwrap();
        for _ in 0..2 {
            assert_eq!((names(&mut disk).len(), disk.unopened_count()), (9, 3));
            assert_eq!(disk.open.len(), 9);
        }
    }

    #[test]
    fn what_has_no_name_in_utf_8_is_counted() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt as _;
        let raw = tempfile::tempdir().unwrap();
        let at = |name: &[u8]| raw.path().join(OsStr::from_bytes(name));
        std::fs::write(at(b"gc\xff.log"), "text").unwrap();
        std::fs::create_dir(at(b"folder\xff")).unwrap();
        for left_alone in [b".\xff".as_slice(), b"\xff.tmp"] {
            std::fs::write(at(left_alone), "text").unwrap();
        }
        symlink("/etc/hostname", at(b"link\xff")).unwrap();
        let mut disk = Disk::open(raw.path(), 9).unwrap();
        assert_eq!((names(&mut disk).len(), disk.unopened_count()), (0, 2));
    }

    #[test]
    fn what_is_removed_is_read_until_it_is_released() {
        let raw = tempfile::tempdir().unwrap();
        let path = raw.path().join("x.log");
        std::fs::write(&path, "a line\n").unwrap();
        let mut disk = Disk::open(raw.path(), 9).unwrap();
        let before = disk.list().unwrap().remove(0);
        std::fs::remove_file(&path).unwrap();
        let gone = disk.list().unwrap().remove(0);
        assert!(gone.gone && gone.inode == before.inode);
        let mut bytes = Vec::new();
        disk.read(&gone, 2, 4, &mut bytes).unwrap();
        assert_eq!(bytes, b"line");
        disk.release(&gone);
        assert!(disk.list().unwrap().is_empty());
        assert!(disk.read(&gone, 2, 4, &mut bytes).is_err());
    }

    #[test]
    fn another_file_of_the_name_is_not_read_as_the_first() {
        let raw = tempfile::tempdir().unwrap();
        let path = raw.path().join("x.log");
        std::fs::write(&path, "first").unwrap();
        let mut disk = Disk::open(raw.path(), 9).unwrap();
        let first = disk.list().unwrap().remove(0);
        let other = raw.path().join("other");
        std::fs::write(&other, "second").unwrap();
        std::fs::rename(&other, &path).unwrap();
        let second = disk.list().unwrap();
        assert_eq!((second.len(), second[0].length), (1, 6));
        let mut bytes = Vec::new();
        assert!(disk.read(&first, 0, 5, &mut bytes).is_err());
        disk.read(&second[0], 0, 6, &mut bytes).unwrap();
        assert_eq!(bytes, b"second");
        assert!(disk.read(&second[0], 4, 6, &mut bytes).is_err(), "shorter");
    }

    #[test]
    fn what_is_given_back_is_known_later() {
        let raw = tempfile::tempdir().unwrap();
        std::fs::write(raw.path().join("x.log"), vec![b'x'; 40_000]).unwrap();
        let mut disk = Disk::open(raw.path(), 9).unwrap();
        let file = disk.list().unwrap().remove(0);
        assert_eq!(disk.freed_bytes(&file), 0);
        disk.free(&file, 0, 8192).unwrap();
        let (mut bytes, freed) = (Vec::new(), disk.freed_bytes(&file));
        disk.read(&file, 0, 40_000, &mut bytes).unwrap();
        // A file system without holes gives nothing back, and says so.
        assert!(freed == 8192 && bytes[..8192] == [0; 8192] || freed == 0 && bytes[0] == b'x');
        assert!(bytes[8192..].iter().all(|&byte| byte == b'x'));
    }
}
