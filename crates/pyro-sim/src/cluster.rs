//! What there is to do it on: executors that come and go.

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::free::Free;
use crate::plan::{Plan, is_time};

/// A time after the completion of a node.
pub type Anchor = (u32, f64);

/// Slots that come and go together.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Executor {
    /// Tasks it runs at once.
    pub slots: u32,
    /// Host whose load its tasks add to.
    pub host: u32,
    /// Data that is near; see [`crate::Node::near`].
    #[serde(default)]
    pub site: u32,
    /// Kind of executor; see [`crate::Node::pool`].
    #[serde(default)]
    pub pool: u32,
    /// When it comes.
    pub add: Anchor,
    /// When it goes. What runs there then still ends.
    #[serde(default)]
    pub remove: Option<Anchor>,
    /// Dynamic allocation gives it up: not while it has a task, or tasks wait.
    #[serde(default)]
    pub dynamic: bool,
}

/// All executors that there ever are.
pub type Cluster = Vec<Executor>;

/// Checks executors against the plan that they are for.
pub(crate) fn check(cluster: &[Executor], plan: &Plan) -> Result<()> {
    let served = |pool: u32| cluster.iter().any(|e| e.pool == pool && e.slots > 0);
    for (index, node) in plan.nodes.iter().enumerate() {
        if !node.tasks.is_empty() && !served(node.pool) {
            return Err(Error::new(format!(
                "node {index}: no executor of its kind has a slot"
            )));
        }
    }
    for (index, executor) in cluster.iter().enumerate() {
        let known = |&(node, after): &Anchor| (node as usize) < plan.nodes.len() && is_time(after);
        if !known(&executor.add) || !executor.remove.as_ref().is_none_or(known) {
            return Err(Error::new(format!(
                "executor {index}: add or remove names no node"
            )));
        }
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Absent,
    Present,
    /// Its time is over, but there is work for it.
    Leaving,
    Gone,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    state: State,
    busy: u32,
    last_used: f64,
    /// It is never given up again: without it no slot would be left.
    kept: bool,
    /// Which of the pools it is in, and its place there.
    pool: usize,
    place: usize,
}

/// Executors of one kind.
struct Pool {
    /// See [`Executor::pool`].
    kind: u32,
    /// Their numbers.
    executors: Vec<u32>,
    free: Free,
}

/// Which executors are there, and what they have to do.
pub(crate) struct Places<'a> {
    executors: &'a [Executor],
    places: Vec<Place>,
    pools: Vec<Pool>,
    /// Site and number of each executor, in order.
    sites: Vec<(u32, u32)>,
    /// Slots that are there.
    pub alive: u64,
    /// Executors that were kept beyond their end.
    pub kept: u32,
}

impl<'a> Places<'a> {
    pub fn new(executors: &'a [Executor]) -> Self {
        let mut members: Vec<(u32, Vec<u32>)> = Vec::new();
        let mut places = Vec::with_capacity(executors.len());
        for (number, executor) in executors.iter().enumerate() {
            let known = members.iter().position(|(kind, _)| *kind == executor.pool);
            let pool = known.unwrap_or_else(|| {
                members.push((executor.pool, Vec::new()));
                members.len() - 1
            });
            places.push(Place {
                state: State::Absent,
                busy: 0,
                last_used: 0.0,
                kept: false,
                pool,
                place: members[pool].1.len(),
            });
            members[pool].1.push(number as u32);
        }
        let pool = |(kind, executors): (u32, Vec<u32>)| Pool {
            kind,
            free: Free::new(executors.len()),
            executors,
        };
        let numbered = executors.iter().zip(0u32..);
        let mut sites: Vec<_> = numbered.map(|(one, number)| (one.site, number)).collect();
        sites.sort_unstable();
        Self {
            executors,
            places,
            pools: members.into_iter().map(pool).collect(),
            sites,
            alive: 0,
            kept: 0,
        }
    }

    /// It is there from now on, unless it has gone already.
    pub fn add(&mut self, executor: u32, now: f64) {
        let place = &mut self.places[executor as usize];
        if place.state == State::Gone && !place.kept {
            return;
        }
        place.state = State::Present;
        place.last_used = now;
        self.alive += u64::from(self.executors[executor as usize].slots);
        self.offer(executor);
    }

    /// Its time is over: one that dynamic allocation gives up stays while there is work for it.
    pub fn remove(&mut self, executor: u32, tasks_wait: bool) {
        let place = &mut self.places[executor as usize];
        let dynamic = self.executors[executor as usize].dynamic;
        match place.state {
            State::Absent => place.state = State::Gone,
            State::Present if place.kept => {}
            State::Present if dynamic && (place.busy > 0 || tasks_wait) => {
                place.state = State::Leaving;
            }
            State::Present => self.go(executor),
            State::Leaving | State::Gone => {}
        }
    }

    fn go(&mut self, executor: u32) {
        let place = &mut self.places[executor as usize];
        self.pools[place.pool].free.set(place.place, None);
        place.state = State::Gone;
        // Slots that still run a task go with its end.
        self.alive -= u64::from(self.executors[executor as usize].slots - place.busy);
    }

    /// Takes a slot of the least busy executor of a pool at one of the sites (none: at any).
    pub fn take(&mut self, pool: u32, sites: &[u32]) -> Option<u32> {
        let of = self.pools.iter().position(|one| one.kind == pool)?;
        let executor = if sites.is_empty() {
            let one = &self.pools[of];
            one.executors[one.free.first()?]
        } else {
            let near = sites.iter().flat_map(|&site| self.at(site));
            let free = near.filter_map(|executor| {
                let Place { pool, place, .. } = self.places[executor as usize];
                let busy = self.pools[pool].free.busy(place);
                busy.filter(|_| pool == of).map(|busy| (busy, executor))
            });
            free.min()?.1
        };
        self.places[executor as usize].busy += 1;
        self.offer(executor);
        Some(executor)
    }

    /// Numbers of the executors at a site.
    fn at(&self, site: u32) -> impl Iterator<Item = u32> {
        let first = self.sites.partition_point(|&(other, _)| other < site);
        let mine = self.sites[first..].iter();
        mine.take_while(move |&&(other, _)| other == site)
            .map(|&(_, executor)| executor)
    }

    /// Whether every executor is there, and none beyond its end.
    pub fn are_all_there(&self) -> bool {
        self.kept == 0 && self.places.iter().all(|one| one.state == State::Present)
    }

    /// Whether a pool has a free slot anywhere.
    pub fn has_free(&self, pool: u32) -> bool {
        let mut pools = self.pools.iter();
        pools.any(|one| one.kind == pool && one.free.any())
    }

    /// Whether a slot of an executor that is given back can be taken at once for a pool; it is.
    pub fn passes_on(&mut self, executor: u32, pool: u32, now: f64) -> bool {
        let place = &mut self.places[executor as usize];
        let stays = place.state == State::Present && self.executors[executor as usize].pool == pool;
        if stays {
            place.last_used = now;
        }
        stays
    }

    /// Gives a slot back.
    pub fn give_back(&mut self, executor: u32, now: f64, tasks_wait: bool) {
        let place = &mut self.places[executor as usize];
        place.busy -= 1;
        place.last_used = now;
        match place.state {
            State::Gone => self.alive -= 1,
            State::Leaving if place.busy == 0 && !tasks_wait => self.go(executor),
            _ => self.offer(executor),
        }
    }

    /// Calls back the last executor of a pool that was there, as its tasks wait and none will come.
    pub fn call_back(&mut self, pool: u32, now: f64) {
        let last = (0..self.places.len() as u32)
            .filter(|&e| self.executors[e as usize].slots > 0)
            .filter(|&e| self.executors[e as usize].pool == pool)
            .max_by(|&a, &b| {
                let used = |e: u32| self.places[e as usize].last_used;
                used(a).total_cmp(&used(b)).then(b.cmp(&a))
            });
        let Some(executor) = last else { return };
        self.kept += 1;
        let place = &mut self.places[executor as usize];
        place.kept = true;
        if matches!(place.state, State::Gone | State::Absent) {
            self.add(executor, now);
        } else {
            place.state = State::Present;
            self.offer(executor);
        }
    }

    fn offer(&mut self, executor: u32) {
        let place = self.places[executor as usize];
        let busy = (place.busy < self.executors[executor as usize].slots).then_some(place.busy);
        self.pools[place.pool].free.set(place.place, busy);
    }
}
