//! The application itself and its executors.

use std::collections::BTreeMap;

/// Facts about the application, for table `apps`.
#[derive(Debug, Default)]
pub struct Facts {
    /// Application id.
    pub id: Option<String>,
    /// Attempt id.
    pub attempt: Option<String>,
    /// Name.
    pub name: Option<String>,
    /// User.
    pub user: Option<String>,
    /// Version of Spark.
    pub spark_version: Option<String>,
    /// Version of Java.
    pub java_version: Option<String>,
    /// Version of Scala.
    pub scala_version: Option<String>,
    /// `spark.master`.
    pub master: Option<String>,
    /// There was a start event.
    pub started: bool,
    /// There was an end event.
    pub ended: bool,
    /// Start, ms.
    pub start: Option<i64>,
    /// End, ms.
    pub end: Option<i64>,
    /// Spark properties as a JSON object.
    pub spark_conf: Option<String>,
    /// System properties as a JSON object.
    pub system_properties: Option<String>,
    /// Whether the user's own pattern of secrets is one that we do not understand.
    pub secrets_unknown: bool,
}

/// An executor, for table `executors`.
#[derive(Debug, Default)]
pub struct Executor {
    /// Host.
    pub host: Option<String>,
    /// Cores.
    pub cores: Option<i64>,
    /// When the driver asked for it, ms.
    pub request: Option<i64>,
    /// When it was added, ms.
    pub add: Option<i64>,
    /// When it was removed, ms.
    pub remove: Option<i64>,
    /// Why it was removed.
    pub remove_reason: Option<String>,
    /// Memory for storage, bytes.
    pub max_memory: Option<i64>,
    /// Resource profile.
    pub resource_profile: Option<i64>,
    /// Peaks of its metrics, by name.
    pub peaks: BTreeMap<String, i64>,
}
