//! Labelled utterances: what a corpus is in memory, and where it comes from.
//!
//! Files and folders of many formats enter; a [`Corpus`] leaves, and can be written in any of them. Whatever the format
//! and the tag scheme on disk, in memory labels are IOB2 (`O`, `B-slot`, `I-slot`), one for each word, and every span
//! begins with `B-`. Reading stops at the first fatal problem with its file, line and value; [`check`] lists all problems.
//!
//! ```no_run
//! use meno::corpus;
//!
//! let train = corpus::read_split("data/kitchen".as_ref(), "train")?;
//! corpus::write(&train, "train.conll".as_ref(), corpus::Format::Conll)?;
//! # Ok::<(), meno::Error>(())
//! ```

pub mod check;
mod clu;
mod columns;
pub mod conll;
mod dataset;
mod delimited;
mod description;
mod detect;
mod dialogflow;
mod finding;
mod fingerprint;
mod folder;
mod format;
pub mod hassil;
mod json;
mod jsonl;
mod known;
mod label_studio;
mod luis;
mod markup;
mod massive;
mod new_concepts;
mod rasa;
mod rasa_markdown;
mod rasa_text;
mod raw;
mod scheme;
mod slurp;
mod snips;
mod snips_yaml;
mod source;
mod stratify;
pub mod stats;
mod tagged;
#[cfg(test)]
mod tests;
#[cfg(feature = "train")]
mod values;
mod wit;
mod word_tag;
mod yaml;

pub use dataset::{Split, find_split, read_split, splits, splits_with};
pub use description::{DESCRIPTION, description_file};
pub use finding::{Finding, Kind};
pub use folder::FolderText;
pub use format::{Format, demand_fit, read, to_jsonl, to_text, write, write_with};
pub use known::KnownValue;
pub use new_concepts::{NewValue, NewValues};
pub use rasa::is_passed_over;
pub use scheme::Scheme;
#[cfg(feature = "train")]
pub(crate) use values::{WithoutValues, values_of};

pub use crate::utterance::{Corpus, Utterance};

use finding::Log;

use crate::text::Normalizer;

impl Corpus {
    /// The tokenizer that reads users' text as this corpus was read: fitted to its words, unless it was raw text.
    pub fn normalizer(&self) -> Normalizer {
        let words = self.utterances.iter().map(|utterance| utterance.words.as_slice());
        if self.raw { Normalizer::raw().keeping(words) } else { Normalizer::fit(words) }
    }

    /// The utterances of each intent, intents in order of first occurrence.
    fn by_intent(&self) -> Vec<(&str, Vec<&Utterance>)> {
        let mut index = std::collections::HashMap::new();
        let mut groups: Vec<(&str, Vec<&Utterance>)> = Vec::new();
        for utterance in &self.utterances {
            let group_idx = *index.entry(utterance.intent.as_str()).or_insert_with(|| {
                groups.push((&utterance.intent, Vec::new()));
                groups.len() - 1
            });
            groups[group_idx].1.push(utterance);
        }
        groups
    }

    /// Notes a corpus without utterances, unless something worse explains it.
    fn demand_utterances(&self, log: &mut Log) {
        if self.utterances.is_empty() && !log.findings.iter().any(|finding| finding.kind.is_fatal()) {
            log.add(&self.path, 1, Kind::Empty, "there is no utterance in it");
        }
    }
}
