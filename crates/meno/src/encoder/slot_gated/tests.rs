//! The entropy regularizer against PyTorch.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::*;
use crate::kernel::tests::variants;
use crate::nn::Product;
use crate::nn::{transpose, values};

#[derive(Deserialize)]
struct Golden {
    delta: f32,
    scale: f32,
    logits: Vec<Vec<f32>>,
    /// What a column's label takes from a row's.
    matrix: Vec<Vec<f32>>,
    entropy: Vec<f64>,
    d_logits: Vec<Vec<f64>>,
    d_matrix: Vec<Vec<f64>>,
}

#[test]
fn calibration_agrees_with_pytorch() {
    let goldens: BTreeMap<String, Golden> =
        serde_json::from_str(include_str!("../../../tests/goldens/calibration.json")).expect("of this form");
    for (name, golden) in &goldens {
        for kernels in variants() {
            golden.check(&format!("{name}, {kernels:?}"), kernels);
        }
    }
}

impl Golden {
    fn check(&self, what: &str, kernels: Kernels) {
        let labels = self.matrix.len();
        let shape =
            SlotGatedShape { words: 1, labels, intents: 1, embedding: 16, hidden: 16, calibrated: true };
        let network = SlotGated::new(shape);
        let matrix = network.calibration().expect("it is calibrated");
        let mut parameters = Parameters::zeros(network.layout());
        // Transposed: a row of ours is a column of theirs; below them is padding.
        let mut entries = (0..labels).flat_map(|row| (0..labels).map(move |column| self.matrix[column][row]));
        parameters.fill(matrix, || entries.next().unwrap_or(0.0));
        let mut transposed = Buffer::zeros(network.layout().dense());
        transpose(kernels, &network.matrices(), &parameters, &mut transposed);

        let mut w = self.workspace(&network);
        let calibration = Calibration { delta: self.delta, scale: self.scale };
        let prepared = network.prepare(kernels, &parameters, calibration, 0);
        let entropies = network.entropies(kernels, &prepared, &mut w).to_vec();
        check_all(&format!("{what}: entropy"), &self.entropy, &entropies);

        let second =
            EntropyLoss { lambda: 1.0, parameters: &parameters, transposed: &transposed, calibration };
        network.slot.begin_loss(kernels, Some(second), w.batch.words(), &mut w.slot);
        w.slot.logits.fill(0.0);
        let loss = network.slot.entropy_loss(kernels, w.batch.rows(0), 1.0, &mut w.slot);
        let expected = -self.entropy.iter().sum::<f64>() / self.entropy.len() as f64;
        assert!((loss - expected).abs() < 1e-5 * expected.abs().max(1.0), "{what}: {loss} for {expected}");
        let found: Vec<f32> = network.slot_logits(&w).flatten().copied().collect();
        check_all(&format!("{what}: logits"), &self.d_logits.concat(), &found);

        let mut gradient = vec![0.0; network.layout().matrices()];
        let slot_input = Rows { data: &[], n: w.batch.words(), row: 0 };
        let (_, product) = network.slot.products(slot_input, &w.slot);
        let product = product.expect("it is calibrated");
        Product::sum(kernels, &[product], 0, matrix.of_mut(&mut gradient));
        kernels.keep_where_positive(matrix.of(&parameters), matrix.of_mut(&mut gradient));
        let found = values(&gradient, matrix);
        assert!(found[labels * labels..].iter().all(|&x| x == 0.0), "{what}: padding");
        let expected: Vec<f64> =
            (0..labels).flat_map(|row| (0..labels).map(move |column| self.d_matrix[column][row])).collect();
        check_all(&format!("{what}: matrix"), &expected, &found[..labels * labels]);
    }

    fn workspace(&self, network: &SlotGated) -> Workspace {
        let mut w = Workspace::default();
        w.batch.pack(std::iter::once(self.logits.len()));
        let (labels, row) = (network.shape.labels, network.slot.linear.weight.width());
        let rows = w.slot.logits.reserve(self.logits.len() * row);
        rows.fill(PADDING);
        for (to, from) in rows.chunks_exact_mut(row).zip(&self.logits) {
            to[..labels].copy_from_slice(from);
        }
        w
    }
}

/// Each value to 1e-5 of itself, or to 2e-6 of the largest, of which it may be a small difference.
fn check_all(what: &str, expected: &[f64], found: &[f32]) {
    assert_eq!(expected.len(), found.len(), "{what}");
    let largest = expected.iter().fold(1.0, |a: f64, b| a.max(b.abs()));
    for (i, (&expected, &found)) in expected.iter().zip(found).enumerate() {
        let off = (expected - f64::from(found)).abs();
        assert!(off <= 1e-5 * expected.abs() + 2e-6 * largest, "{what}, {i}: {found} for {expected}");
    }
}
