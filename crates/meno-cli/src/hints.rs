//! What helps, as it is typed: the libraries say what is needed, this says which flag or command gives it.

use std::borrow::Cow;

use meno::{Error, ErrorKind, Missing};

/// What the user of the command can do about an error, if there is something to say.
pub fn hint(error: &Error) -> Option<Cow<'_, str>> {
    match Hint::of(error.kind()) {
        Hint::Library => error.hint().map(Cow::Borrowed),
        Hint::And(more) => Some(Cow::Owned(format!("{}{more}", error.hint().unwrap_or_default()))),
        Hint::Instead(hint) => Some(Cow::Borrowed(hint)),
    }
}

/// The same for an error of a store.
pub fn store_hint(error: &meno_store::Error) -> Option<Cow<'_, str>> {
    use meno_store::Error;
    match error {
        Error::NotThere { .. } => Some(Cow::Borrowed("`meno memory add` makes one; `--store` names another")),
        Error::WithoutPostgres => Some(Cow::Borrowed(
            "`cargo build --release --features postgres` makes one that has it; or name a file",
        )),
        Error::NoConcept { .. } => Some(Cow::Borrowed("`meno memory list` shows the numbers")),
        Error::Engine(error) => hint(error),
        other => other.hint().map(Cow::Borrowed),
    }
}

/// Where a hint comes from.
enum Hint {
    /// The library says all that there is to say.
    Library,
    /// It is right as far as it goes.
    And(&'static str),
    /// The command knows better.
    Instead(&'static str),
}

impl Hint {
    fn of(kind: ErrorKind) -> Hint {
        match kind {
            ErrorKind::NotFound => Hint::And("; `meno data stats DIR` shows what is in a folder"),
            ErrorKind::Format => {
                Hint::Instead("mend the line, or read it as another format with `meno data convert --from`")
            }
            ErrorKind::Alignment => Hint::And("; `meno data check DIR` lists all such lines"),
            ErrorKind::Unwritable => Hint::And(": `--to jsonl`"),
            ErrorKind::Model => Hint::Instead("a model is made by `meno train DIR -o MODEL`"),
            ErrorKind::Incomplete(Missing::Words) => {
                Hint::Instead("say `--words FILE` with an utterance on each line, or `--corpus DIR`")
            }
            ErrorKind::Incomplete(Missing::LabelNames) => {
                Hint::Instead("say `--labels FILE` with a label on each line, in the order of the logits")
            }
            ErrorKind::Incomplete(Missing::GoldLabels) => {
                Hint::Instead("put `labels` into the file, or say `--corpus DIR`")
            }
            ErrorKind::Calibration => Hint::Instead("such a file is made by `meno logits fit VALID -o FILE`"),
            ErrorKind::Architecture => Hint::Instead("train a model with --architecture slot-gated"),
            ErrorKind::Trained => Hint::Instead("raise --epochs"),
            ErrorKind::Checkpoint => {
                Hint::Instead("train anew without --resume, or with the same data and settings")
            }
            ErrorKind::Threads => Hint::And(" with --threads"),
            ErrorKind::Access => Hint::And("; `meno token OWNER RIGHTS` makes one for --tokens FILE"),
            _ => Hint::Library,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn flags_are_named() {
        let problem = || "no".to_owned();
        let path = || PathBuf::from("a");
        for (error, expected) in [
            (Error::Trained { epoch: 3 }, "raise --epochs"),
            (
                Error::Checkpoint { problem: problem() },
                "train anew without --resume, or with the same data and settings",
            ),
            (Error::Threads { problem: problem() }, "ask for fewer with --threads"),
            (
                Error::Architecture { problem: problem(), hint: String::new() },
                "train a model with --architecture slot-gated",
            ),
            (
                Error::Unwritable { path: path(), line: 1, problem: problem() },
                "JSONL holds any word, slot and intent: `--to jsonl`",
            ),
            (
                Error::Incomplete { path: path(), lacks: Missing::Words },
                "say `--words FILE` with an utterance on each line, or `--corpus DIR`",
            ),
            (
                Error::Read { path: path(), source: io::ErrorKind::NotFound.into() },
                "check the path; `meno data stats DIR` shows what is in a folder",
            ),
        ] {
            assert_eq!(hint(&error).as_deref(), Some(expected), "{error:?}");
        }
    }

    #[test]
    fn others_are_as_the_library_has_them() {
        let setting = Error::Setting { problem: "no".to_owned(), hint: "leave it out".to_owned() };
        assert_eq!(hint(&setting).as_deref(), Some("leave it out"));
        let read = Error::Read { path: PathBuf::from("a"), source: io::ErrorKind::Other.into() };
        assert_eq!(hint(&read), None);
        assert_eq!(hint(&Error::Stopped).as_deref(), Some("begin it anew"));
    }

    #[test]
    fn stores_are_named_as_they_are_typed() {
        let away = meno_store::Error::NotThere { store: "a.db".to_owned() };
        assert_eq!(
            store_hint(&away).as_deref(),
            Some("`meno memory add` makes one; `--store` names another")
        );
        let none = meno_store::Error::NoConcept { id: 7 };
        assert_eq!(store_hint(&none).as_deref(), Some("`meno memory list` shows the numbers"));
        let model = meno::Error::Model { path: PathBuf::from("a"), problem: "no".to_owned() };
        assert_eq!(
            store_hint(&model.into()).as_deref(),
            Some("a model is made by `meno train DIR -o MODEL`")
        );
    }
}
