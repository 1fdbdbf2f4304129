//! The crates of the workspace as `cargo metadata` lists them: which are linked into the program, on any platform, and which only
//! build or test it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

/// The package whose binary is given away.
const PROGRAM: &str = "meno-cli";

/// A crate that others made.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Package {
    pub name: String,
    pub version: String,
    /// The licence expression of its manifest.
    pub license: String,
    pub authors: Vec<String>,
    pub dir: PathBuf,
    pub is_linked: bool,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Listed>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Listed {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    source: Option<String>,
    authors: Vec<String>,
    manifest_path: PathBuf,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    /// `None` for what is linked.
    kind: Option<String>,
}

/// The crates of others in the lock file, by name and version. Fetches those of other platforms.
pub fn packages(root: &Path) -> Result<Vec<Package>, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cargo metadata does not run: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    read(&output.stdout)
}

fn read(json: &[u8]) -> Result<Vec<Package>, String> {
    let metadata: Metadata =
        serde_json::from_slice(json).map_err(|error| format!("cargo metadata: {error}"))?;
    let linked = linked(&metadata)?;
    let others = metadata.packages.into_iter().filter(|package| package.source.is_some());
    let mut packages: Vec<Package> = others
        .map(|package| Package {
            is_linked: linked.contains(&package.id),
            license: package.license.unwrap_or_default(),
            dir: package.manifest_path.parent().unwrap_or(Path::new("/")).to_owned(),
            name: package.name,
            version: package.version,
            authors: package.authors,
        })
        .collect();
    packages.sort();
    Ok(packages)
}

/// What the program reaches by dependencies that are neither for building nor for testing. Procedural macros run in the compiler.
fn linked(metadata: &Metadata) -> Result<BTreeSet<String>, String> {
    let listed: BTreeMap<&str, &Listed> =
        metadata.packages.iter().map(|package| (&*package.id, package)).collect();
    let nodes: BTreeMap<&str, &Node> = metadata.resolve.nodes.iter().map(|node| (&*node.id, node)).collect();
    let program =
        metadata.packages.iter().find(|package| package.name == PROGRAM && package.source.is_none());
    let mut next = vec![&*program.ok_or_else(|| format!("there is no package {PROGRAM}"))?.id];
    let mut linked = BTreeSet::new();
    while let Some(id) = next.pop() {
        let is_macro =
            listed[id].targets.iter().flat_map(|target| &target.kind).any(|kind| kind == "proc-macro");
        if is_macro || !linked.insert(id.to_owned()) {
            continue;
        }
        let edges = nodes.get(id).into_iter().flat_map(|node| &node.deps);
        let normal = edges.filter(|edge| edge.dep_kinds.iter().any(|kind| kind.kind.is_none()));
        next.extend(normal.map(|edge| &*edge.pkg));
    }
    Ok(linked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_builds_and_tests_is_not_linked() {
        let package = |name: &str, kind: &str, source: &str| {
            format!(
                r#"{{"id": "{name}", "name": "{name}", "version": "1.0.0", "license": "MIT", "source": {source},
                "authors": [], "manifest_path": "/r/{name}/Cargo.toml", "targets": [{{"kind": ["{kind}"]}}]}}"#
            )
        };
        let edge =
            |name: &str, kind: &str| format!(r#"{{"pkg": "{name}", "dep_kinds": [{{"kind": {kind}}}]}}"#);
        let json = format!(
            r#"{{"packages": [{}, {}, {}, {}, {}, {}], "resolve": {{"nodes": [
                {{"id": "meno-cli", "deps": [{}, {}, {}]}}, {{"id": "a", "deps": [{}, {}]}}, {{"id": "macro", "deps": [{}]}}]}}}}"#,
            package("meno-cli", "bin", "null"),
            package("a", "lib", "\"registry\""),
            package("macro", "proc-macro", "\"registry\""),
            package("tester", "lib", "\"registry\""),
            package("builder", "lib", "\"registry\""),
            package("syntax", "lib", "\"registry\""),
            edge("a", "null"),
            edge("macro", "null"),
            edge("tester", "\"dev\""),
            edge("builder", "\"build\""),
            edge("macro", "null"),
            edge("syntax", "null"),
        );
        let packages = read(json.as_bytes()).unwrap();
        let linked: Vec<(&str, bool)> =
            packages.iter().map(|package| (&*package.name, package.is_linked)).collect();
        assert_eq!(
            linked,
            [("a", true), ("builder", false), ("macro", false), ("syntax", false), ("tester", false)]
        );
        assert_eq!(packages[0].dir, Path::new("/r/a"));
    }
}
