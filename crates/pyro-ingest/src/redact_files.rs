//! Strikes secrets out of files of text that others wrote: logs, records, output.

use std::borrow::Cow;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use memchr::memmem;
use pyro_model::{Error, Redactor, Result, redactor};

/// Bytes read at once; a longer line is taken whole.
const BLOCK: usize = 1 << 20;

/// A file with a longer line is left as it is: a line is redacted in memory.
const LONGEST_LINE: usize = 64 << 20;

/// How far before the end of what was read a private key may begin and still be waited for. One of
/// 16 384 bits has 13 kB.
const LONGEST_KEY: usize = 64 << 10;

/// How files begin that are not text whatever follows: recordings, and chunks that were shipped.
const NO_TEXT: [&[u8]; 2] = [b"FLR\0", b"PYROCHNK"];

/// Rights that a file keeps: what others wrote runs as nobody else.
const RIGHTS: u32 = 0o777;

/// Replaces each file that holds a secret by one without it, and returns those replaced.
///
/// A file that is not text or no regular file stays as it is. Time of change and lines stay the
/// same; files without a secret are only read.
///
/// # Errors
/// If a file cannot be read, has a line of more than 64 MiB, is text with zero bytes and a secret in
/// it, grows meanwhile, or what stands in its place cannot be written: it then stays. The others are
/// redacted all the same; the error is that of the first.
pub fn redact_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let (mut replaced, mut failed) = (Vec::new(), None);
    for path in paths {
        let about = path.symlink_metadata();
        match about.and_then(|about| Ok(about.is_file() && redact_file(path)?)) {
            Ok(true) => replaced.push(path.clone()),
            Ok(false) => {}
            Err(error) => {
                failed.get_or_insert_with(|| Error::io(path, error));
            }
        }
    }
    failed.map_or(Ok(replaced), Err)
}

fn redact_file(path: &Path) -> std::io::Result<bool> {
    // Whoever may write in its folder may have put another in its place: a link, or a pipe.
    let mut file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)?;
    let before = file.metadata()?;
    if !before.is_file() {
        return Ok(false);
    }
    let temporary = temporary(path);
    let written = rewritten(&mut file, &temporary);
    let done = written.and_then(|out| {
        let Some(out) = out else { return Ok(false) };
        if file.metadata()?.len() != before.len() {
            return Err(left("it grew while secrets were struck out"));
        }
        out.set_permissions(Permissions::from_mode(before.mode() & RIGHTS))?;
        out.set_modified(before.modified()?)?;
        out.sync_all()?;
        // Its owner can still read it: the JVM of another user wrote it.
        let _ = std::os::unix::fs::fchown(&out, Some(before.uid()), None);
        std::fs::rename(&temporary, path)?;
        Ok(true)
    });
    if !matches!(done, Ok(true)) {
        let _ = std::fs::remove_file(&temporary);
    }
    done
}

fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.redacted"))
}

/// Why a file stays as it is.
fn left(why: &str) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, why)
}

/// Whether bytes with a zero byte among them are text nevertheless: of a log that a crash cut, say.
/// In what is compressed or encoded, one byte in nine is a control character, and it is no UTF-8.
fn is_text(bytes: &[u8]) -> bool {
    let controls = bytes
        .iter()
        .filter(|byte| matches!(byte, 0..=7 | 14..=26 | 28..=31));
    let most = match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_some() => bytes.len() / 50,
        // A letter may be cut at the end.
        _ => bytes.len() / 10,
    };
    controls.count() <= most && !NO_TEXT.iter().any(|start| bytes.starts_with(start))
}

/// Copies `file` without its secrets; `None` where it has none or is not text.
fn rewritten(file: &mut File, temporary: &Path) -> std::io::Result<Option<File>> {
    let redactor = redactor();
    let mut out: Option<BufWriter<File>> = None;
    let mut buffer = Vec::with_capacity(BLOCK);
    let mut offset = 0;
    let mut zeros = false;
    loop {
        let wanted = BLOCK as u64;
        let ended = Read::by_ref(file).take(wanted).read_to_end(&mut buffer)? < BLOCK;
        if !zeros && memchr::memchr(0, &buffer).is_some() {
            if out.is_none() && !is_text(&buffer) {
                return Ok(None);
            }
            zeros = true;
        }
        if buffer.len() > LONGEST_LINE {
            return Err(left("a line is longer than 64 MiB"));
        }
        let end = if ended {
            buffer.len()
        } else {
            whole_lines(&buffer)
        };
        let made = block(&redactor, &buffer[..end]);
        if zeros && (out.is_some() || matches!(made, Cow::Owned(_))) {
            return Err(left("it is text with zero bytes and a secret in it"));
        }
        if matches!(made, Cow::Owned(_)) && out.is_none() {
            out = Some(begun(file, temporary, offset)?);
        }
        if let Some(out) = &mut out {
            out.write_all(&made)?;
        }
        offset += end as u64;
        buffer.drain(..end);
        if ended {
            break;
        }
    }
    out.map(|out| out.into_inner().map_err(|error| error.into_error()))
        .transpose()
}

/// Where the last line ends, or the last whose value is not that of a line to come: neither a block
/// of YAML nor a key of several lines goes on behind it.
fn whole_lines(buffer: &[u8]) -> usize {
    let line_end = |text: &[u8]| memchr::memrchr(b'\n', text).map_or(0, |last| last + 1);
    let last = line_end(buffer);
    let mut end = match open_key(&buffer[..last]) {
        Some(key) => line_end(&buffer[..key]),
        None => last,
    };
    while end > 0 && opens_block(&buffer[..end - 1]) {
        end = line_end(&buffer[..end - 1]);
    }
    if end > 0 { end } else { last }
}

/// Where a private key begins that has no end yet.
fn open_key(lines: &[u8]) -> Option<usize> {
    let from = lines.len().saturating_sub(LONGEST_KEY);
    let key = from + memmem::rfind(&lines[from..], b"-----BEGIN ")?;
    memmem::find(&lines[key..], b"-----END ")
        .is_none()
        .then_some(key)
}

/// A copy of what came before the first secret.
fn begun(file: &mut File, temporary: &Path, bytes: u64) -> std::io::Result<BufWriter<File>> {
    let _ = std::fs::remove_file(temporary);
    let created = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(temporary)?;
    let mut out = BufWriter::new(created);
    let here = file.stream_position()?;
    file.seek(SeekFrom::Start(0))?;
    std::io::copy(&mut Read::by_ref(file).take(bytes), &mut out)?;
    file.seek(SeekFrom::Start(here))?;
    Ok(out)
}

/// Whole lines without their secrets. Each stands for itself, but for keys of several lines and
/// the first one of a block of YAML.
fn block<'a>(redactor: &Redactor, text: &'a [u8]) -> Cow<'a, [u8]> {
    if !redactor.suspects(text) || memmem::find(text, b"-----BEGIN ").is_some() {
        return redactor.bytes(text);
    }
    let mut made: Option<Vec<u8>> = None;
    let mut done = 0;
    for end in memchr::memchr_iter(b'\n', text).chain([text.len()]) {
        if end < text.len() && opens_block(&text[done..end]) {
            continue;
        }
        let start = done;
        done = (end + 1).min(text.len());
        let line = redactor.bytes(&text[start..done]);
        match (&mut made, line) {
            (Some(made), line) => made.extend_from_slice(&line),
            (None, Cow::Owned(line)) => made = Some([&text[..start], &line].concat()),
            (None, Cow::Borrowed(_)) => {}
        }
    }
    made.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Whether the last line is a key of YAML whose value begins on the next one: `key: |`.
fn opens_block(lines: &[u8]) -> bool {
    let last = lines.iter().rposition(|byte| !b" \t\r".contains(byte));
    let header = &lines[..last.map_or(0, |last| last + 1)];
    let chomped = header.strip_suffix(b"-").or(header.strip_suffix(b"+"));
    let [key @ .., b'|' | b'>'] = chomped.unwrap_or(header) else {
        return false;
    };
    key.trim_ascii_end().ends_with(b":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_end_is_not_taken_into_memory() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let text = vec![b'a'; LONGEST_LINE + 2 * BLOCK];
        std::fs::write(&path, &text).unwrap();
        let behind = dir.path().join("behind");
        std::fs::write(&behind, "password=hunter2\n").unwrap();
        let gone = dir.path().join("gone");
        let error = redact_files(&[path.clone(), gone, behind.clone()]).unwrap_err();
        assert!(error.to_string().contains("64 MiB"), "{error}");
        assert!(std::fs::read(&path).unwrap() == text);
        let redacted = std::fs::read_to_string(&behind).unwrap();
        assert!(!redacted.contains("hunter2"), "{redacted}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_block_of_yaml_is_a_value_of_the_next_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let text = "a: |\n  password: |-\n    hunter2 x\n  user: bob\ntoken: |";
        std::fs::write(&path, text).unwrap();
        assert_eq!(redact_files(std::slice::from_ref(&path)).unwrap().len(), 1);
        let made = std::fs::read_to_string(&path).unwrap();
        assert!(!made.contains("hunter2"), "{made}");
        assert!(made.starts_with("a: |\n  password: "), "{made}");
        assert!(
            made.ends_with("(redacted)\n  user: bob\ntoken: |"),
            "{made}"
        );
    }

    #[test]
    fn a_block_of_yaml_begins_with_its_key_wherever_reads_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let header = "a: |\npassword: |\n";
        for over in [0, 7] {
            let filler = "x".repeat(BLOCK - header.len() - over - 1);
            std::fs::write(&path, format!("{filler}\n{header}  hunter2 x\nuser: bob\n")).unwrap();
            assert_eq!(redact_files(std::slice::from_ref(&path)).unwrap().len(), 1);
            let made = std::fs::read_to_string(&path).unwrap();
            let expected = format!("{filler}\n{header}  *********(redacted)\nuser: bob\n");
            assert!(made == expected, "{}", &made[filler.len()..]);
        }
        let keys = "password: |\n".repeat(BLOCK / 4);
        std::fs::write(&path, &keys).unwrap();
        redact_files(std::slice::from_ref(&path)).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), keys.len() as u64);
    }

    #[test]
    fn a_key_of_several_lines_is_one_wherever_reads_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let (begin, body, end) = (
            "-----BEGIN PRIVATE KEY-----\n",
            "MIIEvQIBADANBg\n".repeat(3),
            "-----END PRIVATE KEY-----\n",
        );
        for inside in [begin.len(), begin.len() + 20, begin.len() + body.len()] {
            let filler = "x".repeat(BLOCK - inside - 1);
            std::fs::write(&path, format!("{filler}\n{begin}{body}{end}user: bob\n")).unwrap();
            assert_eq!(redact_files(std::slice::from_ref(&path)).unwrap().len(), 1);
            let made = std::fs::read_to_string(&path).unwrap();
            let behind = &made[filler.len()..];
            assert!(
                made.starts_with(&filler) && !behind.contains("MIIE"),
                "{behind}"
            );
            assert!(behind.ends_with("\nuser: bob\n"), "{behind}");
        }
        // One that never ends does not keep the file in memory.
        let lines = format!("{begin}{}", "nothing = to see\n".repeat(BLOCK / 4));
        std::fs::write(&path, &lines).unwrap();
        redact_files(std::slice::from_ref(&path)).unwrap();
        assert!(std::fs::metadata(&path).unwrap().len() <= lines.len() as u64);
    }

    #[test]
    fn text_with_zero_bytes_is_left_and_told() {
        let dir = tempfile::tempdir().unwrap();
        let long = "nothing to see here\n".repeat(120_000);
        let told = [
            "a\0 password=hunter2".to_owned(),
            format!("password=hunter2\n{long}\0"),
            format!("\0{long}password=hunter2 caf\u{e9}"),
        ];
        for (number, text) in told.iter().enumerate() {
            let path = dir.path().join(number.to_string());
            std::fs::write(&path, text).unwrap();
            let error = redact_files(std::slice::from_ref(&path)).unwrap_err();
            assert!(error.to_string().contains("zero bytes"), "{error}");
            assert!(std::fs::read_to_string(&path).unwrap() == *text);
        }
        let harmless = dir.path().join("harmless");
        std::fs::write(&harmless, "nothing\0 to see").unwrap();
        assert_eq!(redact_files(&[harmless]).unwrap().len(), 0);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 4);
    }

    #[test]
    fn what_grows_meanwhile_is_left_and_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        std::fs::write(&path, "password=hunter2\n".repeat(20_000)).unwrap();
        let mut log = OpenOptions::new().append(true).open(&path).unwrap();
        let ended = std::sync::atomic::AtomicBool::new(false);
        let found = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !ended.load(std::sync::atomic::Ordering::Relaxed) {
                    log.write_all(b"x\n").unwrap();
                }
            });
            let found = redact_files(std::slice::from_ref(&path));
            ended.store(true, std::sync::atomic::Ordering::Relaxed);
            found
        });
        assert!(found.unwrap_err().to_string().contains("it grew"));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_is_replaced_does_not_run_as_its_owner() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        std::fs::write(&path, "password=hunter2\n").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o6750)).unwrap();
        assert_eq!(redact_files(std::slice::from_ref(&path)).unwrap().len(), 1);
        assert_eq!(path.metadata().unwrap().mode() & 0o7777, 0o750);
    }

    #[test]
    fn a_link_that_takes_the_place_of_a_file_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let (secret, link) = (dir.path().join("secret"), dir.path().join("link"));
        std::fs::write(&secret, "password=hunter2\n").unwrap();
        std::os::unix::fs::symlink(&secret, &link).unwrap();
        // As if it had been a file when it was looked at.
        assert!(redact_file(&link).is_err());
        assert!(link.is_symlink() && std::fs::read(&secret).unwrap().ends_with(b"hunter2\n"));
        assert!(!redact_file(dir.path()).unwrap());
    }

    #[test]
    fn only_files_of_text_with_a_secret_change() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let path = dir.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            path
        };
        let filler = "nothing to see here\n".repeat(120_000);
        let secret = format!("{filler}a password=hunter2 b\nlast{filler}");
        let files = [
            write("log", secret.as_bytes()),
            write("plain", filler.as_bytes()),
            write("recording", b"FLR\0 password=hunter2"),
            write("binary", b"\xfe\0\x01\0\0\x02\0 password=hunter2"),
            write("end", b"token: 'x'"),
            write("empty", b""),
        ];
        std::os::unix::fs::symlink(&files[0], dir.path().join("link")).unwrap();
        let time = files[0].metadata().unwrap().modified().unwrap();
        let all = [&files[..], &[dir.path().join("link")]].concat();
        let replaced = redact_files(&all).unwrap();
        assert_eq!(replaced, [files[0].clone(), files[4].clone()]);
        let expected = secret.replace("hunter2", "*********(redacted)");
        assert!(std::fs::read_to_string(&files[0]).unwrap() == expected);
        assert_eq!(files[0].metadata().unwrap().modified().unwrap(), time);
        assert_eq!(
            std::fs::read_to_string(&files[4]).unwrap(),
            "token: '*********(redacted)'"
        );
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 7);
        assert_eq!(redact_files(&all).unwrap(), Vec::<PathBuf>::new());
    }
}
