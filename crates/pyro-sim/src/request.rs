//! Plans that are read once, and requests: clusters, laws, and scenarios that name them, as JSON,
//! with times as little-endian columns, as there may be very many.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::account::SlotTime;
use crate::cluster::{self, Cluster};
use crate::columns::{Columns, TaskKinds, Times};
use crate::engine::schedule;
use crate::error::{Error, Result};
use crate::known::{Changed, Known};
use crate::law::Law;
use crate::plan::{Plan, is_time};
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

/// A schedule that others, which differ from it in little, are made from.
#[derive(Debug, Clone)]
pub struct KnownSchedule {
    known: Known,
    lengths: Lengths,
    cluster: Cluster,
    locality_wait_ns: f64,
}

/// What a scenario asks for.
struct Case<'a> {
    work: Work<'a>,
    cluster: &'a Cluster,
    law: Option<&'a Law>,
    scenario: &'a Scenario,
    /// The times, but for other numbers of tasks.
    lengths: &'a Lengths,
}

impl Case<'_> {
    /// The nodes in which it differs from a known schedule; none: it differs in more.
    fn changed(&self, layout: &Layout, known: &KnownSchedule) -> Option<Changed> {
        let lengths = &known.lengths;
        let alike = self.law.is_none()
            && self.work.locality_wait_ns == known.locality_wait_ns
            && *self.cluster == known.cluster
            && self.lengths.node_delay_ns.len() == lengths.node_delay_ns.len()
            && self.lengths.duration_ns.len() == lengths.duration_ns.len();
        alike.then(|| {
            let mut changed = Changed::between(layout, lengths, self.lengths);
            if let Some(ratios) = &self.scenario.tasks_ratios {
                changed.tasks.extend(ratios.keys());
            }
            changed
        })
    }
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
        let outcomes = self.each(&request, times, |case| {
            schedule(&case.work, case.cluster, case.law, None)
        })?;
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

    /// Makes the schedule of the first scenario of a request, for others to be made from it.
    ///
    /// # Errors
    /// As of [`Scheduler::simulate`].
    pub fn known(&self, request: &str, times: &Times<'_>) -> Result<KnownSchedule> {
        let request: Request = from_json(request)?;
        let made = self.each(&request, times, |case| {
            cluster::check(case.cluster, case.work.plan)?;
            Ok(KnownSchedule {
                known: Known::of(&case.work, case.cluster),
                lengths: case.work.lengths.clone(),
                cluster: case.cluster.clone(),
                locality_wait_ns: case.work.locality_wait_ns,
            })
        })?;
        let first = made.into_iter().next();
        first.ok_or_else(|| Error::new("scenarios: none"))
    }

    /// The elapsed times that [`Scheduler::simulate`] finds. Of what differs in some nodes from a
    /// known schedule of this plan only these are scheduled again.
    ///
    /// # Errors
    /// As of [`Scheduler::simulate`].
    pub fn elapsed_ns(
        &self,
        request: &str,
        times: &Times<'_>,
        known: &KnownSchedule,
    ) -> Result<Vec<f64>> {
        let request: Request = from_json(request)?;
        self.each(&request, times, |case| {
            match case.changed(&self.layout, known) {
                Some(changed) => {
                    let known = &known.known;
                    Ok(known.elapsed_ns(&case.work, case.cluster, &changed))
                }
                None => Ok(schedule(&case.work, case.cluster, case.law, None)?.elapsed_ns),
            }
        })
    }

    /// Makes something of each scenario.
    fn each<T>(
        &self,
        request: &Request,
        times: &Times<'_>,
        make: impl Fn(&Case<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
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
            let stretched = scenario.stretched(&lengths, layout, stretch);
            let in_times = |plan, layout, lengths: &Lengths| {
                lengths.check(layout)?;
                make(&Case {
                    work: Work {
                        plan,
                        layout,
                        lengths,
                        locality_wait_ns,
                    },
                    cluster,
                    law,
                    scenario,
                    lengths: &stretched,
                })
            };
            match &scenario.tasks_ratios {
                None => in_times(plan, layout, &stretched),
                Some(ratios) => {
                    let plan = scenario.recounted(plan, &lengths, ratios);
                    let (layout, lengths) = (Layout::of(&plan), Lengths::of(&plan));
                    let lengths = scenario.stretched(&lengths, &layout, stretch);
                    in_times(&plan, &layout, &lengths)
                }
            }
        };
        request.scenarios.iter().map(each).collect()
    }
}

fn from_json<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| Error::new(error.to_string()))
}
