//! Tests that do something many times do it less often by default; `MENO_FULL=1` has the counts of `docs/reliability.md`.

/// How often something is to be done.
pub(crate) fn times(usual: usize, full: usize) -> usize {
    if std::env::var_os("MENO_FULL").is_some() { full } else { usual }
}
