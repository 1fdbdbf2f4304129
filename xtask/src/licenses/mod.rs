//! `cargo xtask licenses`: the notices of the crates that the program is made of, for `meno --licenses`.
//!
//! The lock file and the sources of the crates enter; `crates/meno-cli/licenses.txt` leaves. That it lists the crates of the lock
//! file, and that `deny.toml` allows their licences and sources, is checked without a network, so that the tests can do it.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use notices::Entry;

mod metadata;
mod notices;
mod spdx;
mod texts;

/// What can be asked for besides writing the file.
pub const OPTIONS: &str = "--check";

const FILE: &str = "crates/meno-cli/licenses.txt";

/// Runs the task on the repository at `root`: 0 if all is well, 1 if something is found, 2 if it fails.
pub fn run(root: &Path, options: &[&str]) -> ExitCode {
    let result = match options {
        [] => write(root).and_then(|()| check(root)),
        ["--check"] => check(root),
        _ => {
            eprintln!("usage: cargo xtask licenses [{OPTIONS}]");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(findings) => {
            findings.iter().for_each(|finding| println!("{finding}"));
            ExitCode::from(u8::from(!findings.is_empty()))
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn write(root: &Path) -> Result<(), String> {
    let text = notices::write(&metadata::packages(root)?)?;
    fs::write(root.join(FILE), text).map_err(|error| format!("{FILE}: {error}"))
}

/// What is wrong with the notices, the licences and the sources.
fn check(root: &Path) -> Result<Vec<String>, String> {
    let notices = notices::read(&text(root, FILE)?);
    let lock = table(root, "Cargo.lock")?;
    let deny = table(root, "deny.toml")?;
    let locked = locked(&lock);
    let mut findings = compare(&locked, &notices);
    findings.extend(check_licenses(&notices, &strings(&deny, "licenses", "allow")));
    findings.extend(check_sources(&locked, &strings(&deny, "sources", "allow-registry")));
    Ok(findings)
}

fn text(root: &Path, path: &str) -> Result<String, String> {
    fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"))
}

fn table(root: &Path, path: &str) -> Result<toml::Table, String> {
    text(root, path)?.parse().map_err(|error| format!("{path}: {error}"))
}

fn strings(table: &toml::Table, section: &str, key: &str) -> Vec<String> {
    let array = table.get(section).and_then(|section| section.get(key)?.as_array());
    array.into_iter().flatten().filter_map(|value| Some(value.as_str()?.to_owned())).collect()
}

/// A crate of the lock file that others made.
struct Locked {
    name: String,
    version: String,
    source: String,
}

fn locked(lock: &toml::Table) -> Vec<Locked> {
    let packages = lock.get("package").and_then(|packages| packages.as_array()).into_iter().flatten();
    let locked = packages.filter_map(|package| {
        let field = |name| Some(package.get(name)?.as_str()?.to_owned());
        Some(Locked { name: field("name")?, version: field("version")?, source: field("source")? })
    });
    locked.collect()
}

/// Crates without notices, and notices without crates.
fn compare(locked: &[Locked], notices: &[Entry]) -> Vec<String> {
    let same =
        |locked: &Locked, entry: &Entry| (&locked.name, &locked.version) == (&entry.name, &entry.version);
    let missing = locked.iter().filter(|locked| !notices.iter().any(|entry| same(locked, entry)));
    let missing = missing.map(|locked| {
        format!("{FILE}: {} {} is not there; run cargo xtask licenses", locked.name, locked.version)
    });
    let gone = notices.iter().filter(|entry| !locked.iter().any(|locked| same(locked, entry)));
    let gone = gone.map(|entry| {
        format!("{FILE}: Cargo.lock has no {} {}; run cargo xtask licenses", entry.name, entry.version)
    });
    missing.chain(gone).collect()
}

fn check_licenses(notices: &[Entry], allowed: &[String]) -> Vec<String> {
    let finding = |entry: &Entry| {
        let Entry { name, version, license } = entry;
        match spdx::satisfied(license, allowed) {
            Ok(true) => None,
            Ok(false) => {
                Some(format!("deny.toml: the licence of {name} {version} is not allowed: {license}"))
            }
            Err(error) => Some(format!("the licence of {name} {version} cannot be read: {error}")),
        }
    };
    notices.iter().filter_map(finding).collect()
}

fn check_sources(locked: &[Locked], allowed: &[String]) -> Vec<String> {
    let is_allowed = |source: &str| {
        source
            .strip_prefix("registry+")
            .is_some_and(|registry| allowed.iter().any(|allowed| allowed == registry))
    };
    let strange = locked.iter().filter(|locked| !is_allowed(&locked.source));
    strange
        .map(|locked| format!("deny.toml: {} {} comes from {}", locked.name, locked.version, locked.source))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_has_its_notice_and_is_allowed() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        assert_eq!(check(&root).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn gaps_leftovers_licences_and_sources_are_found() {
        let lock = "[[package]]\nname = \"ours\"\nversion = \"1.0.0\"\n\
            [[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"registry+good\"\n\
            [[package]]\nname = \"b\"\nversion = \"2.0.0\"\nsource = \"git+good\"\n";
        let locked = locked(&lock.parse().unwrap());
        let entry = |name: &str, license: &str| Entry {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            license: license.to_owned(),
        };
        let notices = [entry("a", "MIT"), entry("b", "GPL-3.0-only")];
        assert_eq!(
            compare(&locked, &notices),
            [
                "crates/meno-cli/licenses.txt: b 2.0.0 is not there; run cargo xtask licenses",
                "crates/meno-cli/licenses.txt: Cargo.lock has no b 1.0.0; run cargo xtask licenses",
            ]
        );
        assert_eq!(
            check_licenses(&notices, &["MIT".to_owned()]),
            ["deny.toml: the licence of b 1.0.0 is not allowed: GPL-3.0-only"]
        );
        assert_eq!(check_sources(&locked, &["good".to_owned()]), ["deny.toml: b 2.0.0 comes from git+good"]);
    }
}
