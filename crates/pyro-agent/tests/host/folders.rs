//! Folders that are refused, or left alone.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use crate::support::{agent, alone, attempts, end, program, started, wait_until};

#[test]
fn a_store_that_is_refused_leaves_no_folder() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut agent = Command::new(program());
    agent.args([
        "host",
        "--host",
        "h",
        "--to",
        "file://relative",
        "--work-dir",
    ]);
    let told = agent.arg(folder.join("work")).output().unwrap();
    assert_eq!(told.status.code(), Some(1));
    let told = String::from_utf8(told.stderr).unwrap();
    assert!(told.contains("Give file:///FOLDER"), "{told}");
    assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
}

#[test]
fn a_work_folder_where_others_may_write_is_refused() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let (folder, work) = (folder.path(), folder.path().join("work"));
    fs::create_dir(folder.join("store")).unwrap();
    fs::create_dir(&work).unwrap();
    for rights in [0o777, 0o1777, 0o770] {
        fs::set_permissions(&work, fs::Permissions::from_mode(rights)).unwrap();
        let told = started(folder).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(told.status.code(), Some(1));
        let told = String::from_utf8(told.stderr).unwrap();
        assert!(told.contains("work: others may write there"), "{told}");
        assert_eq!(fs::read_dir(&work).unwrap().count(), 0);
    }
}

#[test]
fn folders_of_others_are_left_alone() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::create_dir(folder.join("store")).unwrap();
    // Two names that could be those of an agent's folders, one of which another host's agent took.
    let (notes, other) = (folder.join("work/abc"), folder.join("work/abd"));
    fs::create_dir_all(&notes).unwrap();
    fs::write(notes.join("notes.log"), "precious\n").unwrap();
    fs::create_dir(&other).unwrap();
    fs::write(other.join(".shipping.lock"), "").unwrap();
    fs::write(other.join(".shipping.json"), "{}").unwrap();
    let mut agent = agent(folder);
    wait_until(|| {
        let report = attempts(folder).first()?.join("agent-h.report.json");
        report.exists().then_some(())
    });
    end(&mut agent);
    assert_eq!(
        fs::read_dir(folder.join("store/host/host"))
            .unwrap()
            .count(),
        1
    );
    assert!(notes.join("notes.log").is_file() && other.is_dir());
}
