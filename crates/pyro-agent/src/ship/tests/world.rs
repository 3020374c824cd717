//! Files, a store, a memory and a clock in memory. Every effect has a number: at one of them the shipper is killed.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use pyro_chunks::Source;

use crate::ship::ports::{Clock, Files, Keep, Seen, Store};
use crate::ship::shipper::{Options, Shipper};

/// What becomes of a put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It arrives.
    Arrives,
    /// It does not, and that is said.
    Fails,
    /// It arrives, and the answer is lost.
    Unanswered,
    /// Half of it arrives, and an error is said.
    Half,
    /// It arrives after so many ns.
    Slow(i64),
    /// It does not arrive, and nobody says so.
    Lies,
}

#[derive(Debug, Default, Clone)]
pub struct File {
    pub inode: u64,
    pub bytes: Vec<u8>,
    pub freed_to: usize,
}

/// What becomes of the put of a name at a moment.
type Plan = Box<dyn FnMut(&str, i64) -> Fate>;

#[derive(Default)]
pub struct Inner {
    pub files: BTreeMap<String, File>,
    pub unreadable: bool,
    pub unlisted: bool,
    pub store: BTreeMap<String, Vec<u8>>,
    pub puts: u64,
    pub kept: Option<String>,
    /// Why nothing is saved any more.
    pub unsaved: Option<io::ErrorKind>,
    pub now_ns: i64,
    pub effects: u64,
    /// From this effect on there are none: before it, or right after it happened.
    pub dies_at: Option<(u64, bool)>,
    pub fate: Option<Plan>,
    pub largest_object: usize,
    /// What was put under a name, when other than what is there: must not differ in what it holds.
    pub overwritten: u64,
}

/// A handle to the world; every part of it is one.
#[derive(Clone, Default)]
pub struct World(pub Rc<RefCell<Inner>>);

pub type Simulated = Shipper<World, World, World, World>;

const KILLED: &str = "killed";

impl World {
    /// Does something, unless the shipper was killed before; the answer gets lost if it is killed right after.
    fn effect<T>(&self, act: impl FnOnce(&mut Inner) -> T) -> Option<T> {
        let mut inner = self.0.borrow_mut();
        let number = inner.effects;
        inner.effects += 1;
        match inner.dies_at {
            Some((at, _)) if number > at => None,
            Some((at, before)) if number == at => {
                if !before {
                    act(&mut inner);
                }
                None
            }
            _ => Some(act(&mut inner)),
        }
    }

    pub fn append(&self, name: &str, bytes: &[u8]) {
        let mut inner = self.0.borrow_mut();
        let inode = inner.files.len() as u64 + 100;
        let file = inner.files.entry(name.to_owned()).or_default();
        if file.inode == 0 {
            file.inode = inode;
        }
        file.bytes.extend_from_slice(bytes);
    }

    pub fn wait(&self, seconds: i64) {
        self.0.borrow_mut().now_ns += seconds * 1_000_000_000;
    }

    pub fn fate(&self, fate: impl FnMut(&str, i64) -> Fate + 'static) {
        self.0.borrow_mut().fate = Some(Box::new(fate));
    }

    pub fn shipper(&self) -> Simulated {
        self.bounded(u64::MAX)
    }

    pub fn bounded(&self, spool_bytes: u64) -> Simulated {
        let birth = self.0.borrow().now_ns;
        let source = Source {
            app: "app-1".to_owned(),
            executor: "1".to_owned(),
            attempt: format!("{birth:x}"),
            host: "h".to_owned(),
        };
        let options = Options {
            spool_bytes,
            free: true,
            round_ns: 5_000_000_000,
            seed: 1,
        };
        let world = || self.clone();
        Shipper::begin(world(), world(), world(), world(), source, options).unwrap()
    }
}

fn killed() -> io::Error {
    io::Error::other(KILLED)
}

impl Files for World {
    fn list(&mut self) -> io::Result<Vec<Seen>> {
        let inner = self.0.borrow();
        if inner.unlisted {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let seen = |(name, file): (&String, &File)| Seen {
            name: name.clone(),
            inode: file.inode,
            length: file.bytes.len() as u64,
            modified_ns: file.bytes.len() as i64,
            gone: false,
        };
        Ok(inner.files.iter().map(seen).collect())
    }

    fn read(
        &mut self,
        file: &Seen,
        offset: u64,
        length: usize,
        into: &mut Vec<u8>,
    ) -> io::Result<()> {
        let inner = self.0.borrow();
        let found = inner.files.get(&file.name);
        let found = found.filter(|found| found.inode == file.inode && !inner.unreadable);
        let range = offset as usize..offset as usize + length;
        let bytes = found.and_then(|found| found.bytes.get(range));
        into.clear();
        into.extend_from_slice(bytes.ok_or(io::ErrorKind::NotFound)?);
        Ok(())
    }

    fn free(&mut self, file: &Seen, from: u64, to: u64) -> io::Result<()> {
        let freed = self.effect(|inner| {
            let file = inner.files.get_mut(&file.name).unwrap();
            file.bytes[from as usize..to as usize].fill(0);
            if from as usize <= file.freed_to {
                file.freed_to = file.freed_to.max(to as usize);
            }
        });
        freed.ok_or_else(killed)
    }

    fn freed_bytes(&mut self, file: &Seen) -> u64 {
        self.0.borrow().files[&file.name].freed_to as u64
    }

    fn release(&mut self, _: &Seen) {}
}

impl Store for World {
    fn put(&mut self, key: &str, object: &[u8]) -> Result<(), String> {
        let answer = self.effect(|inner| {
            let now_ns = inner.now_ns;
            let fate = inner
                .fate
                .as_mut()
                .map_or(Fate::Arrives, |fate| fate(key, now_ns));
            inner.puts += 1;
            inner.largest_object = inner.largest_object.max(object.len());
            let stored = match fate {
                Fate::Fails | Fate::Lies => None,
                Fate::Half => Some(&object[..object.len() / 2]),
                Fate::Arrives | Fate::Unanswered | Fate::Slow(_) => Some(object),
            };
            if let Fate::Slow(ns) = fate {
                inner.now_ns += ns;
            }
            if let Some(stored) = stored {
                let before = inner.store.insert(key.to_owned(), stored.to_vec());
                inner.overwritten += u64::from(before.is_some_and(|before| before == stored));
            }
            match fate {
                Fate::Arrives | Fate::Slow(_) | Fate::Lies => Ok(()),
                _ => Err("no answer".to_owned()),
            }
        });
        answer.unwrap_or_else(|| Err(KILLED.to_owned()))
    }
}

impl Keep for World {
    fn load(&mut self) -> io::Result<Option<String>> {
        Ok(self.0.borrow().kept.clone())
    }

    fn save(&mut self, text: &str) -> io::Result<()> {
        if let Some(kind) = self.0.borrow().unsaved {
            return Err(kind.into());
        }
        let saved = self.effect(|inner| inner.kept = Some(text.to_owned()));
        saved.ok_or_else(killed)
    }
}

impl Clock for World {
    fn mono_ns(&self) -> i64 {
        self.0.borrow().now_ns
    }

    fn wall_ns(&self) -> i64 {
        self.0.borrow().now_ns + 1
    }
}
