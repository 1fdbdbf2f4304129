//! The forward pass: from words and their forms to logits.

use std::mem::take;
use std::sync::OnceLock;

use super::{PreparedTagger, SpanTagger, TaggerWorkspace, WINDOW};
use crate::encoder::Int8Weights;
use crate::features::{Form, Token};
use crate::kernel::Kernels;
use crate::nn::{Dropout, LstmWeights, Rows, RowsMut, row_of};

impl SpanTagger {
    /// Logits for utterances of falling length, none of them empty; they stay in the workspace.
    pub(crate) fn forward<'a>(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        utterances: impl Iterator<Item = &'a [Token]> + Clone,
        forms: &[Form],
        mut dropout: Option<&mut Dropout>,
        w: &mut TaggerWorkspace,
    ) {
        w.batch.pack(utterances.clone().map(<[Token]>::len));
        w.words.resize(w.batch.words(), 0);
        w.forms.resize(w.batch.words(), 0);
        w.distinct.clear();
        w.distinct.extend(utterances.clone().flatten().map(|token| token.form));
        w.distinct.sort_unstable();
        w.distinct.dedup();
        for (token, &row) in utterances.flatten().zip(w.batch.time_rows()) {
            w.words[row] = token.word;
            w.forms[row] = w.distinct.binary_search(&token.form).expect("listed above") as u32;
        }
        let distinct = take(&mut w.distinct);
        self.spell(kernels, parameters, distinct.iter().map(|&form| &forms[form as usize]), w);
        w.distinct = distinct;
        self.embed(kernels, parameters, dropout.as_deref_mut(), w);
        let x = Rows { data: &w.x, n: w.batch.words(), row: row_of(self.shape.input()) };
        self.lstm.project(kernels, parameters, x, &mut w.lstm.gates);
        self.understand(kernels, parameters, [LstmWeights::Floats; 2], dropout, w);
    }

    /// Logits for utterances of falling length with their forms, none of them empty: the same as [`SpanTagger::forward`] gives
    /// without dropout, sooner.
    pub(crate) fn infer(
        &self,
        kernels: Kernels,
        (parameters, int8): (&[f32], Option<&Int8Weights>),
        prepared: &PreparedTagger,
        utterances: &[(&[Token], &[Form])],
        w: &mut TaggerWorkspace,
    ) {
        let row = self.lstm.gates_row();
        w.batch.pack(utterances.iter().map(|(tokens, _)| tokens.len()));
        w.late.clear();
        let mut late_forms = Vec::new();
        let gates = w.lstm.gates.reserve(w.batch.words() * row);
        let tokens =
            utterances.iter().flat_map(|(tokens, forms)| tokens.iter().map(move |token| (token, forms)));
        for ((token, forms), &time_row) in tokens.zip(w.batch.time_rows()) {
            match prepared.gates(token.word) {
                Some(known) => gates[time_row * row..][..row].copy_from_slice(known),
                None => {
                    w.late.push((time_row, token.word));
                    late_forms.push(&forms[token.form as usize]);
                }
            }
        }
        self.spell(kernels, parameters, late_forms.into_iter(), w);
        // Words that are not prepared go through the large matrix together.
        let (embedding, form, input_row) =
            (self.shape.embedding, self.shape.form(), row_of(self.shape.input()));
        let x = w.x.reserve(w.late.len() * input_row);
        for ((x, (_, word)), form_row) in
            x.chunks_exact_mut(input_row).zip(&w.late).zip(w.form_rows.chunks_exact(form))
        {
            x[..embedding].copy_from_slice(self.embedding.row(parameters, *word as usize));
            x[embedding..embedding + form].copy_from_slice(form_row);
        }
        let x = Rows { data: x, n: w.late.len(), row: input_row };
        let upper = self.upper.as_ref().map_or(LstmWeights::Floats, |_| prepared.weights(int8, 1));
        let weights = [prepared.weights(int8, 0), upper];
        self.lstm.project_by(kernels, parameters, weights[0], x, &mut w.late_gates, &mut w.int8);
        for (&(time_row, word), late) in w.late.iter().zip(w.late_gates.chunks_exact(row)) {
            prepared.keep(word, late);
            w.lstm.gates[time_row * row..][..row].copy_from_slice(late);
        }
        self.understand(kernels, parameters, weights, None, w);
    }

    /// What is worked out once, with room for what the first words of the vocabulary give to the gates.
    pub(crate) fn prepare(&self, parameters: &[f32], n_words: usize) -> PreparedTagger {
        // Weights of 8 bits are ready as they are.
        let layers =
            [Some(&self.lstm), self.upper.as_ref()].map(|lstm| lstm.filter(|_| self.int8.is_empty()));
        let bf16 = layers.map(|lstm| lstm.and_then(|lstm| lstm.bf16(parameters)));
        PreparedTagger { gates: (0..n_words).map(|_| OnceLock::new()).collect(), bf16 }
    }

    /// The windows over the characters of the distinct forms; those at the end of a word run into the next.
    pub(super) fn windows<'w>(&self, w: &'w TaggerWorkspace) -> Rows<'w> {
        let n = (w.characters.len() + 1).saturating_sub(WINDOW);
        Rows { data: &w.embedded, n, row: self.shape.character }
    }

    /// What the forms of words say.
    fn spell<'f>(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        forms: impl ExactSizeIterator<Item = &'f Form> + Clone,
        w: &mut TaggerWorkspace,
    ) {
        let (filters, width, form_width) = (self.shape.filters, self.shape.character, self.shape.form());
        w.characters.clear();
        w.starts.clear();
        for form in forms.clone() {
            w.starts.push(w.characters.len());
            w.characters.extend_from_slice(&form.characters);
        }
        w.starts.push(w.characters.len());
        let table = self.characters.of(parameters);
        let embedded = w.embedded.reserve(w.characters.len() * width);
        for (to, &character) in embedded.chunks_exact_mut(width).zip(&w.characters) {
            to.copy_from_slice(&table[usize::from(character) * width..][..width]);
        }
        let n = self.windows(w).n;
        w.filtered.reserve(n * filters);
        let windows = Rows { data: &w.embedded, n, row: width };
        self.filters.forward(kernels, parameters, windows, RowsMut { data: &mut w.filtered, row: filters });
        w.highest.resize(forms.len() * filters, 0);
        let rows = w.form_rows.reserve(forms.len() * form_width);
        for (i, form) in forms.enumerate() {
            let (row, vector) = rows[i * form_width..][..form_width].split_at_mut(filters);
            let highest = &mut w.highest[i * filters..][..filters];
            let first = w.starts[i];
            row.copy_from_slice(&w.filtered[first * filters..][..filters]);
            highest.fill(first as u32);
            for window in first + 1..w.starts[i + 1] + 1 - WINDOW {
                let filtered = &w.filtered[window * filters..][..filters];
                for ((max, highest), &value) in row.iter_mut().zip(&mut *highest).zip(filtered) {
                    if value > *max {
                        (*max, *highest) = (value, window as u32);
                    }
                }
            }
            row.iter_mut().for_each(|x| *x = x.max(0.0));
            vector.copy_from_slice(&form.vector);
        }
    }

    fn embed(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        dropout: Option<&mut Dropout>,
        w: &mut TaggerWorkspace,
    ) {
        let (width, embedding, form) = (self.shape.input(), self.shape.embedding, self.shape.form());
        let row = row_of(width);
        let x = w.x.reserve(w.batch.words() * row);
        for (i, to) in x.chunks_exact_mut(row).enumerate() {
            to[..embedding].copy_from_slice(self.embedding.row(parameters, w.words[i] as usize));
            to[embedding..width].copy_from_slice(&w.form_rows[w.forms[i] as usize * form..][..form]);
        }
        if let Some(dropout) = dropout {
            let factors = w.x_factors.reserve(w.batch.words() * width);
            dropout.fill(kernels, factors);
            for (to, factors) in x.chunks_exact_mut(row).zip(factors.chunks_exact(width)) {
                kernels.scale(factors, &mut to[..width]);
            }
        }
    }

    fn understand(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        [weights, upper_weights]: [LstmWeights<'_>; 2],
        mut dropout: Option<&mut Dropout>,
        w: &mut TaggerWorkspace,
    ) {
        self.lstm.forward(kernels, parameters, weights, &w.batch, &mut w.lstm);
        let (width, row, n) = (self.width(), row_of(self.width()), w.batch.words());
        if let Some(upper) = &self.upper {
            let between = w.between.reserve(n * row);
            between.copy_from_slice(&w.lstm.hidden[..n * row]);
            if let Some(dropout) = dropout.as_deref_mut() {
                let factors = w.between_factors.reserve(n * width);
                dropout.fill(kernels, factors);
                for (to, factors) in between.chunks_exact_mut(row).zip(factors.chunks_exact(width)) {
                    kernels.scale(factors, &mut to[..width]);
                }
            }
            let (x, gates) = (Rows { data: between, n, row }, &mut w.upper.gates);
            upper.project_by(kernels, parameters, upper_weights, x, gates, &mut w.int8);
            upper.forward(kernels, parameters, upper_weights, &w.batch, &mut w.upper);
        }
        let top = if self.upper.is_some() { &w.upper } else { &w.lstm };
        let out = w.out.reserve(n * row);
        let factors = dropout.map(|dropout| {
            let factors = w.out_factors.reserve(n * width);
            dropout.fill(kernels, factors);
            &*factors
        });
        for (i, &time_row) in w.batch.time_rows().iter().enumerate() {
            let from = &top.hidden[time_row * self.lstm.hidden_row()..][..width];
            let to = &mut out[i * row..][..width];
            match factors {
                Some(factors) => kernels.multiply(from, &factors[i * width..][..width], to),
                None => to.copy_from_slice(from),
            }
        }
        let (last, input_row) = (2 * width, row_of(3 * width));
        let input = w.intent_input.clear(w.batch.len() * input_row);
        for (utterance, input) in input.chunks_exact_mut(input_row).enumerate() {
            let rows = w.batch.rows(utterance);
            let share = 1.0 / rows.len() as f32;
            for i in rows {
                kernels.add_scaled(share, &out[i * row..][..width], &mut input[..width]);
            }
            input[width..width + last].copy_from_slice(&top.last[utterance * last..][..last]);
        }
        let out = Rows { data: out, n, row };
        let input = Rows { data: input, n: w.batch.len(), row: input_row };
        let words_of = (0..w.batch.len()).map(|utterance| w.batch.rows(utterance));
        self.heads.forward(kernels, parameters, (out, input), words_of, &mut w.heads);
    }
}
