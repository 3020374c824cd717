//! Which messages of an Arrow IPC stream can be read behind a gap: those whose dictionaries came again.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::messages::{Message, read};
use crate::units::whole_message;

/// What is known of the dictionaries of a stream.
#[derive(Debug, Default)]
pub struct Messages {
    /// Numbers of all dictionaries; `None`: the schema is not there, and nothing can be read without it.
    all: Option<BTreeSet<i64>>,
    /// Those that may have changed in a gap, and have not come again since.
    lacking: BTreeSet<i64>,
}

impl Messages {
    /// Reads the schema, with which a stream begins.
    pub fn begin(&mut self, bytes: &[u8]) {
        let first = whole_message(bytes).and_then(|size| read(&bytes[..size]));
        self.all = match first {
            Some(Message::Schema(ids)) => Some(ids),
            _ => None,
        };
    }

    /// Something is missing: it may have had any dictionary.
    pub fn lost(&mut self) {
        self.lacking = self.all.clone().unwrap_or_default();
    }

    /// Whether rows may need a dictionary that has not come again.
    pub fn lack(&self) -> bool {
        !self.lacking.is_empty()
    }

    /// Where in these bytes, which begin with a message, those are that can be read, and whether what is at the
    /// end is no whole message; `None` without a schema.
    pub fn pick(&mut self, bytes: &[u8]) -> Option<(Vec<Range<usize>>, bool)> {
        self.all.as_ref()?;
        let (mut keep, mut at): (Vec<Range<usize>>, _) = (Vec::new(), 0);
        while at < bytes.len() {
            let size = whole_message(&bytes[at..]);
            let Some((size, message)) =
                size.and_then(|size| Some((size, read(&bytes[at..][..size])?)))
            else {
                self.lost();
                return Some((keep, true));
            };
            let is_of_use = match message {
                Message::Dictionary {
                    id,
                    is_delta: false,
                } => {
                    self.lacking.remove(&id);
                    true
                }
                Message::Dictionary { id, .. } => !self.lacking.contains(&id),
                Message::Rows => self.lacking.is_empty(),
                Message::Schema(_) => false,
                Message::End => true,
            };
            let end = at + size;
            match keep.last_mut() {
                Some(last) if is_of_use && last.end == at => last.end = end,
                _ if is_of_use => keep.push(at..end),
                _ => {}
            }
            at = end;
        }
        Some((keep, false))
    }
}
