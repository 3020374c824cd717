//! A store that this program cannot write: a process on this host that can puts each chunk there, and answers.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use crate::ship::ports::{Object, Store};

/// The other puts so many at the same time.
const AT_ONCE: usize = 4;

const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Longer reasons are cut.
const MAX_SAID_BYTES: usize = 4096;

/// The folder in which chunks are handed over.
///
/// This leaves `N.chunk`: the name in the store, a newline, and the object. The other answers by removing that file, after
/// leaving `N.failed` with the reason if the object may not have arrived.
pub struct RelayStore {
    folder: PathBuf,
    is_there: Box<dyn Fn() -> bool + Send>,
    next: u64,
}

impl RelayStore {
    /// Hands over in this folder, which must exist; `is_there`: the process that takes what is left there.
    ///
    /// # Errors
    /// If what an earlier agent left there cannot be taken back.
    pub fn begin(
        folder: PathBuf,
        is_there: impl Fn() -> bool + Send + 'static,
    ) -> Result<Self, String> {
        let at = |error: io::Error| format!("{}: {error}", folder.display());
        for entry in fs::read_dir(&folder).map_err(at)? {
            // It is put again, under its own name.
            remove(&entry.map_err(at)?.path()).map_err(at)?;
        }
        Ok(Self {
            folder,
            is_there: Box::new(is_there),
            next: 0,
        })
    }

    /// Leaves an object there; gives where.
    fn leave(&mut self, (key, object): &Object) -> io::Result<PathBuf> {
        // The answer to what an earlier agent left is not taken for one to this.
        let name = format!("{}-{:012}", std::process::id(), self.next);
        self.next += 1;
        let (whole, left) = (self.place(&name, "tmp"), self.place(&name, "chunk"));
        let mut file = File::create(&whole)?;
        file.write_all(key.as_bytes())?;
        file.write_all(b"\n")?;
        file.write_all(object)?;
        fs::rename(whole, &left)?;
        Ok(left)
    }

    fn place(&self, name: &str, kind: &str) -> PathBuf {
        self.folder.join(format!("{name}.{kind}"))
    }

    /// Waits for the answer to what was left.
    fn answer(&self, left: &Path) -> Result<(), String> {
        let mut pause = FIRST_PAUSE;
        while left.exists() {
            if !(self.is_there)() {
                let _ = remove(left);
                return Err("the process that puts chunks into the store has ended".to_owned());
            }
            sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        let failed = left.with_extension("failed");
        match fs::read(&failed) {
            Ok(mut why) => {
                let _ = remove(&failed);
                why.truncate(MAX_SAID_BYTES);
                Err(String::from_utf8_lossy(&why).into_owned())
            }
            // Without the folder nobody has answered.
            Err(_) if !self.folder.exists() => Err(format!("{} is gone", self.folder.display())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(format!("{}: {error}", failed.display())),
        }
    }
}

/// Removes a file that may be gone already.
fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

impl Store for RelayStore {
    fn put(&mut self, key: &str, object: &[u8]) -> Result<(), String> {
        let answers = self.put_all(&[(key.to_owned(), object.to_vec())]);
        answers.into_iter().collect()
    }

    fn at_once(&self) -> usize {
        AT_ONCE
    }

    fn put_all(&mut self, objects: &[Object]) -> Vec<Result<(), String>> {
        let left: Vec<_> = objects.iter().map(|object| self.leave(object)).collect();
        let at = |error: io::Error| format!("{}: {error}", self.folder.display());
        let answer = |left: io::Result<PathBuf>| self.answer(&left.map_err(at)?);
        left.into_iter().map(answer).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Mutex};
    use std::thread::{self, JoinHandle};

    use super::*;

    /// What puts chunks elsewhere: it refuses those of some names, once each.
    struct Other {
        folder: tempfile::TempDir,
        lives: Arc<AtomicBool>,
        arrived: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
        thread: Option<JoinHandle<()>>,
    }

    impl Other {
        fn new(refuses: &'static [&'static str]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let lives = Arc::new(AtomicBool::new(true));
            let arrived = Arc::new(Mutex::new(BTreeMap::new()));
            let (at, goes_on, into) = (folder.path().to_owned(), lives.clone(), arrived.clone());
            let thread = thread::spawn(move || {
                let mut refused = Vec::new();
                while goes_on.load(Ordering::SeqCst) {
                    for entry in fs::read_dir(&at).unwrap().flatten() {
                        let path = entry.path();
                        if path.extension().is_none_or(|it| it != "chunk") {
                            continue;
                        }
                        let all = fs::read(&path).unwrap();
                        let end = all.iter().position(|&byte| byte == b'\n').unwrap();
                        let key = String::from_utf8(all[..end].to_vec()).unwrap();
                        if refuses.contains(&key.as_str()) && !refused.contains(&key) {
                            fs::write(path.with_extension("failed"), "no room").unwrap();
                            refused.push(key);
                        } else {
                            into.lock().unwrap().insert(key, all[end + 1..].to_vec());
                        }
                        fs::remove_file(path).unwrap();
                    }
                    sleep(Duration::from_millis(1));
                }
            });
            Self {
                folder,
                lives,
                arrived,
                thread: Some(thread),
            }
        }

        fn store(&self) -> RelayStore {
            let lives = self.lives.clone();
            let is_there = move || lives.load(Ordering::SeqCst);
            RelayStore::begin(self.folder.path().to_owned(), is_there).unwrap()
        }

        fn end(&mut self) {
            self.lives.store(false, Ordering::SeqCst);
            if let Some(thread) = self.thread.take() {
                thread.join().unwrap();
            }
        }
    }

    fn objects(count: usize) -> Vec<Object> {
        let object = |n: usize| {
            (
                format!("a/{n:012}.chunk"),
                format!("one\n{n}\n").into_bytes(),
            )
        };
        (0..count).map(object).collect()
    }

    #[test]
    fn each_object_has_an_answer_of_its_own() {
        let mut other = Other::new(&["a/000000000001.chunk"]);
        let mut store = other.store();
        let refused = Err("no room".to_owned());
        assert_eq!(store.put_all(&objects(3)), [Ok(()), refused, Ok(())]);
        let (key, object) = &objects(2)[1];
        assert_eq!(store.put(key, object), Ok(()));
        assert_eq!(
            *other.arrived.lock().unwrap(),
            objects(3).into_iter().collect()
        );
        assert_eq!(fs::read_dir(other.folder.path()).unwrap().count(), 0);
        other.end();
    }

    #[test]
    fn what_an_agent_before_us_left_is_not_taken_for_ours() {
        let mut other = Other::new(&[]);
        other.end();
        for left in [
            "1-000000000000.chunk",
            "1-000000000000.failed",
            "1-000000000001.tmp",
        ] {
            fs::write(other.folder.path().join(left), "x").unwrap();
        }
        let _store = other.store();
        assert_eq!(fs::read_dir(other.folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn nobody_waits_for_a_process_that_has_ended() {
        let mut other = Other::new(&[]);
        other.end();
        let mut store = other.store();
        let (key, object) = &objects(1)[0];
        let failure = store.put(key, object).unwrap_err();
        assert_eq!(
            failure,
            "the process that puts chunks into the store has ended"
        );
        assert_eq!(fs::read_dir(other.folder.path()).unwrap().count(), 0);
        fs::remove_dir(other.folder.path()).unwrap();
        assert!(store.put(key, object).unwrap_err().contains("No such file"));
    }
}
