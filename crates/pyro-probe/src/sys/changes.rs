//! News of a folder: names that come and go.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use super::call::{c_path, check};

/// News of a folder, asked for without a look at it.
#[derive(Debug)]
pub struct Changes(Option<OwnedFd>);

impl Changes {
    /// News from now on. Where the system tells none (its limit of watches), there always are some.
    pub fn of(folder: &Path) -> Self {
        let events = libc::IN_CREATE | libc::IN_DELETE | libc::IN_MOVED_FROM | libc::IN_MOVED_TO;
        let watch = || {
            let path = c_path(&folder.to_string_lossy())?;
            // SAFETY: a new descriptor, ours alone; the path is a valid C string.
            unsafe {
                let raw = check(libc::inotify_init1(libc::IN_NONBLOCK | libc::IN_CLOEXEC))?;
                let fd = OwnedFd::from_raw_fd(raw);
                check(libc::inotify_add_watch(raw, path.as_ptr(), events))?;
                std::io::Result::Ok(fd)
            }
        };
        Self(watch().ok())
    }

    /// Whether there were any since the last call.
    pub fn any(&self) -> bool {
        let Some(fd) = &self.0 else {
            return true;
        };
        let mut news = [0_u8; 4096];
        let mut some = false;
        // SAFETY: the kernel writes at most as much as there is room for.
        while unsafe { libc::read(fd.as_raw_fd(), news.as_mut_ptr().cast(), news.len()) } > 0 {
            some = true;
        }
        some
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_come_and_go_are_news_once() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        let changes = Changes::of(folder.path());
        assert!(!changes.any());
        std::fs::write(&one, "1").unwrap();
        assert!(changes.any() && !changes.any());
        std::fs::write(&one, "2").unwrap();
        assert!(!changes.any(), "no name came");
        std::fs::rename(&one, &two).unwrap();
        assert!(changes.any());
        std::fs::remove_file(&two).unwrap();
        assert!(changes.any() && !changes.any());
    }

    #[test]
    fn what_cannot_be_watched_always_has_news() {
        let changes = Changes::of(Path::new("/no/such/folder"));
        assert!(changes.any() && changes.any());
    }
}
