//! The tutorial, run as it stands: every command of `docs/first-bot.md`, and what it says.

mod support;

use std::path::Path;
use std::process::Command;

use support::folder;

const TUTORIAL: &str = include_str!("../../../docs/first-bot.md");
const EXAMPLES: &[u8] = include_bytes!("../../../examples/first-bot/nlu.yml");

/// What is typed after `$` in blocks marked `console`, and what follows it.
fn commands() -> Vec<(&'static str, Vec<&'static str>)> {
    let mut commands: Vec<(&str, Vec<&str>)> = Vec::new();
    let blocks = TUTORIAL.split("```console\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    for line in blocks.flat_map(str::lines) {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command, Vec::new())),
            (None, Some((_, said))) => said.push(line),
            (None, None) => panic!("a block begins with {line:?}"),
        }
    }
    commands
}

fn run(dir: &Path, command: &str) -> Vec<String> {
    let program = Path::new(env!("CARGO_BIN_EXE_meno")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let output =
        Command::new("sh").args(["-c", command]).current_dir(dir).env("PATH", path).output().unwrap();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn the_first_bot_answers_as_the_tutorial_says() {
    let dir = folder(&[("nlu.yml", EXAMPLES)]);
    let commands = commands();
    assert_eq!(commands.len(), 3);
    for (command, expected) in commands {
        let said = run(dir.path(), command);
        // `...` stands for lines that are not shown.
        if expected.contains(&"...") {
            for line in expected.iter().filter(|line| **line != "...") {
                assert!(said.iter().any(|found| found == line), "{command}: {line:?} is not in {said:#?}");
            }
        } else {
            assert_eq!(said, expected, "{command}");
        }
    }
}
