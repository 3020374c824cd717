//! `executors`: prints who is here.

use serde_json::json;

use crate::args::ExecutorsOptions;
use crate::executors::{ProcTree, discover};

/// Prints the executors and drivers of this host as JSON.
///
/// # Errors
/// If processes cannot be listed.
pub fn executors(options: &ExecutorsOptions) -> Result<(), String> {
    let tree = ProcTree::new(&options.proc);
    let at = |error| format!("{}: {error}", options.proc.display());
    let pids = tree.pids().map_err(at)?;
    let jvms: Vec<_> = pids.into_iter().filter_map(|pid| tree.jvm(pid)).collect();
    let found = json!({
        "schema": "pyrometer/executors/1",
        "executors": discover(&jvms),
    });
    println!("{found}");
    Ok(())
}
