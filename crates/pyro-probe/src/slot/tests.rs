use super::file::{MAGIC, MAX_SLOTS, RECORD, RECORD_MAGIC};
use super::*;
use proptest::prelude::*;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::os::unix::fs::symlink;
use tempfile::TempDir;

const NONE: i64 = -1;

/// A file as a JVM writes it: header and records.
struct Image(Vec<u8>);

impl Image {
    fn new(pid: i32, parent: i32, capacity: usize) -> Self {
        let mut image = Self(vec![0; (1 + capacity) * RECORD]);
        image.0[..8].copy_from_slice(MAGIC);
        image.i32(8, RECORD as i32);
        image.i32(12, capacity as i32);
        image.i32(20, pid);
        image.i32(24, parent);
        image
    }

    fn i32(&mut self, at: usize, value: i32) {
        self.0[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    fn i64(&mut self, at: usize, value: i64) {
        self.0[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }

    fn slot(&mut self, slot: usize, tid: i32, phase: i32, task: i64, sql: i64) -> &mut Self {
        let base = (1 + slot) * RECORD;
        self.i32(base, RECORD_MAGIC as i32);
        self.i32(base + 4, 1);
        self.i64(base + 8, 2 * (slot as i64 + 1));
        self.i32(base + 16, tid);
        self.i32(base + 20, phase);
        self.i64(base + 32, task);
        self.i32(base + 40, if task < 0 { -1 } else { 3 });
        self.i32(base + 44, if task < 0 { -1 } else { 1 });
        self.i64(base + 56, sql);
        let used = i32::from_le_bytes(self.0[16..20].try_into().unwrap());
        self.i32(16, used.max(slot as i32 + 1));
        self
    }

    fn write(&self, folder: &Path, pid: i32) {
        // In place: the descriptor that is open must see it.
        let path = folder.join(format!("{PREFIX}{pid}"));
        let mut options = File::options();
        let file = options.write(true).create(true).truncate(false).open(path);
        file.unwrap().write_all_at(&self.0, 0).unwrap();
    }
}

/// A process that is there: only its files are looked at.
fn alive() -> i32 {
    std::process::id() as i32
}

fn slots(image: &Image) -> (TempDir, Slots) {
    let folder = tempfile::tempdir().unwrap();
    image.write(folder.path(), alive());
    let mut slots = Slots::new(folder.path());
    slots.refresh();
    (folder, slots)
}

#[test]
fn a_thread_has_the_context_of_its_slot() {
    let mut image = Image::new(alive(), 0, 8);
    image
        .slot(0, 70, 1, 17, 5)
        .slot(1, 71, 0, 18, 5)
        .slot(2, 72, 2, NONE, 6)
        .slot(7, 73, 1, 19, NONE);
    let (_folder, mut slots) = slots(&image);
    let task = Context {
        sequence: 2,
        task_attempt_id: Some(17),
        stage_id: Some(3),
        stage_attempt: Some(1),
        sql_id: Some(5),
    };
    assert_eq!(slots.context(alive(), 70), Some(task));
    assert_eq!(slots.context(alive(), 71), None, "idle");
    let driver = slots.context(alive(), 72).unwrap();
    assert_eq!((driver.task_attempt_id, driver.stage_id), (None, None));
    assert_eq!((driver.stage_attempt, driver.sql_id), (None, Some(6)));
    assert_eq!(slots.context(alive(), 73).unwrap().sql_id, None);
    assert_eq!(slots.context(alive(), 74), None, "no slot");
    assert_eq!(slots.context(1, 70), None, "another process's thread");
    assert_eq!((slots.seen, slots.refused, slots.torn), (1, 0, 0));
}

#[test]
fn a_change_within_a_pass_is_seen_as_it_is_now() {
    let mut image = Image::new(alive(), 0, 4);
    let (folder, mut slots) = slots(image.slot(0, 70, 1, 17, 5));
    image.slot(0, 70, 1, 18, 6).i64(RECORD + 8, 4);
    image.write(folder.path(), alive());
    let context = slots.context(alive(), 70).unwrap();
    assert_eq!((context.sequence, context.task_attempt_id), (4, Some(18)));
    assert_eq!(slots.torn, 0, "read a second time, not lost");
    // The task ends, and the thread's slot goes to another thread.
    image.slot(0, 71, 1, 19, 6);
    image.write(folder.path(), alive());
    assert_eq!(slots.context(alive(), 70), None);
    slots.refresh();
    assert_eq!(
        slots.context(alive(), 71).unwrap().task_attempt_id,
        Some(19)
    );
}

#[test]
fn a_record_that_stays_half_written_is_null_and_counted() {
    let mut image = Image::new(alive(), 0, 4);
    image.slot(0, 70, 1, 17, 5).i64(RECORD + 8, 3);
    let (_folder, mut slots) = slots(&image);
    assert_eq!(slots.context(alive(), 70), None);
    assert_eq!(slots.torn, 1);
}

#[test]
fn all_threads_of_a_worker_have_the_context_of_the_task_that_drives_it() {
    let mut daemon = std::process::Command::new("sleep")
        .arg("60")
        .spawn()
        .unwrap();
    let daemon_pid = daemon.id() as i32;
    let mut jvm = Image::new(alive(), 0, 4);
    let (folder, mut slots) = slots(jvm.slot(0, 70, 1, 17, 5));
    let mut workers = Image::new(daemon_pid, alive(), 4);
    workers
        .slot(0, 900, 3, 17, NONE)
        .slot(1, 901, 3, 99, NONE)
        .slot(2, 902, 0, NONE, NONE);
    workers.write(folder.path(), daemon_pid);
    slots.refresh();
    for tid in [900, 955] {
        let context = slots.context(900, tid).unwrap();
        assert_eq!(context.task_attempt_id, Some(17));
        assert_eq!((context.stage_id, context.sql_id), (Some(3), Some(5)));
    }
    assert_eq!(slots.context(901, 901), None, "a task that is not running");
    assert_eq!(slots.context(902, 902), None, "a worker without a task");
    assert_eq!(slots.context(alive(), 900), None, "not a thread of the JVM");
    jvm.slot(0, 70, 0, NONE, NONE).write(folder.path(), alive());
    assert_eq!(slots.context(900, 900), None, "the task has ended");
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    std::fs::write(folder.path().join("another"), "").unwrap();
    slots.refresh();
    assert_eq!(slots.files.len(), 1, "the daemon's file is closed");
}

#[test]
fn files_come_grow_are_cut_and_go() {
    let mut image = Image::new(alive(), 0, 64);
    let (folder, mut slots) = slots(image.slot(0, 70, 1, 17, 5));
    image.slot(40, 71, 1, 18, 5).i64(40, 3);
    image.write(folder.path(), alive());
    slots.refresh();
    assert_eq!(
        slots.context(alive(), 71).unwrap().task_attempt_id,
        Some(18)
    );
    assert_eq!(slots.overflow(), 3);
    let path = folder.path().join(format!("{PREFIX}{}", alive()));
    let file = File::options().write(true).open(&path).unwrap();
    file.set_len(200).unwrap();
    assert_eq!(slots.context(alive(), 71), None, "cut since the refresh");
    slots.refresh();
    assert_eq!(slots.context(alive(), 71), None);
    slots.remove();
    assert!(!path.exists());
}

#[test]
fn a_link_and_what_it_leads_to_are_removed() {
    let (shared, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut image = Image::new(alive(), 0, 4);
    image.slot(0, 70, 1, 17, 5).write(shared.path(), alive());
    let name = format!("{PREFIX}{}", alive());
    let (target, link) = (shared.path().join(&name), folder.path().join(&name));
    symlink(&target, &link).unwrap();
    // Of a process that was killed, before it was ever looked at.
    symlink(shared.path().join("gone"), folder.path().join("context-1")).unwrap();
    let mut slots = Slots::new(folder.path());
    slots.refresh();
    assert!(slots.context(alive(), 70).is_some());
    assert_eq!((slots.seen, slots.refused), (1, 1));
    slots.remove();
    assert!(!target.exists());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn where_another_reader_may_come_the_files_of_living_processes_stay() {
    let mut image = Image::new(alive(), 0, 4);
    let (folder, mut slots) = slots(image.slot(0, 70, 1, 17, 5));
    // Of a process that has ended.
    let gone = folder.path().join(format!("{PREFIX}{}", i32::MAX));
    std::fs::write(&gone, "").unwrap();
    slots.remove_ended();
    assert!(!gone.exists());
    let mut other = Slots::new(folder.path());
    other.refresh();
    assert!(other.context(alive(), 70).is_some());
}

#[test]
fn a_link_to_what_is_no_file_of_slots_is_all_that_is_removed() {
    let (other, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let victim = other.path().join("precious");
    // Also one that could be read as slots.
    let mut image = Image::new(alive(), 0, 4);
    let image = image.slot(0, 70, 1, 17, 5);
    std::fs::write(&victim, &image.0).unwrap();
    for name in [format!("{PREFIX}{}", alive()), format!("{PREFIX}1")] {
        symlink(&victim, folder.path().join(name)).unwrap();
    }
    let mut slots = Slots::new(folder.path());
    slots.refresh();
    slots.remove();
    assert!(victim.exists());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_is_no_such_file_is_refused() {
    let mut too_many = Image::new(alive(), 0, 4);
    too_many.i32(12, MAX_SLOTS as i32 + 1);
    let mut used = Image::new(alive(), 0, 4);
    used.i32(16, 5);
    let mut version = Image::new(alive(), 0, 4);
    version.0[7] = 2;
    let other = Image::new(alive() + 1, 0, 4);
    for image in [too_many, used, version, other, Image(Vec::new())] {
        let (_folder, slots) = slots(&image);
        assert_eq!((slots.files.len(), slots.refused), (0, 1));
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join(format!("{PREFIX}{}", alive()))).unwrap();
    std::fs::write(folder.path().join("context-x"), "").unwrap();
    let mut slots = Slots::new(folder.path());
    slots.refresh();
    assert_eq!((slots.files.len(), slots.refused), (0, 1));
    Slots::new(Path::new("/nowhere")).refresh();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_bytes_harm_the_reader(
        bytes in prop::collection::vec(any::<u8>(), 0..2000),
        header in any::<bool>(),
        cut in 0_u64..2000,
        tid in any::<i32>(),
    ) {
        let mut image = Image(bytes);
        if header {
            let mut whole = Image::new(alive(), alive(), 12);
            whole.i32(16, 12);
            image.0.splice(..RECORD.min(image.0.len()), whole.0[..RECORD].to_vec());
        }
        let (folder, mut slots) = slots(&image);
        let known: Vec<i32> = slots.threads.keys().chain(slots.workers.keys()).copied().collect();
        let path = folder.path().join(format!("{PREFIX}{}", alive()));
        for round in 0..2 {
            for &tid in known.iter().chain([&tid]) {
                slots.context(alive(), tid);
                slots.context(tid, tid);
            }
            if round == 0 {
                File::options().write(true).open(&path).unwrap().set_len(cut).unwrap();
            }
        }
        slots.refresh();
        prop_assert!(slots.files.len() <= 1);
    }

    #[test]
    fn what_is_written_is_what_is_read(task in 0_i64.., sql in -1_i64.., tid in 1_i32..) {
        let mut image = Image::new(alive(), 0, 4);
        let (_folder, mut slots) = slots(image.slot(3, tid, 1, task, sql));
        let context = slots.context(alive(), tid).unwrap();
        prop_assert_eq!(context.task_attempt_id, Some(task));
        prop_assert_eq!(context.sql_id, (sql >= 0).then_some(sql));
    }
}
