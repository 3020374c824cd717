//! The file in the raw folder in which a shipper remembers what it has shipped. Whoever else writes there may
//! spoil it, and loses by that what is shipped of this folder; a link in its place leads nowhere.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{self, AtFlags, FallocateFlags, FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;

use crate::ship::ports::Keep;

const NAME: &str = ".shipping.json";
/// Whoever holds its lock ships the folder.
pub const LOCK: &str = ".shipping.lock";
/// Keeps room on the disk: without it no state would be written once the disk is full, and nothing
/// be given back.
const ROOM: &str = ".shipping.room";
const ROOM_BYTES: u64 = 64 << 10;
/// A state of thousands of files is smaller.
const MAX_BYTES: u64 = 16 << 20;

/// Far longer than from a `fork` to its `exec`.
const LEFT_BEHIND: Duration = Duration::from_secs(1);

const OURS: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

/// The file, and the right to be the only one that ships the folder.
#[derive(Debug)]
pub struct KeptFile {
    folder: File,
    _lock: File,
}

impl KeptFile {
    /// Takes the folder.
    ///
    /// # Errors
    /// If somebody else ships it, or nothing can be written there.
    pub fn take(raw: &Path) -> io::Result<Self> {
        let folder = open_folder(raw)?;
        let how = OURS | OFlags::RDWR | OFlags::CREATE;
        let lock = File::from(fs::openat(&folder, LOCK, how, Mode::RUSR | Mode::WUSR)?);
        lock_soon(&lock)?;
        Ok(Self {
            folder,
            _lock: lock,
        })
    }
}

/// Locks, and waits for what a predecessor leaves behind: a child that it was just starting has the lock too,
/// until its `exec` closes it.
fn lock_soon(lock: &File) -> io::Result<()> {
    let until = Instant::now() + LEFT_BEHIND;
    loop {
        match flock(lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK) if Instant::now() < until => thread::sleep(LEFT_BEHIND / 50),
            Err(Errno::WOULDBLOCK) => {
                return Err(io::Error::other("another agent ships this folder"));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

impl Keep for KeptFile {
    fn load(&mut self) -> io::Result<Option<String>> {
        let mut text = String::new();
        match fs::openat(&self.folder, NAME, OURS, Mode::empty()) {
            Ok(file) => File::from(file).take(MAX_BYTES).read_to_string(&mut text)?,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        Ok(Some(text))
    }

    fn save(&mut self, text: &str) -> io::Result<()> {
        // What it says is shipped is given back to the disk: it must not be forgotten before that is.
        let save = || write(&self.folder, NAME, text, File::sync_data);
        in_room(&self.folder, save)?;
        keep_room(&self.folder, text.len() as u64);
        Ok(())
    }
}

/// Does what takes room on the disk: where that is full, once more in the room that was kept.
fn in_room(folder: &File, write: impl Fn() -> io::Result<()>) -> io::Result<()> {
    let done = write();
    let is_full = done.as_ref().is_err_and(|error| {
        let kind = error.kind();
        kind == io::ErrorKind::StorageFull || kind == io::ErrorKind::QuotaExceeded
    });
    if is_full && fs::unlinkat(folder, ROOM, AtFlags::empty()).is_ok() {
        return write();
    }
    done
}

/// Keeps room for a text that is twice as long, where there is any.
fn keep_room(folder: &File, length: u64) {
    let bytes = (2 * length).max(1).next_multiple_of(ROOM_BYTES);
    let how = OURS | OFlags::WRONLY | OFlags::CREATE;
    if let Ok(file) = fs::openat(folder, ROOM, how, Mode::RUSR | Mode::WUSR) {
        // A file system that cannot keep any has the next state take its chance.
        let _ = fs::fallocate(&file, FallocateFlags::KEEP_SIZE, 0, bytes);
    }
}

/// Replaces a file of an open folder, whole or not at all; a link in its place is replaced, and not followed.
///
/// # Errors
/// What the system says.
pub fn replace(folder: &File, name: &str, text: &str) -> io::Result<()> {
    write(folder, name, text, |_| Ok(()))
}

fn write(
    folder: &File,
    name: &str,
    text: &str,
    settle: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    let temporary = format!(".{name}.tmp");
    match fs::unlinkat(folder, &temporary, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    let how = OURS | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
    let mut file = File::from(fs::openat(
        folder,
        &temporary,
        how,
        Mode::RUSR | Mode::WUSR,
    )?);
    file.write_all(text.as_bytes())?;
    settle(&file)?;
    Ok(fs::renameat(folder, &temporary, folder, name)?)
}

/// Opens a folder that is no link.
///
/// # Errors
/// What the system says.
pub fn open_folder(path: &Path) -> io::Result<File> {
    let how = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(fs::open(path, how, Mode::empty())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_ships_a_folder_and_the_next_remembers() {
        let raw = tempfile::tempdir().unwrap();
        let mut one = KeptFile::take(raw.path()).unwrap();
        assert_eq!(one.load().unwrap(), None);
        one.save("first").unwrap();
        one.save("second").unwrap();
        let other = KeptFile::take(raw.path()).unwrap_err();
        assert!(other.to_string().contains("another agent"), "{other}");
        drop(one);
        let mut next = KeptFile::take(raw.path()).unwrap();
        assert_eq!(next.load().unwrap().as_deref(), Some("second"));
    }

    #[test]
    fn a_child_that_is_just_starting_is_waited_for() {
        let raw = tempfile::tempdir().unwrap();
        let one = KeptFile::take(raw.path()).unwrap();
        // As after a `fork`: the same open file, in other hands.
        let child = one._lock.try_clone().unwrap();
        drop(one);
        thread::scope(|scope| {
            scope.spawn(move || {
                thread::sleep(LEFT_BEHIND / 10);
                drop(child);
            });
            KeptFile::take(raw.path()).unwrap();
        });
    }

    /// Whether the file system keeps room: not each can.
    fn keeps_room(folder: &Path) -> bool {
        let file = File::create(folder.join("probing")).unwrap();
        fs::fallocate(&file, FallocateFlags::KEEP_SIZE, 0, ROOM_BYTES).is_ok()
    }

    #[test]
    fn a_disk_that_is_full_has_room_for_the_next_state() {
        use std::os::unix::fs::MetadataExt as _;
        let raw = tempfile::tempdir().unwrap();
        let mut kept = KeptFile::take(raw.path()).unwrap();
        let room = raw.path().join(ROOM);
        kept.save("first").unwrap();
        let kept_bytes = 512 * std::fs::metadata(&room).unwrap().blocks();
        assert!(
            kept_bytes >= ROOM_BYTES || !keeps_room(raw.path()),
            "{kept_bytes}"
        );
        // As long as the room is kept, nothing else fits.
        let write = || -> io::Result<()> {
            match room.exists() {
                true => Err(io::ErrorKind::StorageFull.into()),
                false => Ok(()),
            }
        };
        in_room(&kept.folder, write).unwrap();
        assert!(!room.exists());
        let full = || -> io::Result<()> { Err(io::ErrorKind::StorageFull.into()) };
        assert!(in_room(&kept.folder, full).is_err(), "none is left");
        kept.save("second").unwrap();
        assert!(room.exists(), "kept again");
        let other = || -> io::Result<()> { Err(io::ErrorKind::PermissionDenied.into()) };
        assert!(in_room(&kept.folder, other).is_err() && room.exists());
    }

    #[test]
    fn links_in_its_place_lead_nowhere() {
        use std::os::unix::fs::symlink;
        let (raw, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let victim = other.path().join("victim");
        std::fs::write(&victim, "precious").unwrap();
        symlink(&victim, raw.path().join(NAME)).unwrap();
        symlink(&victim, raw.path().join("..shipping.json.tmp")).unwrap();
        let mut kept = KeptFile::take(raw.path()).unwrap();
        assert!(kept.load().is_err());
        kept.save("ours").unwrap();
        assert_eq!(kept.load().unwrap().as_deref(), Some("ours"));
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
        drop(kept);
        std::fs::remove_file(raw.path().join(LOCK)).unwrap();
        symlink(&victim, raw.path().join(LOCK)).unwrap();
        assert!(KeptFile::take(raw.path()).is_err());
    }
}
