//! The entropy regularizer: minus the entropy of the Dirichlet distributions of the words, calibrated by a trained matrix.
//!
//! `docs/math.md` has the formulas. The matrix is stored transposed, as `e = u W`, like every other one.

use serde::{Deserialize, Serialize};

use super::{EntropyLoss, Prepared, SlotGated, Workspace};
use crate::kernel::{Buffer, Calibrate, CalibrateGradient, Dirichlets, Gemm, Kernels, LANES};
use crate::kernel::{Right, Start, Strided, Term};
use crate::nn::Tensor;
use crate::nn::{Product, Rows};

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

/// Activations of the entropy regularizer, a row of labels for each word.
#[derive(Default)]
pub(super) struct Calibrated {
    rectified: Buffer,
    /// Each concentration over the largest of its row.
    shares: Buffer,
    /// What is taken away; after the backward pass its gradient.
    taken: Buffer,
    /// Log concentrations; after the backward pass the gradient of the logits.
    ln_alpha: Buffer,
    through: Buffer,
    pub entropy: Vec<f32>,
}

impl SlotGated {
    /// The log concentrations of the words of the last [`SlotGated::infer`], calibrated if this network has a matrix.
    pub fn concentrations<'w>(
        &self,
        kernels: Kernels,
        prepared: &Prepared,
        w: &'w mut Workspace,
    ) -> impl ExactSizeIterator<Item = &'w [f32]> + use<'w> {
        self.concentrate(kernels, &prepared.rectified, prepared.calibration, w);
        let (width, labels) = (self.slot.weight.width(), self.shape.labels);
        w.calibrated.ln_alpha[..w.batch.words() * width].chunks_exact(width).map(move |row| &row[..labels])
    }

    /// The entropies of the Dirichlet distributions with the concentrations of [`SlotGated::concentrations`].
    pub fn entropies<'w>(&self, kernels: Kernels, prepared: &Prepared, w: &'w mut Workspace) -> &'w [f32] {
        self.concentrate(kernels, &prepared.rectified, prepared.calibration, w);
        self.dirichlet_entropy(kernels, w, false);
        &w.calibrated.entropy
    }

    /// The matrix without what its ReLU cuts off; empty if there is none.
    pub(super) fn rectified(&self, kernels: Kernels, parameters: &[f32]) -> Buffer {
        let mut rectified = Buffer::default();
        if let Some(matrix) = self.calibration {
            kernels.rectify(matrix.of(parameters), rectified.reserve(matrix.rows() * matrix.width()));
        }
        rectified
    }

    /// The entropies of the last forward pass and their gradients, in the workspace.
    pub(super) fn calibrate(&self, kernels: Kernels, second: EntropyLoss<'_>, w: &mut Workspace) {
        let EntropyLoss { parameters, transposed, calibration, .. } = second;
        let matrix = self.calibration.expect("the entropy regularizer is for networks with a matrix");
        let mut rectified = std::mem::take(&mut w.calibrated.rectified);
        kernels.rectify(matrix.of(parameters), rectified.reserve(matrix.rows() * matrix.width()));
        self.concentrate(kernels, &rectified, calibration, w);
        w.calibrated.rectified = rectified;
        self.dirichlet_entropy(kernels, w, true);
        self.calibrate_backward(kernels, matrix, transposed, calibration, w);
    }

    /// Minus `weight` times the mean entropy of each utterance; its gradient joins that of the logits.
    pub(super) fn entropy_loss(&self, kernels: Kernels, weight: f32, w: &mut Workspace) -> f64 {
        let row = self.slot.weight.width();
        let mut loss = 0.0;
        for utterance in 0..w.batch.len() {
            let rows = w.batch.rows(utterance);
            let each = -weight / rows.len() as f32;
            for i in rows {
                loss += f64::from(each) * f64::from(w.calibrated.entropy[i]);
                let at = i * row..(i + 1) * row;
                kernels.add_scaled(each, &w.calibrated.ln_alpha[at.clone()], &mut w.slot_logits[at.clone()]);
                for d_taken in &mut w.calibrated.taken[at] {
                    *d_taken *= each;
                }
            }
        }
        loss
    }

    /// From logits to log concentrations.
    fn concentrate(&self, kernels: Kernels, rectified: &[f32], calibration: Calibration, w: &mut Workspace) {
        let (n_labels, row) = (self.shape.labels, self.slot.weight.width());
        let n = w.batch.words() * row;
        let logits = &w.slot_logits[..n];
        let c = &mut w.calibrated;
        let ln_alpha = c.ln_alpha.reserve(n);
        let ln_scale = calibration.scale.ln();
        for (ln_alpha, logit) in ln_alpha.iter_mut().zip(logits) {
            *ln_alpha = logit + ln_scale;
        }
        if self.calibration.is_none() {
            return;
        }
        let (shares, taken) = (c.shares.reserve(n), c.taken.reserve(n));
        kernels.shares(n_labels, row, logits, shares);
        label_product(kernels, row, shares, rectified, taken);
        kernels.calibrate(Calibrate { n_labels, row, delta: calibration.delta, shares, taken, ln_alpha });
    }

    fn dirichlet_entropy(&self, kernels: Kernels, w: &mut Workspace, gradient: bool) {
        let (n_labels, row, words) = (self.shape.labels, self.slot.weight.width(), w.batch.words());
        w.calibrated.entropy.resize(words, 0.0);
        let ln_alpha = &mut w.calibrated.ln_alpha[..words * row];
        let entropy = &mut w.calibrated.entropy[..];
        kernels.dirichlet_entropy(Dirichlets { n_labels, row, ln_alpha, entropy, gradient });
    }

    fn calibrate_backward(
        &self,
        kernels: Kernels,
        matrix: Tensor,
        transposed: &[f32],
        calibration: Calibration,
        w: &mut Workspace,
    ) {
        let (n_labels, row) = (self.shape.labels, self.slot.weight.width());
        let n = w.batch.words() * row;
        let c = &mut w.calibrated;
        let (shares, taken, gradient) = (&c.shares[..n], &mut c.taken[..n], &mut c.ln_alpha[..n]);
        let delta = calibration.delta;
        kernels.calibrate_backward(CalibrateGradient { n_labels, row, delta, shares, taken, gradient });
        kernels.rectify(matrix.of(transposed), &mut c.rectified[..matrix.rows() * matrix.width()]);
        let through = c.through.reserve(n);
        label_product(kernels, row, taken, &c.rectified, through);
        kernels.add_product(shares, through, gradient);
    }

    /// The two sides of the gradient of the matrix.
    pub(super) fn calibration_product<'w>(&self, w: &'w Workspace) -> Option<Product<'w>> {
        let (n, row) = (w.batch.words(), self.slot.weight.width());
        self.calibration.map(|weight| Product {
            weight,
            x: Rows { data: &w.calibrated.shares, n, row },
            dy: Rows { data: &w.calibrated.taken, n, row },
        })
    }
}

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
