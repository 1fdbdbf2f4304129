//! The head of taggers in the way of the paper: a softmax over the labels of a word, and the entropy regularizer.
//!
//! The entropy regularizer is minus the entropy of the Dirichlet distributions of the words, calibrated by a trained matrix.
//! `docs/math.md` has the formulas. The matrix is stored transposed, as `e = u W`, like every other one.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::kernel::{Buffer, Calibrate, CalibrateGradient, Dirichlets, Gemm, Kernels, LANES};
use crate::kernel::{Right, Start, Strided, Term};
use crate::nn::{Linear, Parameters, Product, Rows, RowsMut, Tensor, cross_entropy};

/// How logits become concentrations.
///
/// `alpha = M e^m`, `alpha~ = alpha - eps`, `eps = relu(W_c) alpha` scaled down to `||eps||_inf <= delta ||alpha||_inf`;
/// at least a tenth of each concentration is left.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The radius of the ball, relative to the largest concentration.
    pub delta: f32,
    /// M, what every concentration is multiplied by.
    pub scale: f32,
}

impl Default for Calibration {
    fn default() -> Self {
        Calibration { delta: 0.1, scale: 1.0 }
    }
}

/// The entropy regularizer, of a head with a calibration matrix.
#[derive(Clone, Copy)]
pub struct EntropyLoss<'a> {
    /// How much the entropy of a word counts beside its cross entropy.
    pub lambda: f32,
    /// The parameters.
    pub parameters: &'a [f32],
    /// Their matrices transposed.
    pub transposed: &'a [f32],
    /// The bounds of the calibration.
    pub calibration: Calibration,
}

/// What the head of a network whose parameters do not change any more works with.
#[derive(Clone, Default)]
pub(crate) struct PreparedHead {
    rectified: Buffer,
    calibration: Calibration,
}

/// Where the head's parameters lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LabelHead {
    pub linear: Linear,
    /// The calibration matrix; what is not positive in it has no effect and no gradient.
    pub calibration: Option<Tensor>,
}

/// Its activations, a row of labels for each word.
#[derive(Default)]
pub(crate) struct LabelState {
    /// Logits; after the loss their gradient.
    pub logits: Buffer,
    rectified: Buffer,
    /// Each concentration over the largest of its row.
    shares: Buffer,
    /// What is taken away; after the backward pass its gradient.
    taken: Buffer,
    /// Log concentrations; after the backward pass the gradient of the logits.
    ln_alpha: Buffer,
    through: Buffer,
    entropy: Vec<f32>,
}

impl LabelHead {
    /// The name of the calibration matrix.
    pub(crate) const CALIBRATION: &'static str = "calibration.weight";

    /// Labels without padding.
    pub(crate) fn n_labels(&self) -> usize {
        self.linear.weight.columns()
    }

    fn row(&self) -> usize {
        self.linear.weight.width()
    }

    /// Writes what the calibration matrix starts from: anything off the diagonal would take away more than most
    /// concentrations have.
    pub(crate) fn fill_calibration(matrix: Tensor, parameters: &mut Parameters) {
        let (columns, mut at) = (matrix.columns(), 0);
        parameters.fill(matrix, || {
            at += 1;
            if (at - 1) / columns == (at - 1) % columns { DIAGONAL } else { 0.0 }
        });
    }

    /// Logits of the words in `x`.
    pub(crate) fn forward(&self, kernels: Kernels, parameters: &[f32], x: Rows<'_>, state: &mut LabelState) {
        let row = self.row();
        let data = state.logits.reserve(x.n * row);
        self.linear.forward(kernels, parameters, x, RowsMut { data, row });
    }

    /// The logits of `n` words.
    pub(crate) fn logits<'s>(
        &self,
        n: usize,
        state: &'s LabelState,
    ) -> impl ExactSizeIterator<Item = &'s [f32]> + use<'s> {
        let (row, labels) = (self.row(), self.n_labels());
        state.logits[..n * row].chunks_exact(row).map(move |row| &row[..labels])
    }

    /// Work done once for parameters that do not change any more.
    pub(crate) fn prepare(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        calibration: Calibration,
    ) -> PreparedHead {
        let mut rectified = Buffer::default();
        if let Some(matrix) = self.calibration {
            kernels.rectify(matrix.of(parameters), rectified.reserve(matrix.rows() * matrix.width()));
        }
        PreparedHead { rectified, calibration }
    }

    /// The log concentrations of `n` words, calibrated if this head has a matrix.
    pub(crate) fn concentrations<'s>(
        &self,
        kernels: Kernels,
        prepared: &PreparedHead,
        n: usize,
        state: &'s mut LabelState,
    ) -> impl ExactSizeIterator<Item = &'s [f32]> + use<'s> {
        self.concentrate(kernels, &prepared.rectified, prepared.calibration, n, state);
        let (row, labels) = (self.row(), self.n_labels());
        state.ln_alpha[..n * row].chunks_exact(row).map(move |row| &row[..labels])
    }

    /// The entropies of the Dirichlet distributions with the concentrations of [`LabelHead::concentrations`].
    pub(crate) fn entropies<'s>(
        &self,
        kernels: Kernels,
        prepared: &PreparedHead,
        n: usize,
        state: &'s mut LabelState,
    ) -> &'s [f32] {
        self.concentrate(kernels, &prepared.rectified, prepared.calibration, n, state);
        self.dirichlet_entropy(kernels, n, state, false);
        &state.entropy
    }

    /// Turns the logits of `n` words into probabilities, and beforehand, with the entropy regularizer, leaves their entropies
    /// and the gradients of these.
    pub(crate) fn begin_loss(
        &self,
        kernels: Kernels,
        second: Option<EntropyLoss<'_>>,
        n: usize,
        state: &mut LabelState,
    ) {
        if let Some(second) = second {
            self.calibrate(kernels, second, n, state);
        }
        let row = self.row();
        kernels.softmax(row, &mut state.logits[..n * row]);
    }

    /// The cross entropy of the words in `rows`, and in place of their probabilities the gradient of the logits. Words that do
    /// not count have none.
    pub(crate) fn cross_entropy(
        &self,
        rows: Range<usize>,
        gold: &[u32],
        weight: f32,
        counts: impl Fn(usize) -> bool,
        state: &mut LabelState,
    ) -> f64 {
        assert_eq!(gold.len(), rows.len(), "one label for each word");
        let row = self.row();
        let mut loss = 0.0;
        for (i, &label) in rows.zip(gold) {
            let logits = &mut state.logits[i * row..][..row];
            match counts(i) {
                true => loss += f64::from(weight) * cross_entropy(logits, label, weight),
                false => logits.fill(0.0),
            }
        }
        loss
    }

    /// Minus `weight` times the mean entropy of the words of an utterance; its gradient joins that of the logits.
    pub(crate) fn entropy_loss(
        &self,
        kernels: Kernels,
        words: Range<usize>,
        weight: f32,
        state: &mut LabelState,
    ) -> f64 {
        let row = self.row();
        let each = -weight / words.len() as f32;
        let mut loss = 0.0;
        for i in words {
            loss += f64::from(each) * f64::from(state.entropy[i]);
            let at = i * row..(i + 1) * row;
            kernels.add_scaled(each, &state.ln_alpha[at.clone()], &mut state.logits[at.clone()]);
            for d_taken in &mut state.taken[at] {
                *d_taken *= each;
            }
        }
        loss
    }

    /// The two sides of the gradients of the head's matrices, the calibration matrix last.
    pub(crate) fn products<'s>(
        &self,
        x: Rows<'s>,
        state: &'s LabelState,
    ) -> (Product<'s>, Option<Product<'s>>) {
        let (n, row) = (x.n, self.row());
        let rows = |data| Rows { data, n, row };
        let calibration =
            self.calibration.map(|weight| Product { weight, x: rows(&state.shares), dy: rows(&state.taken) });
        (Product { weight: self.linear.weight, x, dy: rows(&state.logits) }, calibration)
    }

    /// The gradient of the logits of `n` words, after the loss.
    pub(crate) fn d_logits<'s>(&self, n: usize, state: &'s LabelState) -> Rows<'s> {
        Rows { data: &state.logits, n, row: self.row() }
    }

    /// The entropies of the logits and their gradients.
    fn calibrate(&self, kernels: Kernels, second: EntropyLoss<'_>, n: usize, state: &mut LabelState) {
        let EntropyLoss { parameters, transposed, calibration, .. } = second;
        let matrix = self.calibration.expect("the entropy regularizer is for heads with a matrix");
        let mut rectified = std::mem::take(&mut state.rectified);
        kernels.rectify(matrix.of(parameters), rectified.reserve(matrix.rows() * matrix.width()));
        self.concentrate(kernels, &rectified, calibration, n, state);
        state.rectified = rectified;
        self.dirichlet_entropy(kernels, n, state, true);
        self.calibrate_backward(kernels, matrix, transposed, calibration, n, state);
    }

    /// From logits to log concentrations.
    fn concentrate(
        &self,
        kernels: Kernels,
        rectified: &[f32],
        calibration: Calibration,
        n: usize,
        state: &mut LabelState,
    ) {
        let (n_labels, row) = (self.n_labels(), self.row());
        let n = n * row;
        let logits = &state.logits[..n];
        let ln_alpha = state.ln_alpha.reserve(n);
        let ln_scale = calibration.scale.ln();
        for (ln_alpha, logit) in ln_alpha.iter_mut().zip(logits) {
            *ln_alpha = logit + ln_scale;
        }
        if self.calibration.is_none() {
            return;
        }
        let (shares, taken) = (state.shares.reserve(n), state.taken.reserve(n));
        kernels.shares(n_labels, row, logits, shares);
        label_product(kernels, row, shares, rectified, taken);
        kernels.calibrate(Calibrate { n_labels, row, delta: calibration.delta, shares, taken, ln_alpha });
    }

    fn dirichlet_entropy(&self, kernels: Kernels, n: usize, state: &mut LabelState, gradient: bool) {
        let (n_labels, row) = (self.n_labels(), self.row());
        state.entropy.resize(n, 0.0);
        let ln_alpha = &mut state.ln_alpha[..n * row];
        let entropy = &mut state.entropy[..];
        kernels.dirichlet_entropy(Dirichlets { n_labels, row, ln_alpha, entropy, gradient });
    }

    fn calibrate_backward(
        &self,
        kernels: Kernels,
        matrix: Tensor,
        transposed: &[f32],
        calibration: Calibration,
        n: usize,
        state: &mut LabelState,
    ) {
        let (n_labels, row) = (self.n_labels(), self.row());
        let n = n * row;
        let (shares, taken, gradient) = (&state.shares[..n], &mut state.taken[..n], &mut state.ln_alpha[..n]);
        let delta = calibration.delta;
        kernels.calibrate_backward(CalibrateGradient { n_labels, row, delta, shares, taken, gradient });
        kernels.rectify(matrix.of(transposed), &mut state.rectified[..matrix.rows() * matrix.width()]);
        let through = state.through.reserve(n);
        label_product(kernels, row, taken, &state.rectified, through);
        kernels.add_product(shares, through, gradient);
    }
}

/// Where the diagonal of the calibration matrix starts; at 0 no gradient would ever move it.
const DIAGONAL: f32 = 0.01;

/// `y = x B` with rows and columns of labels.
fn label_product(kernels: Kernels, row: usize, x: &[f32], b: &[f32], y: &mut [f32]) {
    kernels.gemm(Gemm {
        m: x.len() / row,
        n: row,
        terms: &[Term { k: row, a: Strided { data: x, row, column: 1 }, b: Right::Panels(b) }],
        start: Start::Zero,
        c: y,
        c_row: row,
        c_panel: LANES,
    });
}
