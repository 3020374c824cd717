//! One folder for all inputs of a process: to make and remove one each time takes longer than most
//! readers take. Tables are not written there (`cfg(fuzzing)`), inputs replace one another.

use std::path::Path;
use std::sync::OnceLock;

use tempfile::TempDir;

/// The folder, which whoever started the process removes.
pub fn folder() -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    FOLDER
        .get_or_init(|| tempfile::tempdir().expect("a temporary folder"))
        .path()
}
