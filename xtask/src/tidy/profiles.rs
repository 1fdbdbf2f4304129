//! The profiles of the workspace: what `release` optimises less, so that it builds quickly, `dist` optimises in full.

use super::scan::line;
use super::tree::Tree;
use super::{Check, Finding};

/// What full optimisation is.
const FULL: [(&str, i64); 2] = [("opt-level", 3), ("codegen-units", 1)];

/// Settings of packages in `release` that `dist`, which inherits them, does not set to full optimisation.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let Some(file) = tree.file("Cargo.toml") else { return Vec::new() };
    let Ok(manifest) = file.text.parse::<toml::Table>() else { return Vec::new() };
    let packages = |profile: &str| manifest.get("profile")?.get(profile)?.get("package")?.as_table();
    let setting = |profile: &str, package: &str, key: &str| {
        packages(profile)?.get(package)?.get(key).and_then(|value| value.as_integer())
    };
    let mut findings = Vec::new();
    for name in packages("release").into_iter().flat_map(|packages| packages.keys()) {
        for (key, full) in FULL {
            let inherited = setting("dist", name, key).or(setting("release", name, key));
            if inherited.is_some_and(|value| value != full) {
                let at = file.text.find(&format!("\n{name} = ")).map_or(0, |at| at + 1);
                let what =
                    format!("profile.release sets {key} of {name}; profile.dist.package must say {full}");
                findings.push(Finding::new(Check::Profiles, file, line(&file.text, at), name, what));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::tree::tree;
    use super::*;

    #[test]
    fn what_is_held_back_must_be_set_free() {
        let manifest = "[profile.release.package]\na = { opt-level = 1 }\nb = { opt-level = 1 }\n\
            c = { opt-level = 3, codegen-units = 2 }\nd = { debug = true }\n\
            [profile.dist.package]\na = { opt-level = 3 }\n";
        let findings = check(&tree(&[("Cargo.toml", manifest)]));
        let found: Vec<(usize, &str)> =
            findings.iter().map(|finding| (finding.line, &*finding.text)).collect();
        assert_eq!(found, [(3, "b"), (4, "c")]);
    }
}
