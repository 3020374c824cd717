//! Folders that nobody writes any more, of which not all has arrived.

use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::args::Shipping;
use crate::ship::LOCK;
use crate::verbs::next::{RENEWED, UNRECORDED};
use crate::verbs::reporter::Beside;
use crate::verbs::session::{OF_THE_HOST, Session};

/// One of them.
pub struct Rest {
    session: Session,
    reason: &'static str,
    state: Beside,
    /// Something of it waits for the store.
    waiting: bool,
}

impl Rest {
    /// One that this agent has ended, whose last round is not done. `state` is what there was to tell beside shipping.
    pub fn new(session: Session, reason: &'static str, state: Beside, waiting: bool) -> Self {
        Self {
            session,
            reason,
            state,
            waiting,
        }
    }

    /// Whether this agent has begun it, and the store is away.
    fn is_away(&self) -> bool {
        self.waiting && matches!(self.reason, RENEWED | UNRECORDED)
    }

    /// Ships what is left of it; false once all of it has arrived. The folder is gone then, unless
    /// files were left out.
    fn waits(&mut self) -> bool {
        // As patient as with the folder of now: only the last rounds, with the report, hurry.
        let session = &mut self.session;
        let mut round = session.rest();
        if round.is_done() {
            round = session.finish(true, &self.state, self.reason);
        }
        self.waiting = round.waiting;
        if round.is_done() {
            session.remove();
        }
        !round.is_done()
    }
}

/// All of them, whoever is next first.
#[derive(Default)]
pub struct Rests(VecDeque<Rest>);

impl Rests {
    /// Those of agents that were killed before everything had arrived, the oldest first.
    pub fn of_killed(work_dir: &Path, shipping: &Shipping) -> Self {
        let entries = fs::read_dir(work_dir).into_iter().flatten();
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let mut begun: Vec<_> = paths
            .filter_map(|path| Some((birth(&path)?, path)))
            .collect();
        begun.sort();
        let sessions = begun.into_iter().filter_map(|(_, path)| {
            let session = Session::begin(&path, OF_THE_HOST, shipping, true, None);
            session
                .inspect_err(|error| eprintln!("pyro-agent: it stays where it is: {error}"))
                .ok()
        });
        let rests = sessions.map(|session| Rest::new(session, "killed", Beside::default(), true));
        Self(rests.collect())
    }

    /// Takes one more.
    pub fn add(&mut self, rest: Rest) {
        self.0.push_back(rest);
    }

    /// Ships what is left, of at least one, and of no other once this time has passed: those that were not reached are
    /// next.
    pub fn ship(&mut self, within: Duration) {
        let begun = Instant::now();
        for _ in 0..self.0.len() {
            if let Some(mut rest) = self.0.pop_front()
                && rest.waits()
            {
                self.0.push_back(rest);
            }
            if begun.elapsed() >= within {
                break;
            }
        }
    }

    /// Whether one that this agent has begun waits for the store.
    pub fn is_away(&self) -> bool {
        self.0.iter().any(Rest::is_away)
    }

    /// Bytes that wait for the store.
    pub fn waiting_bytes(&self) -> u64 {
        let rests = self.0.iter();
        rests.map(|rest| rest.session.waiting_bytes()).sum()
    }
}

/// When an agent began this folder; `None` of one that none has: it is removed when all of it has arrived, and no other
/// may be.
fn birth(path: &Path) -> Option<i64> {
    let name = path.file_name()?.to_str()?;
    let birth = i64::from_str_radix(name, 16).ok()?;
    path.join(LOCK).is_file().then_some(birth)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Folders that were left, each with a line.
    fn leave(work_dir: &Path, births: &[&str]) {
        for birth in births {
            let folder = work_dir.join(birth);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(LOCK), "").unwrap();
            fs::write(folder.join("gc-1.log"), "a line\n").unwrap();
        }
    }

    fn shipping(store: &Path) -> Shipping {
        Shipping {
            to: store.to_str().unwrap().to_owned(),
            host: "h".to_owned(),
            every: Duration::from_secs(3600),
            spool_mib: 1,
        }
    }

    #[test]
    fn once_their_time_has_passed_the_others_are_next() {
        let place = tempfile::tempdir().unwrap();
        let [away, work, store] = ["away", "work", "store"].map(|name| place.path().join(name));
        fs::create_dir(&store).unwrap();
        leave(&away, &["9"]);
        leave(&work, &["b", "a", "10"]);
        fs::create_dir(work.join("c")).unwrap();
        let mut rests = Rests::of_killed(&away, &shipping(&place.path().join("none")));
        rests.0.extend(Rests::of_killed(&work, &shipping(&store)).0);
        let left = || {
            let folders = fs::read_dir(&work)
                .unwrap()
                .chain(fs::read_dir(&away).unwrap());
            let mut names: Vec<_> = folders
                .map(|folder| folder.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names.join(" ")
        };
        for expected in ["10 9 a b c", "10 9 b c", "10 9 c", "9 c", "9 c"] {
            rests.ship(Duration::ZERO);
            assert_eq!(left(), expected);
        }
        assert_eq!((rests.0.len(), rests.waiting_bytes()), (1, 7));

        // Within their time all are shipped.
        leave(&work, &["d", "e"]);
        rests.0.extend(Rests::of_killed(&work, &shipping(&store)).0);
        rests.ship(Duration::MAX);
        assert_eq!(left(), "9 c");
    }
}
