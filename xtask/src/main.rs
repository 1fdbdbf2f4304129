//! Developer tasks that are not part of the product: `cargo xtask TASK`.

use std::path::Path;
use std::process::ExitCode;

mod concepts;
mod dist;
mod licenses;
mod tidy;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["concepts"] => write_concepts(&root.join("data/concepts")),
        ["dist"] => dist::run(&root),
        ["licenses", options @ ..] => licenses::run(&root, options),
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
        dist        build the program as it is given away and pack it into target/dist\n  \
        licenses    write the notices of all crates, and hold them against deny.toml [{}]\n  \
        tidy        check what must hold of the tree [{}]",
        licenses::OPTIONS,
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
