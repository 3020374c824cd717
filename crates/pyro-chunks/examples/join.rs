//! Makes files of a folder of chunks, and prints what became of each stream.

use std::path::Path;

use pyro_chunks::join::join_folder;

fn main() -> std::io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [store, out] = words.as_slice() else {
        return Err(std::io::Error::other("give a store and a folder"));
    };
    let joined = join_folder(Path::new(store), Path::new(out))?;
    println!("{}", serde_json::to_string_pretty(&joined)?);
    Ok(())
}
