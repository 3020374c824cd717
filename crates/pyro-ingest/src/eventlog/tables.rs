//! The tables that event logs fill.

use std::collections::BTreeMap;
use std::path::Path;

use pyro_model::{
    AppsBuilder, ExecutorsBuilder, JobsBuilder, NodeMetricsBuilder, ParquetSink, PlanNodesBuilder,
    Result, SqlExecutionsBuilder, StagesBuilder, TasksBuilder,
};

macro_rules! tables {
    ($($name:ident: $builder:ident),*) => {
        /// A sink for each table.
        pub struct Tables {
            $(#[doc = concat!("Table ", stringify!($name))] pub $name: ParquetSink<$builder>,)*
        }

        impl Tables {
            /// Starts every table in folder `out`.
            ///
            /// # Errors
            /// If a file cannot be created.
            pub fn create(out: &Path) -> Result<Self> {
                Ok(Self { $($name: ParquetSink::create(out)?,)* })
            }

            /// Encodes what is held.
            ///
            /// # Errors
            /// If rows do not fit their schema or cannot be written.
            pub fn flush(&mut self) -> Result<()> {
                $(self.$name.flush()?;)*
                Ok(())
            }

            /// Completes every table and returns its rows.
            ///
            /// # Errors
            /// If a file cannot be written.
            pub fn finish(self) -> Result<BTreeMap<&'static str, u64>> {
                Ok(BTreeMap::from([$((stringify!($name), self.$name.finish()?)),*]))
            }
        }
    };
}
tables! {
    apps: AppsBuilder,
    jobs: JobsBuilder,
    stages: StagesBuilder,
    tasks: TasksBuilder,
    sql_executions: SqlExecutionsBuilder,
    plan_nodes: PlanNodesBuilder,
    node_metrics: NodeMetricsBuilder,
    executors: ExecutorsBuilder
}

/// Nanoseconds of a time in milliseconds; Spark writes 0 or -1 where there is none.
#[inline(always)]
pub fn time_ns(ms: Option<i64>) -> Option<i64> {
    ms.filter(|&ms| ms > 0).and_then(millis)
}

/// Nanoseconds of a duration in milliseconds.
#[inline(always)]
pub fn millis(ms: i64) -> Option<i64> {
    ms.checked_mul(1_000_000)
}
