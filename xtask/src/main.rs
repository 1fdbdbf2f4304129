//! Developer tasks that are not part of the product: `cargo run --release -p xtask -- TASK`.

use std::path::Path;
use std::process::ExitCode;

mod concepts;

const USAGE: &str = "usage: cargo run --release -p xtask -- TASK\n\n\
    tasks:\n  concepts    write data/concepts from data/concepts/source and print its statistics";

fn main() -> ExitCode {
    let task = std::env::args().nth(1);
    match task.as_deref() {
        Some("concepts") => {
            let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/concepts");
            match concepts::run(&dir) {
                Ok(stats) => {
                    print!("{stats}");
                    ExitCode::SUCCESS
                }
                Err(error) => {
                    eprintln!("error: {error}");
                    if let Some(hint) = error.hint() {
                        eprintln!("hint: {hint}");
                    }
                    ExitCode::from(2)
                }
            }
        }
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}
