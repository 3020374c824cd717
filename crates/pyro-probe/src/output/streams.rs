//! The streams of a recording. Whoever has rows appends them to a stream's `rows` and says `row_done`.

use std::io;
use std::path::Path;

use pyro_model::{
    DelaysBuilder, IoLatencyBuilder, KernelStacksBuilder, OffCpuBuilder, OsSeriesBuilder,
    PerfCountsBuilder, Table, ThreadCountersBuilder, ThreadStatesBuilder,
};
use serde_json::{Map, Value};

use super::stream::Stream;

/// What stands in the names of a probe's files before their endings: nothing for the first probe
/// of a folder, `.2` and so on for those that went on after it.
pub fn numbered(part: u32) -> String {
    match part {
        0 | 1 => String::new(),
        part => format!(".{part}"),
    }
}

/// One stream per table, in the files `probe-<host>-<name>.arrows`.
pub struct Outputs {
    /// Name of this host, for the column of that name.
    pub host: String,
    /// Counters of threads.
    pub threads: Stream<ThreadCountersBuilder>,
    /// Series of the host and of processes.
    pub series: Stream<OsSeriesBuilder>,
    /// What threads were seen doing.
    pub states: Stream<ThreadStatesBuilder>,
    /// Kernel stacks that the others name by number.
    pub kernel_stacks: Stream<KernelStacksBuilder>,
    /// Time off the CPU.
    pub off_cpu: Stream<OffCpuBuilder>,
    /// Histograms of latencies.
    pub io_latency: Stream<IoLatencyBuilder>,
    /// Hardware and software counters.
    pub perf_counts: Stream<PerfCountsBuilder>,
    /// Delay accounting.
    pub delays: Stream<DelaysBuilder>,
}

/// What can be done with a stream of whatever table.
trait AnyStream {
    fn flush(&mut self);
    fn finish(&mut self);
    fn written(&self) -> u64;
    fn dropped(&self) -> u64;
    fn error(&self) -> Option<&str>;
}

impl<T: Table> AnyStream for Stream<T> {
    fn flush(&mut self) {
        Stream::flush(self);
    }
    fn finish(&mut self) {
        Stream::finish(self);
    }
    fn written(&self) -> u64 {
        self.written
    }
    fn dropped(&self) -> u64 {
        self.dropped
    }
    fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }
}

impl Outputs {
    /// Creates the files of threads and series; those of the others come with their first rows.
    ///
    /// # Errors
    /// If a file cannot be created.
    pub fn create(folder: &Path, host: &str, part: u32) -> io::Result<Self> {
        let number = numbered(part);
        let file = |name: &str| folder.join(format!("probe-{host}-{name}{number}.arrows"));
        let at = |name: &'static str| {
            let path = file(name);
            move |error| io::Error::other(format!("{}: {error}", path.display()))
        };
        Ok(Self {
            host: host.to_owned(),
            threads: Stream::create(&file("threads")).map_err(at("threads"))?,
            series: Stream::create(&file("series")).map_err(at("series"))?,
            states: Stream::later(&file("states")),
            kernel_stacks: Stream::later(&file("kernel-stacks")),
            off_cpu: Stream::later(&file("off-cpu")),
            io_latency: Stream::later(&file("io-latency")),
            perf_counts: Stream::later(&file("perf-counts")),
            delays: Stream::later(&file("delays")),
        })
    }

    fn all(&self) -> [(&'static str, &dyn AnyStream); 8] {
        [
            ("threads", &self.threads),
            ("series", &self.series),
            ("states", &self.states),
            ("kernel-stacks", &self.kernel_stacks),
            ("off-cpu", &self.off_cpu),
            ("io-latency", &self.io_latency),
            ("perf-counts", &self.perf_counts),
            ("delays", &self.delays),
        ]
    }

    fn all_mut(&mut self) -> [&mut dyn AnyStream; 8] {
        [
            &mut self.threads,
            &mut self.series,
            &mut self.states,
            &mut self.kernel_stacks,
            &mut self.off_cpu,
            &mut self.io_latency,
            &mut self.perf_counts,
            &mut self.delays,
        ]
    }

    /// Writes the rows held.
    pub fn flush(&mut self) {
        self.all_mut().into_iter().for_each(AnyStream::flush);
    }

    /// Writes the rows held and the marks of streams that ended in order.
    pub fn finish(&mut self) {
        self.all_mut().into_iter().for_each(AnyStream::finish);
    }

    /// Rows in each file.
    pub fn written(&self) -> Value {
        let counts = self.all().into_iter().filter(|(_, s)| s.written() > 0);
        let counts = counts.map(|(name, stream)| (name.to_owned(), stream.written().into()));
        Value::Object(counts.collect::<Map<_, _>>())
    }

    /// Rows that could not be written.
    pub fn dropped(&self) -> u64 {
        self.all().iter().map(|(_, stream)| stream.dropped()).sum()
    }

    /// Why writing stopped, where it did.
    pub fn error(&self) -> Option<&str> {
        self.all()
            .into_iter()
            .find_map(|(_, stream)| stream.error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_with_their_first_rows_and_drops_are_added_up() {
        let folder = tempfile::tempdir().unwrap();
        let mut outputs = Outputs::create(folder.path(), "a-b", 1).unwrap();
        let there = || {
            let mut names: Vec<String> = std::fs::read_dir(folder.path())
                .unwrap()
                .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
                .collect();
            names.sort();
            names
        };
        let stack = |outputs: &mut Outputs| {
            outputs.kernel_stacks.rows.host.append_value("a-b");
            outputs.kernel_stacks.rows.stack_id.append_value(1);
            outputs.kernel_stacks.rows.symbols.append_value("a;b");
            outputs.kernel_stacks.row_done();
        };
        outputs.flush();
        assert_eq!(
            there(),
            ["probe-a-b-series.arrows", "probe-a-b-threads.arrows"]
        );
        stack(&mut outputs);
        outputs.flush();
        assert_eq!(there()[0], "probe-a-b-kernel-stacks.arrows");
        assert_eq!(outputs.written(), serde_json::json!({"kernel-stacks": 1}));
        assert_eq!((outputs.dropped(), outputs.error()), (0, None));
        outputs.finish();
        assert_eq!(there().len(), 3);
        Outputs::create(folder.path(), "a-b", 2).unwrap();
        assert_eq!(
            (there().len(), outputs.dropped()),
            (5, 0),
            "another probe writes beside it"
        );
        assert_eq!(there()[1], "probe-a-b-series.2.arrows");

        let gone = folder.path().join("gone");
        std::fs::create_dir(&gone).unwrap();
        let mut outputs = Outputs::create(&gone, "a-b", 1).unwrap();
        std::fs::remove_dir_all(&gone).unwrap();
        stack(&mut outputs);
        outputs.flush();
        assert_eq!(outputs.dropped(), 1);
        assert!(outputs.error().unwrap().contains("No such file"));
    }
}
