//! Runs a graph for the words of utterances.

use std::sync::Arc;

use rten::ThreadPool;

use super::{Answer, OnnxEncoder, OnnxShape, Tokens};
use crate::emissions::{Emissions, Tags};
use crate::features::{Form, Token, UNKNOWN_WORD};

/// The buffers of one thread.
pub(crate) struct OnnxSession {
    encoder: Arc<OnnxEncoder>,
    /// One: sessions run beside each other.
    threads: Arc<ThreadPool>,
    ids: Vec<u32>,
    /// Where the first piece of each word stands.
    firsts: Vec<usize>,
    row: Vec<f32>,
    pub emissions: Emissions,
}

impl OnnxSession {
    pub(crate) fn new(encoder: Arc<OnnxEncoder>) -> Self {
        OnnxSession {
            encoder,
            threads: Arc::new(ThreadPool::with_num_threads(1)),
            ids: Vec::new(),
            firsts: Vec::new(),
            row: Vec::new(),
            emissions: Emissions::default(),
        }
    }

    pub(crate) fn needs_form(&self) -> bool {
        matches!(self.encoder.shape.tokens, Tokens::Pieces(_))
    }

    /// The words that do not fit into a run are in the next; the intents are those of the first.
    pub(crate) fn emit(&mut self, tokens: &[Token], forms: &[Form]) -> &Emissions {
        let encoder = self.encoder.clone();
        if let Tags::Labels { logits, .. } = &mut self.emissions.tags {
            logits.clear(encoder.n_labels);
        }
        let mut done = 0;
        while done < tokens.len() {
            self.lay_out(&encoder.shape, &tokens[done..], forms);
            let answer = encoder.run(&self.ids, &self.threads).ok();
            let answer = answer
                .filter(|answer| answer.labels.iter().chain(&answer.intents).all(|logit| logit.is_finite()));
            self.take(&encoder, answer.as_ref(), done == 0);
            done += self.firsts.len();
        }
        &self.emissions
    }

    /// The ids of the first words, as many as fit; at least one.
    fn lay_out(&mut self, shape: &OnnxShape, tokens: &[Token], forms: &[Form]) {
        let [start, end] = shape.tokens.ends();
        let most = shape.max_pieces - end.iter().count();
        self.firsts.clear();
        self.ids.clear();
        self.ids.extend(start);
        for token in tokens {
            let word = [word_id(&shape.tokens, token.word)];
            let pieces = match &shape.tokens {
                Tokens::Pieces(_) => &forms[token.form as usize].pieces[..],
                Tokens::Words { .. } => &word[..],
            };
            if self.ids.len() + pieces.len() > most && !self.firsts.is_empty() {
                break;
            }
            self.firsts.push(self.ids.len());
            self.ids.extend_from_slice(pieces);
        }
        self.ids.truncate(most);
        self.ids.extend(end);
    }

    /// Adds the rows of the words that were run; nothing is known of them without an answer.
    fn take(&mut self, encoder: &OnnxEncoder, answer: Option<&Answer>, is_first: bool) {
        let OnnxShape { columns, temperature, intent_temperature, .. } = &encoder.shape;
        let Emissions { tags, intents } = &mut self.emissions;
        if let Tags::Labels { logits, .. } = tags {
            for &first in &self.firsts {
                self.row.clear();
                self.row.resize(encoder.n_labels, if answer.is_some() { f32::NEG_INFINITY } else { 0.0 });
                let found = answer.map_or(&[][..], |answer| &answer.labels[first * columns.len()..]);
                for (&label, logit) in columns.iter().zip(found) {
                    let sum = &mut self.row[label as usize];
                    *sum = add_exp(*sum, logit / temperature);
                }
                logits.extend(std::iter::once(&self.row[..]));
            }
        }
        if is_first {
            intents.clear();
            intents.extend(answer.iter().flat_map(|answer| &answer.intents).map(|x| x / intent_temperature));
            intents.resize(encoder.n_intents, 0.0);
        }
    }
}

/// The id of a word of the vocabulary; before them stands the one of ours that is unknown.
fn word_id(tokens: &Tokens, word: u32) -> u32 {
    match word {
        UNKNOWN_WORD => tokens.unknown(),
        word => word - 1,
    }
}

/// ln(exp a + exp b)
fn add_exp(a: f32, b: f32) -> f32 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if low == f32::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_several_columns_add_up() {
        assert_eq!(add_exp(f32::NEG_INFINITY, 1.5), 1.5);
        assert!((add_exp(2f32.ln(), 3f32.ln()) - 5f32.ln()).abs() < 1e-6);
        assert!((add_exp(100.0, -100.0) - 100.0).abs() < 1e-6);
    }
}
