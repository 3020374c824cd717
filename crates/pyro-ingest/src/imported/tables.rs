//! Tables of a profile that another tool made.

use std::collections::HashMap;

use pyro_model::{FramesBuilder, IngestReport, ParquetSink, Result, SamplesBuilder, StacksBuilder};
use pyro_stacks::folded::frame_of;
use pyro_stacks::{Facts, Frame, FrameKind, Rules, Verdict};

/// A sample; what its source does not say is `None`.
#[derive(Debug, Clone, Default)]
pub struct Sample<'a> {
    /// Name of what was sampled: `cpu`, `alloc_space`, ….
    pub event: &'a str,
    /// Unit of the weight: `ns`, `bytes`, `count`, ….
    pub unit: &'a str,
    /// Weight.
    pub weight: i64,
    /// Stack, of [`ImportTables::stack`].
    pub stack: Option<i32>,
    /// Process.
    pub pid: Option<i64>,
    /// Thread.
    pub tid: Option<i64>,
    /// Name of the thread.
    pub thread: Option<&'a str>,
    /// Task.
    pub task: Option<i64>,
    /// Stage.
    pub stage: Option<i64>,
    /// Iteration.
    pub iteration: Option<i32>,
    /// Operator, where the source names it; else the frames are asked.
    pub operator: Option<&'a str>,
}

/// Name and library of a frame, line and kind, as they distinguish it.
type Key = (String, String, i32);

/// Writes tables `samples`, `stacks` and `frames` of an imported profile.
///
/// Memory grows with the distinct stacks and frames, not with the samples.
pub struct ImportTables {
    source: &'static str,
    rules: &'static Rules,
    frame_numbers: HashMap<Key, i32>,
    facts: Vec<Facts>,
    stack_numbers: HashMap<Box<[i32]>, i32>,
    verdicts: Vec<Verdict>,
    frames: ParquetSink<FramesBuilder>,
    stacks: ParquetSink<StacksBuilder>,
    samples: ParquetSink<SamplesBuilder>,
}

impl ImportTables {
    /// Starts the tables in folder `out`; `source` is the format, as table samples names it.
    ///
    /// # Errors
    /// If they cannot be created.
    pub fn create(source: &'static str, out: &str) -> Result<Self> {
        Ok(Self {
            source,
            rules: Rules::embedded(),
            frame_numbers: HashMap::new(),
            facts: Vec::new(),
            stack_numbers: HashMap::new(),
            verdicts: Vec::new(),
            frames: ParquetSink::create(out)?,
            stacks: ParquetSink::create(out)?,
            samples: ParquetSink::create(out)?,
        })
    }

    /// Id of a frame: a function by its name, the library it lies in (or empty), and a source
    /// line (0: unknown).
    ///
    /// # Errors
    /// If the table cannot be written.
    pub fn frame(&mut self, name: &str, library: &str, line: i64) -> Result<i32> {
        let line = i32::try_from(line).unwrap_or(0).max(0);
        let key = (name.to_owned(), library.to_owned(), line);
        if let Some(&known) = self.frame_numbers.get(&key) {
            return Ok(known);
        }
        let id = self.facts.len() as i32;
        let (place, method, told, kind) = parts(name, library);
        self.facts.push(self.rules.facts(&Frame {
            place: &place,
            method: &method,
            kind,
        }));
        let rows = &mut self.frames.rows;
        let place = Some(place.as_str()).filter(|place| !place.is_empty());
        let line = if line > 0 { Some(line) } else { told };
        rows.frame_id.append_value(id);
        rows.class_name
            .append_option(place.filter(|_| !kind.is_native()));
        rows.method.append_value(&method);
        rows.line.append_option(line);
        rows.kind.append_value(kind.name());
        rows.library
            .append_option(place.filter(|_| kind.is_native()));
        self.frames.row_done()?;
        self.frame_numbers.insert(key, id);
        Ok(id)
    }

    /// Id of a stack, its frames root first.
    ///
    /// # Errors
    /// If the table cannot be written.
    pub fn stack(&mut self, root_first: &[i32]) -> Result<i32> {
        if let Some(&known) = self.stack_numbers.get(root_first) {
            return Ok(known);
        }
        let id = self.verdicts.len() as i32;
        let leaf_first = root_first.iter().rev();
        let facts: Vec<Facts> = leaf_first.map(|&at| self.facts[at as usize]).collect();
        self.verdicts.push(self.rules.classify(&facts));
        let rows = &mut self.stacks.rows;
        rows.stack_id.append_value(id);
        rows.frame_ids.values().append_slice(root_first);
        rows.frame_ids.append(true);
        rows.truncated.append_value(false);
        self.stacks.row_done()?;
        self.stack_numbers.insert(root_first.into(), id);
        Ok(id)
    }

    /// Appends a sample. An operator is looked for in the frames of tasks, and of threads of
    /// which nothing is known.
    ///
    /// # Errors
    /// If the table cannot be written.
    pub fn sample(&mut self, sample: &Sample<'_>) -> Result<()> {
        let verdict = sample.stack.map(|stack| self.verdicts[stack as usize]);
        let role = match (sample.thread, sample.task) {
            (_, Some(_)) => "task",
            (Some(name), None) => self.rules.roles().of(name),
            (None, None) => "other",
        };
        let may_work = matches!(role, "task" | "helper") || sample.thread.is_none();
        let verdict_for_tasks = verdict.filter(|_| may_work);
        let told = verdict_for_tasks.and_then(|verdict| self.rules.operator(&verdict));
        let category = verdict
            .filter(|_| sample.event == "cpu")
            .map(|verdict| self.rules.category(role, &verdict));
        let rows = &mut self.samples.rows;
        rows.host.append_null();
        rows.pid.append_option(sample.pid);
        rows.tid.append_option(sample.tid);
        rows.t_ns.append_null();
        rows.clock.append_null();
        rows.source.append_value(self.source);
        rows.event.append_value(sample.event);
        rows.weight.append_value(sample.weight);
        rows.unit.append_value(sample.unit);
        rows.state.append_null();
        rows.wait_class.append_null();
        rows.category.append_option(category);
        rows.role.append_value(role);
        rows.thread_name.append_option(sample.thread);
        rows.task_attempt_id.append_option(sample.task);
        rows.stage_id.append_option(sample.stage);
        rows.stage_attempt.append_null();
        rows.job_id.append_null();
        rows.sql_id.append_null();
        rows.node_id.append_null();
        rows.plan_version.append_null();
        rows.expression_id.append_null();
        rows.operator.append_option(sample.operator.or(told));
        rows.codegen_stage_id
            .append_option(verdict_for_tasks.and_then(|verdict| verdict.codegen_stage_id));
        rows.iteration.append_option(sample.iteration);
        rows.java_stack.append_option(sample.stack);
        rows.native_stack.append_null();
        rows.kernel_stack.append_null();
        rows.episode_id.append_null();
        rows.join_status.append_null();
        rows.top_class.append_null();
        self.samples.row_done()
    }

    /// Writes the tables to the end; their rows go to `report`.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn finish(self, report: &mut IngestReport) -> Result<()> {
        report.tables.insert("samples", self.samples.finish()?);
        report.tables.insert("stacks", self.stacks.finish()?);
        report.tables.insert("frames", self.frames.finish()?);
        Ok(())
    }
}

/// Place, method, line and kind that a name tells. With a library it is native code, unless the
/// name has the shape of Java's.
fn parts(name: &str, library: &str) -> (String, String, Option<i32>, FrameKind) {
    // Go's packages have slashes too, but no class: `github.com/owner/project.function`.
    let is_path = name
        .rsplit_once('/')
        .is_some_and(|(_, last)| !last.starts_with(|c: char| c.is_uppercase() || c == '$'));
    let told = frame_of(name);
    let is_java = !is_path && !told.kind.is_native() && !told.place.is_empty();
    if is_java || (!is_path && told.kind.is_native() && library.is_empty()) {
        let place = told.place.into_owned();
        return (place, told.method.to_owned(), told.line, told.kind);
    }
    let kind = match library {
        "" => FrameKind::Unknown,
        "kernel" | "[kernel.kallsyms]" | "[kernel]" => FrameKind::Kernel,
        _ if name.contains("::") => FrameKind::Cpp,
        _ => FrameKind::Native,
    };
    (library.to_owned(), name.to_owned(), None, kind)
}

/// Unit as table samples names it, and how many of it one of the source's is.
pub fn unit(of_source: &str) -> (&str, i64) {
    match of_source {
        "nanoseconds" | "nanosecond" | "ns" => ("ns", 1),
        "microseconds" | "microsecond" | "us" | "µs" => ("ns", 1_000),
        "milliseconds" | "millisecond" | "ms" => ("ns", 1_000_000),
        "seconds" | "second" | "s" => ("ns", 1_000_000_000),
        "bytes" | "byte" | "B" => ("bytes", 1),
        "" | "none" | "count" => ("count", 1),
        other => (other, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_java_from_the_rest() {
        let short = |name, library| {
            let (place, method, _, kind) = parts(name, library);
            (place, method, kind.name())
        };
        let own = |a: &str, b: &str, c| (a.to_owned(), b.to_owned(), c);
        assert_eq!(
            short("java/lang/Thread.run", ""),
            own("java.lang.Thread", "run", "unknown")
        );
        assert_eq!(
            short("org.x.Y.z", "anything"),
            own("org.x.Y", "z", "unknown")
        );
        assert_eq!(
            short("github.com/o/p.Func", ""),
            own("", "github.com/o/p.Func", "unknown")
        );
        assert_eq!(
            short("runtime.mallocgc", "server"),
            own("server", "runtime.mallocgc", "native")
        );
        assert_eq!(
            short("JVM_Sleep", "libjvm.so"),
            own("libjvm.so", "JVM_Sleep", "native")
        );
        assert_eq!(
            short("do_syscall_64", "[kernel.kallsyms]"),
            own("[kernel.kallsyms]", "do_syscall_64", "kernel")
        );
    }
}
