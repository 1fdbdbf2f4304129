//! What goes along with the program: licences, completions, manual pages.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

mod support;

fn meno(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_meno")).args(args).output().unwrap()
}

fn printed(args: &[&str]) -> String {
    let output = meno(args);
    assert!(output.status.success(), "{args:?}: {}", support::shown(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn licences_name_everything_in_the_program() {
    let text = printed(&["--licenses"]);
    for part in [
        "WordLlama 0.4.0, Copyright (c) 2024 Lee Miller",
        "UD English EWT",
        "\n=== LICENSE-CC-BY-SA-4.0 ===\n\nAttribution-ShareAlike 4.0 International\n",
        "Noto Sans 1.04, Copyright 2012 Google Inc.",
        "SQLite is in the public domain",
        "\n  rayon-core ",
        "\n  libsqlite3-sys ",
        "Apache License",
    ] {
        assert!(text.contains(part), "{part}");
    }
    let with_command = meno(&["--licenses", "token", "anna", "read"]);
    assert_eq!(with_command.status.code(), Some(2), "{}", support::shown(&with_command));
}

#[test]
fn a_command_is_asked_for() {
    let none = meno(&[]);
    assert_eq!(none.status.code(), Some(2));
    assert!(support::shown(&none).contains("Usage: meno"), "{}", support::shown(&none));
    let only_color = meno(&["--color", "never"]);
    assert_eq!(only_color.status.code(), Some(2));
    assert!(support::shown(&only_color).contains("error: which command?"), "{}", support::shown(&only_color));
}

#[test]
fn every_shell_gets_completions() {
    for (shell, option) in [
        ("bash", "--threads"),
        ("zsh", "--threads"),
        ("fish", "-l threads"),
        ("powershell", "--threads"),
        ("elvish", "--threads"),
    ] {
        let script = printed(&["completions", shell]);
        for word in ["new-concepts", option, "experiment"] {
            assert!(script.contains(word), "{shell} {word}");
        }
    }
    let unknown = meno(&["completions", "tcsh"]);
    assert_eq!(unknown.status.code(), Some(2));
}

/// Bash itself completes a word by the script.
#[test]
fn bash_completes_by_them() {
    let script = r#"source /dev/stdin; COMP_WORDS=(meno mem); COMP_CWORD=1; _meno meno mem meno; echo "${COMPREPLY[@]}""#;
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", script])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped());
    let mut bash = bash.spawn().unwrap();
    let mut input = bash.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, printed(&["completions", "bash"]).as_bytes()).unwrap();
    drop(input);
    let output = bash.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "memory");
}

#[test]
fn every_command_has_a_manual_page() {
    let dir = tempfile::tempdir().unwrap();
    let pages = dir.path().join("a/man");
    printed(&["man", pages.to_str().unwrap()]);
    let page = |name: &str| fs::read_to_string(pages.join(name)).unwrap();
    assert!(page("meno.1").contains(".TH meno 1"), "{}", page("meno.1"));
    assert!(page("meno-train.1").contains("\\-\\-architecture"), "{}", page("meno-train.1"));
    assert!(page("meno-data-check.1").contains(".SH SYNOPSIS"));
    assert!(!pages.join("meno-man.1").exists());
    let failed = meno(&["man", Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml").to_str().unwrap()]);
    assert_eq!(failed.status.code(), Some(2), "{}", support::shown(&failed));
}
