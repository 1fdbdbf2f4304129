//! The forward pass: from words and their forms to logits.

use super::{PreparedTagger, SpanTagger, TaggerWorkspace, WINDOW};
use crate::features::{Form, Token, UNKNOWN_WORD};
use crate::kernel::{Bf16Matrix, Buffer, Kernels};
use crate::nn::{Dropout, Rows, RowsMut, row_of};

/// Words that are prepared at a time.
const PORTION: usize = 256;

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
        self.spell(kernels, parameters, forms, w);
        self.embed(kernels, parameters, dropout.as_deref_mut(), w);
        let x = Rows { data: &w.x, n: w.batch.words(), row: row_of(self.shape.input()) };
        self.lstm.project(kernels, parameters, x, &mut w.lstm.gates);
        self.understand(kernels, parameters, [None, None], dropout, w);
    }

    /// Logits for one utterance that is not empty: the same as [`SpanTagger::forward`] gives without dropout, sooner.
    pub(crate) fn infer(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        prepared: &PreparedTagger,
        tokens: &[Token],
        forms: &[Form],
        w: &mut TaggerWorkspace,
    ) {
        let row = self.lstm.gates_row();
        let gates =
            |token: &Token| prepared.gates.get(token.word as usize * row..(token.word as usize + 1) * row);
        let gates = |token: &Token| gates(token).filter(|_| token.word != UNKNOWN_WORD);
        w.distinct.clear();
        w.distinct.extend(tokens.iter().filter(|token| gates(token).is_none()).map(|token| token.form));
        w.distinct.sort_unstable();
        w.distinct.dedup();
        self.spell(kernels, parameters, forms, w);
        w.batch.pack(std::iter::once(tokens.len()));
        // Words that are not prepared go through the large matrix together.
        let (embedding, form, input_row) =
            (self.shape.embedding, self.shape.form(), row_of(self.shape.input()));
        let late = tokens.iter().filter(|token| gates(token).is_none());
        let n_late = late.clone().count();
        let x = w.x.reserve(n_late * input_row);
        for (x, token) in x.chunks_exact_mut(input_row).zip(late) {
            let distinct = w.distinct.binary_search(&token.form).expect("listed above");
            x[..embedding].copy_from_slice(self.embedding.row(parameters, token.word as usize));
            x[embedding..embedding + form].copy_from_slice(&w.form_rows[distinct * form..][..form]);
        }
        let x = Rows { data: x, n: n_late, row: input_row };
        self.lstm.project(kernels, parameters, x, &mut w.late_gates);
        let mut late_gates = w.late_gates.chunks_exact(row);
        let to = w.lstm.gates.reserve(tokens.len() * row);
        for (to, token) in to.chunks_exact_mut(row).zip(tokens) {
            let from =
                gates(token).or_else(|| late_gates.next()).expect("a row for each that is not prepared");
            to.copy_from_slice(from);
        }
        self.understand(kernels, parameters, prepared.bf16.each_ref().map(Option::as_ref), None, w);
    }

    /// Prepares the first words of the vocabulary, the most frequent ones; a form for each.
    pub(crate) fn prepare(&self, kernels: Kernels, parameters: &[f32], forms: &[Form]) -> PreparedTagger {
        let (row, input_row) = (self.lstm.gates_row(), row_of(self.shape.input()));
        let mut gates = Buffer::zeros(forms.len() * row);
        let mut w = TaggerWorkspace::default();
        let portions = forms.chunks(PORTION).zip(gates.chunks_mut(PORTION * row));
        for (first, (forms, gates)) in (0..).step_by(PORTION).zip(portions) {
            w.batch.pack(std::iter::once(forms.len()));
            w.forms = (0..forms.len() as u32).collect();
            w.distinct = w.forms.clone();
            w.words = (first..).take(forms.len()).collect();
            self.spell(kernels, parameters, forms, &mut w);
            self.embed(kernels, parameters, None, &mut w);
            let x = Rows { data: &w.x, n: forms.len(), row: input_row };
            self.lstm.input().forward(kernels, parameters, x, RowsMut { data: gates, row });
        }
        let bf16 = [Some(&self.lstm), self.upper.as_ref()];
        let bf16 = bf16.map(|lstm| lstm.and_then(|lstm| lstm.bf16(parameters)));
        PreparedTagger { gates, bf16 }
    }

    /// The windows over the characters of the distinct forms; those at the end of a word run into the next.
    pub(super) fn windows<'w>(&self, w: &'w TaggerWorkspace) -> Rows<'w> {
        let n = (w.characters.len() + 1).saturating_sub(WINDOW);
        Rows { data: &w.embedded, n, row: self.shape.character }
    }

    /// What the forms of words say.
    fn spell(&self, kernels: Kernels, parameters: &[f32], forms: &[Form], w: &mut TaggerWorkspace) {
        let (filters, width, form_width) = (self.shape.filters, self.shape.character, self.shape.form());
        w.characters.clear();
        w.starts.clear();
        for &form in &w.distinct {
            w.starts.push(w.characters.len());
            w.characters.extend_from_slice(&forms[form as usize].characters);
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
        w.highest.resize(w.distinct.len() * filters, 0);
        let rows = w.form_rows.reserve(w.distinct.len() * form_width);
        for (i, &form) in w.distinct.iter().enumerate() {
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
            vector.copy_from_slice(&forms[form as usize].vector);
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
        [bf16, upper_bf16]: [Option<&[Bf16Matrix; 2]>; 2],
        mut dropout: Option<&mut Dropout>,
        w: &mut TaggerWorkspace,
    ) {
        self.lstm.forward(kernels, parameters, bf16, &w.batch, &mut w.lstm);
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
            upper.project(kernels, parameters, Rows { data: between, n, row }, &mut w.upper.gates);
            upper.forward(kernels, parameters, upper_bf16, &w.batch, &mut w.upper);
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
        for (head, x, logits) in [
            (self.boundary, out, &mut w.boundary_logits),
            (self.slot, out, &mut w.slot_logits),
            (self.intent, input, &mut w.intent_logits),
        ] {
            let row = head.weight.width();
            let logits = logits.reserve(x.n * row);
            head.forward(kernels, parameters, x, RowsMut { data: logits, row });
        }
    }
}
