//! Whether the files of an SQLite store are still those that were opened, and nobody wrote over them.
//!
//! SQLite does not look at a file again that it has open: what it writes then goes into one that nobody finds, or between the pages
//! of another. To open and close the file oneself would give up the locks that SQLite has on it in this process, so what is in
//! it is asked of SQLite, by a connection that takes no lock and reads no log (`immutable`).

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, ErrorCode, OpenFlags};

/// What became of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// They are as they were.
    Same,
    /// There is no file.
    Gone,
    /// There is another file.
    Replaced,
    /// The file was cut off or written over.
    Damaged,
    /// The log is in the file in part: whoever brought it there was killed, or the disk was full.
    HalfWritten,
    /// There is no log, or another one.
    LogGone,
}

/// Which files a database is in, by what tells files apart whatever their names, and what is known of the first.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    path: PathBuf,
    main: FileId,
    log: Option<FileId>,
    stamp: Option<Stamp>,
    content: Content,
}

type FileId = (u64, u64);

/// What changes when a file is written to.
type Stamp = (u64, Option<SystemTime>);

/// What the file has of the store: less than its log.
#[derive(Clone, Copy, Debug, Default)]
struct Content {
    /// The number of the file; 0 if that is in the log alone.
    file: u64,
    /// The last row of the journal, which no later state is without.
    seq: u64,
}

impl Content {
    fn follows(self, before: Content) -> bool {
        self.seq >= before.seq && (before.file == 0 || self.file == before.file)
    }
}

/// Another process may just be bringing its log into the file: so often, and after such a pause, it is looked at again.
const LOOKS: u32 = 10;
const PAUSE: Duration = Duration::from_millis(20);

impl Files {
    /// The files of a database that was just opened; `None` if it is in none.
    pub(crate) fn of(path: &Path) -> Option<Files> {
        let main = file_id(path)?;
        let content = content(path).unwrap_or_default();
        Some(Files { path: path.to_owned(), main, log: file_id(&log(path)), stamp: stamp(path), content })
    }

    pub(crate) fn state(&mut self) -> State {
        let main = file_id(&self.path);
        if main != Some(self.main) {
            return if self.path.exists() { State::Replaced } else { State::Gone };
        }
        if !self.has_content() {
            return if self.is_half_written() { State::HalfWritten } else { State::Damaged };
        }
        match self.log.is_none_or(|known| file_id(&log(&self.path)) == Some(known)) {
            true => State::Same,
            false => State::LogGone,
        }
    }

    /// Whether the file still has what it had. Nobody looks into it who sees that it was not written to.
    fn has_content(&mut self) -> bool {
        let before = stamp(&self.path);
        if before.is_some() && before == self.stamp {
            return true;
        }
        let found = (0..LOOKS).find_map(|look| {
            std::thread::sleep(PAUSE * look.min(1));
            content(&self.path).ok().filter(|found| found.follows(self.content))
        });
        if let Some(found) = found {
            (self.stamp, self.content) = (before, found);
        }
        found.is_some()
    }

    /// Whether it has pages of two states, which the log makes whole. What was cut off is shorter than it was, and what was written over
    /// is whole or no database.
    fn is_half_written(&self) -> bool {
        let lengths = stamp(&self.path).zip(self.stamp).map(|((length, _), (known, _))| (length, known));
        let check = "PRAGMA quick_check(1)";
        let found =
            immutable(&self.path).and_then(|file| file.query_row(check, [], |row| row.get::<_, String>(0)));
        lengths.is_some_and(|(length, known)| length >= known)
            && match found {
                Ok(found) => found != "ok",
                Err(error) => error.sqlite_error_code() != Some(ErrorCode::NotADatabase),
            }
    }

    /// Whether the log is empty, or begins as logs do: what follows is read only then.
    pub(crate) fn has_whole_log(&self) -> bool {
        self.log.is_none() || has_beginning(&log(&self.path))
    }

    /// Takes away the log if it is still that of the file that was opened: it would be taken for that of the file which is there now.
    pub(crate) fn remove_log(&self) {
        let name = log(&self.path);
        if self.log.is_some() && file_id(&name) == self.log {
            let _ = std::fs::remove_file(name);
            let _ = std::fs::remove_file(beside(&self.path, "-shm"));
        }
    }
}

/// Whether a file has a log beside it.
pub(crate) fn has_log(path: &Path) -> bool {
    log(path).exists()
}

/// What became of a file that has nothing any more while its log has something: SQLite makes a new database there and deletes the log.
pub(crate) fn log_alone(path: &Path) -> Option<&'static str> {
    let length = |path: &Path| std::fs::metadata(path).ok().map(|metadata| metadata.len());
    // The log first: a store that another process makes just now has its first page before it has a log.
    let has_changes = length(&log(path)).is_some_and(|length| length > 0);
    match length(path) {
        None if has_changes => Some("is gone"),
        Some(0) if has_changes => Some("is empty"),
        _ => None,
    }
}

/// A file that belongs to another, by its name: the log of a database, or the index of that.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn log(path: &Path) -> PathBuf {
    beside(path, "-wal")
}

#[cfg(unix)]
fn file_id(path: &Path) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Elsewhere a file that is open cannot be deleted or replaced.
#[cfg(not(unix))]
fn file_id(path: &Path) -> Option<FileId> {
    path.exists().then_some((0, 0))
}

fn stamp(path: &Path) -> Option<Stamp> {
    std::fs::metadata(path).ok().map(|metadata| (metadata.len(), metadata.modified().ok()))
}

fn content(path: &Path) -> rusqlite::Result<Content> {
    let connection = immutable(path)?;
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let has_tables = "SELECT count(*) FROM sqlite_master WHERE name IN ('meno_meta', 'meno_changes')";
    if number(has_tables)? < 2 {
        return Ok(Content::default());
    }
    let file = number("SELECT coalesce(max(value), 0) FROM meno_meta WHERE name = 'file'")?;
    let seq = number("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'meno_changes'")?;
    Ok(Content { file: file.unsigned_abs(), seq: seq.unsigned_abs() })
}

/// Opens a file as it is, without its log: nothing is written beside it, and it may be one that can only be read.
pub(crate) fn immutable(path: &Path) -> rusqlite::Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(address(path), flags)
}

fn address(path: &Path) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    let escaped = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02x}") };
    let path: String = path.as_os_str().as_encoded_bytes().iter().map(|&byte| escaped(byte)).collect();
    format!("file:{path}?immutable=1")
}

fn has_beginning(log: &Path) -> bool {
    let mut magic = [0; 4];
    match std::fs::File::open(log).and_then(|mut log| log.read(&mut magic)) {
        Ok(0) => true,
        Ok(n) => n == 4 && u32::from_be_bytes(magic) & !1 == 0x377f_0682,
        Err(_) => false,
    }
}
