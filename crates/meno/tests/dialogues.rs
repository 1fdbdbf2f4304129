//! Dialogues as scripts: `tests/dialogues/*.txt`.
//!
//! A dialogue begins with `# title`. `>` is what a person says; `~` what the engine made of it (intent, its probability, and
//! the text with `[words|slot]` or `[words|? type 0.6 type 0.3 u 2.0]` for unknown words), or `~ reject`; without it nothing
//! was made of it. `<` is what is said in return, `!` what was learnt, `=` what became of the request (left out for
//! questions). `types:` and `known:` say what the engine and memory know, `phrases:` the file of another phrasebook.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use meno::dialogue::{Dialogue, Engine, Heard, Outcome, Phrasebook, Settings, Slot, State};

#[derive(Default)]
struct Script {
    title: String,
    types: Vec<String>,
    known: BTreeMap<String, String>,
    settings: Settings,
    book: Option<Phrasebook>,
    /// What was said, what was made of it, and the lines that are expected.
    turns: Vec<(String, Heard, Vec<String>)>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dialogues")
}

fn scripts(text: &str) -> Vec<Script> {
    let mut scripts: Vec<Script> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if let Some(title) = line.strip_prefix("# ") {
            scripts.push(Script { title: title.to_owned(), ..Script::default() });
            continue;
        }
        let script = scripts.last_mut().expect("a title first");
        let (mark, rest) = line.split_at_checked(2).unwrap_or((line, ""));
        match mark.trim_end() {
            ">" => {
                let heard = Heard { text: rest.to_owned(), ..Heard::default() };
                script.turns.push((rest.to_owned(), heard, Vec::new()));
            }
            "~" => {
                let (text, heard, _) = script.turns.last_mut().expect("something is said first");
                *heard = read_heard(text, rest);
            }
            "<" | "!" | "=" => script.turns.last_mut().expect("something is said").2.push(line.to_owned()),
            _ => read_setting(script, line),
        }
    }
    scripts
}

fn read_setting(script: &mut Script, line: &str) {
    let (name, value) = line.split_once(": ").unwrap_or_else(|| panic!("{line}"));
    match name {
        "types" => script.types = value.split(' ').map(str::to_owned).collect(),
        "known" => {
            let (phrase, slot) = value.split_once(" = ").expect(line);
            script.known.insert(phrase.to_owned(), slot.to_owned());
        }
        "phrases" => {
            let path = folder().join(value);
            script.book = Some(Phrasebook::read(&fs::read_to_string(&path).unwrap(), &path).unwrap());
        }
        "questions" => script.settings.max_questions = value.parse().expect(line),
        _ => panic!("{line}"),
    }
}

fn read_heard(text: &str, line: &str) -> Heard {
    if line == "reject" {
        return Heard { text: text.to_owned(), rejected: true, ..Heard::default() };
    }
    let [intent, probability, marked] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
    let mut heard = Heard {
        text: text.to_owned(),
        intent: intent.to_owned(),
        probability: probability.parse().expect(line),
        ..Heard::default()
    };
    let mut plain = String::new();
    for piece in marked.split_inclusive([']', '[']) {
        let Some(marked) = piece.strip_suffix(']') else {
            plain.push_str(piece.trim_end_matches('['));
            continue;
        };
        let (words, slot) = marked.split_once('|').expect(line);
        let place = plain.len()..plain.len() + words.len();
        plain.push_str(words);
        heard.slots.push(read_slot(words, slot, place));
    }
    assert_eq!(plain, text, "what was made of it has the same words");
    heard
}

fn read_slot(words: &str, slot: &str, place: Range<usize>) -> Slot {
    let mut read = Slot { slot: slot.to_owned(), text: words.to_owned(), place, ..Slot::default() };
    if let Some(guesses) = slot.strip_prefix('?') {
        read.slot = "unknown".to_owned();
        for pair in guesses.split_whitespace().collect::<Vec<_>>().chunks(2) {
            let number = pair[1].parse().expect(slot);
            match pair[0] {
                "u" => read.uncertainty = number,
                guess => read.guesses.push((guess.to_owned(), number)),
            }
        }
    }
    read
}

/// Reads as the script says.
impl Engine for Script {
    fn slot_of(&self, value: &str) -> Option<String> {
        self.known.get(&value.to_lowercase()).cloned()
    }

    fn is_plain(&self, _: &str) -> bool {
        false
    }

    fn is_value(&self, slot: &str, words: &str) -> bool {
        self.slot_of(words).as_deref() == Some(slot)
    }

    fn remembers(&self, phrase: &str) -> bool {
        self.known.contains_key(&phrase.to_lowercase())
    }

    fn read(&self, text: &str, _: &[(Range<usize>, String)]) -> Heard {
        let heard = self.turns.iter().map(|(_, heard, _)| heard).find(|heard| heard.text == text);
        heard.cloned().unwrap_or_default()
    }
}

/// What went otherwise than written, if anything did.
fn replay(script: &Script) -> Option<String> {
    let book = script.book.clone().unwrap_or_else(Phrasebook::english);
    let dialogue = Dialogue {
        settings: &script.settings,
        book: &book,
        answers: None,
        types: &script.types,
        engine: script,
    };
    let mut state = State::default();
    for (text, heard, expected) in &script.turns {
        // It is kept as text between turns.
        let kept = serde_json::from_str(&serde_json::to_string(&state).unwrap()).unwrap();
        let (next, reply) = dialogue.advance(kept, heard.clone());
        state = next;
        let mut lines = vec![format!("< {}", reply.text)];
        for lesson in &reply.lessons {
            let value = lesson.value.as_ref().map_or(String::new(), |value| format!(" ({value})"));
            lines.push(format!("! {} = {}{value}", lesson.phrase, lesson.slot));
        }
        match &reply.outcome {
            Outcome::Ask { phrase: None, options, .. } => lines.push(format!("= ask {}", options.join("; "))),
            Outcome::Ask { phrase: Some(phrase), place, .. } => {
                let place = place.clone().expect("a phrase has its place");
                let request = script.turns.iter().map(|turn| &turn.0);
                let is_there = |text: &String| text.get(place.clone()) == Some(phrase.as_str());
                assert!(request.into_iter().any(is_there), "{phrase} at {place:?}");
            }
            Outcome::Act { intent, slots } => {
                let slots = slots
                    .iter()
                    .map(|slot| format!("{}={}", slot.slot, slot.value.as_ref().unwrap_or(&slot.text)));
                lines.push(
                    format!("= act {intent} {}", slots.collect::<Vec<_>>().join("; ")).trim_end().to_owned(),
                );
            }
            Outcome::Talk => lines.push("= talk".to_owned()),
            Outcome::Drop => lines.push("= drop".to_owned()),
            Outcome::Reject => lines.push("= reject".to_owned()),
            Outcome::Nothing => lines.push("= nothing".to_owned()),
        }
        if lines.join("\n") != expected.join("\n") {
            let [found, expected] = [lines.join("\n"), expected.join("\n")];
            return Some(format!("{}: after `{text}`\n{found}\nand not\n{expected}", script.title));
        }
    }
    None
}

#[test]
fn dialogues_go_as_written() {
    let (mut n_dialogues, mut problems) = (0, Vec::new());
    let paths = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    for path in paths.filter(|path| path.extension().is_some_and(|extension| extension == "txt")) {
        let text = fs::read_to_string(path).unwrap();
        for script in scripts(&text) {
            problems.extend(replay(&script));
            n_dialogues += 1;
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
    assert!(n_dialogues >= 30, "only {n_dialogues} dialogues were found");
}
