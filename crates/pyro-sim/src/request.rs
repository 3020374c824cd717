//! Requests as JSON: a plan in columns, clusters, laws, and scenarios that name them.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::account::SlotTime;
use crate::cluster::Cluster;
use crate::engine::run;
use crate::error::{Error, Result};
use crate::law::Law;
use crate::outcome::Outcome;
use crate::plan::{Node, Plan, Task};
use crate::resample::{Random, resample};

/// A plan and what to try with it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    plan: Columns,
    clusters: Vec<Cluster>,
    #[serde(default)]
    laws: Vec<Law>,
    /// Cluster and law under which the durations were measured.
    #[serde(default)]
    measured: Option<(usize, usize)>,
    /// Factors by node, for scenarios to name.
    #[serde(default)]
    stretches: Vec<Vec<f64>>,
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
    /// How many times as many tasks each node has.
    tasks_ratios: Option<Vec<f64>>,
    /// Seed of what is drawn.
    seed: u64,
    /// Give times of nodes as well.
    nodes: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Columns {
    end: u32,
    locality_wait_ns: f64,
    launch_resets_wait: bool,
    after: Vec<Vec<u32>>,
    node_delay_ns: Vec<f64>,
    load: Vec<f64>,
    pool: Vec<u32>,
    near: Vec<Vec<u32>>,
    tasks_count: Vec<usize>,
}

/// Tasks of all nodes one after another, as little-endian columns: there may be very many.
#[derive(Debug, Clone, Copy)]
pub struct TaskColumns<'a> {
    /// `f64`: see [`Task::duration_ns`].
    pub duration_ns: &'a [u8],
    /// `f64`: see [`Task::delay_ns`].
    pub delay_ns: &'a [u8],
    /// `u8`: see [`Task::level`].
    pub level: &'a [u8],
    /// `u8`, 0 or 1: see [`Task::wasted`].
    pub wasted: &'a [u8],
    /// `i32`, negative for none: see [`Task::retry_of`].
    pub retry_of: &'a [u8],
}

impl TaskColumns<'_> {
    fn tasks(self) -> Result<Vec<Task>> {
        let durations = self.duration_ns.as_chunks::<8>().0;
        let delays = self.delay_ns.as_chunks::<8>().0;
        let retries = self.retry_of.as_chunks::<4>().0;
        let count = durations.len();
        let lengths = [
            delays.len(),
            self.level.len(),
            self.wasted.len(),
            retries.len(),
        ];
        if lengths.iter().any(|&length| length != count) {
            return Err(Error::new("tasks: columns of different lengths"));
        }
        let task = |index: usize| Task {
            duration_ns: f64::from_le_bytes(durations[index]),
            delay_ns: f64::from_le_bytes(delays[index]),
            level: self.level[index],
            wasted: self.wasted[index] != 0,
            retry_of: u32::try_from(i32::from_le_bytes(retries[index])).ok(),
        };
        Ok((0..count).map(task).collect())
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
            self.node_delay_ns.len(),
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
                delay_ns: self.node_delay_ns[index],
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
            locality_wait_ns: self.locality_wait_ns,
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
                node.tasks = resample(node, ratios[index], &mut random);
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

/// Makes every schedule of a request.
fn simulate(request: Request, tasks: TaskColumns<'_>) -> Result<Vec<Outcome>> {
    let Request {
        plan,
        clusters,
        laws,
        measured,
        stretches,
        scenarios,
    } = request;
    let mut plan = plan.plan(&tasks.tasks()?)?;
    plan.check()?;
    laws.iter().try_for_each(Law::check)?;
    let ratios = scenarios.iter().filter_map(|one| one.tasks_ratios.as_ref());
    if stretches
        .iter()
        .chain(ratios)
        .any(|one| one.len() != plan.nodes.len())
    {
        return Err(Error::new("stretches, tasks_ratios: not one for each node"));
    }
    if let Some((cluster, law)) = measured {
        let (cluster, law) = (
            pick(&clusters, cluster, "cluster")?,
            pick(&laws, law, "law")?,
        );
        let work = run(&plan, cluster, None, Some(law))?.work_ns;
        let tasks = plan.nodes.iter_mut().flat_map(|node| &mut node.tasks);
        for (task, work) in tasks.zip(work).filter(|(task, _)| task.duration_ns > 0.0) {
            task.delay_ns *= work / task.duration_ns;
            task.duration_ns = work;
        }
    }
    let each = |scenario: &Scenario| {
        let cluster = pick(&clusters, scenario.cluster, "cluster")?;
        let law = scenario
            .law
            .map(|law| pick(&laws, law, "law"))
            .transpose()?;
        let stretch = scenario
            .stretch
            .map(|one| pick(&stretches, one, "stretch"))
            .transpose()?;
        run(&scenario.apply(&plan, stretch), cluster, law, None)
    };
    scenarios.iter().map(each).collect()
}

/// Reads a request and writes the outcomes, both JSON.
///
/// # Errors
/// If the request is none, or something in it cannot be scheduled.
pub fn simulate_json(request: &str, tasks: TaskColumns<'_>) -> Result<String> {
    let request: Request =
        serde_json::from_str(request).map_err(|error| Error::new(error.to_string()))?;
    let detailed: Vec<bool> = request
        .scenarios
        .iter()
        .map(|scenario| scenario.nodes)
        .collect();
    let outcomes = simulate(request, tasks)?;
    let answers: Vec<Answer> = outcomes
        .into_iter()
        .zip(detailed)
        .map(|(outcome, detailed)| Answer {
            elapsed_ns: outcome.elapsed_ns,
            first_launch_ns: outcome.first_launch_ns,
            slot_time: outcome.slot_time,
            kept_executors_count: outcome.kept_executors_count,
            nodes: detailed.then_some(Nodes {
                submit_ns: outcome.submit_ns,
                complete_ns: outcome.complete_ns,
                released_by: outcome.released_by,
            }),
        })
        .collect();
    serde_json::to_string(&answers).map_err(|error| Error::new(error.to_string()))
}
