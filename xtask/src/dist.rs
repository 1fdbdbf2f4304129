//! `cargo xtask dist`: the program as it is given away, one archive with its checksum beside it.
//!
//! The tree enters; `target/dist/meno-VERSION-TARGET.tar.gz` and `.sha256` leave: the program, its manual pages, completions for
//! shells, licences and notices. Packing is a function of the files alone: entries are sorted, and have neither times nor owners,
//! so that the same program gives the same bytes.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

use flate2::{Compression, GzBuilder};
use sha2::{Digest, Sha256};

/// Files of the repository that go along, and where to.
const FILES: [(&str, &str); 8] = [
    ("README.md", "README.md"),
    ("CHANGELOG.md", "CHANGELOG.md"),
    ("LICENSE-MIT", "LICENSE-MIT"),
    ("LICENSE-APACHE", "LICENSE-APACHE"),
    ("CITATION.cff", "CITATION.cff"),
    ("crates/meno-english/NOTICE", "NOTICE-english"),
    ("crates/meno-english-syntax/NOTICE", "NOTICE-english-syntax"),
    ("crates/meno-english-syntax/LICENSE-CC-BY-SA-4.0", "LICENSE-CC-BY-SA-4.0"),
];
/// Shells, and what their completions are called.
const SHELLS: [(&str, &str); 5] = [
    ("bash", "meno.bash"),
    ("zsh", "_meno"),
    ("fish", "meno.fish"),
    ("powershell", "meno.ps1"),
    ("elvish", "meno.elv"),
];

/// A file of the archive.
struct Entry {
    path: String,
    bytes: Vec<u8>,
    is_program: bool,
}

/// Builds the program and packs it.
pub fn run(root: &Path) -> ExitCode {
    match make(root) {
        Ok(archive) => {
            println!("{}", archive.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn make(root: &Path) -> Result<PathBuf, String> {
    let root = &root.canonicalize().map_err(|error| error.to_string())?;
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |dir| root.join(dir));
    build(root, &target)?;
    let dir = target.join("dist");
    let program = dir.join(format!("meno{}", env::consts::EXE_SUFFIX));
    let name = format!("meno-{}-{}", env!("CARGO_PKG_VERSION"), host()?);
    let bytes = pack(&name, entries(root, &program)?).map_err(|error| format!("cannot pack: {error}"))?;
    let archive = dir.join(format!("{name}.tar.gz"));
    write(&archive, &bytes)?;
    write(
        &dir.join(format!("{name}.tar.gz.sha256")),
        checksum(&format!("{name}.tar.gz"), &bytes).as_bytes(),
    )?;
    Ok(archive)
}

/// Builds the program with the profile `dist`. Folders of the machine that builds do not show in it.
fn build(root: &Path, target: &Path) -> Result<(), String> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(env::home_dir()?.join(".cargo")));
    let mut flags = vec![format!("--remap-path-prefix={}=meno", root.display())];
    flags.extend(home.map(|home| format!("--remap-path-prefix={}=cargo", home.display())));
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(["build", "--profile", "dist", "--locked", "--package", "meno-cli", "--all-features"])
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
        .current_dir(root);
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("cargo build failed: {status}")),
        Err(error) => Err(format!("cargo build does not run: {error}")),
    }
}

/// The platform that the compiler makes programs for.
fn host() -> Result<String, String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output =
        Command::new(rustc).arg("-vV").output().map_err(|error| format!("rustc does not run: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "rustc -vV names no host".to_owned())
}

fn entries(root: &Path, program: &Path) -> Result<Vec<Entry>, String> {
    let file = |path: &str, bytes| Entry { path: path.to_owned(), bytes, is_program: false };
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let bytes = read(program)?;
    if !is_stripped(&bytes) {
        return Err(format!("{} has a table of symbols; the profile dist must strip it", program.display()));
    }
    let mut entries = vec![Entry { path: name, bytes, is_program: true }];
    for (from, to) in FILES {
        entries.push(file(to, read(&root.join(from))?));
    }
    entries.push(file("LICENSES", output(program, &["--licenses"])?));
    for (shell, name) in SHELLS {
        entries.push(file(&format!("completions/{name}"), output(program, &["completions", shell])?));
    }
    let pages = program.with_file_name("man");
    // Pages of commands that are no more would go along.
    let _ = fs::remove_dir_all(&pages);
    output(program, &["man", &pages.to_string_lossy()])?;
    for page in fs::read_dir(&pages).map_err(|error| format!("{}: {error}", pages.display()))? {
        let page = page.map_err(|error| format!("{}: {error}", pages.display()))?;
        entries.push(file(&format!("man/{}", page.file_name().to_string_lossy()), read(&page.path())?));
    }
    Ok(entries)
}

/// Whether an ELF file lists no section of symbols; other files have none by that name.
fn is_stripped(bytes: &[u8]) -> bool {
    let name = b"\0.symtab\0";
    !bytes.windows(name.len()).any(|window| window == name)
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

/// What the program prints.
fn output(program: &Path, args: &[&str]) -> Result<Vec<u8>, String> {
    let command = format!("meno {}", args.join(" "));
    let output = Command::new(program)
        .args(args)
        .output()
        .map_err(|error| format!("{command} does not run: {error}"))?;
    if !output.status.success() {
        return Err(format!("{command} failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(output.stdout)
}

/// A compressed archive with the entries in the folder `name`.
fn pack(name: &str, mut entries: Vec<Entry>) -> io::Result<Vec<u8>> {
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    let gzip = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    let mut archive = tar::Builder::new(gzip);
    for entry in entries {
        let mut header = tar::Header::new_ustar();
        header.set_size(entry.bytes.len() as u64);
        header.set_mode(if entry.is_program { 0o755 } else { 0o644 });
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        archive.append_data(&mut header, format!("{name}/{}", entry.path), &*entry.bytes)?;
    }
    let mut gzip = archive.into_inner()?;
    gzip.flush()?;
    gzip.finish()
}

/// A line that `sha256sum --check` reads.
fn checksum(name: &str, bytes: &[u8]) -> String {
    let mut line = String::new();
    for byte in Sha256::digest(bytes) {
        let _ = write!(line, "{byte:02x}");
    }
    format!("{line}  {name}\n")
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn packed(reversed: bool) -> Vec<u8> {
        let entry = |path: &str, text: &str, is_program| Entry {
            path: path.to_owned(),
            bytes: text.as_bytes().to_vec(),
            is_program,
        };
        let mut entries = vec![entry("meno", "program", true), entry("man/meno.1", "page", false)];
        if reversed {
            entries.reverse();
        }
        pack("meno-1", entries).unwrap()
    }

    #[test]
    fn archives_are_sorted_and_have_no_times() {
        let bytes = packed(false);
        assert_eq!(bytes, packed(true));
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(&*bytes));
        let mut found = Vec::new();
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            let header = entry.header();
            found.push((
                entry.path().unwrap().to_string_lossy().into_owned(),
                text,
                header.mode().unwrap(),
                header.mtime().unwrap(),
            ));
        }
        let expected = [("meno-1/man/meno.1", "page", 0o644), ("meno-1/meno", "program", 0o755)];
        assert_eq!(found, expected.map(|(path, text, mode)| (path.to_owned(), text.to_owned(), mode, 0)));
    }

    #[test]
    fn a_table_of_symbols_is_seen() {
        assert!(!is_stripped(b"\x7fELF\0.shstrtab\0.symtab\0.strtab\0"));
        assert!(is_stripped(b"\x7fELF\0.shstrtab\0.dynsym\0"));
    }

    /// The sum is that of FIPS 180-2, appendix B.1.
    #[test]
    fn checksums_are_as_sha256sum_writes_them() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a.tar.gz\n";
        assert_eq!(checksum("a.tar.gz", b"abc"), expected);
    }
}
