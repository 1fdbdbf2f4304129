//! The contract (`tests/contract` of the workspace), replayed by the command.

#[path = "../../../tests/contract/mod.rs"]
mod contract;
mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::OnceLock;

use contract::{
    ANNOTATED, Annotations, Dialogue, Dialogues, Ledger, NOW, Origin, Reading, SPLITS, Taken, hash,
    is_comparable, json, list, raw, records, timeless, workspace,
};
use meno::Model;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use support::{meno, shown};
use tempfile::TempDir;

/// Runs the program with something on standard input.
fn run(dir: &Path, args: &[String], input: &str) -> Output {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(input.as_bytes()).unwrap();
    file.rewind().unwrap();
    meno(dir, "").args(args).stdin(file).output().unwrap()
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

// --- models ----------------------------------------------------------------------------------------------

/// A folder with all models of the contract, `NAME.meno`, and what `meno train` said of those that it made.
fn models() -> &'static (TempDir, BTreeMap<&'static str, String>) {
    static MODELS: OnceLock<(TempDir, BTreeMap<&'static str, String>)> = OnceLock::new();
    MODELS.get_or_init(|| {
        let (dir, mut said) = (TempDir::new().unwrap(), BTreeMap::new());
        for (to, from) in SPLITS {
            copy(&workspace().join("data/concepts").join(from), &dir.path().join("small").join(to));
        }
        for name in ANNOTATED {
            let origin = Annotations::read(name).model;
            let model = dir.path().join(name).with_extension("meno");
            match (origin.args(), &origin) {
                (Some(args), _) => {
                    let args = format!("train small -o {name}.meno {args}");
                    let output = run(dir.path(), &words(&args), "");
                    assert!(output.status.success(), "{}", shown(&output));
                    said.insert(name, String::from_utf8(output.stdout).unwrap());
                }
                (None, Origin::Kept { file }) => copy(&workspace().join(file), &model),
                (None, origin) => unreachable!("{origin:?}"),
            }
        }
        (dir, said)
    })
}

fn model(name: &str) -> PathBuf {
    models().0.path().join(name).with_extension("meno")
}

/// Copies a file or a folder.
fn copy(from: &Path, to: &Path) {
    if !from.is_dir() {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
        return;
    }
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        copy(&path, &to.join(path.file_name().unwrap()));
    }
}

// --- annotations -----------------------------------------------------------------------------------------

/// Whether `meno tag` can be asked about a text: a line ends before `\n` and `\r\n`, and a mark of the byte order that
/// begins the input is none of it.
fn is_line(text: &str) -> bool {
    !text.contains('\n') && !text.ends_with('\r') && !text.starts_with('\u{feff}')
}

fn replay(name: &str) {
    if !is_comparable() {
        return;
    }
    let recorded = Annotations::read(name);
    let mut ledger = Ledger::new(name);
    if let Origin::Trained { hash: recorded, .. } = &recorded.model {
        let found = hash(&fs::read(model(name)).unwrap());
        ledger.check("the bytes of the model that `meno train` wrote", recorded, &found);
    }
    for (unknown, cases) in recorded.by_settings() {
        let dir = TempDir::new().unwrap();
        let file = dir.path().join("m");
        copy(&model(name), &file);
        if !unknown.has_args() {
            unknown.apply(Model::load(&file).unwrap()).save(&file).unwrap();
        }
        for (reading, flag) in [(Reading::Text, ""), (Reading::Words, "--words")] {
            let lines =
                cases.iter().filter(|(_, case)| case.reading == reading && is_line(&case.text.whole()));
            let lines: Vec<_> = lines.collect();
            let input: String = lines.iter().map(|(_, case)| case.text.whole() + "\n").collect();
            let args = [words(&format!("tag m --now {NOW} {flag}")), unknown.args()].concat();
            let output = run(dir.path(), &args, &input);
            assert!(output.status.success(), "{}", shown(&output));
            let stdout = String::from_utf8(output.stdout).unwrap();
            // Not by `lines`, which would not see what stands before a line feed.
            let answers: Vec<&str> = stdout.split_terminator('\n').collect();
            assert_eq!(answers.len(), lines.len(), "{name}: {args:?}");
            for ((idx, case), answer) in lines.iter().zip(answers) {
                let name = format!("{} by {args:?}", case.name(*idx));
                ledger.check(name, case.expected.get(), answer);
            }
        }
    }
    ledger.close();
}

contract::tests_of_models!(replay);

// --- dialogues -------------------------------------------------------------------------------------------

/// What the terminal shows of [`Dialogues`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Chats {
    chats: Vec<Chat>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Chat {
    title: String,
    expected: Box<RawValue>,
}

/// The arguments that `meno tag` and `meno chat` share, after what was to be taught is taught.
fn prepare(dialogue: &Dialogue, dir: &Path) -> Vec<String> {
    copy(&model(&dialogue.model), &dir.join("m"));
    let mut args = vec!["m".to_owned()];
    let owner: Vec<String> =
        dialogue.owner.iter().flat_map(|owner| ["--owner".to_owned(), owner.clone()]).collect();
    for lesson in &dialogue.taught {
        let contract::Lesson { phrase, slot, value } = lesson.clone();
        let value = value.into_iter().flat_map(|value| ["--value".to_owned(), value]);
        let learn: Vec<String> =
            words("memory add --store s.db").into_iter().chain([phrase, slot]).chain(value).collect();
        let output = run(dir, &[learn, owner.clone()].concat(), "");
        assert!(output.status.success(), "{}", shown(&output));
    }
    if !dialogue.taught.is_empty() {
        args.extend(words("--store s.db"));
    }
    args.extend(words(&format!("--now {NOW}")));
    args.extend(dialogue.misspellings.then(|| "--misspellings".to_owned()));
    [args, owner, dialogue.unknown().args()].concat()
}

fn chat(dialogue: &Dialogue) -> String {
    let dir = TempDir::new().unwrap();
    let mut args = [vec!["chat".to_owned()], prepare(dialogue, dir.path())].concat();
    if let Some(file) = &dialogue.phrases {
        copy(&workspace().join(file), &dir.path().join("phrases.toml"));
        args.extend(words("--phrases phrases.toml"));
    }
    let mut lines: Vec<&str> =
        dialogue.turns.iter().map(|turn| turn.say.as_deref().unwrap_or(":undo")).collect();
    // How often concepts of a store in a file were used is counted by another thread, sooner or later.
    if dialogue.taught.is_empty() {
        lines.push(":concepts");
    }
    let output = run(dir.path(), &args, &(lines.join("\n") + "\n"));
    Outcome::of(&output, dir.path(), &[]).json()
}

#[test]
fn chats() {
    if !is_comparable() {
        return;
    }
    let dialogues = Dialogues::read().dialogues;
    let found: Vec<String> = dialogues.iter().map(chat).collect();
    if records() {
        let chats = dialogues.iter().zip(&found);
        let chats = chats
            .map(|(dialogue, found)| json(&Chat { title: dialogue.title.clone(), expected: raw(found) }));
        contract::write("chat", &format!("{{\"chats\": {}}}\n", list(chats)));
    }
    let Chats { chats } = contract::read("chat");
    assert_eq!(chats.len(), dialogues.len());
    let mut ledger = Ledger::new("chat");
    for ((chat, dialogue), found) in chats.iter().zip(&dialogues).zip(&found) {
        assert_eq!(chat.title, dialogue.title);
        ledger.check(format!("`{}`", chat.title), chat.expected.get(), found);
    }
    ledger.close();
}

/// Where nothing is learnt on the way, `meno tag --store` makes of the texts what the conversation did.
#[test]
fn what_was_taught_is_tagged() {
    if !is_comparable() {
        return;
    }
    let mut ledger = Ledger::new("dialogues");
    for dialogue in Dialogues::read().dialogues.iter().filter(|dialogue| !dialogue.taught.is_empty()) {
        let taken: Result<Vec<Taken<'_>>, _> =
            dialogue.turns.iter().map(|turn| serde_json::from_str(turn.expected.get())).collect();
        let Ok(taken) = taken else { continue };
        if taken.iter().any(|taken| !taken.concepts.is_empty()) {
            continue;
        }
        let dir = TempDir::new().unwrap();
        let args = [vec!["tag".to_owned()], prepare(dialogue, dir.path())].concat();
        let lines: Vec<&str> = dialogue.turns.iter().filter_map(|turn| turn.say.as_deref()).collect();
        let output = run(dir.path(), &args, &(lines.join("\n") + "\n"));
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert_eq!(stdout.lines().count(), taken.len());
        for (idx, (taken, answer)) in taken.iter().zip(stdout.lines()).enumerate() {
            ledger.check(format!("{} by {args:?}", dialogue.name(idx)), taken.annotation.get(), answer);
        }
    }
    ledger.close();
}

// --- commands --------------------------------------------------------------------------------------------

/// Commands that are typed one after the other in one folder.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Commands {
    /// What `meno train` says of the models that it made, without the time that it took.
    #[serde(default)]
    trained: Vec<Trained>,
    /// What is in the folder.
    files: Vec<Fixture>,
    commands: Vec<Typed>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Trained {
    model: String,
    expected: String,
}

/// A file: its text, its bytes, or what it is a copy of, perhaps cut off.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Fixture {
    path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hex: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    copy: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bytes: Option<usize>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Typed {
    args: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stdin: Option<String>,
    /// The files that it writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    writes: Vec<String>,
    expected: Box<RawValue>,
}

/// What is recorded of a command.
#[derive(Serialize)]
struct Outcome {
    code: Option<i32>,
    stdout: String,
    stderr: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    written: Vec<String>,
}

impl Outcome {
    fn of(output: &Output, dir: &Path, writes: &[String]) -> Self {
        let dir_name = dir.display().to_string();
        let seen = |bytes: &[u8]| timeless(&String::from_utf8_lossy(bytes)).replace(&dir_name, "{temp}");
        Outcome {
            code: output.status.code(),
            stdout: seen(&output.stdout),
            stderr: seen(&output.stderr),
            written: writes.iter().map(|file| seen(&fs::read(dir.join(file)).unwrap_or_default())).collect(),
        }
    }

    fn json(&self) -> String {
        json(self)
    }
}

impl Fixture {
    fn write(&self, dir: &Path) {
        let path = dir.join(&self.path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let bytes = match self {
            Fixture { text: Some(text), .. } => text.clone().into_bytes(),
            Fixture { hex: Some(hex), .. } => {
                let byte = |idx| u8::from_str_radix(&hex[idx..idx + 2], 16).unwrap();
                (0..hex.len()).step_by(2).map(byte).collect()
            }
            Fixture { copy: Some(from), bytes: Some(n), .. } => {
                fs::read(workspace().join(from)).unwrap()[..*n].to_vec()
            }
            Fixture { copy: Some(from), .. } => return copy(&workspace().join(from), &path),
            Fixture { .. } => panic!("{}: there is nothing in it", self.path),
        };
        fs::write(path, bytes).unwrap();
    }
}

/// What `meno train` said, without the line with the time.
fn without_time(said: &str) -> String {
    said.lines().filter(|line| !line.starts_with("time ")).map(|line| format!("{line}\n")).collect()
}

fn type_all(name: &str) {
    let Commands { mut trained, files, mut commands } = contract::read(name);
    let dir = TempDir::new().unwrap();
    files.iter().for_each(|file| file.write(dir.path()));
    for Trained { model: name, .. } in &trained {
        copy(&model(name), &dir.path().join(name).with_extension("meno"));
    }
    let said: Vec<String> =
        trained.iter().map(|trained| without_time(&models().1[trained.model.as_str()])).collect();
    let outcome = |typed: &Typed| {
        let output = run(dir.path(), &typed.args, typed.stdin.as_deref().unwrap_or_default());
        Outcome::of(&output, dir.path(), &typed.writes).json()
    };
    let found: Vec<String> = commands.iter().map(outcome).collect();
    if records() {
        commands.iter_mut().zip(&found).for_each(|(typed, found)| typed.expected = raw(found));
        trained.iter_mut().zip(&said).for_each(|(trained, said)| trained.expected.clone_from(said));
        let head = match trained.is_empty() {
            true => String::new(),
            false => format!("\"trained\": {},\n", list(trained.iter().map(json))),
        };
        let (files, commands) = (list(files.iter().map(json)), list(commands.iter().map(json)));
        contract::write(name, &format!("{{\n{head}\"files\": {files},\n\"commands\": {commands}\n}}\n"));
    }
    let mut ledger = Ledger::new(name);
    for (trained, said) in trained.iter().zip(&said) {
        ledger.check(format!("what `meno train` says of {}", trained.model), &trained.expected, said);
    }
    for (idx, (typed, found)) in commands.iter().zip(&found).enumerate() {
        let name = format!("command {} (meno {})", idx + 1, typed.args.join(" "));
        ledger.check(name, typed.expected.get(), found);
    }
    ledger.close();
}

/// None of these runs a model, so they are the same on every processor.
#[test]
fn errors() {
    type_all("errors");
}

#[test]
fn outputs() {
    if is_comparable() {
        type_all("outputs");
    }
}
