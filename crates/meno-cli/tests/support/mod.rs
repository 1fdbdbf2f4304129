//! What the tests of the command share: a tiny dataset, and running the program.

#![allow(dead_code)]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use tempfile::TempDir;

/// Every score of a word that needs nothing but its logits.
pub const SCORES: [&str; 8] = [
    "confidence",
    "entropy",
    "entropy-plus-one",
    "top-variance",
    "softmax-entropy",
    "max-logit",
    "energy",
    "mutual-information",
];

/// An intent and an utterance on each line; slots in brackets.
const TINY: &str = "
    play    | play [red moon|song]
    play    | play [blue|song] by [anna|artist]
    play    | put on [green hills|song]
    play    | i want to hear [anna|artist]
    play    | play something by [the clerks|artist]
    play    | play [red moon|song] please
    play    | put on [blue|song] by [the clerks|artist]
    alarm   | wake me at [six|time]
    alarm   | wake me [tomorrow morning|time]
    alarm   | set an alarm for [seven thirty|time]
    alarm   | alarm at [six|time] please
    alarm   | wake me at [seven|time]
    alarm   | set an alarm for [tomorrow|time]
    weather | will it rain in [paris|city]
    weather | weather in [new york|city] [tomorrow|time]
    weather | is it cold in [paris|city] at [six|time]
    weather | how is the weather in [rome|city]
    weather | will it rain [tomorrow morning|time]
    weather | is it cold in [new york|city]
    weather | weather please
";

/// The files `seq.in`, `seq.out` and `label` of [`TINY`].
pub fn tiny() -> [(&'static str, String); 3] {
    let (mut words, mut labels, mut intents) = (String::new(), String::new(), String::new());
    for line in TINY.lines().filter(|line| line.contains('|')) {
        let (intent, text) = line.split_once('|').unwrap();
        let (mut line_words, mut line_labels) = (Vec::new(), Vec::new());
        for (piece_idx, piece) in text.split(['[', ']']).enumerate() {
            // Every second piece stood in brackets.
            let (piece, slot) = match piece.split_once('|') {
                Some((piece, slot)) if piece_idx % 2 == 1 => (piece, slot),
                _ => (piece, ""),
            };
            for (word_idx, word) in piece.split_whitespace().enumerate() {
                line_words.push(word);
                line_labels.push(match (slot, word_idx) {
                    ("", _) => "O".to_owned(),
                    (_, 0) => format!("B-{slot}"),
                    _ => format!("I-{slot}"),
                });
            }
        }
        words += &(line_words.join(" ") + "\n");
        labels += &(line_labels.join(" ") + "\n");
        intents += &format!("{}\n", intent.trim());
    }
    [("seq.in", words), ("seq.out", labels), ("label", intents)]
}

/// A folder with these files.
pub fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    dir
}

/// What the valid split has more than [`TINY`]: one that is all in train is refused.
const ONLY_VALID: [(&str, &str); 3] =
    [("seq.in", "play please\n"), ("seq.out", "O O\n"), ("label", "play\n")];

/// A folder with a dataset `data`, all of whose splits are [`TINY`].
pub fn tiny_dataset() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for split in ["train", "valid", "test"] {
        let split = dir.path().join("data").join(split);
        fs::create_dir_all(&split).unwrap();
        for ((name, text), (_, more)) in tiny().into_iter().zip(ONLY_VALID) {
            let more = if split.ends_with("valid") { more } else { "" };
            fs::write(split.join(name), text + more).unwrap();
        }
    }
    dir
}

/// The same with no slot in it.
pub fn without_slots() -> TempDir {
    let dir = tiny_dataset();
    for split in ["train", "valid", "test"] {
        let path = dir.path().join("data").join(split).join("seq.out");
        let labels = fs::read_to_string(&path).unwrap();
        let line = |line: &str| vec!["O"; line.split(' ').count()].join(" ") + "\n";
        fs::write(path, labels.lines().map(line).collect::<String>()).unwrap();
    }
    dir
}

/// A folder with the dataset `data` and a model `m` that has learnt it; shared by the tests of a file.
pub fn trained() -> &'static Path {
    static DIR: OnceLock<TempDir> = OnceLock::new();
    let dir = DIR.get_or_init(|| {
        let dir = tiny_dataset();
        let args =
            "train data -o m --architecture slot-gated --epochs 60 --rate 0.01 --dropout 0.2 --hidden 16 --embedding 16";
        let output = meno(dir.path(), args).output().unwrap();
        assert!(output.status.success(), "{}", shown(&output));
        dir
    });
    dir.path()
}

/// The program, to be run inside `dir` with arguments that are separated by spaces.
pub fn meno(dir: &Path, args: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_meno"));
    command.args(args.split_whitespace()).current_dir(dir).env_remove("NO_COLOR").stdin(Stdio::null());
    command
}

/// Exit code, standard output and standard error.
pub fn run(dir: &Path, args: &str) -> String {
    shown(&meno(dir, args).output().unwrap())
}

/// As [`run`], with something on standard input.
pub fn pipe(dir: &Path, args: &str, input: &[u8]) -> Output {
    let mut command = meno(dir, args);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // The program may end before it has read everything.
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().unwrap()
    })
}

pub fn shown(output: &Output) -> String {
    let code = output.status.code().map_or("by a signal".to_owned(), |code| code.to_string());
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("exit {code}\n{stdout}---\n{stderr}")
}

/// What is printed where nothing can be written is an error.
pub fn refuses_a_full_disk(args: &str) {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = meno(trained(), args).stdout(full).output().unwrap();
    let expected = "exit 2\n---\nerror: cannot write standard output: No space left on device (os error 28)\n\
                    hint: free some space, or write to another disk\n";
    assert_eq!(shown(&output), expected);
}

/// The names in a folder.
pub fn names(dir: &Path) -> Vec<String> {
    let paths = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<String> =
        paths.map(|path: PathBuf| path.file_name().unwrap().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
