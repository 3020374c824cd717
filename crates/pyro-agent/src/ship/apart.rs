//! A store in a thread of its own: one that hangs, as a shared folder does whose server is gone, holds up nothing else.

use std::any::Any;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;
use std::{mem, thread};

use crate::ship::ports::{Object, Store};

/// What is said of a thread that says nothing.
const NOT_ANSWERED: &str = "it ended without an answer";

type Opened = Result<Box<dyn Store + Send>, String>;

/// Puts some objects at a time, and waits for them only so long. What arrives later is known when it is put again.
pub struct Apart {
    open: Box<dyn Fn() -> Opened>,
    /// `None` once it has died, until something is put again.
    thread: Option<Thread>,
    at_once: usize,
    patience: Duration,
    /// What has no answer yet: names, and what tells their content.
    unanswered: Vec<(String, u64)>,
    /// What arrived when nobody waited for it any more.
    arrived: BTreeMap<String, u64>,
}

impl Apart {
    /// Opens the store, and starts the thread; both again where that dies.
    ///
    /// # Errors
    /// Why it cannot be opened, or what the system says.
    pub fn begin(open: impl Fn() -> Opened + 'static, patience: Duration) -> Result<Self, String> {
        let store = open()?;
        Ok(Self {
            at_once: store.at_once(),
            thread: Some(Thread::begin(store)?),
            open: Box::new(open),
            patience,
            unanswered: Vec::new(),
            arrived: BTreeMap::new(),
        })
    }

    /// The answers to what was put last, if they come within this time.
    fn answers(&mut self, within: Duration) -> Result<Vec<Result<(), String>>, String> {
        let thread = self.thread.as_ref().ok_or(NOT_ANSWERED)?;
        let answer = match thread.answers.recv_timeout(within) {
            Err(RecvTimeoutError::Timeout) => {
                let seconds = self.patience.as_secs_f64();
                return Err(format!("the store gave no answer within {seconds} s"));
            }
            Err(RecvTimeoutError::Disconnected) => Err(Box::new(NOT_ANSWERED) as _),
            Ok(answer) => answer,
        };
        answer.map_err(|panic| {
            self.unanswered.clear();
            self.thread = None;
            format!("the thread of the store died: {}", said(&*panic))
        })
    }

    /// Takes the answers that come late, if there is any to come.
    fn take_late(&mut self) -> Result<(), String> {
        if self.unanswered.is_empty() {
            return Ok(());
        }
        let answers = self.answers(Duration::ZERO)?;
        // What failed is put again anyway.
        let late = mem::take(&mut self.unanswered).into_iter().zip(answers);
        self.arrived
            .extend(late.filter_map(|(one, answer)| answer.is_ok().then_some(one)));
        Ok(())
    }

    fn send(&mut self, objects: Vec<Object>) -> Result<Vec<Result<(), String>>, String> {
        let thread = match &mut self.thread {
            Some(thread) => thread,
            died => died.insert(Thread::begin((self.open)()?)?),
        };
        let known = objects
            .iter()
            .map(|(key, object)| (key.clone(), content(object)));
        self.unanswered = known.collect();
        // Where nobody takes it any more, there is no answer either.
        let _ = thread.objects.send(objects);
        let answers = self.answers(self.patience)?;
        self.unanswered.clear();
        Ok(answers)
    }
}

impl Store for Apart {
    fn put(&mut self, key: &str, object: &[u8]) -> Result<(), String> {
        let answers = self.put_all(&[(key.to_owned(), object.to_vec())]);
        answers
            .into_iter()
            .next()
            .unwrap_or_else(|| Err(NOT_ANSWERED.to_owned()))
    }

    fn at_once(&self) -> usize {
        self.at_once
    }

    fn put_all(&mut self, objects: &[Object]) -> Vec<Result<(), String>> {
        if let Err(failure) = self.take_late() {
            return vec![Err(failure); objects.len()];
        }
        let mut is_there =
            |(key, object): &Object| self.arrived.remove(key) == Some(content(object));
        let there: Vec<bool> = objects.iter().map(&mut is_there).collect();
        let missing = objects.iter().zip(&there).filter(|(_, there)| !**there);
        let missing: Vec<Object> = missing.map(|(object, _)| object.clone()).collect();
        if missing.is_empty() {
            return vec![Ok(()); objects.len()];
        }
        let answers = self.send(missing);
        let mut answers = answers.map(Vec::into_iter);
        let mut next = || match &mut answers {
            Ok(answers) => answers
                .next()
                .unwrap_or_else(|| Err(NOT_ANSWERED.to_owned())),
            Err(failure) => Err(failure.clone()),
        };
        there
            .into_iter()
            .map(|there| if there { Ok(()) } else { next() })
            .collect()
    }
}

/// What tells the content of an object.
fn content(object: &[u8]) -> u64 {
    let mut content = DefaultHasher::new();
    object.hash(&mut content);
    content.finish()
}

/// What a panic said.
fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("no reason is known")
}

/// The thread of a store: it ends when that panics.
struct Thread {
    objects: SyncSender<Vec<Object>>,
    answers: Receiver<thread::Result<Vec<Result<(), String>>>>,
}

impl Thread {
    fn begin(mut store: impl Store + Send + 'static) -> Result<Self, String> {
        let (objects, asked) = sync_channel::<Vec<Object>>(1);
        let (tell, answers) = sync_channel(1);
        let put_all = move || {
            for objects in asked {
                let answer = catch_unwind(AssertUnwindSafe(|| store.put_all(&objects)));
                let is_dead = answer.is_err();
                if tell.send(answer).is_err() || is_dead {
                    return;
                }
            }
        };
        let begun = thread::Builder::new()
            .name("store".to_owned())
            .spawn(put_all);
        begun.map_err(|error| format!("the thread of the store: {error}"))?;
        Ok(Self { objects, answers })
    }
}
