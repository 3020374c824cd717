//! A store in a thread of its own: one that hangs, as a shared folder does whose server is gone, holds up nothing else.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use crate::ship::ports::Store;

/// Puts one object at a time, and waits for each only so long. What arrives later is known when it is put again.
#[derive(Debug)]
pub struct Apart {
    objects: SyncSender<(String, Vec<u8>)>,
    answers: Receiver<Result<(), String>>,
    patience: Duration,
    /// What has no answer yet: its name, and what tells its content.
    unanswered: Option<(String, u64)>,
    /// What arrived when nobody waited for it any more.
    arrived: BTreeMap<String, u64>,
}

impl Apart {
    /// Starts the thread.
    ///
    /// # Errors
    /// What the system says.
    pub fn begin(mut store: impl Store + Send + 'static, patience: Duration) -> io::Result<Self> {
        let (objects, asked) = sync_channel::<(String, Vec<u8>)>(1);
        let (answer, answers) = sync_channel(1);
        thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || {
                for (key, object) in asked {
                    if answer.send(store.put(&key, &object)).is_err() {
                        return;
                    }
                }
            })?;
        Ok(Self {
            objects,
            answers,
            patience,
            unanswered: None,
            arrived: BTreeMap::new(),
        })
    }

    /// The answer to what was put last, if it comes within this time.
    fn answer(&mut self, within: Duration) -> Result<(), String> {
        let answer = self.answers.recv_timeout(within);
        if answer != Err(RecvTimeoutError::Timeout) {
            self.unanswered = None;
        }
        answer.unwrap_or_else(|_| {
            let seconds = self.patience.as_secs_f64();
            Err(format!("the store gave no answer within {seconds} s"))
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
                failure if self.unanswered.is_some() => return failure,
                // It is put again anyway.
                Err(_) => {}
            }
        }
        if self.arrived.remove(key) == Some(content) {
            return Ok(());
        }
        let sent = self.objects.send((key.to_owned(), object.to_vec()));
        sent.map_err(|_| "the thread of the store has ended".to_owned())?;
        self.unanswered = Some((key.to_owned(), content));
        self.answer(self.patience)
    }
}
