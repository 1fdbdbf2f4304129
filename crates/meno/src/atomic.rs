//! Files that are either whole or not there.
//!
//! The bytes go to a temporary file beside the target, are synced, and take the target's name in one rename: whoever
//! reads the target sees the old file or the new one. On an error the temporary file is removed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, Result};

/// Writes `bytes` to `path`, replacing what was there.
///
/// A pipe or a device such as `/dev/stdout` cannot be replaced and is written to directly.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    write_as(OpenOptions::new(), path, bytes)
}

/// As [`write()`], but a new file is one that only its owner reads.
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    write_as(options, path, bytes)
}

fn write_as(options: OpenOptions, path: &Path, bytes: &[u8]) -> Result<()> {
    if fs::metadata(path).is_ok_and(|target| !target.is_file() && !target.is_dir()) {
        let written = OpenOptions::new().write(true).open(path).and_then(|mut file| file.write_all(bytes));
        return written.map_err(|source| Error::write(path, source));
    }
    // A link is written through, not replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let commit = || Staged::made(options, &target, bytes)?.commit();
    commit().map_err(|source| Error::write(path, source))
}

/// Fails as [`write()`] would if nothing can be written at `path`; changes nothing.
///
/// For long work, which should not find out at its end. A disk may still fill up in the meantime.
pub fn demand_writable(path: &Path) -> Result<()> {
    let attempt = || match fs::metadata(path) {
        Ok(target) if target.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(target) if !target.is_file() => OpenOptions::new().write(true).open(path).map(drop),
        _ => {
            let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
            Staged::new(&target, &[]).map(drop)
        }
    };
    attempt().map_err(|source| Error::write(path, source))
}

/// Writes `files` into the folder `dir`, made if need be, and removes those in `stale` that are not among them.
///
/// A new folder appears whole. In an old one every file is on disk before the first takes its name, so a full disk
/// changes nothing.
pub(crate) fn write_folder(dir: &Path, files: &[(&str, Vec<u8>)], stale: &[&str]) -> Result<()> {
    let written = if dir.exists() { refill(dir, files, stale) } else { create(dir, files) };
    written.map_err(|source| Error::write(dir, source))
}

fn refill(dir: &Path, files: &[(&str, Vec<u8>)], stale: &[&str]) -> io::Result<()> {
    let staged: Vec<Staged> =
        files.iter().map(|(name, bytes)| Staged::new(&dir.join(name), bytes)).collect::<io::Result<_>>()?;
    for name in stale.iter().filter(|name| files.iter().all(|(file, _)| file != *name)) {
        match fs::remove_file(dir.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    staged.into_iter().try_for_each(Staged::commit)
}

fn create(dir: &Path, files: &[(&str, Vec<u8>)]) -> io::Result<()> {
    let temporary = beside(dir);
    let fill = || -> io::Result<()> {
        if let Some(parent) = temporary.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::create_dir(&temporary)?;
        for (name, bytes) in files {
            let mut file = File::create_new(temporary.join(name))?;
            file.write_all(bytes)?;
            file.sync_all()?;
        }
        fs::rename(&temporary, dir)?;
        sync_parent(dir);
        Ok(())
    };
    fill().inspect_err(|_| {
        let _ = fs::remove_dir_all(&temporary);
    })
}

/// A synced temporary file that becomes `target` on commit and disappears otherwise.
struct Staged {
    temporary: PathBuf,
    target: PathBuf,
    committed: bool,
}

impl Staged {
    fn new(target: &Path, bytes: &[u8]) -> io::Result<Self> {
        Staged::made(OpenOptions::new(), target, bytes)
    }

    /// The options say how a new file is made.
    fn made(mut options: OpenOptions, target: &Path, bytes: &[u8]) -> io::Result<Self> {
        let temporary = beside(target);
        let mut file = options.write(true).create_new(true).open(&temporary)?;
        let staged = Staged { temporary, target: target.to_owned(), committed: false };
        if let Ok(old) = fs::metadata(target) {
            file.set_permissions(old.permissions())?;
        }
        file.write_all(bytes)?;
        file.sync_all()?;
        Ok(staged)
    }

    fn commit(mut self) -> io::Result<()> {
        fs::rename(&self.temporary, &self.target)?;
        self.committed = true;
        sync_parent(&self.target);
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.committed {
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// A hidden name in the same folder, hence on the same disk, that no other writer of this or another process takes.
fn beside(target: &Path) -> PathBuf {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.{}-{count}.tmp", std::process::id()))
}

/// Makes the rename itself survive a power cut, where folders can be synced at all.
fn sync_parent(path: &Path) {
    let parent = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => return,
    };
    if let Ok(dir) = File::open(parent) {
        let _ = dir.sync_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn replaces_a_file_and_leaves_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        write(&path, b"old and longer").unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(dir.path()), ["x"]);
    }

    #[test]
    fn a_failed_write_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("no").join("x");
        assert!(matches!(write(&missing, b"x"), Err(Error::Write { .. })));

        // A folder in the way makes the rename fail after the bytes are on disk.
        let taken = dir.path().join("taken");
        fs::create_dir(&taken).unwrap();
        assert!(matches!(write(&taken, b"x"), Err(Error::Write { .. })));
        assert_eq!(names(dir.path()), ["taken"]);
        assert!(names(&taken).is_empty());
    }

    #[test]
    fn what_cannot_be_written_is_known_before() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        demand_writable(&path).unwrap();
        assert!(names(dir.path()).is_empty());
        fs::write(&path, "old").unwrap();
        demand_writable(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        for path in [dir.path().to_owned(), path.join("below"), dir.path().join("no").join("x")] {
            assert!(matches!(demand_writable(&path), Err(Error::Write { .. })), "{}", path.display());
        }
        assert_eq!(names(dir.path()), ["x"]);
    }

    #[test]
    fn a_folder_loses_stale_files_and_keeps_foreign_ones() {
        let dir = tempfile::tempdir().unwrap();
        let split = dir.path().join("a").join("b");
        write_folder(&split, &[("one", b"1".to_vec()), ("two", b"2".to_vec())], &["one", "two"]).unwrap();
        fs::write(split.join("README"), "mine").unwrap();
        write_folder(&split, &[("one", b"3".to_vec())], &["one", "two"]).unwrap();
        assert_eq!(names(&split), ["README", "one"]);
        assert_eq!(fs::read(split.join("one")).unwrap(), b"3");
    }

    #[cfg(unix)]
    #[test]
    fn keeps_permissions_and_writes_through_links() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let link = dir.path().join("link");
        symlink(&path, &link).unwrap();
        write(&link, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_an_error() {
        assert!(matches!(write(Path::new("/dev/full"), b"x"), Err(Error::Write { .. })));
    }
}
