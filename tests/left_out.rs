//! Tests that need something the machine may lack say so, and fail where everything must be at hand: where `CI` is `true`.

use std::io::Write;

/// Says that `what` is left out, and why; where `CI` is `true` it fails instead.
pub(crate) fn left_out(what: &str, why: &str) {
    let is_ci = std::env::var_os("CI").is_some_and(|ci| ci == "true");
    assert!(!is_ci, "left out, though CI is true: {what}, because {why}");
    // Not by `eprintln`, which the test harness keeps to itself.
    let _ = writeln!(std::io::stderr(), "left out: {what}, because {why}");
}
