//! How `host` goes on after a round.

/// Why streams that were begun anew have ended.
pub const RENEWED: &str = "begun anew";

/// Why streams whose recorder ended have.
pub const UNRECORDED: &str = "its recorder ended";

/// What decides.
#[derive(Debug, Clone, Copy)]
pub struct State {
    /// The end was asked for.
    pub is_stopping: bool,
    /// What was begun before waits for the store.
    pub is_away: bool,
    /// The streams are to be begun anew.
    pub is_old: bool,
    /// The recorder has ended, and another one is due.
    pub is_due: bool,
}

/// How it goes on.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// It ends, and begins nothing any more.
    End,
    /// As it is.
    GoOn,
    /// With another recorder of the same streams.
    RecordAgain,
    /// With new streams; why the old ones end.
    BeginAnew(&'static str),
}

impl State {
    /// Says how it goes on. `has_written`: the recorder that ended left rows, which another would replace.
    pub fn next(self, has_written: impl FnOnce() -> bool) -> Next {
        if self.is_stopping {
            // A recorder that began now would be asked to end before it listens.
            Next::End
        } else if self.is_due && !self.is_old && !has_written() {
            Next::RecordAgain
        } else if self.is_away || !(self.is_old || self.is_due) {
            Next::GoOn
        } else {
            Next::BeginAnew(if self.is_old { RENEWED } else { UNRECORDED })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(words: &str, has_written: bool) -> Next {
        let state = State {
            is_stopping: words.contains("stopping"),
            is_away: words.contains("away"),
            is_old: words.contains("old"),
            is_due: words.contains("due"),
        };
        state.next(|| has_written)
    }

    #[test]
    fn whoever_is_asked_to_stop_begins_nothing_any_more() {
        for also in ["", "old", "due", "old due", "away", "away old due"] {
            for has_written in [false, true] {
                assert_eq!(next(&format!("stopping {also}"), has_written), Next::End);
            }
        }
    }

    #[test]
    fn nothing_that_was_recorded_is_replaced_and_one_folder_waits_at_most() {
        for away in ["", "away"] {
            assert_eq!(next(&format!("{away} due"), false), Next::RecordAgain);
            assert_eq!(next(away, false), Next::GoOn);
        }
        assert_eq!(next("due", true), Next::BeginAnew(UNRECORDED));
        for has_written in [false, true] {
            assert_eq!(next("old", has_written), Next::BeginAnew(RENEWED));
            assert_eq!(next("old due", has_written), Next::BeginAnew(RENEWED));
            assert_eq!(next("away old due", has_written), Next::GoOn);
        }
        assert_eq!(next("away due", true), Next::GoOn);
    }
}
