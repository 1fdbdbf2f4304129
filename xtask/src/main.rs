//! Developer tasks that are not part of the product: `cargo xtask TASK`.

use std::path::Path;
use std::process::ExitCode;

mod corpus;
mod dist;
mod licenses;
mod tidy;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    if let [name] = args.as_slice()
        && let Some(settings) = corpus::CORPORA.iter().find(|settings| settings.name == *name)
    {
        return write_corpus(&root.join("data").join(name), settings);
    }
    match args.as_slice() {
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
        tasks:\n  assistant   write data/assistant from data/assistant/source and print its statistics\n  \
        concepts    the same for data/concepts\n  \
        dist        build the program as it is given away and pack it into target/dist\n  \
        licenses    write the notices of all crates, and hold them against deny.toml [{}]\n  \
        tidy        check what must hold of the tree [{}]",
        licenses::OPTIONS,
        tidy::OPTIONS
    )
}

fn write_corpus(dir: &Path, settings: &'static corpus::Settings) -> ExitCode {
    match corpus::run(dir, settings) {
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
