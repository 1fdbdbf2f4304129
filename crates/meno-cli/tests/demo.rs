//! `meno demo`, `meno experiment` and the help, as they are typed.

mod support;

use support::{meno, run, shown, tiny_dataset};

#[test]
fn the_demo_ends_by_itself_without_a_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let shown = run(dir.path(), "demo --epochs 1 --threads 2");
    for part in [
        "exit 0\n",
        "  test     slot F1 ",
        "intent accuracy ",
        "  new      slot F1 ",
        "> What's the weather like in Oslo tomorrow?",
        "> no, Moomin is a place",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert!(shown.ends_with("---\n"), "nothing but a terminal sees progress: {shown}");
    assert!(!shown.contains('\x1b'), "{shown}");
    assert!(support::names(dir.path()).is_empty());
}

#[test]
fn the_experiment_prints_a_table_or_json() {
    let dir = tiny_dataset();
    let args = "experiment accuracy data --seeds 2 --jobs 2 --epochs 2 --hidden 16 --embedding 16";
    let shown = run(dir.path(), args);
    let columns: Vec<&str> = shown.lines().filter_map(|line| line.split('|').nth(1)).map(str::trim).collect();
    assert_eq!(columns, ["seed", "---:", "1", "2", "mean", "deviation"], "{shown}");
    assert!(shown.starts_with("exit 0\n### data\n"), "{shown}");

    let output = meno(dir.path(), &format!("{args} --json")).output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json[0]["runs"][1]["seed"], 2);
    assert!(json[0]["runs"][1]["slot_f1"].is_f64() && json[0]["slot_f1"]["mean"].is_f64(), "{json}");
}

#[test]
fn usage_errors_exit_with_2_and_help_with_0() {
    let dir = tempfile::tempdir().unwrap();
    for (args, code) in [
        ("", 2),
        ("nonsense", 2),
        ("tag", 2),
        ("eval m", 2),
        ("train data", 2),
        ("--version", 0),
        ("help tag", 0),
    ] {
        let output = meno(dir.path(), args).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{args}: {}", shown(&output));
    }
    for command in ["demo", "data", "train", "eval", "tag", "chat", "experiment accuracy"] {
        let help = run(dir.path(), &format!("{command} --help"));
        assert!(help.contains("\nExamples:\n  "), "{help}");
    }
}
