//! The profiles of the workspace: what `release` optimises less, so that it builds quickly, `dist` optimises in full.

use super::scan::line;
use super::tree::Tree;
use super::{Check, Finding};

/// Packages that `release` holds back and `dist`, which inherits that, does not set free.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let Some(file) = tree.file("Cargo.toml") else { return Vec::new() };
    let Ok(manifest) = file.text.parse::<toml::Table>() else { return Vec::new() };
    let level = |profile: &str, package: &str| {
        manifest.get("profile")?.get(profile)?.get("package")?.get(package)?.get("opt-level")?.as_integer()
    };
    let packages =
        manifest.get("profile").and_then(|profile| profile.get("release")?.get("package")?.as_table());
    let held_back = packages
        .into_iter()
        .flatten()
        .filter(|(name, _)| level("release", name).is_some() && level("dist", name) != Some(3));
    let findings = held_back.map(|(name, _)| {
        let at = file.text.find(&format!("\n{name} = ")).map_or(0, |at| at + 1);
        let what =
            format!("profile.release optimises {name} less; give it opt-level 3 in profile.dist.package");
        Finding::new(Check::Profiles, file, line(&file.text, at), name, what)
    });
    findings.collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::tree;
    use super::*;

    #[test]
    fn what_is_held_back_must_be_set_free() {
        let manifest = "[profile.release.package]\na = { opt-level = 1 }\nb = { opt-level = 1 }\nc = { debug = true }\n\
            [profile.dist.package]\na = { opt-level = 3 }\n";
        let findings = check(&tree(&[("Cargo.toml", manifest)]));
        let found: Vec<(usize, &str)> =
            findings.iter().map(|finding| (finding.line, &*finding.text)).collect();
        assert_eq!(found, [(3, "b")]);
    }
}
