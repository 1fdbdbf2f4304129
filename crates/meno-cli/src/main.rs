//! The `meno` command.
fn main() {}
