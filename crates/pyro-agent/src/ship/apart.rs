//! A store in a thread of its own: one that hangs, as a shared folder does whose server is gone, holds up nothing else.

use std::any::Any;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use crate::ship::ports::Store;

/// What is said of a thread that says nothing.
const NOT_ANSWERED: &str = "it ended without an answer";

type Opened = Result<Box<dyn Store + Send>, String>;

/// Puts one object at a time, and waits for each only so long. What arrives later is known when it is put again.
pub struct Apart {
    open: Box<dyn Fn() -> Opened>,
    /// `None` once it has died, until something is put again.
    thread: Option<Thread>,
    patience: Duration,
    /// What has no answer yet: its name, and what tells its content.
    unanswered: Option<(String, u64)>,
    /// What arrived when nobody waited for it any more.
    arrived: BTreeMap<String, u64>,
}

impl Apart {
    /// Opens the store, and starts the thread; both again where that dies.
    ///
    /// # Errors
    /// Why it cannot be opened, or what the system says.
    pub fn begin(open: impl Fn() -> Opened + 'static, patience: Duration) -> Result<Self, String> {
        Ok(Self {
            thread: Some(Thread::begin(open()?)?),
            open: Box::new(open),
            patience,
            unanswered: None,
            arrived: BTreeMap::new(),
        })
    }

    /// The answer to what was put last, if it comes within this time.
    fn answer(&mut self, within: Duration) -> Result<(), String> {
        let thread = self.thread.as_ref().ok_or(NOT_ANSWERED)?;
        let answer = match thread.answers.recv_timeout(within) {
            Err(RecvTimeoutError::Timeout) => {
                let seconds = self.patience.as_secs_f64();
                return Err(format!("the store gave no answer within {seconds} s"));
            }
            Err(RecvTimeoutError::Disconnected) => Err(Box::new(NOT_ANSWERED) as _),
            Ok(answer) => answer,
        };
        self.unanswered = None;
        answer.unwrap_or_else(|panic| {
            self.thread = None;
            Err(format!("the thread of the store died: {}", said(&*panic)))
        })
    }
}

impl Store for Apart {
    fn put(&mut self, key: &str, object: &[u8]) -> Result<(), String> {
        let mut content = DefaultHasher::new();
        object.hash(&mut content);
        let content = content.finish();
        if let Some(late) = self.unanswered.clone() {
            match self.answer(Duration::ZERO) {
                Ok(()) => self.arrived.extend([late]),
                failure if self.unanswered.is_some() || self.thread.is_none() => return failure,
                // It is put again anyway.
                Err(_) => {}
            }
        }
        if self.arrived.remove(key) == Some(content) {
            return Ok(());
        }
        let thread = match &mut self.thread {
            Some(thread) => thread,
            died => died.insert(Thread::begin((self.open)()?)?),
        };
        // Where nobody takes it any more, there is no answer either.
        let _ = thread.objects.send((key.to_owned(), object.to_vec()));
        self.unanswered = Some((key.to_owned(), content));
        self.answer(self.patience)
    }
}

/// What a panic said.
fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("no reason is known")
}

/// The thread of a store: it ends when that panics.
struct Thread {
    objects: SyncSender<(String, Vec<u8>)>,
    answers: Receiver<thread::Result<Result<(), String>>>,
}

impl Thread {
    fn begin(mut store: impl Store + Send + 'static) -> Result<Self, String> {
        let (objects, asked) = sync_channel::<(String, Vec<u8>)>(1);
        let (tell, answers) = sync_channel(1);
        let put_all = move || {
            for (key, object) in asked {
                let answer = catch_unwind(AssertUnwindSafe(|| store.put(&key, &object)));
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
