//! SQL executions: their plans and what their accumulators counted.

use std::collections::VecDeque;

use pyro_model::Result;
use rustc_hash::{FxHashMap, FxHashSet};

use super::app::{App, Fail};
use super::json::{Bad, Cursor, Text};
use super::plan::{Metric, Plan, metric};
use super::properties::text;
use super::sums::Sums;
use super::symbols::{Symbol, Symbols};
use super::tables::{Tables, time_ns};
use super::task::Update;

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

#[derive(Debug, Default)]
struct Execution {
    root_sql_id: Option<i64>,
    description: Option<String>,
    details: Option<String>,
    start: Option<i64>,
    end: Option<i64>,
    error: Option<String>,
    /// Versions seen; the last is in `plan`.
    versions: i32,
    plan: Plan,
    /// Description of the last plan, still escaped.
    physical_plan: Option<(Vec<u8>, bool)>,
    places: FxHashMap<i64, Place>,
    /// Further nodes of the last version that show an accumulator again (a reused exchange).
    again: Vec<Metric>,
    sums: FxHashMap<Option<(i64, i32)>, Sums>,
    open_jobs: u32,
    ended: bool,
}

/// SQL executions of an application: the open ones, and a few that ended.
#[derive(Debug, Default)]
pub struct Executions {
    open: FxHashMap<i64, Execution>,
    ended: VecDeque<i64>,
    written: FxHashSet<i64>,
    /// Events about executions that had been written already.
    pub late: u64,
    /// Used for the next plan, so that its memory is.
    spare: Plan,
}

impl Executions {
    fn get(&mut self, sql_id: i64) -> Option<&mut Execution> {
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

    /// Updates of a successful task of a stage of the execution.
    pub fn task_updates(&mut self, sql_id: i64, stage: (i64, i32), task: i64, updates: &[Update]) {
        if let Some(execution) = self.get(sql_id) {
            execution
                .sums
                .entry(Some(stage))
                .or_default()
                .add(updates, Some(task));
        }
    }
}

impl Execution {
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

/// `SparkListenerSQLExecutionStart` and `SparkListenerSQLAdaptiveExecutionUpdate`.
pub fn plan(
    app: &mut App,
    tables: &mut Tables,
    line: &mut Cursor<'_>,
) -> std::result::Result<(), Fail> {
    let mut spare = std::mem::take(&mut app.sql.spare);
    let (mut sql_id, mut root, mut start, mut description, mut details) =
        (None, None, None, None, None);
    let (mut physical_plan, mut planned) = (None, false);
    let symbols = &mut app.symbols;
    line.rest_of_line(|line, key| {
        match key {
            b"executionId" => sql_id = line.optional_integer()?,
            b"rootExecutionId" => root = line.loose_integer()?,
            b"description" => description = text(line)?,
            b"details" => details = text(line)?,
            b"time" => start = line.optional_integer()?,
            b"physicalPlanDescription" => physical_plan = line.optional_string()?,
            b"sparkPlanInfo" if !line.null() => {
                spare.read(line, symbols)?;
                planned = true;
            }
            b"sparkPlanInfo" => {}
            _ => line.skip()?,
        }
        Ok(())
    })?;
    let sql_id = sql_id.ok_or(Bad("the SQL execution has no id"))?;
    app.saw(start);
    let Some(execution) = app.sql.get(sql_id) else {
        return Ok(());
    };
    execution.root_sql_id = root.or(execution.root_sql_id);
    execution.start = start.or(execution.start);
    execution.description = description.or(execution.description.take());
    execution.details = details.or(execution.details.take());
    if let Some(text) = physical_plan {
        let kept = execution.physical_plan.get_or_insert_default();
        kept.0.clear();
        kept.0.extend_from_slice(text.raw);
        kept.1 = text.escaped;
    }
    if planned {
        if execution.versions > 0 {
            execution.write_nodes(app.index, sql_id, false, &app.symbols, tables)?;
        }
        std::mem::swap(&mut execution.plan, &mut spare);
        execution.versions += 1;
        execution.locate();
    }
    app.sql.spare = spare;
    Ok(shed(app, tables)?)
}

/// `SparkListenerSQLAdaptiveSQLMetricUpdates`: metrics of a re-planned subquery, without their nodes.
pub fn metrics(app: &mut App, line: &mut Cursor<'_>) -> std::result::Result<(), Fail> {
    let mut sql_id = None;
    let mut found = Vec::new();
    let symbols = &mut app.symbols;
    line.rest_of_line(|line, key| {
        match key {
            b"executionId" => sql_id = line.optional_integer()?,
            b"sqlPlanMetrics" => line.array(|line| {
                found.push(metric(line, symbols, None)?);
                Ok(())
            })?,
            _ => line.skip()?,
        }
        Ok(())
    })?;
    let Some(execution) = app
        .sql
        .get(sql_id.ok_or(Bad("the SQL execution has no id"))?)
    else {
        return Ok(());
    };
    for metric in found {
        let version = (execution.versions - 1).max(0);
        let place = Place {
            version,
            node: None,
            name: metric.name,
            kind: metric.kind,
        };
        execution
            .places
            .entry(metric.accumulator_id)
            .or_insert(place);
    }
    Ok(())
}

/// `SparkListenerDriverAccumUpdates`.
pub fn driver_updates(app: &mut App, line: &mut Cursor<'_>) -> std::result::Result<(), Fail> {
    let mut sql_id = None;
    let mut updates: Vec<Update> = Vec::new();
    line.rest_of_line(|line, key| {
        match key {
            b"executionId" => sql_id = line.optional_integer()?,
            b"accumUpdates" => line.array(|line| {
                let mut pair = [None; 2];
                let mut place = 0;
                line.array(|line| {
                    let value = line.loose_integer()?;
                    *pair.get_mut(place).ok_or(Bad("an update is not a pair"))? = value;
                    place += 1;
                    Ok(())
                })?;
                updates.push((pair[0].ok_or(Bad("an update has no accumulator"))?, pair[1]));
                Ok(())
            })?,
            _ => line.skip()?,
        }
        Ok(())
    })?;
    if let Some(execution) = app
        .sql
        .get(sql_id.ok_or(Bad("the SQL execution has no id"))?)
    {
        execution.sums.entry(None).or_default().add(&updates, None);
    }
    Ok(())
}

/// `SparkListenerSQLExecutionEnd`.
pub fn end(
    app: &mut App,
    tables: &mut Tables,
    line: &mut Cursor<'_>,
) -> std::result::Result<(), Fail> {
    let (mut sql_id, mut end, mut error) = (None, None, None);
    line.rest_of_line(|line, key| {
        match key {
            b"executionId" => sql_id = line.optional_integer()?,
            b"time" => end = line.optional_integer()?,
            b"errorMessage" => error = text(line)?.filter(|error| !error.is_empty()),
            _ => line.skip()?,
        }
        Ok(())
    })?;
    let sql_id = sql_id.ok_or(Bad("the SQL execution has no id"))?;
    app.saw(end);
    let Some(execution) = app.sql.get(sql_id) else {
        return Ok(());
    };
    execution.end = end;
    execution.error = error;
    if !std::mem::replace(&mut execution.ended, true) {
        app.sql.ended.push_back(sql_id);
    }
    // Those whose jobs still run wait another round.
    for _ in REMEMBERED..app.sql.ended.len() {
        let Some(oldest) = app.sql.ended.pop_front() else {
            break;
        };
        if app
            .sql
            .open
            .get(&oldest)
            .is_some_and(|execution| execution.open_jobs > 0)
        {
            app.sql.ended.push_back(oldest);
        } else if let Some(execution) = app.sql.open.remove(&oldest) {
            app.sql.written.insert(oldest);
            execution.write(app.index, oldest, &app.symbols, tables)?;
        }
    }
    Ok(())
}

/// Writes the oldest executions that no job runs for, where too many are open.
pub fn shed(app: &mut App, tables: &mut Tables) -> Result<()> {
    if app.sql.open.len() <= OPEN + REMEMBERED {
        return Ok(());
    }
    let idle = |(id, execution): (&i64, &Execution)| (execution.open_jobs == 0).then_some(*id);
    let mut ids: Vec<_> = app.sql.open.iter().filter_map(idle).collect();
    ids.sort_unstable();
    // Half of them, so that this is not done again at once.
    ids.truncate(OPEN / 2);
    for sql_id in ids {
        if let Some(execution) = app.sql.open.remove(&sql_id) {
            app.sql.written.insert(sql_id);
            execution.write(app.index, sql_id, &app.symbols, tables)?;
        }
    }
    Ok(())
}

/// Writes what is left at the end of the log.
pub fn finish(app: &mut App, tables: &mut Tables) -> Result<()> {
    let mut open: Vec<_> = app.sql.open.drain().collect();
    open.sort_unstable_by_key(|(id, _)| *id);
    for (sql_id, execution) in open {
        execution.write(app.index, sql_id, &app.symbols, tables)?;
    }
    Ok(())
}
