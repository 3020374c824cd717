//! Whether executors or drivers of Spark are on the host.

use std::collections::BTreeSet;
use std::io;

use crate::executors::{ProcTree, discover};

/// Looks at the processes of a host.
#[derive(Debug, Clone)]
pub struct Presence {
    tree: ProcTree,
    /// Executors and drivers when all processes were looked at last.
    found: Vec<i32>,
    /// All others then.
    others: BTreeSet<i32>,
}

impl Presence {
    /// Of the host whose processes these are.
    pub fn new(tree: ProcTree) -> Self {
        Self {
            tree,
            found: Vec::new(),
            others: BTreeSet::new(),
        }
    }

    /// Whether none is here.
    ///
    /// # Errors
    /// If processes cannot be listed: then nobody knows.
    pub fn is_free(&mut self) -> io::Result<bool> {
        // Those of before are most often still there: then that is all to be looked at.
        if !self.among(&self.found).is_empty() {
            return Ok(false);
        }
        let pids = self.tree.pids()?;
        self.found = self.among(&pids);
        self.others = pids.into_iter().collect();
        Ok(self.found.is_empty())
    }

    /// Whether one came since all were looked at; a process that came is looked at each time, as it may be a shell
    /// that becomes a JVM. True, too, where processes cannot be listed any more.
    pub fn has_come(&self) -> bool {
        let Ok(mut pids) = self.tree.pids() else {
            return true;
        };
        pids.retain(|pid| !self.others.contains(pid));
        !self.among(&pids).is_empty()
    }

    fn among(&self, pids: &[i32]) -> Vec<i32> {
        let jvms: Vec<_> = pids.iter().filter_map(|&pid| self.tree.jvm(pid)).collect();
        discover(&jvms).iter().map(|one| one.pid).collect()
    }
}
