//! The line that begins a sample.

use super::sample::Sample;

/// A head, read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Head<'a> {
    comm: &'a [u8],
    pid: Option<i64>,
    tid: Option<i64>,
    t_ns: Option<i64>,
    period: Option<i64>,
    event: &'a [u8],
    /// What follows: the address of a sample without call chain, or what a tracepoint says.
    rest: &'a [u8],
}

/// A head that outlives its line.
#[derive(Debug)]
pub(super) struct OwnedHead {
    pub sample: Sample,
    pub rest: Vec<u8>,
}

/// Words of unknown meaning (flags of `-F +misc` and the like) allowed before the event.
const MAX_FLAGS: usize = 2;

impl<'a> Head<'a> {
    /// Reads a head that has a thread. The thread's name may hold spaces and numbers: the first
    /// number counts behind which there is a processor, a time or an event.
    pub fn parse(text: &'a [u8]) -> Option<Self> {
        words(text).find_map(|(start, word)| {
            let (pid, tid) = ids(word)?;
            let head = Self {
                comm: text[..start].trim_ascii(),
                pid,
                tid,
                ..Self::default()
            };
            head.followed_by(&text[start + word.len()..])
        })
    }

    /// Reads a head that has no thread (`-F comm,event`).
    pub fn parse_without_pid(text: &'a [u8]) -> Option<Self> {
        let (start, _) = words(text).find(|(start, word)| {
            *start > 0 && (time_ns(word).is_some() || word.ends_with(b":"))
        })?;
        let head = Self {
            comm: text[..start].trim_ascii(),
            ..Self::default()
        };
        head.followed_by(&text[start..])
    }

    /// Reads on behind the thread: `[cpu] time: period event: …`, of which any may be missing
    /// but not both time and event.
    fn followed_by(mut self, text: &'a [u8]) -> Option<Self> {
        let mut flags = 0;
        for (start, word) in words(text) {
            if let Some(t_ns) = time_ns(word).filter(|_| self.t_ns.is_none()) {
                self.t_ns = Some(t_ns);
            } else if let Some(event) = word.strip_suffix(b":").filter(|event| !event.is_empty()) {
                self.event = event;
                self.rest = text[start + word.len()..].trim_ascii();
                return Some(self);
            } else if let Some(number) = digits(word) {
                self.period = Some(number);
            } else if is_cpu(word) {
                // The period comes later: what looked like one is the thread.
                if self.period.is_some() {
                    return None;
                }
            } else {
                flags += 1;
                if flags > MAX_FLAGS || self.t_ns.is_some() || ids(word).is_some() {
                    return None;
                }
            }
        }
        self.t_ns.is_some().then_some(self)
    }

    /// The head with its event's number.
    pub fn owned(&self, events: &mut Vec<Vec<u8>>) -> OwnedHead {
        let known = events.iter().position(|known| known == self.event);
        let event = known.unwrap_or_else(|| {
            events.push(self.event.to_vec());
            events.len() - 1
        });
        OwnedHead {
            sample: Sample {
                comm: self.comm.to_vec(),
                pid: self.pid,
                tid: self.tid,
                t_ns: self.t_ns,
                period: self.period,
                event: event as u32,
                stack: Vec::new(),
            },
            rest: self.rest.to_vec(),
        }
    }
}

/// Words and where they start.
fn words(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        at += text[at..].iter().position(|b| !b.is_ascii_whitespace())?;
        let start = at;
        let rest = &text[start..];
        let length = rest
            .iter()
            .position(u8::is_ascii_whitespace)
            .unwrap_or(rest.len());
        at = start + length;
        Some((start, &rest[..length]))
    })
}

fn digits(word: &[u8]) -> Option<i64> {
    if word.is_empty() || !word.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// `pid/tid`, or `tid` alone. perf writes -1 where it does not know.
fn ids(word: &[u8]) -> Option<(Option<i64>, Option<i64>)> {
    let id = |word: &[u8]| {
        if word == b"-1" {
            Some(-1)
        } else {
            digits(word)
        }
    };
    let known = |id: i64| (id >= 0).then_some(id);
    match word.iter().position(|&byte| byte == b'/') {
        Some(at) => Some((known(id(&word[..at])?), known(id(&word[at + 1..])?))),
        None => Some((None, known(id(word)?))),
    }
}

fn is_cpu(word: &[u8]) -> bool {
    let inside = word
        .strip_prefix(b"[")
        .and_then(|word| word.strip_suffix(b"]"));
    inside.is_some_and(|cpu| digits(cpu).is_some())
}

/// `92.123456:`, seconds.
fn time_ns(word: &[u8]) -> Option<i64> {
    let word = word.strip_suffix(b":")?;
    let at = word.iter().position(|&byte| byte == b'.')?;
    let (seconds, fraction) = (digits(&word[..at])?, &word[at + 1..]);
    let width = u32::try_from(fraction.len())
        .ok()
        .filter(|width| *width <= 9)?;
    let fraction = digits(fraction)? * 10_i64.pow(9 - width);
    seconds.checked_mul(1_000_000_000)?.checked_add(fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(String, [Option<i64>; 4], String, String)> {
        let head = Head::parse(text.as_bytes())?;
        let utf8 = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let numbers = [head.pid, head.tid, head.t_ns, head.period];
        Some((utf8(head.comm), numbers, utf8(head.event), utf8(head.rest)))
    }

    #[test]
    fn heads_of_many_layouts() {
        let t = Some(92_123_456_000);
        for (text, comm, numbers, event, rest) in [
            (
                "java 1/2 [001] 92.123456: 25 cycles:ppp:",
                "java",
                [Some(1), Some(2), t, Some(25)],
                "cycles:ppp",
                "",
            ),
            (
                "V8 Worker 3 1/2 [001] 92.123456: cpu-clock: ",
                "V8 Worker 3",
                [Some(1), Some(2), t, None],
                "cpu-clock",
                "",
            ),
            (
                "kworker/u 3 12 [001] 92.123456: 5 e:",
                "kworker/u 3",
                [None, Some(12), t, Some(5)],
                "e",
                "",
            ),
            (
                "java 19983 cycles:",
                "java",
                [None, Some(19983), None, None],
                "cycles",
                "",
            ),
            (
                "swapper 0 [000] 92.123456000: 1 sched:sched_switch: prev_comm=a b",
                "swapper",
                [None, Some(0), t, Some(1)],
                "sched:sched_switch",
                "prev_comm=a b",
            ),
            (
                "2 92.123456: event:",
                "",
                [None, Some(2), t, None],
                "event",
                "",
            ),
            (
                "a -1/-1 [000] 92.123456: e:",
                "a",
                [None, None, t, None],
                "e",
                "",
            ),
            (
                "a 7 [000] d..1. 92.123456: e:",
                "a",
                [None, Some(7), t, None],
                "e",
                "",
            ),
            ("a 7 92.123456:", "a", [None, Some(7), t, None], "", ""),
            (
                "a 7 92.123456: 3 e: ffff f+0x1 ([k])",
                "a",
                [None, Some(7), t, Some(3)],
                "e",
                "ffff f+0x1 ([k])",
            ),
        ] {
            let expected = (comm.to_owned(), numbers, event.to_owned(), rest.to_owned());
            assert_eq!(read(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_head() {
        for text in [
            "",
            "java",
            "java 12",
            "7fff main (/bin/x)",
            "99 bottles of beer",
            "a 1.5: b",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
