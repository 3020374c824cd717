//! Task attempts: rows of `tasks`, and the accumulator updates they carry.

use pyro_model::{Result, redactor};

use super::event_error::EventError;
use crate::eventlog::json::{Cursor, Malformed, Read, Text};
use crate::eventlog::stage_info::attempt;
use crate::eventlog::state::{App, Running, Symbol, Symbols, Update};
use crate::eventlog::tables::{Tables, millis, time_ns};
use crate::eventlog::task_metrics::{Metrics, task_metrics};

/// Characters of an error message that are kept.
const ERROR_CHARACTERS: usize = 2000;
/// Characters behind them that are read, as what ends a secret may stand there.
const AHEAD: usize = 400;

/// `Task Info` of an event.
#[derive(Debug, Clone, Copy, Default)]
struct Info<'a> {
    task_attempt_id: Option<i64>,
    index: Option<i64>,
    partition: Option<i64>,
    attempt: Option<i64>,
    executor_id: Option<Text<'a>>,
    host: Option<Text<'a>>,
    locality: Option<Text<'a>>,
    speculative: bool,
    launch: Option<i64>,
    getting_result: Option<i64>,
    finish: Option<i64>,
}

/// `Task End Reason`.
#[derive(Debug, Clone, Copy, Default)]
struct Reason<'a> {
    class: Option<Text<'a>>,
    description: Option<Text<'a>>,
    message: Option<Text<'a>>,
    trace: Option<Text<'a>>,
    kill: Option<Text<'a>>,
    loss: Option<Text<'a>>,
}

impl Reason<'_> {
    /// DESIGN of the statuses: a denied commit is a kill, as in Spark's own UI.
    fn status(&self) -> &'static str {
        match self.class.map(|class| class.raw) {
            Some(b"Success") => "success",
            Some(b"TaskKilled" | b"TaskCommitDenied") => "killed",
            _ => "failed",
        }
    }

    /// Ends of one attempt that may both come: what succeeded is resubmitted if its executor is lost.
    fn kind(&self) -> i64 {
        match (self.status(), self.class.map(|class| class.raw)) {
            (_, Some(b"Resubmitted")) => 3,
            ("success", _) => 0,
            ("killed", _) => 1,
            _ => 2,
        }
    }

    fn error(&self) -> Option<String> {
        let text = self
            .kill
            .or(self.loss)
            .or(self.message)
            .or(self.description);
        let text = text.filter(|text| !text.is_empty()).or(self.trace)?;
        let read = text.decode_start(ERROR_CHARACTERS + AHEAD);
        let is_cut = read.chars().count() >= ERROR_CHARACTERS + AHEAD;
        let struck = redactor().text(&read);
        let behind = if is_cut {
            unchanged_end(&read, &struck)
        } else {
            0
        };
        let most = struck.chars().count() - behind;
        let kept: String = struck.chars().take(most.min(ERROR_CHARACTERS)).collect();
        Some(kept).filter(|text| !text.is_empty())
    }
}

/// Characters at the end of a text that a secret may begin in whose end was not read: what was struck is none of them.
fn unchanged_end(read: &str, struck: &str) -> usize {
    let both = read.chars().rev().zip(struck.chars().rev());
    both.take(AHEAD).take_while(|(was, is)| was == is).count()
}

/// `SparkListenerTaskStart`.
pub fn start(app: &mut App, line: &mut Cursor<'_>) -> std::result::Result<(), EventError> {
    let mut stage = (None, 0);
    let mut info = Info::default();
    line.rest_of_line(|line, key| {
        match key {
            b"Stage ID" => stage.0 = Some(line.integer()?),
            b"Stage Attempt ID" => stage.1 = attempt(line.integer()?)?,
            b"Task Info" => info = task_info(line, None)?,
            _ => line.skip()?,
        }
        Ok(())
    })?;
    let task_attempt_id = info
        .task_attempt_id
        .ok_or(Malformed("the task has no id"))?;
    if app.ends.tasks.has_any(task_attempt_id)
        || app.ends.one_application() && app.running.contains_key(&task_attempt_id)
    {
        app.ends.again("SparkListenerTaskStart");
        return Ok(());
    }
    app.saw(info.launch);
    let symbols = &mut app.symbols;
    let mut symbol = |text: Option<Text<'_>>| text.map(|text| symbols.add(text));
    let running = Running {
        stage_id: stage.0.ok_or(Malformed("the task has no stage"))?,
        stage_attempt: stage.1 as i32,
        index: info.index,
        partition: info.partition,
        attempt: info.attempt,
        executor_id: symbol(info.executor_id),
        host: symbol(info.host),
        locality: symbol(info.locality),
        speculative: info.speculative,
        launch: info.launch,
    };
    app.running.insert(task_attempt_id, running);
    Ok(())
}

/// `SparkListenerTaskEnd`.
pub fn end(
    app: &mut App,
    tables: &mut Tables,
    line: &mut Cursor<'_>,
) -> std::result::Result<(), EventError> {
    let mut stage = (None, 0);
    let mut reason = Reason::default();
    let mut info = Info::default();
    let mut metrics = None;
    let mut updates = std::mem::take(&mut app.updates);
    updates.clear();
    let read = line.rest_of_line(|line, key| {
        match key {
            b"Stage ID" => stage.0 = Some(line.integer()?),
            b"Stage Attempt ID" => stage.1 = attempt(line.integer()?)?,
            b"Task End Reason" => reason = end_reason(line)?,
            b"Task Info" => {
                // Before the stage is known nothing may be left out.
                let wanted = stage
                    .0
                    .is_none_or(|stage| app.stages.sql_id(stage).is_some());
                info = task_info(line, wanted.then_some(&mut updates))?;
            }
            b"Task Metrics" => {
                if !line.null() {
                    metrics = Some(task_metrics(line)?);
                }
            }
            _ => line.skip()?,
        }
        Ok(())
    });
    app.updates = updates;
    read?;
    let stage_id = stage.0.ok_or(Malformed("the task has no stage"))?;
    let task_attempt_id = info
        .task_attempt_id
        .ok_or(Malformed("the task has no id"))?;
    let stage_attempt = stage.1 as i32;
    app.saw(info.launch);
    app.saw(info.finish);
    app.running.remove(&task_attempt_id);
    let status = reason.status();
    if !app.ends.tasks.first(task_attempt_id, reason.kind()) {
        app.ends.again("SparkListenerTaskEnd");
        return Ok(());
    }
    if status == "success" && !app.updates.is_empty() {
        app.task_updates((stage_id, stage_attempt), task_attempt_id, info.index);
    }

    let rows = &mut tables.tasks.rows;
    let mut text = [const { None }; 3];
    for (kept, text) in text
        .iter_mut()
        .zip([info.executor_id, info.host, info.locality])
    {
        *kept = text.map(|text| text.decode());
    }
    let [executor_id, host, locality] = &text;
    rows.app_index.append_value(app.index);
    rows.stage_id.append_value(stage_id);
    rows.stage_attempt.append_value(stage_attempt);
    rows.task_attempt_id.append_value(task_attempt_id);
    rows.task_index.append_option(info.index);
    rows.partition.append_option(info.partition);
    rows.attempt
        .append_option(info.attempt.and_then(|attempt| attempt.try_into().ok()));
    rows.executor_id.append_option(executor_id.as_deref());
    rows.host.append_option(host.as_deref());
    rows.locality.append_option(locality.as_deref());
    rows.speculative.append_value(info.speculative);
    rows.status.append_value(status);
    rows.reason
        .append_option(reason.class.map(|class| class.decode()));
    rows.error.append_option(if status == "success" {
        None
    } else {
        reason.error()
    });
    rows.launch_wall_ns.append_option(time_ns(info.launch));
    rows.finish_wall_ns.append_option(time_ns(info.finish));
    rows.getting_result_wall_ns
        .append_option(time_ns(info.getting_result));
    rows.has_metrics.append_value(metrics.is_some());
    app.beyond += metrics.unwrap_or_default().append(rows);
    tables.tasks.row_done()?;
    Ok(())
}

/// Writes an attempt that never ended.
pub fn never_ended(
    app_index: i32,
    symbols: &Symbols,
    task_attempt_id: i64,
    task: Running,
    tables: &mut Tables,
) -> Result<()> {
    let text = |symbol: Option<Symbol>| symbol.map(|symbol| symbols.text(symbol));
    let rows = &mut tables.tasks.rows;
    rows.app_index.append_value(app_index);
    rows.stage_id.append_value(task.stage_id);
    rows.stage_attempt.append_value(task.stage_attempt);
    rows.task_attempt_id.append_value(task_attempt_id);
    rows.task_index.append_option(task.index);
    rows.partition.append_option(task.partition);
    rows.attempt
        .append_option(task.attempt.and_then(|attempt| attempt.try_into().ok()));
    rows.executor_id.append_option(text(task.executor_id));
    rows.host.append_option(text(task.host));
    rows.locality.append_option(text(task.locality));
    rows.speculative.append_value(task.speculative);
    rows.status.append_value("running");
    rows.reason.append_null();
    rows.error.append_null();
    rows.launch_wall_ns
        .append_option(task.launch.and_then(millis));
    rows.finish_wall_ns.append_null();
    rows.getting_result_wall_ns.append_null();
    rows.has_metrics.append_value(false);
    Metrics::default().append(rows);
    tables.tasks.row_done()
}

#[inline(always)]
fn task_info<'a>(line: &mut Cursor<'a>, mut updates: Option<&mut Vec<Update>>) -> Read<Info<'a>> {
    let mut info = Info::default();
    line.open()?;
    // As Spark writes it; what is not so is read below.
    line.expected(b"\"Task ID\":", &mut info.task_attempt_id);
    line.expected(b",\"Index\":", &mut info.index);
    line.expected(b",\"Attempt\":", &mut info.attempt);
    line.expected(b",\"Partition ID\":", &mut info.partition);
    line.expected(b",\"Launch Time\":", &mut info.launch);
    line.rest_of_object(|line, key| {
        match key {
            b"Task ID" => info.task_attempt_id = line.optional_integer()?,
            b"Index" => info.index = line.optional_integer()?,
            b"Attempt" => info.attempt = line.optional_integer()?,
            b"Partition ID" => info.partition = line.optional_integer()?.filter(|&id| id >= 0),
            b"Launch Time" => info.launch = line.optional_integer()?,
            b"Executor ID" => info.executor_id = line.optional_string()?,
            b"Host" => info.host = line.optional_string()?,
            b"Locality" => info.locality = line.optional_string()?,
            b"Speculative" => info.speculative = line.boolean()?,
            b"Getting Result Time" => info.getting_result = line.optional_integer()?,
            b"Finish Time" => info.finish = line.optional_integer()?,
            b"Accumulables" => match updates.as_deref_mut() {
                Some(updates) => line.array(|line| accumulable(line, updates))?,
                None => line.skip()?,
            },
            _ => line.skip()?,
        }
        Ok(())
    })?;
    Ok(info)
}

/// One accumulable. Nearly all bytes of most logs are these, in the one form that Spark
/// writes; any other form is read the general way.
#[inline(always)]
fn accumulable(line: &mut Cursor<'_>, updates: &mut Vec<Update>) -> Read<()> {
    let start = line.position();
    match usual_accumulable(line) {
        Some(None) => Ok(()),
        Some(Some(update)) => {
            updates.push(update);
            Ok(())
        }
        None => {
            line.rewind(start);
            any_accumulable(line, updates)
        }
    }
}

#[inline(always)]
fn usual_accumulable(line: &mut Cursor<'_>) -> Option<Option<Update>> {
    let found = |yes: bool| yes.then_some(());
    found(line.literal(b"{\"ID\":"))?;
    let id = line.digits()?;
    found(line.literal(b",\"Name\":"))?;
    let internal = line.literal(b"\"internal.metrics.");
    line.string_from(internal)?;
    found(line.literal(b",\"Update\":"))?;
    let update = line.digits_maybe_quoted()?;
    found(line.literal(b",\"Value\":"))?;
    line.digits_maybe_quoted()?;
    found(line.literal(b",\"Internal\":true,\"Count Failed Values\":true"))?;
    line.literal(b",\"Metadata\":\"sql\"");
    found(line.literal(b"}"))?;
    Some((!internal).then_some((id, Some(update))))
}

#[cold]
fn any_accumulable(line: &mut Cursor<'_>, updates: &mut Vec<Update>) -> Read<()> {
    let (mut id, mut update, mut internal) = (None, None, false);
    line.object(|line, key| {
        match key {
            b"ID" => id = line.optional_integer()?,
            b"Name" => {
                internal = line
                    .optional_string()?
                    .is_some_and(|name| name.raw.starts_with(b"internal.metrics."))
            }
            b"Update" => {
                update = if line.null() {
                    None
                } else {
                    Some(line.loose_integer()?)
                }
            }
            _ => line.skip()?,
        }
        Ok(())
    })?;
    if let (Some(id), Some(update), false) = (id, update, internal) {
        updates.push((id, update));
    }
    Ok(())
}

fn end_reason<'a>(line: &mut Cursor<'a>) -> Read<Reason<'a>> {
    let mut reason = Reason::default();
    if line.literal(b"{\"Reason\":\"Success\"}") {
        reason.class = Some(Text {
            raw: b"Success",
            escaped: false,
        });
        return Ok(reason);
    }
    line.object(|line, key| {
        match key {
            b"Reason" => reason.class = line.optional_string()?,
            b"Description" => reason.description = line.optional_string()?,
            b"Message" => reason.message = line.optional_string()?,
            b"Full Stack Trace" => reason.trace = line.optional_string()?,
            b"Kill Reason" => reason.kill = line.optional_string()?,
            b"Loss Reason" => reason.loss = line.optional_string()?,
            _ => line.skip()?,
        }
        Ok(())
    })?;
    Ok(reason)
}
