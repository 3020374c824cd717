//! Plans that are read once, and requests: clusters, laws, and scenarios that name them, as JSON,
//! with times as little-endian columns, as there may be very many.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::account::SlotTime;
use crate::cluster::Cluster;
use crate::engine::run;
use crate::error::{Error, Result};
use crate::law::Law;
use crate::outcome::Outcome;
use crate::plan::{Node, Plan, Task};
use crate::resample::{Random, resample};

/// What to try with a plan.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    locality_wait_ns: f64,
    clusters: Vec<Cluster>,
    #[serde(default)]
    laws: Vec<Law>,
    /// Cluster and law under which the durations were measured.
    #[serde(default)]
    measured: Option<(usize, usize)>,
    scenarios: Vec<Scenario>,
}

/// One schedule to compute.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Scenario {
    /// Which of the clusters.
    cluster: usize,
    /// Which of the laws; none: tasks take as long as they did.
    law: Option<usize>,
    /// Which of the stretches: what the time of each node's tasks is multiplied by.
    stretch: Option<usize>,
    /// What the driver's time is multiplied by.
    driver: Option<f64>,
    /// How many times as many tasks nodes have; those that are not named have as many.
    tasks_ratios: Option<BTreeMap<u32, f64>>,
    /// Seed of what is drawn.
    seed: u64,
    /// Give times of nodes as well.
    nodes: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Columns {
    end: u32,
    launch_resets_wait: bool,
    after: Vec<Vec<u32>>,
    load: Vec<f64>,
    pool: Vec<u32>,
    near: Vec<Vec<u32>>,
    tasks_count: Vec<usize>,
}

/// What tasks are, whatever their times: all nodes' one after another.
#[derive(Debug, Clone, Copy)]
pub struct TaskKinds<'a> {
    /// `u8`: see [`Task::level`].
    pub level: &'a [u8],
    /// `u8`, 0 or 1: see [`Task::wasted`].
    pub wasted: &'a [u8],
    /// `i32`, negative for none: see [`Task::retry_of`].
    pub retry_of: &'a [u8],
}

impl TaskKinds<'_> {
    fn tasks(self) -> Result<Vec<Task>> {
        let retries = self.retry_of.as_chunks::<4>().0;
        let count = self.level.len();
        if self.wasted.len() != count || retries.len() != count {
            return Err(Error::new("tasks: columns of different lengths"));
        }
        let task = |index: usize| Task {
            level: self.level[index],
            wasted: self.wasted[index] != 0,
            retry_of: u32::try_from(i32::from_le_bytes(retries[index])).ok(),
            ..Task::default()
        };
        Ok((0..count).map(task).collect())
    }
}

/// Times of a plan, as little-endian columns of `f64`.
#[derive(Debug, Clone, Copy)]
pub struct Times<'a> {
    /// See [`Node::delay_ns`].
    pub node_delay_ns: &'a [u8],
    /// See [`Task::duration_ns`].
    pub duration_ns: &'a [u8],
    /// See [`Task::delay_ns`].
    pub delay_ns: &'a [u8],
    /// Factors for scenarios to name: one for each node, of one stretch after another.
    pub stretches: &'a [u8],
}

fn floats(column: &[u8]) -> Vec<f64> {
    let chunks = column.as_chunks::<8>().0;
    chunks.iter().map(|one| f64::from_le_bytes(*one)).collect()
}

impl Times<'_> {
    /// The plan in these times, and its stretches.
    fn of(&self, plan: &Plan) -> Result<(Plan, Vec<Vec<f64>>)> {
        let mut timed = plan.clone();
        let nodes = timed.nodes.len();
        let delays = floats(self.node_delay_ns);
        let (durations, waits) = (floats(self.duration_ns), floats(self.delay_ns));
        let tasks: usize = timed.nodes.iter().map(|node| node.tasks.len()).sum();
        if delays.len() != nodes || durations.len() != tasks || waits.len() != tasks {
            return Err(Error::new("times: not one for each node or task"));
        }
        let stretches = floats(self.stretches);
        if nodes == 0 || !stretches.len().is_multiple_of(nodes) {
            return Err(Error::new("stretches: not one for each node"));
        }
        for (node, delay) in timed.nodes.iter_mut().zip(delays) {
            node.delay_ns = delay;
        }
        let all = timed.nodes.iter_mut().flat_map(|node| &mut node.tasks);
        for ((task, duration), wait) in all.zip(durations).zip(waits) {
            task.duration_ns = duration;
            task.delay_ns = wait;
        }
        let stretches = stretches.chunks(nodes).map(<[f64]>::to_vec).collect();
        Ok((timed, stretches))
    }
}

#[derive(Serialize)]
struct Answer {
    elapsed_ns: f64,
    first_launch_ns: Option<f64>,
    slot_time: SlotTime,
    kept_executors_count: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<Nodes>,
}

#[derive(Serialize)]
struct Nodes {
    submit_ns: Vec<Option<f64>>,
    complete_ns: Vec<Option<f64>>,
    released_by: Vec<Option<u32>>,
}

impl Columns {
    fn plan(self, tasks: &[Task]) -> Result<Plan> {
        let nodes = self.after.len();
        let lengths = [
            self.load.len(),
            self.pool.len(),
            self.near.len(),
            self.tasks_count.len(),
        ];
        if lengths.iter().any(|&length| length != nodes) {
            return Err(Error::new("plan: columns of different lengths"));
        }
        let mut rest = tasks;
        let mut all = Vec::with_capacity(nodes);
        for (index, (after, near)) in self.after.into_iter().zip(self.near).enumerate() {
            let Some((mine, others)) = rest.split_at_checked(self.tasks_count[index]) else {
                return Err(Error::new("plan: tasks_count is more than there are tasks"));
            };
            rest = others;
            all.push(Node {
                after,
                delay_ns: 0.0,
                tasks: mine.to_vec(),
                load: self.load[index],
                pool: self.pool[index],
                near,
            });
        }
        if !rest.is_empty() {
            return Err(Error::new("plan: tasks_count is less than there are tasks"));
        }
        Ok(Plan {
            nodes: all,
            end: self.end,
            locality_wait_ns: 0.0,
            launch_resets_wait: self.launch_resets_wait,
        })
    }
}

impl Scenario {
    /// The plan as this scenario has it; not copied where it changes nothing.
    fn apply<'a>(&self, plan: &'a Plan, stretch: Option<&Vec<f64>>) -> Cow<'a, Plan> {
        if stretch.is_none() && self.tasks_ratios.is_none() && self.driver.is_none() {
            return Cow::Borrowed(plan);
        }
        let mut scaled = plan.clone();
        let mut random = Random::new(self.seed);
        for (index, node) in scaled.nodes.iter_mut().enumerate() {
            node.delay_ns *= self.driver.unwrap_or(1.0);
            if let Some(ratios) = &self.tasks_ratios {
                let ratio = ratios.get(&(index as u32)).copied().unwrap_or(1.0);
                node.tasks = resample(node, ratio, &mut random);
            }
            let factor = stretch.map_or(1.0, |factors| factors[index]);
            for task in &mut node.tasks {
                task.duration_ns *= factor;
                task.delay_ns *= factor;
            }
        }
        Cow::Owned(scaled)
    }
}

fn pick<'a, T>(all: &'a [T], index: usize, what: &str) -> Result<&'a T> {
    all.get(index)
        .ok_or_else(|| Error::new(format!("no {what} {index}")))
}

/// A plan whose times come with each request: read and checked once, scheduled many times.
#[derive(Debug, Clone)]
pub struct Scheduler {
    plan: Plan,
}

impl Scheduler {
    /// Reads a plan: JSON, and what its tasks are.
    ///
    /// # Errors
    /// If it is none, or cannot be scheduled.
    pub fn new(plan: &str, tasks: TaskKinds<'_>) -> Result<Self> {
        let columns: Columns = from_json(plan)?;
        let plan = columns.plan(&tasks.tasks()?)?;
        plan.check()?;
        Ok(Self { plan })
    }

    /// Reads a request and writes the outcomes, both JSON.
    ///
    /// # Errors
    /// If the request is none, or something in it cannot be scheduled.
    pub fn simulate(&self, request: &str, times: &Times<'_>) -> Result<String> {
        let request: Request = from_json(request)?;
        let outcomes = self.outcomes(&request, times)?;
        let answers: Vec<Answer> = outcomes
            .into_iter()
            .zip(&request.scenarios)
            .map(|(outcome, scenario)| Answer {
                elapsed_ns: outcome.elapsed_ns,
                first_launch_ns: outcome.first_launch_ns,
                slot_time: outcome.slot_time,
                kept_executors_count: outcome.kept_executors_count,
                nodes: scenario.nodes.then_some(Nodes {
                    submit_ns: outcome.submit_ns,
                    complete_ns: outcome.complete_ns,
                    released_by: outcome.released_by,
                }),
            })
            .collect();
        serde_json::to_string(&answers).map_err(|error| Error::new(error.to_string()))
    }

    fn outcomes(&self, request: &Request, times: &Times<'_>) -> Result<Vec<Outcome>> {
        let (mut plan, stretches) = times.of(&self.plan)?;
        plan.locality_wait_ns = request.locality_wait_ns;
        plan.check()?;
        request.laws.iter().try_for_each(Law::check)?;
        let nodes = plan.nodes.len() as u32;
        let ratios = request
            .scenarios
            .iter()
            .filter_map(|one| one.tasks_ratios.as_ref());
        if ratios.flat_map(BTreeMap::keys).any(|&node| node >= nodes) {
            return Err(Error::new("tasks_ratios: no such node"));
        }
        if let Some((cluster, law)) = request.measured {
            let (cluster, law) = (
                pick(&request.clusters, cluster, "cluster")?,
                pick(&request.laws, law, "law")?,
            );
            let work = run(&plan, cluster, None, Some(law))?.work_ns;
            let tasks = plan.nodes.iter_mut().flat_map(|node| &mut node.tasks);
            for (task, work) in tasks.zip(work).filter(|(task, _)| task.duration_ns > 0.0) {
                task.delay_ns *= work / task.duration_ns;
                task.duration_ns = work;
            }
        }
        let each = |scenario: &Scenario| {
            let cluster = pick(&request.clusters, scenario.cluster, "cluster")?;
            let law = scenario
                .law
                .map(|law| pick(&request.laws, law, "law"))
                .transpose()?;
            let stretch = scenario
                .stretch
                .map(|one| pick(&stretches, one, "stretch"))
                .transpose()?;
            run(&scenario.apply(&plan, stretch), cluster, law, None)
        };
        request.scenarios.iter().map(each).collect()
    }
}

fn from_json<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| Error::new(error.to_string()))
}
