//! `Task Metrics` of every Spark version.

use pyro_model::TasksBuilder;

use super::json::{Cursor, Read};

/// The largest value of one task that is taken: 104 days in ns, 9 PB. Sums of what is larger would overflow.
const LARGEST: u64 = 1 << 53;

/// Whether one task can have counted so much.
#[inline(always)]
pub fn plausible(value: &i64) -> bool {
    value.unsigned_abs() <= LARGEST
}

/// Declares the metrics of a task: column, and nanoseconds or bytes per unit of the log.
macro_rules! metrics {
    ($($field:ident: $unit:literal),* $(,)?) => {
        /// `Task Metrics`, in the units of the log; what the log does not have is `None`.
        #[derive(Debug, Clone, Copy, Default)]
        pub struct Metrics { $($field: Option<i64>,)* }

        impl Metrics {
            #[inline(always)]
            /// Appends the columns of `tasks` that hold them; how many were left out as too large.
            pub fn append(&self, rows: &mut TasksBuilder) -> u64 {
                let mut beyond = 0;
                $({
                    let value = self.$field.and_then(|value| value.checked_mul($unit)).filter(plausible);
                    beyond += u64::from(value.is_none() && self.$field.is_some());
                    rows.$field.append_option(value);
                })*
                beyond
            }
        }
    };
}
metrics! {
    executor_run_time_ns: 1_000_000,
    executor_cpu_time_ns: 1,
    executor_deserialize_time_ns: 1_000_000,
    executor_deserialize_cpu_time_ns: 1,
    result_serialization_time_ns: 1_000_000,
    jvm_gc_time_ns: 1_000_000,
    result_size_bytes: 1,
    peak_execution_memory_bytes: 1,
    memory_spilled_bytes: 1,
    disk_spilled_bytes: 1,
    input_bytes: 1,
    input_records_count: 1,
    output_bytes: 1,
    output_records_count: 1,
    shuffle_read_remote_bytes: 1,
    shuffle_read_remote_to_disk_bytes: 1,
    shuffle_read_local_bytes: 1,
    shuffle_read_records_count: 1,
    shuffle_remote_blocks_fetched_count: 1,
    shuffle_local_blocks_fetched_count: 1,
    shuffle_fetch_wait_time_ns: 1_000_000,
    shuffle_remote_requests_duration_ns: 1_000_000,
    shuffle_written_bytes: 1,
    shuffle_written_records_count: 1,
    shuffle_write_time_ns: 1,
}

/// `Task Metrics`.
///
/// Before Spark 2.0 a group is written only where it is not all zero, so a group that is
/// absent means 0 for the fields it then had; a field that is absent is not known.
pub fn task_metrics(line: &mut Cursor<'_>) -> Read<Metrics> {
    let zero = Some(0);
    let mut metrics = Metrics {
        input_bytes: zero,
        input_records_count: zero,
        output_bytes: zero,
        output_records_count: zero,
        shuffle_read_remote_bytes: zero,
        shuffle_read_local_bytes: zero,
        shuffle_read_records_count: zero,
        shuffle_remote_blocks_fetched_count: zero,
        shuffle_local_blocks_fetched_count: zero,
        shuffle_fetch_wait_time_ns: zero,
        shuffle_written_bytes: zero,
        shuffle_written_records_count: zero,
        shuffle_write_time_ns: zero,
        ..Metrics::default()
    };
    let m = &mut metrics;
    line.open()?;
    // As Spark 2.1 to 4.x write them; what is not so is read below.
    line.expected(
        b"\"Executor Deserialize Time\":",
        &mut m.executor_deserialize_time_ns,
    );
    line.expected(
        b",\"Executor Deserialize CPU Time\":",
        &mut m.executor_deserialize_cpu_time_ns,
    );
    line.expected(b",\"Executor Run Time\":", &mut m.executor_run_time_ns);
    line.expected(b",\"Executor CPU Time\":", &mut m.executor_cpu_time_ns);
    line.expected(
        b",\"Peak Execution Memory\":",
        &mut m.peak_execution_memory_bytes,
    );
    line.expected(b",\"Result Size\":", &mut m.result_size_bytes);
    line.expected(b",\"JVM GC Time\":", &mut m.jvm_gc_time_ns);
    line.expected(
        b",\"Result Serialization Time\":",
        &mut m.result_serialization_time_ns,
    );
    line.expected(b",\"Memory Bytes Spilled\":", &mut m.memory_spilled_bytes);
    line.expected(b",\"Disk Bytes Spilled\":", &mut m.disk_spilled_bytes);
    line.rest_of_object(|line, key| {
        match key {
            b"Executor Run Time" => m.executor_run_time_ns = line.optional_integer()?,
            b"Executor CPU Time" => m.executor_cpu_time_ns = line.optional_integer()?,
            b"Executor Deserialize Time" => {
                m.executor_deserialize_time_ns = line.optional_integer()?
            }
            b"Executor Deserialize CPU Time" => {
                m.executor_deserialize_cpu_time_ns = line.optional_integer()?
            }
            b"Result Serialization Time" => {
                m.result_serialization_time_ns = line.optional_integer()?
            }
            b"JVM GC Time" => m.jvm_gc_time_ns = line.optional_integer()?,
            b"Result Size" => m.result_size_bytes = line.optional_integer()?,
            b"Peak Execution Memory" => m.peak_execution_memory_bytes = line.optional_integer()?,
            b"Memory Bytes Spilled" => m.memory_spilled_bytes = line.optional_integer()?,
            b"Disk Bytes Spilled" => m.disk_spilled_bytes = line.optional_integer()?,
            b"Input Metrics" if !line.null() => {
                (m.input_bytes, m.input_records_count) = (None, None);
                line.object(|line, key| {
                    match key {
                        b"Bytes Read" => m.input_bytes = line.optional_integer()?,
                        b"Records Read" => m.input_records_count = line.optional_integer()?,
                        _ => line.skip()?,
                    }
                    Ok(())
                })?;
            }
            b"Output Metrics" if !line.null() => {
                (m.output_bytes, m.output_records_count) = (None, None);
                line.object(|line, key| {
                    match key {
                        b"Bytes Written" => m.output_bytes = line.optional_integer()?,
                        b"Records Written" => m.output_records_count = line.optional_integer()?,
                        _ => line.skip()?,
                    }
                    Ok(())
                })?;
            }
            b"Shuffle Read Metrics" if !line.null() => shuffle_read(line, m)?,
            b"Shuffle Write Metrics" if !line.null() => {
                (
                    m.shuffle_written_bytes,
                    m.shuffle_written_records_count,
                    m.shuffle_write_time_ns,
                ) = (None, None, None);
                line.object(|line, key| {
                    match key {
                        b"Shuffle Bytes Written" => {
                            m.shuffle_written_bytes = line.optional_integer()?
                        }
                        b"Shuffle Records Written" => {
                            m.shuffle_written_records_count = line.optional_integer()?
                        }
                        b"Shuffle Write Time" => {
                            m.shuffle_write_time_ns = line.optional_integer()?
                        }
                        _ => line.skip()?,
                    }
                    Ok(())
                })?;
            }
            b"Input Metrics"
            | b"Output Metrics"
            | b"Shuffle Read Metrics"
            | b"Shuffle Write Metrics" => {}
            _ => line.skip()?,
        }
        Ok(())
    })?;
    Ok(metrics)
}

fn shuffle_read(line: &mut Cursor<'_>, m: &mut Metrics) -> Read<()> {
    m.shuffle_read_remote_bytes = None;
    m.shuffle_read_local_bytes = None;
    m.shuffle_read_records_count = None;
    m.shuffle_remote_blocks_fetched_count = None;
    m.shuffle_local_blocks_fetched_count = None;
    m.shuffle_fetch_wait_time_ns = None;
    line.open()?;
    line.expected(
        b"\"Remote Blocks Fetched\":",
        &mut m.shuffle_remote_blocks_fetched_count,
    );
    line.expected(
        b",\"Local Blocks Fetched\":",
        &mut m.shuffle_local_blocks_fetched_count,
    );
    line.expected(b",\"Fetch Wait Time\":", &mut m.shuffle_fetch_wait_time_ns);
    line.expected(b",\"Remote Bytes Read\":", &mut m.shuffle_read_remote_bytes);
    line.expected(
        b",\"Remote Bytes Read To Disk\":",
        &mut m.shuffle_read_remote_to_disk_bytes,
    );
    line.expected(b",\"Local Bytes Read\":", &mut m.shuffle_read_local_bytes);
    line.expected(
        b",\"Total Records Read\":",
        &mut m.shuffle_read_records_count,
    );
    line.expected(
        b",\"Remote Requests Duration\":",
        &mut m.shuffle_remote_requests_duration_ns,
    );
    line.rest_of_object(|line, key| {
        match key {
            b"Remote Bytes Read" => m.shuffle_read_remote_bytes = line.optional_integer()?,
            b"Remote Bytes Read To Disk" => {
                m.shuffle_read_remote_to_disk_bytes = line.optional_integer()?
            }
            b"Local Bytes Read" => m.shuffle_read_local_bytes = line.optional_integer()?,
            b"Total Records Read" => m.shuffle_read_records_count = line.optional_integer()?,
            b"Remote Blocks Fetched" => {
                m.shuffle_remote_blocks_fetched_count = line.optional_integer()?
            }
            b"Local Blocks Fetched" => {
                m.shuffle_local_blocks_fetched_count = line.optional_integer()?
            }
            b"Fetch Wait Time" => m.shuffle_fetch_wait_time_ns = line.optional_integer()?,
            b"Remote Requests Duration" => {
                m.shuffle_remote_requests_duration_ns = line.optional_integer()?
            }
            _ => line.skip()?,
        }
        Ok(())
    })
}
