//! Regular files, whatever others put in their places.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Opens a regular file: a device is not opened, and a pipe in its place does not make us wait.
///
/// # Errors
/// What the system says, or that it is something else.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let other = || io::Error::other("not a regular file");
    if !fs::metadata(path)?.is_file() {
        return Err(other());
    }
    let mut options = File::options();
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = options.read(true).custom_flags(flags).open(path)?;
    let is_regular = file.metadata()?.is_file();
    is_regular.then_some(file).ok_or_else(other)
}

/// Opens a regular file for writing, and creates it where there is none: nothing is written
/// through a link, of either kind, nor to a device or a pipe.
///
/// # Errors
/// What the system says, or what lies in its place.
pub fn writable_regular(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    options.write(true).create(true).truncate(false);
    let opened = options.custom_flags(flags).open(path);
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(libc::ELOOP) => io::Error::other("a link, which is not followed"),
        _ => error,
    })?;
    let about = file.metadata()?;
    match about.is_file() && about.nlink() == 1 {
        true => Ok(file),
        false => Err(io::Error::other("not a regular file with one name")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::os::unix::fs::symlink;
    use std::process::Command;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn a_pipe_is_refused_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "text").unwrap();
        assert!(open_regular(&path).is_ok());
        fs::remove_file(&path).unwrap();
        assert!(
            Command::new("mkfifo")
                .arg(&path)
                .status()
                .unwrap()
                .success()
        );
        let refused = writable_regular(&path).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::ENXIO));
        let (say, hear) = mpsc::channel();
        thread::spawn(move || say.send(open_regular(&path).map(drop).map_err(|e| e.to_string())));
        let said = hear.recv_timeout(Duration::from_secs(10)).unwrap();
        assert_eq!(said, Err("not a regular file".to_owned()));
    }

    #[test]
    fn nothing_is_written_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (precious, link) = (folder.path().join("precious"), folder.path().join("link"));
        fs::write(&precious, "text").unwrap();
        assert!(writable_regular(&precious).is_ok());
        symlink(&precious, &link).unwrap();
        let refused = writable_regular(&link).unwrap_err().to_string();
        assert_eq!(refused, "a link, which is not followed");
        fs::remove_file(&link).unwrap();
        fs::hard_link(&precious, &link).unwrap();
        assert!(writable_regular(&link).is_err());
        symlink(folder.path().join("none"), folder.path().join("away")).unwrap();
        assert!(writable_regular(&folder.path().join("away")).is_err());
        assert_eq!(fs::read(&precious).unwrap(), b"text");
        assert!(!folder.path().join("none").exists());
    }
}
