//! `meno train` as it is typed: the model it writes, what it refuses, and Ctrl-C.

mod support;
#[path = "../../../tests/times.rs"]
mod times;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use expect_test::{Expect, expect};
use support::{folder, meno, names, run, shown, tiny_dataset, without_slots};
use times::times;

/// So many epochs that a training which should not have begun is noticed.
const FOR_EVER: &str = "--epochs 1000000000";
const SMALL: &str = "--architecture slot-gated --hidden 16 --embedding 16 --batch 8 --threads 2";

fn check(dir: &Path, args: &str, expected: &Expect) {
    expected.assert_eq(&run(dir, args));
}

#[test]
fn same_seed_same_bytes_for_any_threads() {
    let dir = tiny_dataset();
    let model = |args: &str| {
        let output = run(dir.path(), &format!("train data -o m --epochs 3 {args}"));
        assert!(output.starts_with("exit 0\n"), "{output}");
        fs::read(dir.path().join("m")).unwrap()
    };
    let one = model("--seed 3 --threads 1");
    assert!(model("--seed 3 --threads 1") == one);
    assert!(model("--seed 3 --threads 4") == one);
    assert!(model("--seed 4 --threads 1") != one);
    assert_eq!(names(dir.path()), ["data", "m"]);
}

/// A dataset so small says nothing of its language, so English is assumed.
#[test]
fn a_language_can_be_stated() {
    let dir = tiny_dataset();
    let stated = run(dir.path(), &format!("train data -o m --epochs 1 --language es {SMALL}"));
    assert!(
        stated.contains("note: the language of the data is `es`: phrases do not grow by English syntax"),
        "{stated}"
    );
    let english = run(dir.path(), &format!("train data -o m --epochs 1 --language en-GB {SMALL}"));
    assert!(!english.contains("language"), "{english}");
    check(
        dir.path(),
        &format!("train data -o m {FOR_EVER} --language spanish"),
        &expect![[r#"
            exit 2
            ---
            error: `spanish` is no code of a language
            hint: codes are those of BCP 47, such as en, es or zh-Hans
        "#]],
    );
}

#[test]
fn a_description_goes_into_the_model() {
    let dir = tiny_dataset();
    let description = |args: &str| {
        let said = run(dir.path(), &format!("train data -o m --epochs 1 {SMALL} {args}"));
        assert!(said.starts_with("exit 0\n"), "{said}");
        meno::Model::load(&dir.path().join("m")).unwrap().description().clone()
    };
    // The names of slots tell something already.
    assert_eq!(description("").slots.keys().collect::<Vec<_>>(), ["time"]);
    fs::write(dir.path().join("my.toml"), "[slots.song]\nsay = \"a song\"\n").unwrap();
    assert_eq!(description("--describe my.toml").slots["song"].say.as_deref(), Some("a song"));
    fs::rename(dir.path().join("my.toml"), dir.path().join("data/corpus.toml")).unwrap();
    assert_eq!(description("").slots.keys().collect::<Vec<_>>(), ["song"]);
    fs::write(dir.path().join("my.toml"), "[slots.song]\n[slots.sung]\n").unwrap();
    check(
        dir.path(),
        &format!("train data -o m {FOR_EVER} --describe my.toml"),
        &expect![[r#"
        exit 2
        ---
        error: my.toml:2: the data has no slot `sung`
        hint: the slots are artist, city, song, time
    "#]],
    );
}

#[test]
fn open_slots_are_stated_and_said() {
    let dir = tiny_dataset();
    let stated = run(dir.path(), "train data -o m --epochs 1 --open city");
    assert!(stated.contains("\nopen   slots that have more values than the data: city\n"), "{stated}");
    check(
        dir.path(),
        &format!("train data -o m {FOR_EVER} --open city,planet"),
        &expect![[r#"
            exit 2
            ---
            error: `planet` is to be open, but the data has no such slot
            hint: its slots are artist, city, song, time
        "#]],
    );
    check(
        dir.path(),
        &format!("train data -o m {FOR_EVER} --open city --architecture slot-gated"),
        &expect![[r#"
            exit 2
            ---
            error: open slots are of the span tagger: the slot-gated one does not replace values
            hint: leave out --open or --architecture slot-gated
        "#]],
    );
}

#[test]
fn tells_how_it_went() {
    let dir = tiny_dataset();
    let output = run(dir.path(), &format!("train data -o m --epochs 2 {SMALL}"));
    let lines: Vec<&str> = output.lines().map(|line| line.get(..14).unwrap_or(line)).collect();
    assert_eq!(
        lines,
        [
            "exit 0",
            "model  m: epoc",
            "valid  slot F1",
            "test   slot F1",
            "limit  words w",
            "time   0 s on ",
            "---",
            "epoch 1 of 2  ",
            "epoch 2 of 2  "
        ]
    );

    fs::remove_dir_all(dir.path().join("data/test")).unwrap();
    let output = meno(dir.path(), &format!("train data -o m --epochs 2 --json {SMALL}")).output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json["model"], &json["threads"], &json["test"]), (&"m".into(), &2.into(), &().into()));
    assert_eq!(json["settings"]["epochs"], 2);
    assert!(json["valid_slot_f1"].is_f64() && json["seconds"].is_f64(), "{json}");
    let unknown = &json["unknown"];
    assert_eq!((&unknown["score"], &unknown["budget"]), (&"entropy".into(), &1.0.into()), "{json}");
    assert!(unknown["threshold"].is_f64() && unknown["valid_slot_f1"].is_f64(), "{json}");
}

#[test]
fn calibrates_unless_told_not_to() {
    let dir = tiny_dataset();
    let settings = |args: &str| -> serde_json::Value {
        let args = format!("train data -o m --epochs 1 --json {SMALL} {args}");
        let output = meno(dir.path(), &args).output().unwrap();
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(json["unknown"]["threshold"].is_f64(), "{json}");
        json
    };
    let default = settings("");
    assert_eq!(
        default["settings"]["calibrate"]["unknown_words"],
        settings("--calibrate")["settings"]["calibrate"]["unknown_words"]
    );
    let typed =
        settings("--delta 0.25 --lambda 0.5 --scale 2 --unknown-words 0.125 --score energy --budget 3");
    let expected = serde_json::json!({"delta": 0.25, "lambda": 0.5, "scale": 2.0, "unknown_words": 0.125});
    assert_eq!(typed["settings"]["calibrate"], expected);
    assert_eq!((&typed["unknown"]["score"], &typed["unknown"]["budget"]), (&"energy".into(), &3.0.into()));
    let plain = settings("--plain");
    assert!(plain["settings"]["calibrate"].is_null(), "{plain}");
    assert_eq!(plain["unknown"]["score"], "softmax-entropy");
}

#[test]
fn a_corpus_without_slots_has_no_threshold() {
    let dir = without_slots();
    let output = run(dir.path(), &format!("train data -o m --epochs 1 {SMALL}"));
    assert!(
        output.contains("note: no slot in the valid split, so no word will be called unknown"),
        "{output}"
    );
    let output = run(dir.path(), "tag m data/test/seq.in --budget 1");
    assert!(output.contains("error: the model has no threshold, and nothing to choose one on"), "{output}");
}

#[test]
fn refuses_settings_of_the_unknown_before_training() {
    let dir = tiny_dataset();
    for (args, problem) in [
        ("--budget -1", "the budget is -1"),
        ("--budget nan", "the budget is NaN"),
        ("--score luck", "`luck` is no score"),
        ("--delta 2", "delta is 2"),
        ("--lambda nan", "lambda is NaN"),
        ("--scale 0", "scale is 0"),
        ("--unknown-words 1e4", "unknown_words is 10000"),
    ] {
        let output = run(dir.path(), &format!("train data -o m --architecture slot-gated {FOR_EVER} {args}"));
        assert!(output.starts_with(&format!("exit 2\n---\nerror: {problem}")), "{args}: {output}");
    }
    for (args, problem) in [
        ("--score energy", "--score is of the slot-gated tagger: it scores words by it"),
        (
            "--architecture span-tagger --delta 0.2",
            "the entropy regularizer is of the slot-gated tagger: the other has none",
        ),
        (
            "--architecture span-tagger --plain",
            "the entropy regularizer is of the slot-gated tagger: the other has none",
        ),
        ("--false-alarm 0", "the share of false alarms is 0"),
        (
            "--false-alarm 0.0001",
            "23 concepts in the valid split promise no share of 0.0001\nhint: the smallest",
        ),
        ("--budget -1", "the budget is -1"),
        ("--config nowhere.toml", "cannot read nowhere.toml"),
    ] {
        let output = run(dir.path(), &format!("train data -o m {FOR_EVER} {args}"));
        assert!(output.starts_with(&format!("exit 2\n---\nerror: {problem}")), "{args}: {output}");
    }
    let output = run(dir.path(), &format!("train data -o m {FOR_EVER} --plain --delta 0.2"));
    assert!(output.starts_with("exit 2\n---\nerror: the argument '--plain' cannot be used with"), "{output}");
    assert_eq!(names(dir.path()), ["data"]);
}

#[test]
fn refuses_bad_data_before_training() {
    let check = |files: &[(&str, &[u8])], expected: Expect| {
        let dir = folder(files);
        check(dir.path(), &format!("train data -o m {FOR_EVER}"), &expected);
        assert!(!dir.path().join("m").exists());
    };
    check(
        &[],
        expect![[r#"
            exit 2
            ---
            error: cannot read data: No such file or directory (os error 2)
            hint: check the path; `meno data stats DIR` shows what is in a folder
        "#]],
    );
    check(
        &[("data/train.conll", b""), ("data/valid.conll", b"a O\n")],
        expect![[r#"
            exit 2
            ---
            error: data/train.conll:1: there is no utterance in it
            hint: check the path; the file holds nothing to read
        "#]],
    );
    check(
        &[("data/train.conll", b"a O\n\ncaf\xe9 O\n"), ("data/valid.conll", b"a O\n")],
        expect![[r#"
            exit 2
            ---
            error: data/train.conll:3: not UTF-8: byte 0xE9 at byte 4 of the line
            hint: save the file as UTF-8, for example with `iconv -f latin1 -t utf-8`
        "#]],
    );
    check(
        &[
            ("data/train/seq.in", b"a b\nc\n"),
            ("data/train/seq.out", b"O O\nO O\n"),
            ("data/valid.conll", b"a O\n"),
        ],
        expect![[r#"
            exit 2
            ---
            error: data/train/seq.out:2: 1 words but 2 labels
            hint: every word needs one label; `meno data check DIR` lists all such lines
        "#]],
    );
    check(
        &[("data/train.conll", b"a O\nb X-city\n"), ("data/valid.conll", b"a O\n")],
        expect![[r#"
            exit 2
            ---
            error: data/train.conll:2: unknown tag `X-city`: the scheme is none of IOB1, IOB2 and BILOU
            hint: labels are O, B-slot, I-slot (IOB) and with L-slot, U-slot or E-slot, S-slot (BILOU)
        "#]],
    );
    check(
        &[("data/train.conll", b"a O\n")],
        expect![[r#"
            exit 2
            ---
            error: data has 1 utterance and no valid split
            hint: at least 5 utterances are needed, and good models take a hundred or more
        "#]],
    );
    // The test split is only used at the end, but a mistake in it must not cost a training.
    check(
        &[("data/train.conll", b"a O\n"), ("data/valid.conll", b"a O\n"), ("data/test.conll", b"a Z\n")],
        expect![[r#"
            exit 2
            ---
            error: data/test.conll:1: unknown tag `Z`: the scheme is none of IOB1, IOB2 and BILOU
            hint: labels are O, B-slot, I-slot (IOB) and with L-slot, U-slot or E-slot, S-slot (BILOU)
        "#]],
    );
    let long = "a ".repeat(1 << 19);
    check(
        &[
            ("data/train/seq.in", long.as_bytes()),
            ("data/train/seq.out", long.replace('a', "O").as_bytes()),
            ("data/valid.conll", b"a O\n"),
        ],
        expect![[r#"
            exit 2
            ---
            error: data/train:1: an utterance of 524288 words
            hint: cut it into utterances of at most 512 words
        "#]],
    );
}

#[test]
fn refuses_bad_settings_before_training() {
    let dir = tiny_dataset();
    check(
        dir.path(),
        "train data -o m --hidden 20",
        &expect![[r#"
            exit 2
            ---
            error: hidden is 20
            hint: widths are multiples of 16 up to 4096
        "#]],
    );
    for args in ["--threads 0", "--rate fast", "--epochs -1", "--no-such"] {
        let output = meno(dir.path(), &format!("train data -o m {args}")).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args}: {}", shown(&output));
    }
    check(
        dir.path(),
        "train data -o m --resume",
        &expect![[r#"
            exit 2
            ---
            error: there is no checkpoint m.checkpoint
            hint: Ctrl-C during training leaves one; without --resume training begins anew
        "#]],
    );
    fs::write(dir.path().join("m.checkpoint"), "nonsense").unwrap();
    check(
        dir.path(),
        "train data -o m --resume",
        &expect![[r#"
            exit 2
            ---
            error: m.checkpoint: not a checkpoint of meno
            hint: a model is made by `meno train DIR -o MODEL`
        "#]],
    );
}

#[test]
fn a_promise_about_concepts_is_not_of_the_paper() {
    let dir = tiny_dataset();
    check(
        dir.path(),
        "train data -o m --architecture slot-gated --false-alarm 0.1",
        &expect![[r#"
            exit 2
            ---
            error: --false-alarm is a promise about concepts
            hint: leave out --false-alarm, or leave out --architecture slot-gated
        "#]],
    );
}

/// Permissions do not bind root, so the folders here are such as nobody can write to.
#[cfg(target_os = "linux")]
#[test]
fn refuses_an_output_that_cannot_be_written_before_training() {
    let dir = tiny_dataset();
    fs::write(dir.path().join("file"), "mine").unwrap();
    for (output, error) in [
        ("/proc/m", "error: cannot write /proc/m: "),
        ("file/m", "error: cannot write file/m: Not a directory"),
        (
            "no/m",
            "error: cannot write no/m: No such file or directory (os error 2)\nhint: make the folder first",
        ),
        ("data", "error: cannot write data: is a directory\nhint: name a file, not a folder"),
    ] {
        let shown = run(dir.path(), &format!("train data -o {output} {FOR_EVER}"));
        assert!(shown.starts_with(&format!("exit 2\n---\n{error}")), "{shown}");
    }
    assert_eq!(fs::read(dir.path().join("file")).unwrap(), b"mine");
    assert_eq!(names(dir.path()), ["data", "file"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let dir = tiny_dataset();
    let output = run(dir.path(), &format!("train data -o /dev/full --epochs 1 {SMALL}"));
    let problem = "\nerror: cannot write /dev/full: No space left on device (os error 28)\n\
                   hint: free some space, or write to another disk\n";
    assert!(output.starts_with("exit 2\n") && output.ends_with(problem), "{output}");
}

/// Ctrl-C while `args` are run. Until training has begun it ends the program like any other, so it is tried later and
/// later, until `kept` is there.
#[cfg(unix)]
fn interrupt(dir: &Path, args: &str, kept: &str) -> Output {
    for attempt in 0..8 {
        let mut command = meno(dir, args);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(200 << attempt));
        let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(killed.success());
        let output = child.wait_with_output().unwrap();
        if output.status.code().is_some() && dir.join(kept).exists() {
            return output;
        }
    }
    panic!("no training began");
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_the_best_model_and_resume_goes_on_as_if_nothing_had_happened() {
    let dir = tiny_dataset();
    let args = format!("train data -o m --seed 5 {FOR_EVER} {SMALL}");
    let stopped = shown(&interrupt(dir.path(), &args, "m"));
    assert!(stopped.starts_with("exit 130\n---\nepoch 1 of "), "{stopped}");
    let (_, epoch) = stopped.split_once("\nstopped in epoch ").expect(&stopped);
    let epoch: usize = epoch.split(' ').next().unwrap().parse().expect(&stopped);
    assert!(stopped.contains("\nm: the best model so far, of epoch "), "{stopped}");
    assert!(stopped.ends_with("hint: to go on, type `meno train data -o m --resume`\n"), "{stopped}");
    assert_eq!(names(dir.path()), ["data", "m", "m.checkpoint"]);
    let evaluated = run(dir.path(), "eval m data");
    assert!(evaluated.starts_with("exit 0\n"), "{evaluated}");

    let other = run(dir.path(), "train data -o m --resume --seed 6");
    assert!(other.contains("error: the checkpoint is of a training with other settings\n"), "{other}");

    let epochs = epoch + 3;
    let resumed = run(dir.path(), &format!("train data -o m --resume --epochs {epochs}"));
    assert!(resumed.starts_with("exit 0\n"), "{resumed}");
    assert_eq!(names(dir.path()), ["data", "m"], "the checkpoint is of no more use");
    let whole = run(dir.path(), &format!("train data -o whole --seed 5 --epochs {epochs} {SMALL}"));
    assert!(whole.starts_with("exit 0\n"), "{whole}");
    let bytes = |name: &str| fs::read(dir.path().join(name)).unwrap();
    assert!(bytes("m") == bytes("whole"));
}

/// Whenever it is told to stop, and however often, what comes out in the end is the same.
#[cfg(unix)]
#[test]
fn signals_do_not_change_what_is_trained() {
    for training in 0..times(2, 20) {
        let dir = tiny_dataset();
        let mut epoch = 0;
        // The first begins it, the second goes on.
        for more in [format!("--seed {training} {FOR_EVER} {SMALL}"), "--resume".to_owned()] {
            let stopped = shown(&interrupt(dir.path(), &format!("train data -o m {more}"), "m"));
            let (_, rest) = stopped.split_once("\nstopped in epoch ").expect(&stopped);
            epoch = rest.split(' ').next().unwrap().parse::<usize>().expect(&stopped).max(epoch);
        }
        let epochs = epoch + 2;
        let resumed = run(dir.path(), &format!("train data -o m --resume --epochs {epochs}"));
        assert!(resumed.starts_with("exit 0\n"), "{resumed}");
        let whole =
            run(dir.path(), &format!("train data -o whole --seed {training} --epochs {epochs} {SMALL}"));
        assert!(whole.starts_with("exit 0\n"), "{whole}");
        let bytes = |name: &str| fs::read(dir.path().join(name)).unwrap();
        assert!(bytes("m") == bytes("whole"), "training {training}, stopped twice until epoch {epoch}");
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_in_a_cross_validation_says_what_is_kept() {
    let dir = tiny_dataset();
    let corpus = run(dir.path(), "data convert data/test nlu.conll");
    assert!(corpus.starts_with("exit 0\n"), "{corpus}");
    let small = "--hidden 16 --embedding 16 --epochs 100000";
    let stopped = shown(&interrupt(dir.path(), &format!("train nlu.conll -o m {small}"), "m.checkpoint"));
    assert!(stopped.starts_with("exit 130\n") && !stopped.contains("no epoch was finished"), "{stopped}");
    assert!(stopped.contains(" of 700000\nthere is no model yet: only the last epoch tells"), "{stopped}");
    assert!(stopped.contains("\nm.checkpoint: what is needed to go on\n"), "{stopped}");
}
