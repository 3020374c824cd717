//! Plans that are read once, and requests: clusters, laws, and scenarios that name them, as JSON,
//! with times as little-endian columns, as there may be very many.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::account::SlotTime;
use crate::cluster::Cluster;
use crate::engine::schedule;
use crate::error::{Error, Result};
use crate::law::Law;
use crate::outcome::Outcome;
use crate::plan::{Node, Plan, Task, is_time};
use crate::resample::{Random, resample};
use crate::work::{Layout, Lengths, Work};

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
    /// The times of a plan, and its stretches.
    fn of(&self, nodes: usize, layout: &Layout) -> Result<(Lengths, Vec<Vec<f64>>)> {
        let lengths = Lengths {
            node_delay_ns: floats(self.node_delay_ns),
            duration_ns: floats(self.duration_ns),
            delay_ns: floats(self.delay_ns),
        };
        let tasks = layout.node_of.len();
        if lengths.node_delay_ns.len() != nodes
            || lengths.duration_ns.len() != tasks
            || lengths.delay_ns.len() != tasks
        {
            return Err(Error::new("times: not one for each node or task"));
        }
        let stretches = floats(self.stretches);
        if nodes == 0 || !stretches.len().is_multiple_of(nodes) {
            return Err(Error::new("stretches: not one for each node"));
        }
        let stretches = stretches.chunks(nodes).map(<[f64]>::to_vec).collect();
        Ok((lengths, stretches))
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
    /// The times as this scenario has them; not copied where it changes nothing.
    fn stretched<'a>(
        &self,
        lengths: &'a Lengths,
        layout: &Layout,
        stretch: Option<&Vec<f64>>,
    ) -> Cow<'a, Lengths> {
        if stretch.is_none() && self.driver.is_none() {
            return Cow::Borrowed(lengths);
        }
        let mut scaled = lengths.clone();
        for delay_ns in &mut scaled.node_delay_ns {
            *delay_ns *= self.driver.unwrap_or(1.0);
        }
        if let Some(factors) = stretch {
            let tasks = scaled.duration_ns.iter_mut().zip(&mut scaled.delay_ns);
            for ((duration_ns, delay_ns), &node) in tasks.zip(&layout.node_of) {
                *duration_ns *= factors[node as usize];
                *delay_ns *= factors[node as usize];
            }
        }
        Cow::Owned(scaled)
    }

    /// A plan in which nodes have other numbers of tasks.
    fn recounted(&self, plan: &Plan, lengths: &Lengths, ratios: &BTreeMap<u32, f64>) -> Plan {
        let mut scaled = plan.clone();
        lengths.put(&mut scaled.nodes);
        let mut random = Random::new(self.seed);
        for (&node, &ratio) in ratios {
            let node = &mut scaled.nodes[node as usize];
            node.tasks = resample(node, ratio, &mut random);
        }
        scaled
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
    layout: Layout,
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
        let layout = Layout::of(&plan);
        Ok(Self { plan, layout })
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
        let (plan, layout) = (&self.plan, &self.layout);
        let (mut lengths, stretches) = times.of(plan.nodes.len(), layout)?;
        let locality_wait_ns = request.locality_wait_ns;
        if !is_time(locality_wait_ns) {
            return Err(Error::new("locality_wait_ns: no time"));
        }
        lengths.check(layout)?;
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
            let work = Work {
                plan,
                layout,
                lengths: &lengths,
                locality_wait_ns,
            };
            let work_ns = schedule(&work, cluster, None, Some(law))?.work_ns;
            let tasks = lengths.duration_ns.iter_mut().zip(&mut lengths.delay_ns);
            for ((duration_ns, delay_ns), work_ns) in tasks.zip(work_ns) {
                if *duration_ns > 0.0 {
                    *delay_ns *= work_ns / *duration_ns;
                    *duration_ns = work_ns;
                }
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
            let in_times = |plan, layout, lengths| {
                let lengths = &*scenario.stretched(lengths, layout, stretch);
                lengths.check(layout)?;
                let work = Work {
                    plan,
                    layout,
                    lengths,
                    locality_wait_ns,
                };
                schedule(&work, cluster, law, None)
            };
            match &scenario.tasks_ratios {
                None => in_times(plan, layout, &lengths),
                Some(ratios) => {
                    let plan = scenario.recounted(plan, &lengths, ratios);
                    in_times(&plan, &Layout::of(&plan), &Lengths::of(&plan))
                }
            }
        };
        request.scenarios.iter().map(each).collect()
    }
}

fn from_json<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| Error::new(error.to_string()))
}
