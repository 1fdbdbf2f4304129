//! `corpus.toml`: how to talk about a corpus, beside its splits.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use toml::de::DeTable;

use super::Corpus;
use super::finding::Log;
use super::source::Source;
use crate::description::{Description, Flaw};
use crate::label;
use crate::{Error, Result};

/// The file in the folder of a dataset.
pub const DESCRIPTION: &str = "corpus.toml";

const HINT: &str = "a slot has say, ask, names, examples and resolve, an intent say, reply, required, examples and reject; docs/corpora.md";

/// The description of the dataset at `path`, if there is one.
pub fn description_file(path: &Path) -> Option<PathBuf> {
    Some(path.join(DESCRIPTION)).filter(|file| file.is_file())
}

impl Corpus {
    /// The same corpus with what a file says of its slots and intents; what they are not is an error.
    pub fn described_by(self, file: &Path) -> Result<Self> {
        let mut log = Log::default();
        let source = Source::open(file, &mut log)?;
        log.into_result()?;
        self.described(&source)
    }

    pub(super) fn described(self, Source { path, text }: &Source) -> Result<Self> {
        let line_at = |offset: usize| 1 + text.bytes().take(offset).filter(|&byte| byte == b'\n').count();
        let description: Description = toml::from_str(text).map_err(|error| {
            let line = line_at(error.span().map_or(0, |span| span.start));
            Error::corpus(path, line, error.message().trim_end(), HINT)
        })?;
        let labels = self.utterances.iter().flat_map(|utterance| &utterance.labels);
        let slots: BTreeSet<&str> =
            labels.map(|label| label::split(label).1).filter(|slot| !slot.is_empty()).collect();
        let intents: BTreeSet<&str> =
            self.utterances.iter().flat_map(|utterance| utterance.intent.split('#')).collect();
        description.check(&slots, &intents).map_err(|Flaw { place, problem, hint }| {
            Error::corpus(path, line_at(offset(text, &place)), problem, hint)
        })?;
        Ok(Corpus { description, ..self })
    }
}

/// Where the value at a place begins, or what leads to it.
fn offset(text: &str, place: &[String]) -> usize {
    let Ok(table) = DeTable::parse(text) else { return 0 };
    let Some((first, rest)) = place.split_first() else { return 0 };
    let mut key = table.get_ref().get_key_value(first.as_str());
    let mut found = 0;
    let mut steps = rest.iter();
    while let Some((name, value)) = key {
        found = name.span().start;
        let Some(step) = steps.next() else { break };
        if let Some(array) = value.get_ref().as_array() {
            let item = step.parse().ok().and_then(|idx: usize| array.get(idx));
            return item.map_or(found, |item| item.span().start);
        }
        key = value.get_ref().as_table().and_then(|table| table.get_key_value(step.as_str()));
    }
    found
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::super::FolderText;

    fn check(text: &str, expected: Expect) {
        let folder = FolderText {
            words: "wake me at six tomorrow\ncall anna",
            labels: "O O O B-time B-date\nO B-person",
            intents: Some("alarm\ncall"),
            description: Some(text),
            ..FolderText::default()
        };
        let error = folder.read("toy".as_ref()).unwrap_err();
        expected.assert_eq(&format!("{error}\nhint: {}", error.hint().unwrap_or_default()));
    }

    #[test]
    fn what_is_wrong_has_its_line() {
        check(
            "[slots.time]\nsay = \"a time\"\n[slots.place]\n",
            expect![[r#"
            toy/corpus.toml:3: the data has no slot `place`
            hint: the slots are date, person, time"#]],
        );
        check(
            "[intents.weather]\n",
            expect![[r#"
            toy/corpus.toml:1: the data has no intent `weather`
            hint: the intents are alarm, call"#]],
        );
        check(
            "[slots.time]\nnames = [\n  \"time\",\n  \"day\",\n]\n[slots.date]\nnames = [\"Day\"]",
            expect![[r#"
                toy/corpus.toml:4: `day` is a name of `time`, and of `date` too
                hint: leave it to one of them: an answer must tell them apart"#]],
        );
        check(
            "[intents.alarm]\nreply = [\n  \"{time}\",\n  \"in {place}\",\n]",
            expect![[r#"
            toy/corpus.toml:4: `{place}` in `in {place}` is no slot of the data
            hint: the slots are date, person, time"#]],
        );
        check(
            "[intents.alarm]\nreply = [\"in {time\"]",
            expect![[r#"
            toy/corpus.toml:2: braces of `in {time` do not pair up
            hint: a slot stands in braces: `{time}`"#]],
        );
        check(
            "[intents.alarm]\nsay = \"x\"\nrequired = [\"place\"]",
            expect![[r#"
            toy/corpus.toml:3: `alarm` requires `place`, which is no slot of the data
            hint: the slots are date, person, time"#]],
        );
        check(
            "[slots.time]\n\nresolve = \"moment\"",
            expect![[r#"
            toy/corpus.toml:3: unknown variant `moment`, expected one of `time`, `date`, `duration`, `number`, `ordinal`, `amount`, `temperature`, `percentage`
            hint: a slot has say, ask, names, examples and resolve, an intent say, reply, required, examples and reject; docs/corpora.md"#]],
        );
        check(
            "[slots.time]\nsays = \"a time\"",
            expect![[r#"
            toy/corpus.toml:2: unknown field `says`, expected one of `say`, `ask`, `names`, `examples`, `resolve`
            hint: a slot has say, ask, names, examples and resolve, an intent say, reply, required, examples and reject; docs/corpora.md"#]],
        );
        check(
            "[slots.time]\nsay = \"a\\u0007\"",
            expect![[r#"
            toy/corpus.toml:2: the text "a\u{7}" has a control character in it
            hint: write words on one line"#]],
        );
        check(
            "[slots.time\n",
            expect![[r#"
            toy/corpus.toml:1: unclosed table, expected `]`
            hint: a slot has say, ask, names, examples and resolve, an intent say, reply, required, examples and reject; docs/corpora.md"#]],
        );
        let many = format!("[slots.time]\nexamples = [\"{}\"]", "six ".repeat(20_000));
        check(
            &many,
            expect![[r#"
            toy/corpus.toml:1: 80036 bytes of description, and 65536 are the most
            hint: leave out some names or examples"#]],
        );
    }
}
