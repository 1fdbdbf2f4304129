//! `meno experiment conversation`: how well answers are understood, what is asked about, and how conversations go.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use meno::dialogue::probe::Context;
use meno::dialogue::{Answers, Lesson, Outcome, Phrasebook, Reply, State};
use meno::memory::Owner;
use meno::{Error, Model, Result};
use meno_store::{Assistant, Memory};

use crate::memory::told;
use crate::output::print;

const EXAMPLES: &str = "\
Examples:
  meno train data/assistant -o assistant.meno
  meno experiment conversation assistant.meno --answers data/answers/hand/answers.txt
  meno experiment conversation assistant.meno --sentences data/assistant/hand --conversations data/conversations --errors

Prints a Markdown table. The notation of the files is in data/assistant/hand/README.md.";

/// What was typed after `meno experiment conversation`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A model file that `meno train` wrote.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Answers with what they mean.
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
    /// The model of answers to measure, in place of the one that is built in.
    #[arg(long, value_name = "MODEL")]
    answers_model: Option<PathBuf>,
    /// A folder with sentences.txt, names.txt, side-by-side.txt, small-talk.txt and out-of-scope.txt.
    #[arg(long, value_name = "DIR")]
    sentences: Option<PathBuf>,
    /// A folder of conversations, a text file each.
    #[arg(long, value_name = "DIR")]
    conversations: Option<PathBuf>,
    /// Print what went wrong.
    #[arg(long)]
    errors: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<ExitCode> {
    let model = Model::load(&args.model)?;
    let mut assistant = Assistant::default();
    if let Some(path) = &args.answers_model {
        // It is needed to the end of the program.
        assistant.answers = Some(Box::leak(Box::new(Answers::new(Model::load(path)?)?)));
    }
    let mut table = vec!["| what | right | of | share |".to_owned(), "|---|---:|---:|---:|".to_owned()];
    let mut errors = Vec::new();
    let mut add = |name: &str, (right, all): (usize, usize)| {
        let share = 100.0 * right as f64 / all.max(1) as f64;
        table.push(format!("| {name} | {right} | {all} | {share:.1} % |"));
    };
    if let Some(path) = &args.answers {
        let (by_act, learnt) = answers(&model, &assistant, path, &mut errors)?;
        let (mut right, mut all) = (0, 0);
        for (act, count) in &by_act {
            add(&format!("answers: {act}"), *count);
            right += count.0;
            all += count.1;
        }
        add("**answers**", (right, all));
        add("answers that teach something wrong", (learnt, all));
    }
    if let Some(folder) = &args.sentences {
        for (name, count) in sentences(&model, &assistant, folder, &mut errors)? {
            add(&name, count);
        }
    }
    if let Some(folder) = &args.conversations {
        let (right, confirmed, all) = conversations(&model, &assistant, folder, &mut errors)?;
        add("**conversations**", (right, all));
        add("conversations: asked back before something was learnt", (confirmed, all));
    }
    if args.errors {
        table.push(String::new());
        table.extend(errors);
    }
    print(table.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })
}

fn bad(path: &Path, line: usize, problem: &str) -> Error {
    Error::Corpus {
        path: path.to_owned(),
        line: line + 1,
        problem: problem.to_owned(),
        hint: "data/assistant/hand/README.md has the notation".to_owned(),
    }
}

fn book(model: &Model) -> Phrasebook {
    Phrasebook::english().describing(model.description())
}

fn missing(what: &str) -> Error {
    Error::Setting {
        problem: format!("{what} is not built in"),
        hint: "feature `english` of meno".to_owned(),
    }
}

/// Right and all of them.
type Count = (usize, usize);

/// How many answers of each act are understood, and how many would teach something wrong.
fn answers(
    model: &Model,
    assistant: &Assistant,
    path: &Path,
    errors: &mut Vec<String>,
) -> Result<(BTreeMap<String, Count>, usize)> {
    let (book, types) = (book(model), model.slots());
    let answers = assistant.answers.ok_or_else(|| missing("the model of answers"))?;
    let slot_of = |value: &str| model.slot_of(value).map(str::to_owned);
    let (mut counts, mut n_wrong) = (BTreeMap::<String, Count>::new(), 0);
    let mut context = Context::default();
    let text = read(path)?;
    for (line_idx, line) in text.lines().enumerate() {
        if line.is_empty() {
            context = Context::default();
            continue;
        }
        if let Some((said, expected)) = line.split_once('\t') {
            let found = context.understand(&types, &book, answers, &slot_of, said);
            let count = counts.entry(expected.split(' ').next().unwrap_or_default().to_owned()).or_default();
            count.1 += 1;
            // What is asked back about first is learnt only after a yes.
            if is_right(found.trim_start_matches("perhaps "), expected, &context) {
                count.0 += 1;
            } else {
                n_wrong += usize::from(teaches(&found));
                errors.push(format!("{}:{}: {said}: {found}, not {expected}", path.display(), line_idx + 1));
            }
            continue;
        }
        let list = |value: &str| value.split(", ").map(str::to_owned).collect::<Vec<_>>();
        match line.split_once(": ") {
            Some(("request", value)) => value.clone_into(&mut context.request),
            Some(("phrase", value)) => {
                context.phrase = Some(value.to_owned());
                context.is_open = true;
            }
            Some((kind @ ("options" | "intents"), value)) => {
                context.options = list(value);
                context.is_open = true;
                context.is_about_intent = kind == "intents";
            }
            Some(("confirm", _)) => context.is_open = true,
            Some(("after", "none")) => {}
            Some(("after", value)) => {
                let slots = value.split_once(' ').map_or("", |(_, slots)| slots).split("; ");
                let slots: Vec<(&str, &str)> = slots.filter_map(|slot| slot.split_once('=')).collect();
                context.slots = slots.iter().map(|(_, words)| (*words).to_owned()).collect();
                context.filled = slots.iter().map(|(slot, _)| (*slot).to_owned()).collect();
                if context.request.is_empty() {
                    context.request = context.slots.join(" ");
                }
            }
            _ => return Err(bad(path, line_idx, "no answer and no context")),
        }
    }
    Ok((counts, n_wrong))
}

/// Whether something is learnt at once.
fn teaches(found: &str) -> bool {
    match found.split_once(' ') {
        Some(("type" | "alias" | "teach", _)) => true,
        Some(("boundaries", of)) => of.contains(" = "),
        _ => false,
    }
}

/// Whether an answer was understood as it should be. That a phrase is explained is the same whichever way it is said.
fn is_right(found: &str, expected: &str, context: &Context) -> bool {
    let phrase = context.phrase.clone().unwrap_or_default().to_lowercase();
    let normal = |said: &str| {
        let said = said.to_lowercase().replace("correct ", "teach ");
        match said.strip_prefix(&format!("teach {phrase} = ")).filter(|_| !phrase.is_empty()) {
            Some(slot) => match slot.strip_prefix("new ") {
                Some(name) => format!("new {name}"),
                None => format!("type {slot}"),
            },
            None => said,
        }
    };
    match expected {
        "type" => found == "unclear" || found == "dont_know",
        _ => normal(found) == normal(expected),
    }
}

/// A sentence with its reading: intent, then slots with their words; what is new.
struct Sentence {
    text: String,
    intent: String,
    slots: Vec<(String, String)>,
    new: Option<String>,
}

fn sentence(line: &str) -> Option<Sentence> {
    let (intent, marked) = line.split_once(": ")?;
    let (mut text, mut slots, mut new) = (String::new(), Vec::new(), None);
    for piece in marked.split_inclusive([']', '[']) {
        match piece.strip_suffix(']') {
            None => text.push_str(piece.trim_end_matches('[')),
            Some(marked) => {
                let (words, slot) = marked.rsplit_once('=')?;
                text.push_str(words);
                if slot.ends_with('?') {
                    new = Some(words.to_owned());
                }
                slots.push((slot.trim_end_matches('?').to_owned(), words.to_lowercase()));
            }
        }
    }
    Some(Sentence { text, intent: intent.to_owned(), slots, new })
}

/// What a first turn leads to.
fn first(model: &Model, assistant: &Assistant, text: &str) -> Result<Outcome> {
    let memory = Memory::volatile().map_err(told)?;
    let owner = Owner::from(None::<String>);
    let turn = assistant.turn(&mut model.worker(), &memory, &owner, State::default(), text);
    Ok(turn.map_err(told)?.reply.outcome)
}

fn is_reading(sentence: &Sentence, intent: &str, slots: &[meno::dialogue::Slot]) -> bool {
    let found: Vec<_> = slots.iter().map(|slot| (slot.slot.clone(), slot.text.to_lowercase())).collect();
    sentence.intent == intent && sentence.slots == found
}

fn sentences(
    model: &Model,
    assistant: &Assistant,
    folder: &Path,
    errors: &mut Vec<String>,
) -> Result<Vec<(String, Count)>> {
    let mut counts: BTreeMap<String, Count> = BTreeMap::new();
    for name in ["sentences", "names", "side-by-side"] {
        let path = folder.join(format!("{name}.txt"));
        let text = read(&path)?;
        for (line_idx, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let sentence = sentence(line).ok_or_else(|| bad(&path, line_idx, "no sentence"))?;
            let mut add = |what: &str, is_it: bool| {
                let count = counts.entry(format!("{name}: {what}")).or_default();
                *count = (count.0 + usize::from(is_it), count.1 + 1);
            };
            let outcome = first(model, assistant, &sentence.text)?;
            let (mut right, mut silent, mut asked) = (false, false, true);
            match &outcome {
                Outcome::Act { intent, slots } => {
                    right = is_reading(&sentence, intent, slots);
                    (silent, asked) = (!right, false);
                }
                // What the request cannot be carried out without is asked for.
                Outcome::Ask { slot: Some(missing), .. } => {
                    right = sentence.slots.iter().all(|(slot, _)| slot != missing);
                    asked = !right;
                }
                Outcome::Ask { phrase: Some(phrase), options, .. } => {
                    if let Some(new) = &sentence.new {
                        let is_it = phrase.to_lowercase() == new.to_lowercase();
                        add("questions with the right boundaries", is_it);
                        let slot = sentence.slots.iter().find(|(_, words)| *words == new.to_lowercase());
                        let offers = slot.is_some_and(|(slot, _)| options.contains(slot));
                        add("questions that offer the right type", offers);
                        right = is_it;
                    }
                }
                _ => {}
            }
            add("acted upon and wrong", silent);
            add("asked about or rejected", asked);
            add("right: acted upon rightly, or asked about what is new", right);
            if !right {
                errors.push(format!("{}:{}: {}: {outcome:?}", path.display(), line_idx + 1, sentence.text));
            }
        }
    }
    for name in ["small-talk", "out-of-scope"] {
        for line in read(&folder.join(format!("{name}.txt")))?.lines().filter(|line| !line.starts_with('#')) {
            let outcome = first(model, assistant, line)?;
            let acts = matches!(outcome, Outcome::Act { .. });
            let count = counts.entry(format!("{name}: not acted upon")).or_default();
            *count = (count.0 + usize::from(!acts), count.1 + 1);
            if acts {
                errors.push(format!("{name}: {line}: {outcome:?}"));
            }
        }
    }
    Ok(counts.into_iter().collect())
}

/// How many conversations go as they should, in how many of those it asked back first, and how many there are.
fn conversations(
    model: &Model,
    assistant: &Assistant,
    folder: &Path,
    errors: &mut Vec<String>,
) -> Result<(usize, usize, usize)> {
    let entries = fs::read_dir(folder).map_err(|source| Error::Read { path: folder.to_owned(), source })?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    paths.sort();
    let (mut right, mut confirmed, all) = (0, 0, paths.len());
    for path in paths {
        match conversation(model, assistant, &read(&path)?)? {
            Ok(n_confirmed) => {
                right += 1;
                confirmed += usize::from(n_confirmed > 0);
            }
            Err(problem) => errors.push(format!("{}: {problem}", path.display())),
        }
    }
    Ok((right, confirmed, all))
}

/// What a reply says was learnt, in the notation of the scripts.
fn learnt(reply: &Reply) -> Vec<String> {
    let line = |lesson: &Lesson| match &lesson.value {
        Some(value) => format!("! {} -> {value}", lesson.phrase),
        None => format!("! {} = {}", lesson.phrase, lesson.slot),
    };
    reply.lessons.iter().map(line).collect()
}

/// What is said in each turn, and the lines that are expected of it.
fn turns(text: &str) -> Vec<(&str, Vec<&str>)> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let mut turns: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in lines {
        match (line.strip_prefix("> "), turns.last_mut()) {
            (Some(said), _) => turns.push((said, Vec::new())),
            (None, Some((_, expected))) => expected.push(line.split("  #").next().unwrap_or(line).trim_end()),
            (None, None) => {}
        }
    }
    turns
}

/// How often it asked back before it learnt; or what goes wrong first.
fn conversation(
    model: &Model,
    assistant: &Assistant,
    text: &str,
) -> Result<std::result::Result<usize, String>> {
    let memory = Memory::volatile().map_err(told)?;
    let owner = Owner::from(None::<String>);
    let mut worker = model.worker();
    let (mut state, mut asked) = (State::default(), None::<String>);
    let turns = turns(text);
    let (mut skip_to, mut n_confirmed) = (0, 0);
    for (turn_idx, (said, expected)) in turns.iter().enumerate() {
        if turn_idx < skip_to {
            continue;
        }
        let mut turn = assistant.turn(&mut worker, &memory, &owner, state, said).map_err(told)?;
        let teaches = expected.iter().any(|line| line.starts_with("! ") && *line != "! none");
        if teaches && turn.reply.lessons.is_empty() && turn.reply.text.starts_with("So *") {
            // Whether it is the right thing to say yes to shows in what is learnt.
            turn = assistant.turn(&mut worker, &memory, &owner, turn.state, "yes").map_err(told)?;
            n_confirmed += 1;
        }
        state = turn.state;
        let learnt = learnt(&turn.reply);
        let wanted: Vec<&str> =
            expected.iter().filter(|line| line.starts_with('!') && **line != "! none").copied().collect();
        let lower = |lines: &[&str]| lines.iter().map(|line| line.to_lowercase()).collect::<Vec<_>>();
        let found: Vec<&str> = learnt.iter().map(String::as_str).collect();
        if lower(&found) != lower(&wanted) {
            return Ok(Err(format!("`{said}`: learnt {found:?}, not {wanted:?} ({})", turn.reply.text)));
        }
        if let Some(outcomes) = expected.iter().find_map(|line| line.strip_prefix("= ")) {
            let is_met = outcomes
                .split(" | ")
                .any(|outcome| meets(&turn.reply.outcome, outcome, &asked, &turn.reply.text));
            // A request that is understood without the question is no worse; its answer is then left out.
            let acted =
                (turn_idx + 1..turns.len()).take_while(|_| matches!(turn.reply.outcome, Outcome::Act { .. }));
            let mut acted = acted.filter(|&later| {
                let outcomes =
                    turns[later].1.iter().find_map(|line| line.strip_prefix("= ")).unwrap_or_default();
                outcomes.split(" | ").any(|outcome| meets(&turn.reply.outcome, outcome, &None, ""))
            });
            if !is_met
                && outcomes.starts_with("ask")
                && let Some(later) = acted.next()
            {
                skip_to = later + 1;
            } else if !is_met
                && outcomes.split(" | ").any(|outcome| is_answered(&turn.reply.outcome, outcome))
            {
                // The rest of the script answers a question that was not needed.
                return Ok(Ok(n_confirmed));
            } else if !is_met {
                return Ok(Err(format!(
                    "`{said}`: {} ({:?}), not {outcomes}",
                    turn.reply.text, turn.reply.outcome
                )));
            }
        }
        asked = match &turn.reply.outcome {
            Outcome::Ask { phrase, .. } => Some(phrase.clone().unwrap_or_default()),
            _ => None,
        };
    }
    Ok(Ok(n_confirmed))
}

/// Whether what is to be asked about was understood without: the phrase fills the slot that the question is to offer.
fn is_answered(outcome: &Outcome, expected: &str) -> bool {
    let asked = expected.strip_prefix("ask ").and_then(|rest| rest.split_once(" : "));
    match (outcome, asked) {
        (Outcome::Act { slots, .. }, Some((phrase, slot))) => slots
            .iter()
            .any(|filled| filled.slot == slot.trim() && filled.text.to_lowercase() == phrase.to_lowercase()),
        _ => false,
    }
}

fn meets(outcome: &Outcome, expected: &str, asked: &Option<String>, said: &str) -> bool {
    let (what, rest) = expected.split_once(' ').unwrap_or((expected, ""));
    match (what, outcome) {
        ("act", Outcome::Act { intent, slots }) => {
            let (expected, values) = rest.split_once(' ').unwrap_or((rest, ""));
            let mut found: Vec<String> = slots
                .iter()
                .map(|slot| {
                    format!("{}={}", slot.slot, slot.value.as_ref().unwrap_or(&slot.text)).to_lowercase()
                })
                .collect();
            let mut wanted: Vec<String> =
                values.split("; ").filter(|value| !value.is_empty()).map(str::to_lowercase).collect();
            found.sort();
            wanted.sort();
            intent == expected && found == wanted
        }
        ("ask", Outcome::Ask { phrase, options, .. }) => {
            let (expected, option) = match rest.split_once(" : ") {
                Some((phrase, option)) => (phrase, Some(option.trim())),
                None => (rest, None),
            };
            let phrase = phrase.as_deref().unwrap_or("intent");
            phrase.to_lowercase() == expected.to_lowercase()
                && option.is_none_or(|option| options.iter().any(|other| other == option))
        }
        ("confirm", Outcome::Ask { .. }) => said.to_lowercase().contains(&rest.to_lowercase()),
        ("talk", Outcome::Talk) => true,
        ("talk", Outcome::Ask { phrase, .. }) => *asked == Some(phrase.clone().unwrap_or_default()),
        ("drop", Outcome::Drop) | ("reject", Outcome::Reject) => true,
        _ => false,
    }
}
