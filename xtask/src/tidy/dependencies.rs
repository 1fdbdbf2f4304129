//! `docs/dependencies.md` against the manifests: every crate of others is named, and none that is not there. And every version is.

use std::collections::{BTreeMap, BTreeSet};

use super::markdown::{Place, mentions};
use super::scan::line;
use super::tree::{File, Tree};
use super::{Check, Finding};

const DOCUMENT: &str = "docs/dependencies.md";

/// Dependencies without a word in the document, and words without a dependency.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let Some(document) = tree.file(DOCUMENT) else { return Vec::new() };
    let manifests: Vec<(&File, toml::Table)> = manifests(tree).collect();
    let mut findings = unnamed(&manifests, &excluded(tree), document);
    findings.extend(unused(&manifests, document));
    findings.extend(wildcards(&manifests));
    findings
}

/// Dependencies of the workspace that the document does not name.
fn unnamed(manifests: &[(&File, toml::Table)], excluded: &[String], document: &File) -> Vec<Finding> {
    let ours: BTreeSet<String> = manifests.iter().filter_map(|(_, manifest)| package(manifest)).collect();
    let mentions = mentions(&document.text).into_iter().filter(|mention| mention.place == Place::Code);
    let named: BTreeSet<String> = mentions.map(|mention| mention.text).collect();
    let mut findings = Vec::new();
    for (file, manifest) in manifests {
        if excluded.iter().any(|folder| file.path.starts_with(folder)) {
            continue;
        }
        for (name, key) in dependencies(manifest) {
            if !ours.contains(&name) && !named.contains(&name) {
                let at = file.text.find(&format!("\n{key}")).map_or(0, |at| at + 1);
                let what = format!("{name} is not named in {DOCUMENT}; say there why it is needed");
                findings.push(Finding::new(Check::Dependencies, file, line(&file.text, at), &name, what));
            }
        }
    }
    findings
}

/// Dependencies of any version, which `deny.toml` bans.
fn wildcards(manifests: &[(&File, toml::Table)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, manifest) in manifests {
        for (key, value) in declared(manifest) {
            let version = value.as_str().or_else(|| value.get("version")?.as_str());
            let is_open = value.is_str() || !["path", "workspace"].iter().any(|key| value.get(key).is_some());
            if is_open && version.is_none_or(|version| version.contains('*')) {
                let at = file.text.find(&format!("\n{key}")).map_or(0, |at| at + 1);
                let what = format!("{key} may be of any version; say which");
                findings.push(Finding::new(Check::Dependencies, file, line(&file.text, at), key, what));
            }
        }
    }
    findings
}

/// Rows of the document for what no manifest has.
fn unused(manifests: &[(&File, toml::Table)], document: &File) -> Vec<Finding> {
    let used: BTreeSet<String> =
        manifests.iter().flat_map(|(_, manifest)| dependencies(manifest).into_keys()).collect();
    let mut names = table_names(&document.text);
    names.retain(|(_, name)| !used.contains(name));
    let findings = names.iter().map(|(line, name)| {
        Finding::new(Check::Dependencies, document, *line, name, format!("no manifest has {name}"))
    });
    findings.collect()
}

/// The crates that any manifest depends on, as code names them; those of the repository are not among them.
pub fn all_dependencies(tree: &Tree) -> BTreeSet<String> {
    let manifests: Vec<toml::Table> = manifests(tree).map(|(_, manifest)| manifest).collect();
    let ours: BTreeSet<String> = manifests.iter().filter_map(package).collect();
    let names = manifests.iter().flat_map(|manifest| dependencies(manifest).into_keys());
    names.filter(|name| !ours.contains(name)).map(|name| name.replace('-', "_")).collect()
}

/// The manifests that can be read; cargo complains of the others.
fn manifests(tree: &Tree) -> impl Iterator<Item = (&File, toml::Table)> {
    let files = tree.files.iter().filter(|file| file.path.rsplit('/').next() == Some("Cargo.toml"));
    files.filter_map(|file| Some((file, file.text.parse().ok()?)))
}

/// The folders that are not of the workspace, each with its slash.
fn excluded(tree: &Tree) -> Vec<String> {
    let root: Option<toml::Table> = tree.file("Cargo.toml").and_then(|file| file.text.parse().ok());
    let folders = root.as_ref().and_then(|root| root.get("workspace")?.get("exclude")?.as_array());
    folders.into_iter().flatten().filter_map(|folder| Some(format!("{}/", folder.as_str()?))).collect()
}

fn package(manifest: &toml::Table) -> Option<String> {
    Some(manifest.get("package")?.get("name")?.as_str()?.to_owned())
}

/// The dependencies of a manifest: the name of the crate, and that by which the manifest calls it.
fn dependencies(manifest: &toml::Table) -> BTreeMap<String, String> {
    let named = declared(manifest).map(|(key, value)| {
        let name = value.get("package").and_then(|name| name.as_str()).unwrap_or(key);
        (name.to_owned(), key.clone())
    });
    named.collect()
}

/// The dependencies of a manifest as they stand there.
fn declared(manifest: &toml::Table) -> impl Iterator<Item = (&String, &toml::Value)> {
    let targets = manifest.get("target").and_then(|target| target.as_table()).into_iter().flatten();
    let places = targets.filter_map(|(_, target)| target.as_table()).chain([manifest]);
    let kinds = ["dependencies", "build-dependencies", "dev-dependencies"];
    let tables =
        places.flat_map(move |place| kinds.map(|kind| place.get(kind).and_then(|table| table.as_table())));
    tables.flatten().flatten()
}

/// The names in backticks in the first cells of tables, with their lines; what stands in parentheses is a feature.
fn table_names(text: &str) -> Vec<(usize, String)> {
    let mut names = Vec::new();
    for (number, row) in text.lines().enumerate() {
        let Some(cell) = row.strip_prefix('|').and_then(|row| row.split('|').next()) else { continue };
        let cell = cell.split('(').next().unwrap_or_default();
        names.extend(mentions(cell).into_iter().map(|mention| (number + 1, mention.text)));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::super::tree::tree;
    use super::*;

    const MEMBER: &str = "[package]\nname = \"a\"\n\n[dependencies]\nserde = \"1\"\nb.workspace = true\n\
        other = { package = \"real-name\", version = \"1\" }\n[dev-dependencies]\nproptest = \"1\"\n\
        [target.'cfg(unix)'.build-dependencies]\ncc = \"1\"\n";

    fn found(document: &str) -> Vec<(String, usize, String)> {
        let files = [
            ("Cargo.toml", "[workspace]\nexclude = [\"fuzz\"]"),
            ("crates/a/Cargo.toml", MEMBER),
            ("crates/b/Cargo.toml", "[package]\nname = \"b\"\n"),
            ("fuzz/Cargo.toml", "[dependencies]\nfuzzer = \"1\"\nspare = \"1\"\n"),
            (DOCUMENT, document),
        ];
        let findings = check(&tree(&files));
        findings.into_iter().map(|finding| (finding.path, finding.line, finding.text)).collect()
    }

    #[test]
    fn a_complete_document_passes() {
        let document = "| crate | why |\n|---|---|\n| `serde`, `real-name` (`derive`) | not `yaml` |\n| `fuzzer` | x |\n\
            \n`proptest` and `cc`; `gone` was thrown out.";
        assert_eq!(found(document), []);
    }

    #[test]
    fn gaps_and_leftovers_are_found() {
        let member = "crates/a/Cargo.toml";
        assert_eq!(
            found("| `serde` | x |\n| `gone` | x |\n`cc`"),
            [
                (member.to_owned(), 9, "proptest".to_owned()),
                (member.to_owned(), 7, "real-name".to_owned()),
                (DOCUMENT.to_owned(), 2, "gone".to_owned()),
            ]
        );
    }

    #[test]
    fn any_version_is_too_many() {
        let manifest = "[dependencies]\na = \"*\"\nb = { version = \"1.*\" }\nc = {}\nd = \"1\"\ne.workspace = true\n\
            [dev-dependencies]\nf = { path = \"../f\" }\n";
        let tree = tree(&[("Cargo.toml", manifest)]);
        let manifests: Vec<_> = manifests(&tree).collect();
        let found: Vec<(usize, String)> =
            wildcards(&manifests).into_iter().map(|finding| (finding.line, finding.text)).collect();
        assert_eq!(found, [(2, "a".to_owned()), (3, "b".to_owned()), (4, "c".to_owned())]);
    }

    #[test]
    fn code_names_crates_with_underscores() {
        let tree =
            tree(&[("Cargo.toml", "[dependencies]\nserde-json = \"1\"\nc = \"1\"\n[package]\nname = \"c\"")]);
        assert_eq!(all_dependencies(&tree), BTreeSet::from(["serde_json".to_owned()]));
    }
}
