//! Developer tasks that are not part of the product: `cargo xtask TASK`.

use std::path::Path;
use std::process::ExitCode;

mod concepts;
mod tidy;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["concepts"] => write_concepts(&root.join("data/concepts")),
        ["tidy", options @ ..] => tidy::run(&root, options),
        _ => {
            eprintln!("{}", usage());
            ExitCode::from(2)
        }
    }
}

fn usage() -> String {
    format!(
        "usage: cargo xtask TASK\n\n\
        tasks:\n  concepts    write data/concepts from data/concepts/source and print its statistics\n  \
        tidy        check what must hold of the tree [{}]",
        tidy::OPTIONS
    )
}

fn write_concepts(dir: &Path) -> ExitCode {
    match concepts::run(dir) {
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
