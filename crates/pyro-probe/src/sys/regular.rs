//! Regular files of others, whatever lies in their places.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
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

#[cfg(test)]
mod tests {
    use super::*;

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
        let (say, hear) = mpsc::channel();
        thread::spawn(move || say.send(open_regular(&path).map(drop).map_err(|e| e.to_string())));
        let said = hear.recv_timeout(Duration::from_secs(10)).unwrap();
        assert_eq!(said, Err("not a regular file".to_owned()));
    }
}
