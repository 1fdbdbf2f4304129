//! The numbers of a dataset: a [`Stats`] for machines, and a table of it for people.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{Corpus, Split, Utterance, splits};
use crate::Result;
use crate::label;
use crate::label::UNKNOWN;

/// The statistics of a dataset.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stats {
    /// The dataset.
    pub path: PathBuf,
    /// Slot types that train knows.
    pub concept_types: usize,
    /// Every split in turn.
    pub splits: Vec<SplitStats>,
    /// The new-concept sets among the splits.
    pub new_concepts: Vec<ConceptStats>,
}

/// The statistics of one split.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SplitStats {
    /// The name of the split.
    pub name: String,
    /// Utterances.
    pub utterances: usize,
    /// Words, repeated ones included.
    pub words: usize,
    /// Words of an utterance, on average.
    pub mean_length: f64,
    /// Words of the longest utterance.
    pub max_length: usize,
    /// Different words.
    pub vocabulary: usize,
    /// Different intents.
    pub intents: usize,
    /// Different labels.
    pub labels: usize,
    /// Different slot types.
    pub slots: usize,
    /// Spans.
    pub spans: usize,
    /// The share of words that train does not have; `None` for train itself and without a train split.
    pub oov_rate: Option<f64>,
}

/// The statistics of a new-concept set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConceptStats {
    /// The name of the split.
    pub name: String,
    /// Utterances.
    pub utterances: usize,
    /// Different new concepts.
    pub concepts: usize,
    /// New concepts of an utterance, on average.
    pub concepts_per_utterance: f64,
    /// Words of a new concept, on average over its occurrences.
    pub words_per_concept: f64,
}

impl Stats {
    /// Reads a dataset, or a single split, and counts.
    pub fn of(path: &Path) -> Result<Stats> {
        Stats::of_splits(path, &splits(path)?)
    }

    /// Reads the splits that were found at a path, and counts.
    pub fn of_splits(path: &Path, splits: &[Split]) -> Result<Stats> {
        let mut parts = Vec::new();
        for split in splits {
            parts.push((split.name.clone(), split.read()?));
        }
        let train = parts.iter().find(|(name, _)| name == "train").map(|(_, corpus)| corpus);
        let vocabulary = train.map(vocabulary);
        let split_stats = |(name, corpus): &(String, Corpus)| {
            let known = vocabulary.as_ref().filter(|_| name != "train");
            SplitStats::of(name, corpus, known)
        };
        let concept_types = |corpus: &Corpus| slots(&corpus.utterances).len();
        Ok(Stats {
            path: path.to_owned(),
            concept_types: train.or(parts.first().map(|(_, corpus)| corpus)).map_or(0, concept_types),
            splits: parts.iter().map(split_stats).collect(),
            new_concepts: parts.iter().filter_map(|(name, corpus)| ConceptStats::of(name, corpus)).collect(),
        })
    }
}

impl SplitStats {
    fn of(name: &str, corpus: &Corpus, known: Option<&HashSet<&str>>) -> Self {
        let utterances = &corpus.utterances;
        let lengths = || utterances.iter().map(|utterance| utterance.words.len());
        let words: usize = lengths().sum();
        let all_words = || utterances.iter().flat_map(|utterance| &utterance.words);
        let labels: HashSet<&String> = utterances.iter().flat_map(|utterance| &utterance.labels).collect();
        let intents =
            utterances.iter().map(|utterance| utterance.intent.as_str()).filter(|intent| !intent.is_empty());
        SplitStats {
            name: name.to_owned(),
            utterances: utterances.len(),
            words,
            mean_length: ratio(words, utterances.len()),
            max_length: lengths().max().unwrap_or(0),
            vocabulary: vocabulary(corpus).len(),
            intents: intents.collect::<HashSet<_>>().len(),
            labels: labels.len(),
            slots: slots(utterances).len(),
            spans: utterances.iter().map(|utterance| label::spans(&utterance.labels).len()).sum(),
            oov_rate: known
                .map(|known| ratio(all_words().filter(|word| !known.contains(word.as_str())).count(), words)),
        }
    }
}

impl ConceptStats {
    /// `None` for a split that has no true labels beside its labels.
    fn of(name: &str, corpus: &Corpus) -> Option<Self> {
        let utterances = &corpus.utterances;
        utterances.first()?.truth.as_ref()?;
        let concepts: Vec<&[String]> = utterances
            .iter()
            .flat_map(|utterance| {
                let spans = label::spans(&utterance.labels).into_iter().filter(|span| span.slot == UNKNOWN);
                spans.map(|span| &utterance.words[span.start..span.end])
            })
            .collect();
        Some(ConceptStats {
            name: name.to_owned(),
            utterances: utterances.len(),
            concepts: concepts.iter().collect::<HashSet<_>>().len(),
            concepts_per_utterance: ratio(concepts.len(), utterances.len()),
            words_per_concept: ratio(concepts.iter().map(|words| words.len()).sum(), concepts.len()),
        })
    }
}

fn vocabulary(corpus: &Corpus) -> HashSet<&str> {
    corpus.utterances.iter().flat_map(|utterance| &utterance.words).map(String::as_str).collect()
}

fn slots(utterances: &[Utterance]) -> HashSet<&str> {
    let labels = utterances.iter().flat_map(|utterance| &utterance.labels);
    labels.map(|label| label::split(label).1).filter(|slot| !slot.is_empty()).collect()
}

fn ratio(count: usize, of: usize) -> f64 {
    if of == 0 { 0.0 } else { count as f64 / of as f64 }
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} concept types", self.path.display(), self.concept_types)?;
        let head = "split,utterances,words,mean length,max length,vocabulary,intents,labels,slots,spans,oov";
        let mut rows = vec![head.split(',').map(str::to_owned).collect()];
        for split in &self.splits {
            let oov = split.oov_rate.map_or("-".to_owned(), |rate| format!("{:.2} %", 100.0 * rate));
            let mut row = vec![split.name.clone(), split.utterances.to_string(), split.words.to_string()];
            row.push(format!("{:.2}", split.mean_length));
            row.extend(
                [split.max_length, split.vocabulary, split.intents, split.labels, split.slots, split.spans]
                    .map(|count| count.to_string()),
            );
            row.push(oov);
            rows.push(row);
        }
        table(f, &rows)?;
        if self.new_concepts.is_empty() {
            return Ok(());
        }
        let head = "new concepts,utterances,concepts,concepts/utterance,words/concept";
        let mut rows = vec![head.split(',').map(str::to_owned).collect()];
        for set in &self.new_concepts {
            rows.push(vec![
                set.name.clone(),
                set.utterances.to_string(),
                set.concepts.to_string(),
                format!("{:.2}", set.concepts_per_utterance),
                format!("{:.2}", set.words_per_concept),
            ]);
        }
        writeln!(f)?;
        table(f, &rows)
    }
}

/// The first column to the left, numbers to the right.
fn table(f: &mut fmt::Formatter<'_>, rows: &[Vec<String>]) -> fmt::Result {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    for row in rows {
        write!(f, "{:<width$}", row[0], width = widths[0])?;
        for (cell, width) in row.iter().zip(&widths).skip(1) {
            write!(f, "  {cell:>width$}")?;
        }
        writeln!(f)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::super::tests::{corpus, shared_data};
    use super::super::{Format, write};
    use super::*;

    #[test]
    fn counts() {
        let dir = tempfile::tempdir().unwrap();
        let train = corpus(&["P play [x y|artist]", "P play [z|song] now", "S stop"]);
        write(&train, &dir.path().join("train"), Format::Folder).unwrap();
        let mut new = corpus(&["P play [u v w|unknown] or [u|unknown]", "P stop [u|unknown]"]);
        for utterance in &mut new.utterances {
            utterance.truth =
                Some(utterance.labels.iter().map(|label| label.replace("unknown", "song")).collect());
        }
        write(&new, &dir.path().join("ood.conll"), Format::Conll).unwrap();
        let mut stats = Stats::of(dir.path()).unwrap();
        stats.path = "kitchen".into();
        expect![[r#"
            kitchen: 2 concept types
            split  utterances  words  mean length  max length  vocabulary  intents  labels  slots  spans      oov
            train           3      7         2.33           3           6        2       4      2      2        -
            ood             2      8         4.00           6           6        1       3      1      3  75.00 %

            new concepts  utterances  concepts  concepts/utterance  words/concept
            ood                    2         2                1.50           1.67
        "#]].assert_eq(&stats.to_string());
    }

    #[test]
    fn agrees_with_what_is_known_of_the_shared_data() {
        let Some(data) = shared_data("agrees_with_what_is_known_of_the_shared_data") else { return };
        for (name, labels, intents, concepts, per_utterance, words) in
            [("snips", 72, 7, [510, 535], "1.22", "3.16"), ("atis", 120, 21, [226, 242], "2.08", "1.66")]
        {
            let stats = Stats::of(&data.join(name)).unwrap();
            assert_eq!((stats.splits[0].labels, stats.splits[0].intents), (labels, intents));
            let found: Vec<usize> = stats.new_concepts.iter().map(|set| set.concepts).collect();
            assert_eq!(found, concepts);
            let test = &stats.new_concepts[1];
            assert_eq!(format!("{:.2}", test.concepts_per_utterance), per_utterance);
            assert_eq!(format!("{:.2}", test.words_per_concept), words);
        }
    }
}
