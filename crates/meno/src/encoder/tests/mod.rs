//! The layers and the whole network against PyTorch and against finite differences.
//!
//! The numbers of PyTorch are in `tests/goldens`; `scripts/goldens/slot_gated_goldens.py` made them in `f64`, with
//! parameters and inputs by a formula. Every test runs on every variant of the kernels.
//!
//! Each part is a function from inputs and the gradients of its outputs to its outputs and the gradients of its
//! inputs ([`Passed`]), so that the same code is compared with the goldens and with finite differences.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::label_head::Calibration;
use super::slot_gated::{SlotGated, SlotGatedShape, Workspace};
use crate::kernel::tests::variants;
use crate::kernel::{Adam, Attention, AttentionGradient, BETA2, Buffer, Dots, GateGradient, StepSize};
use crate::kernel::{Gemm, Kernels, LANES, Right, Start, Strided, Term, padded};
use crate::nn::gradient_check::{check_gradient, check_slope, fill, gradient, transposed};
use crate::nn::{
    Batch, BiLstm, BiLstmState, Dropout, Layout, Linear, LossWeights, LstmNames, LstmWeights, Network,
};
use crate::nn::{Parameters, Product, Rows, RowsMut, Tensor, cross_entropy, transpose, values};
use crate::random::Random;

mod network;
mod span_tagger;
mod parts;

/// A tensor as PyTorch computed it: whole, or some entries and three sums.
#[derive(Deserialize)]
pub(crate) struct Golden {
    pub values: Vec<f64>,
    indices: Option<Vec<usize>>,
    sum: Option<f64>,
    sum_abs: Option<f64>,
    sum_squares: Option<f64>,
}

/// A tensor that the formula gives.
#[derive(Deserialize)]
pub(crate) struct Formula {
    number: u32,
    shape: Vec<usize>,
    scale: f64,
    #[serde(default)]
    shift: f64,
}

impl Formula {
    pub(crate) fn values(&self) -> Vec<f32> {
        let n = self.shape.iter().product::<usize>();
        (0..n)
            .map(|i| {
                let wave = (1.7 * i as f64 + 0.9 * f64::from(self.number) + 0.3).sin();
                (self.shift + self.scale * wave) as f32
            })
            .collect()
    }
}

/// Entries of one tensor may differ by this share of the largest: `f32` rounds by 6e-8, an entry is a sum of
/// up to a hundred products, and the sums of several layers follow each other.
const TOLERANCE: f64 = 2e-5;
/// And by this, whatever their size: gradients of attention are small differences of numbers near 1.
const FLOOR: f64 = 1e-7;

impl Golden {
    pub(crate) fn check(&self, what: &str, found: &[f32]) {
        self.check_within(what, found, TOLERANCE, FLOOR);
    }

    pub(crate) fn check_within(&self, what: &str, found: &[f32], tolerance: f64, floor: f64) {
        let largest = self.values.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        let allowed = tolerance * largest + floor;
        let indices = self.indices.clone().unwrap_or_else(|| (0..self.values.len()).collect());
        if self.indices.is_none() {
            assert_eq!(found.len(), self.values.len(), "{what}: other size");
        }
        for (&i, &golden) in indices.iter().zip(&self.values) {
            let difference = (f64::from(found[i]) - golden).abs();
            assert!(difference <= allowed, "{what}, {i}: {} for {golden}, off by {difference:e}", found[i]);
        }
        let wide = |map: fn(f64) -> f64| found.iter().map(|&x| map(f64::from(x))).sum::<f64>();
        // Errors of single entries add up at most.
        let n = found.len() as f64;
        let sums = [(self.sum, wide(|x| x)), (self.sum_abs, wide(f64::abs))];
        for (golden, found) in sums {
            let golden = golden.unwrap_or(found);
            assert!((golden - found).abs() <= n * allowed, "{what}: sum {found} for {golden}");
        }
        let (golden, found) = (self.sum_squares.unwrap_or(wide(|x| x * x)), wide(|x| x * x));
        assert!(
            (golden - found).abs() <= n * allowed * 2.0 * largest.max(allowed),
            "{what}: {found} for {golden}"
        );
    }
}

/// One batch of the goldens.
#[derive(Deserialize)]
pub(crate) struct GoldenBatch {
    pub ids: Vec<Vec<u32>>,
    pub labels: Vec<Vec<u32>>,
    pub intents: Vec<u32>,
}

impl GoldenBatch {
    /// The utterances by falling length, as the network takes them.
    fn sorted(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.ids.len()).collect();
        order.sort_by_key(|&i| std::cmp::Reverse(self.ids[i].len()));
        order
    }
}

#[derive(Deserialize)]
struct GoldenTensor {
    name: String,
    #[serde(flatten)]
    formula: Formula,
}

#[derive(Deserialize)]
struct GoldenPass {
    slot_logits: Vec<Golden>,
    intent_logits: Golden,
    loss: f64,
    gradients: BTreeMap<String, Golden>,
}

#[derive(Deserialize)]
pub(crate) struct GoldenStep {
    pub batch: usize,
    pub loss_before: f64,
    pub gradient_norm: f64,
    pub loss_after: f64,
}

#[derive(Deserialize)]
pub(crate) struct GoldenTraining {
    pub steps: Vec<GoldenStep>,
    pub parameters: BTreeMap<String, Golden>,
    pub embedding: Golden,
}

/// The whole network.
#[derive(Deserialize)]
pub(crate) struct GoldenNetwork {
    pub sizes: SlotGatedShape,
    tensors: Vec<GoldenTensor>,
    pub batches: Vec<GoldenBatch>,
    pass: GoldenPass,
    pub training: GoldenTraining,
}

impl GoldenNetwork {
    pub(crate) fn read() -> Self {
        serde_json::from_str(include_str!("../../../tests/goldens/slot_gated.json")).expect("of this form")
    }

    pub(crate) fn parameters(&self, network: &SlotGated) -> Parameters {
        let mut parameters = Parameters::zeros(network.layout());
        assert_eq!(network.layout().tensors().count(), self.tensors.len());
        for (name, tensor) in network.layout().tensors() {
            let golden = self.tensors.iter().find(|golden| golden.name == name).expect("named alike");
            let mut values = golden.formula.values().into_iter();
            parameters.fill(tensor, || values.next().expect("of the same size"));
            assert!(values.next().is_none(), "{name} is larger in the goldens");
        }
        network.pad(&mut parameters);
        parameters
    }
}
