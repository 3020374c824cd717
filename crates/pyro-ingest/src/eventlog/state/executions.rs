//! SQL executions: their plans and what their accumulators counted.

use std::collections::VecDeque;

use pyro_model::Result;
use rustc_hash::{FxHashMap, FxHashSet};

use super::plan::{Metric, Plan};
use super::sums::{Sums, Update};
use super::symbols::{Symbol, Symbols};
use crate::eventlog::json::Text;
use crate::eventlog::tables::{Tables, time_ns};

/// Ended executions are remembered for late events until there are so many of them.
const REMEMBERED: usize = 16;
/// Executions without an end are written, and forgotten, beyond so many: their ends were lost.
const OPEN: usize = 256;

/// Where an accumulator was last seen in the plans of an execution.
#[derive(Debug, Clone, Copy)]
struct Place {
    version: i32,
    node: Option<u32>,
    name: Symbol,
    kind: Option<Symbol>,
}

/// An SQL execution, as far as its log has been read.
#[derive(Debug, Default)]
pub struct Execution {
    /// Execution that it is a part of.
    pub root_sql_id: Option<i64>,
    /// Description.
    pub description: Option<String>,
    /// Call site.
    pub details: Option<String>,
    /// Start, ms.
    pub start: Option<i64>,
    /// End, ms.
    pub end: Option<i64>,
    /// Message of its failure.
    pub error: Option<String>,
    /// Versions seen; the last is in `plan`.
    pub versions: i32,
    plan: Plan,
    /// Description of the last plan, still escaped.
    pub physical_plan: Option<(Vec<u8>, bool)>,
    places: FxHashMap<i64, Place>,
    /// Further nodes of the last version that show an accumulator again (a reused exchange).
    again: Vec<Metric>,
    /// What its accumulators counted, by stage attempt; `None`: on the driver.
    pub sums: FxHashMap<Option<(i64, i32)>, Sums>,
    open_jobs: u32,
    ended: bool,
    /// Its start came again after its end: so does all that follows.
    replayed: bool,
}

/// SQL executions of an application: the open ones, and a few that ended.
#[derive(Debug, Default)]
pub struct Executions {
    open: FxHashMap<i64, Execution>,
    ended: VecDeque<i64>,
    written: FxHashSet<i64>,
    /// Events about executions that had been written already.
    pub late: u64,
    /// Memory of an earlier plan, for the next one to be read into.
    pub spare: Plan,
}

impl Executions {
    /// An execution, known or new; `None` for one that was written already.
    pub fn get(&mut self, sql_id: i64) -> Option<&mut Execution> {
        if self.written.contains(&sql_id) {
            self.late += 1;
            return None;
        }
        Some(self.open.entry(sql_id).or_default())
    }

    /// Executions held.
    #[cfg(test)]
    pub fn open_count(&self) -> usize {
        self.open.len()
    }

    /// A job of the execution started.
    pub fn job_started(&mut self, sql_id: i64) {
        if let Some(execution) = self.get(sql_id) {
            execution.open_jobs += 1;
        }
    }

    /// A job of the execution ended.
    pub fn job_ended(&mut self, sql_id: i64) {
        if let Some(execution) = self.open.get_mut(&sql_id) {
            execution.open_jobs = execution.open_jobs.saturating_sub(1);
        }
    }

    /// Updates of a successful task, of an index if known, of a stage of the execution.
    pub fn task_updates(
        &mut self,
        sql_id: i64,
        stage: (i64, i32),
        (task, index): (i64, Option<i64>),
        updates: &[Update],
    ) {
        if let Some(execution) = self.get(sql_id) {
            let sums = execution.sums.entry(Some(stage)).or_default();
            if index.is_none_or(|index| sums.first_success(index)) {
                sums.add(updates, Some(task));
            }
        }
    }

    /// The execution has ended: writes the oldest of those that ended, beyond the few that are
    /// remembered for late events.
    ///
    /// # Errors
    /// If rows cannot be written.
    pub fn ended(
        &mut self,
        sql_id: i64,
        app: i32,
        symbols: &Symbols,
        tables: &mut Tables,
    ) -> Result<()> {
        if let Some(execution) = self.open.get_mut(&sql_id)
            && !std::mem::replace(&mut execution.ended, true)
        {
            self.ended.push_back(sql_id);
        }
        // Those whose jobs still run wait another round.
        for _ in REMEMBERED..self.ended.len() {
            let Some(oldest) = self.ended.pop_front() else {
                break;
            };
            if self
                .open
                .get(&oldest)
                .is_some_and(|execution| execution.open_jobs > 0)
            {
                self.ended.push_back(oldest);
            } else {
                self.write(oldest, app, symbols, tables)?;
            }
        }
        Ok(())
    }

    /// Writes the oldest executions that no job runs for, where too many are open.
    ///
    /// # Errors
    /// If rows cannot be written.
    pub fn write_some_if_many(
        &mut self,
        app: i32,
        symbols: &Symbols,
        tables: &mut Tables,
    ) -> Result<()> {
        if self.open.len() <= OPEN + REMEMBERED {
            return Ok(());
        }
        let idle = |(id, execution): (&i64, &Execution)| (execution.open_jobs == 0).then_some(*id);
        let mut ids: Vec<_> = self.open.iter().filter_map(idle).collect();
        ids.sort_unstable();
        // Half of them, so that this is not done again at once.
        ids.truncate(OPEN / 2);
        for sql_id in ids {
            self.write(sql_id, app, symbols, tables)?;
        }
        Ok(())
    }

    fn write(
        &mut self,
        sql_id: i64,
        app: i32,
        symbols: &Symbols,
        tables: &mut Tables,
    ) -> Result<()> {
        let Some(execution) = self.open.remove(&sql_id) else {
            return Ok(());
        };
        self.written.insert(sql_id);
        execution.write(app, sql_id, symbols, tables)
    }

    /// Writes those that are still open at the end of the log.
    ///
    /// # Errors
    /// If rows cannot be written.
    pub fn finish(&mut self, app: i32, symbols: &Symbols, tables: &mut Tables) -> Result<()> {
        let mut open: Vec<_> = self.open.drain().collect();
        open.sort_unstable_by_key(|(id, _)| *id);
        for (sql_id, execution) in open {
            execution.write(app, sql_id, symbols, tables)?;
        }
        Ok(())
    }
}

impl Execution {
    /// Whether an event of it, a start or another one, has been there before.
    pub fn repeated(&mut self, is_start: bool) -> bool {
        let again = is_start && self.start.is_some();
        self.replayed |= again && self.ended;
        again || self.replayed
    }

    /// Takes the plan in `next` as the newest version, after writing the one before; `next` then
    /// holds the memory of that.
    ///
    /// # Errors
    /// If rows cannot be written.
    pub fn replace_plan(
        &mut self,
        next: &mut Plan,
        (app, sql_id): (i32, i64),
        symbols: &Symbols,
        tables: &mut Tables,
    ) -> Result<()> {
        if self.versions > 0 {
            self.write_nodes(app, sql_id, false, symbols, tables)?;
        }
        std::mem::swap(&mut self.plan, next);
        self.versions += 1;
        self.locate();
        Ok(())
    }

    /// Notes a metric that the log names without its node.
    pub fn add_metric(&mut self, metric: &Metric) {
        let place = Place {
            version: (self.versions - 1).max(0),
            node: None,
            name: metric.name,
            kind: metric.kind,
        };
        self.places.entry(metric.accumulator_id).or_insert(place);
    }

    fn write_nodes(
        &self,
        app: i32,
        sql_id: i64,
        last: bool,
        symbols: &Symbols,
        tables: &mut Tables,
    ) -> Result<()> {
        for (index, node) in self.plan.nodes.iter().enumerate() {
            let rows = &mut tables.plan_nodes.rows;
            rows.app_index.append_value(app);
            rows.sql_id.append_value(sql_id);
            rows.plan_version.append_value(self.versions - 1);
            rows.is_final.append_value(last);
            rows.node_id.append_value(index as i32);
            rows.parent_node_id
                .append_option(node.parent.map(|parent| parent as i32));
            rows.depth.append_value(node.depth as i32);
            rows.name
                .append_value(node.name.map_or("", |name| symbols.text(name)));
            rows.simple_string
                .append_option(self.plan.simple_string(node).map(|text| text.decode()));
            rows.codegen_stage_id.append_option(node.codegen_stage_id);
            rows.metadata
                .append_option(self.plan.metadata(node).map(|text| text.decode()));
            tables.plan_nodes.row_done()?;
        }
        Ok(())
    }

    /// Notes where the accumulators of the plan just read are.
    fn locate(&mut self) {
        let version = self.versions - 1;
        self.again.clear();
        for metric in &self.plan.metrics {
            let place = Place {
                version,
                node: metric.node,
                name: metric.name,
                kind: metric.kind,
            };
            let seen = self.places.entry(metric.accumulator_id).or_insert(Place {
                version: -1,
                ..place
            });
            if seen.version == version && seen.node.is_some() {
                self.again.push(*metric);
            } else {
                *seen = place;
            }
        }
    }

    fn write_metrics(
        &self,
        app: i32,
        sql_id: i64,
        symbols: &Symbols,
        tables: &mut Tables,
    ) -> Result<()> {
        let mut stages: Vec<_> = self.sums.keys().copied().collect();
        stages.sort_unstable();
        for stage in stages {
            for sum in self.sums[&stage].iter() {
                // An accumulator of the user's, of no plan.
                let Some(&place) = self.places.get(&sum.accumulator_id) else {
                    continue;
                };
                let again = self
                    .again
                    .iter()
                    .filter(|metric| metric.accumulator_id == sum.accumulator_id);
                for node in std::iter::once(place.node).chain(again.map(|metric| metric.node)) {
                    let rows = &mut tables.node_metrics.rows;
                    let value = |value: i64| sum.whole.then_some(value);
                    rows.app_index.append_value(app);
                    rows.sql_id.append_value(sql_id);
                    rows.plan_version.append_value(place.version);
                    rows.node_id.append_option(node.map(|node| node as i32));
                    rows.metric.append_value(symbols.text(place.name));
                    rows.metric_type
                        .append_option(place.kind.map(|kind| symbols.text(kind)));
                    rows.accumulator_id.append_value(sum.accumulator_id);
                    rows.stage_id.append_option(stage.map(|(id, _)| id));
                    rows.stage_attempt
                        .append_option(stage.map(|(_, attempt)| attempt));
                    rows.updates_count.append_value(sum.count);
                    rows.value_sum.append_option(value(sum.sum));
                    rows.value_min.append_option(value(sum.min));
                    rows.value_max.append_option(value(sum.max));
                    rows.max_task_attempt_id
                        .append_option(sum.max_task.filter(|_| sum.whole));
                    tables.node_metrics.row_done()?;
                }
            }
        }
        Ok(())
    }

    fn write(&self, app: i32, sql_id: i64, symbols: &Symbols, tables: &mut Tables) -> Result<()> {
        self.write_nodes(app, sql_id, true, symbols, tables)?;
        self.write_metrics(app, sql_id, symbols, tables)?;
        let plan = self.physical_plan.as_ref().map(|(raw, escaped)| {
            Text {
                raw,
                escaped: *escaped,
            }
            .decode()
        });
        let rows = &mut tables.sql_executions.rows;
        rows.app_index.append_value(app);
        rows.sql_id.append_value(sql_id);
        rows.root_sql_id.append_option(self.root_sql_id);
        rows.description.append_option(self.description.as_deref());
        rows.details.append_option(self.details.as_deref());
        rows.start_wall_ns.append_option(time_ns(self.start));
        rows.end_wall_ns.append_option(time_ns(self.end));
        rows.error.append_option(self.error.as_deref());
        rows.plan_versions_count.append_value(self.versions);
        rows.physical_plan.append_option(plan);
        tables.sql_executions.row_done()
    }
}
