//! Native memory that was asked for and not given back: calls of the allocator whose address no
//! later call frees.
//!
//! Within a chunk events stand in the order of threads' buffers, not of time: a call may come
//! after the one that frees its address. Times decide.

use std::collections::HashMap;

use pyro_model::TaskSpan;
use pyro_stacks::Verdict;

use super::samples::{Event, Origin, Sample, ThreadFacts};

/// Calls that are kept, at most.
const MAX_CALLS: usize = 1 << 18;
/// Frees of a chunk that are kept in case their call comes later, at most.
const MAX_FREES: usize = 1 << 20;

/// A sampled call, ready to become a row.
pub struct Call<'a> {
    /// What is the same for all samples of its recording.
    pub origin: Origin,
    /// Time, on the recording's clock.
    pub t_ns: i64,
    /// Time in ticks, for the order.
    pub ticks: u64,
    /// Bytes that it stands for.
    pub weight: i64,
    /// Stack, where it could be resolved.
    pub stack: Option<(i32, Verdict)>,
    /// Thread.
    pub thread: ThreadFacts,
    /// Task that the thread was running.
    pub span: Option<&'a TaskSpan>,
    /// Its free may be one that there was no room for.
    pub unsure: bool,
}

/// A call of the native allocator, as it stands in a chunk.
pub enum Native<'a> {
    /// Memory was asked for, at this address.
    Call(u64, Box<Call<'a>>),
    /// It was given back: the address, and the time in ticks.
    Free(u64, u64),
}

/// Calls by address.
#[derive(Default)]
pub struct Unfreed<'a> {
    calls: HashMap<u64, Call<'a>>,
    frees: HashMap<u64, u64>,
    /// When the last free of the chunk was that there was no room for.
    unkept_until: Option<u64>,
    /// Calls that there was no room for.
    pub left_out: u64,
    /// Calls among the rest that may have been freed ([`Call::unsure`]); set once it is taken out.
    pub unsure: u64,
}

impl<'a> Unfreed<'a> {
    /// Takes a call in.
    fn call(&mut self, address: u64, mut call: Call<'a>) {
        if self.frees.get(&address).is_some_and(|at| *at >= call.ticks) {
            return;
        }
        match self.calls.get(&address) {
            // The earlier of two calls with one address was freed in between.
            Some(held) if held.ticks >= call.ticks => {}
            None if self.calls.len() >= MAX_CALLS => self.left_out += 1,
            _ => {
                call.unsure = self.unkept_until >= Some(call.ticks);
                self.calls.insert(address, call);
            }
        }
    }

    /// Takes the return of an address in.
    fn free(&mut self, address: u64, ticks: u64) {
        if let Some(held) = self.calls.get(&address)
            && held.ticks <= ticks
        {
            self.calls.remove(&address);
        } else if self.frees.len() < MAX_FREES || self.frees.contains_key(&address) {
            let at = self.frees.entry(address).or_default();
            *at = ticks.max(*at);
        } else {
            self.unkept_until = self.unkept_until.max(Some(ticks));
        }
    }

    /// Forgets the frees of a chunk: the next one is later.
    pub fn next_chunk(&mut self) {
        self.frees.clear();
        self.unkept_until = None;
    }

    /// Takes a call or its return in; what is dropped makes no row.
    pub fn take(&mut self, native: Native<'a>) {
        match native {
            Native::Call(address, call) => self.call(address, *call),
            Native::Free(address, ticks) => self.free(address, ticks),
        }
    }

    /// Takes out what was never freed, in order of time, and counts what may have been.
    pub fn rest(&mut self) -> Vec<Call<'a>> {
        self.unsure = self.calls.values().filter(|call| call.unsure).count() as u64;
        let mut calls: Vec<(u64, Call<'a>)> = self.calls.drain().collect();
        calls.sort_by_key(|(address, call)| (call.t_ns, call.thread.tid, *address));
        calls.into_iter().map(|(_, call)| call).collect()
    }
}

impl Call<'_> {
    /// The sample that the call is.
    pub fn sample(&self) -> Sample<'_> {
        Sample {
            event: Event::NativeMem,
            t_ns: self.t_ns,
            weight: self.weight,
            asleep: None,
            stack: self.stack,
            thread: &self.thread,
            span: self.span,
            class: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(ticks: u64) -> Call<'static> {
        Call {
            origin: Origin {
                host: 0,
                pid: 1,
                clock: "mono",
                source: "async-profiler",
            },
            t_ns: ticks as i64,
            ticks,
            weight: 1,
            stack: None,
            thread: ThreadFacts {
                tid: Some(1),
                name: None,
                role: "other",
            },
            span: None,
            unsure: false,
        }
    }

    fn held(unfreed: &Unfreed<'_>) -> Vec<(u64, u64)> {
        let mut held: Vec<_> = unfreed.calls.iter().map(|(a, c)| (*a, c.ticks)).collect();
        held.sort_unstable();
        held
    }

    #[test]
    fn what_is_freed_later_goes_whatever_the_order_in_the_file() {
        let mut unfreed = Unfreed::default();
        unfreed.call(7, call(10));
        unfreed.free(7, 20);
        unfreed.free(8, 20);
        unfreed.call(8, call(10));
        assert_eq!(held(&unfreed), []);
    }

    #[test]
    fn an_address_is_used_again() {
        let mut unfreed = Unfreed::default();
        unfreed.call(7, call(30));
        unfreed.free(7, 20);
        unfreed.call(7, call(10));
        assert_eq!(held(&unfreed), [(7, 30)]);
        unfreed.next_chunk();
        unfreed.call(7, call(40));
        assert_eq!(held(&unfreed), [(7, 40)]);
    }

    #[test]
    fn memory_is_bounded_and_what_was_left_out_is_counted() {
        let mut unfreed = Unfreed::default();
        for address in 0..MAX_CALLS as u64 + 5 {
            unfreed.call(address, call(1));
        }
        assert_eq!((unfreed.calls.len(), unfreed.left_out), (MAX_CALLS, 5));
        for address in 0..MAX_FREES as u64 + 5 {
            unfreed.free(1 << 32 | address, 1);
        }
        assert_eq!(unfreed.frees.len(), MAX_FREES);
    }

    /// All frees that there is room for, of addresses from 2^32 on.
    fn full() -> Unfreed<'static> {
        let mut unfreed = Unfreed::default();
        for address in 0..MAX_FREES as u64 {
            unfreed.free(1 << 32 | address, 20);
        }
        unfreed
    }

    #[test]
    fn a_call_whose_free_was_not_kept_is_counted() {
        let mut unfreed = full();
        unfreed.call(7, call(10));
        unfreed.free(1 << 32, 50);
        unfreed.free(8, 20);
        unfreed.call(1 << 32, call(40));
        unfreed.call(8, call(10));
        unfreed.call(9, call(30));
        assert_eq!(held(&unfreed), [(7, 10), (8, 10), (9, 30)]);
        unfreed.next_chunk();
        unfreed.call(10, call(10));
        assert_eq!(unfreed.rest().len(), 4);
        assert_eq!(unfreed.unsure, 1);
    }

    #[test]
    fn a_call_whose_free_comes_after_all_is_not_counted() {
        let mut unfreed = full();
        unfreed.free(6, 20);
        for address in 7..10 {
            unfreed.call(address, call(10));
        }
        unfreed.free(7, 15);
        unfreed.next_chunk();
        // Its address is used again: it was freed in between.
        unfreed.call(8, call(30));
        assert_eq!(unfreed.rest().len(), 2);
        assert_eq!(unfreed.unsure, 1);
    }
}
