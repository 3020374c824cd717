//! The store that a URL names.

use std::path::{Path, PathBuf};

use crate::ship::{FolderStore, RelayStore, Store};
use crate::verbs::writer::Writer;

/// What a store is called that the writer of the raw folder puts chunks into, for us.
pub const RELAY: &str = "relay://";

/// Opens the store. `writer`: the process that writes what is shipped, where there is one.
///
/// # Errors
/// If it is of no known kind, or the URL is none.
pub fn open(url: &str, writer: Option<&Writer>) -> Result<Box<dyn Store + Send>, String> {
    if let Some(folder) = url.strip_prefix(RELAY) {
        let writer = writer.ok_or("relay://: only beside a process that relays (--until-pid)")?;
        let writer = writer.clone();
        let store = RelayStore::begin(PathBuf::from(folder), move || writer.is_there())?;
        return Ok(Box::new(store));
    }
    let folder = url
        .strip_prefix("file://")
        .or(url.starts_with('/').then_some(url));
    match folder {
        Some(folder) if Path::new(folder).is_absolute() => {
            Ok(Box::new(FolderStore::new(PathBuf::from(folder))))
        }
        Some(_) => Err(format!("{url}: not an absolute path. Give file:///FOLDER")),
        None => other(url),
    }
}

#[cfg(feature = "objects")]
fn other(url: &str) -> Result<Box<dyn Store + Send>, String> {
    Ok(Box::new(crate::objects::Objects::open(url)?))
}

#[cfg(not(feature = "objects"))]
fn other(_: &str) -> Result<Box<dyn Store + Send>, String> {
    Err("no store of this kind is known to this agent. Give file:///FOLDER".to_owned())
}

#[cfg(test)]
mod tests {
    use super::open;

    #[test]
    fn folders_are_stores_and_nothing_else_is() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().to_str().unwrap();
        for url in [path.to_owned(), format!("file://{path}")] {
            let mut store = open(&url, None).unwrap();
            store.put("x/000000000000.chunk", b"object").unwrap();
        }
        assert!(root.path().join("x/000000000000.chunk").is_file());
        for other in [
            "",
            "relay:///x",
            "file://relative",
            "http://user:word@host/",
        ] {
            assert!(open(other, None).is_err(), "{other}");
        }
    }
}
