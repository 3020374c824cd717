use super::*;
use crate::header::Header;
use crate::testing::{self, put};

/// Of a source whose names are none of files.
fn header(file: &str, kind: Kind, sequence: u64, offset: u64) -> Header {
    Header {
        source: Source {
            app: "app/1".to_owned(),
            executor: "2".to_owned(),
            attempt: "a".to_owned(),
            host: "..".to_owned(),
        },
        ..testing::header(file, kind, sequence, offset)
    }
}

/// The streams of a store by their files' names, and the folder of the files.
fn joined(store: &Path) -> (BTreeMap<String, JoinedStream>, tempfile::TempDir) {
    let out = tempfile::tempdir().unwrap();
    let joined = join_folder(store, out.path()).unwrap();
    let named = |stream: JoinedStream| (stream.file.clone().unwrap_or_default(), stream);
    (joined.streams.into_iter().map(named).collect(), out)
}

#[test]
fn files_lie_where_their_names_say() {
    let store = tempfile::tempdir().unwrap();
    put(
        store.path(),
        &header("codegen/x.ndjson", Kind::Lines, 0, 0),
        b"{}\n",
    );
    put(
        store.path(),
        &header("codegen/x.ndjson", Kind::Lines, 1, 3),
        b"[]\n",
    );
    put(store.path(), &header("../../up", Kind::Bytes, 0, 0), b"up");
    let again = Header {
        generation: 1,
        ..header("gc-1.log", Kind::Lines, 0, 0)
    };
    put(store.path(), &again, b"again\n");
    let (streams, out) = joined(store.path());
    let folder = out.path().join("app%2F1/2/a/%2E.");
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(read("codegen/x.ndjson"), "{}\n[]\n");
    assert_eq!(read("%2E./%2E./up"), "up");
    assert_eq!(read("gc-1.log@1"), "again\n");
    assert_eq!(streams["codegen/x.ndjson"].tally.chunks_count, 2);
    assert_eq!(streams.len(), 3);
}

#[test]
fn of_versions_the_newest_sound_one_is_the_file() {
    let store = tempfile::tempdir().unwrap();
    for version in 0..4 {
        let text = format!("{{\"version\": {version}}}");
        put(
            store.path(),
            &header("r.json", Kind::Whole, version, 0),
            text.as_bytes(),
        );
    }
    let last = put(store.path(), &header("r.json", Kind::Whole, 4, 0), b"cut");
    fs::write(&last, b"PYROCHNK").unwrap();
    let (streams, out) = joined(store.path());
    let stream = &streams["r.json"];
    let text = fs::read_to_string(out.path().join(&stream.path)).unwrap();
    assert_eq!(text, "{\"version\": 3}");
    assert_eq!(
        (stream.tally.chunks_count, stream.tally.damaged_count),
        (4, 1)
    );
}

#[test]
fn chunks_of_others_and_what_is_none_are_left_out() {
    let store = tempfile::tempdir().unwrap();
    let one = put(store.path(), &header("a.log", Kind::Lines, 0, 0), b"one\n");
    let folder = one.parent().unwrap();
    let other = put(store.path(), &header("b.log", Kind::Lines, 1, 4), b"two\n");
    fs::rename(&other, folder.join("000000000001.chunk")).unwrap();
    fs::write(folder.join("000000000002.chunk.tmp"), b"half").unwrap();
    std::os::unix::fs::symlink("/etc/hostname", folder.join("000000000003.chunk")).unwrap();
    fs::write(
        folder.parent().unwrap().join("000000000000.chunk"),
        b"stray",
    )
    .unwrap();
    let out = tempfile::tempdir().unwrap();
    let joined = join_folder(store.path(), out.path()).unwrap();
    assert_eq!((joined.streams.len(), joined.others_count), (2, 2));
    let sound = |stream: &&JoinedStream| stream.file.as_deref() == Some("a.log");
    let stream = joined.streams.iter().find(sound).unwrap();
    assert_eq!(
        (stream.tally.bytes_count, stream.tally.damaged_count),
        (4, 1)
    );
    let damage = stream.tally.damage.as_deref();
    assert_eq!(damage, Some("it is of another stream"));
    let stray = joined
        .streams
        .iter()
        .find(|stream| stream.file.is_none())
        .unwrap();
    assert_eq!(
        (stray.tally.damaged_count, stray.tally.damage.as_deref()),
        (1, Some("not a chunk"))
    );
}

#[test]
fn a_file_that_cannot_be_made_is_told_and_the_others_are() {
    let store = tempfile::tempdir().unwrap();
    put(store.path(), &header("a", Kind::Bytes, 0, 0), b"a file");
    put(
        store.path(),
        &header("a/b", Kind::Bytes, 0, 0),
        b"and a folder",
    );
    put(store.path(), &header("c", Kind::Bytes, 0, 0), b"c");
    let (streams, _out) = joined(store.path());
    let failed = streams
        .values()
        .filter(|stream| stream.problem.is_some())
        .count();
    assert_eq!((streams.len(), failed), (3, 1));
    assert!(join_folder(Path::new("/nowhere"), Path::new("/tmp")).is_err());
}

#[test]
fn links_where_files_are_made_lead_nowhere() {
    use std::os::unix::fs::symlink;
    let (store, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    put(store.path(), &header("gc-1.log", Kind::Lines, 0, 0), b"a\n");
    put(store.path(), &header("x.json", Kind::Whole, 0, 0), b"{}");
    let victim = other.path().join("victim");
    fs::write(&victim, "precious").unwrap();

    let out = tempfile::tempdir().unwrap();
    let stream = stream_key(&header("", Kind::Lines, 0, 0).source, "gc-1.log", 0);
    let made = out.path().join(&stream);
    fs::create_dir_all(made.parent().unwrap()).unwrap();
    for name in ["gc-1.log.tmp", "x.json.tmp"] {
        symlink(&victim, made.with_file_name(name)).unwrap();
    }
    let joined = join_folder(store.path(), out.path()).unwrap();
    assert!(joined.streams.iter().all(|one| one.problem.is_none()));
    assert_eq!(fs::read(made).unwrap(), b"a\n");

    let out = tempfile::tempdir().unwrap();
    let first = stream.split('/').next().unwrap();
    symlink(other.path(), out.path().join(first)).unwrap();
    let joined = join_folder(store.path(), out.path()).unwrap();
    assert!(joined.streams.iter().all(|one| one.problem.is_some()));
    assert_eq!(fs::read_dir(other.path()).unwrap().count(), 1);
    assert_eq!(fs::read_to_string(victim).unwrap(), "precious");
}
