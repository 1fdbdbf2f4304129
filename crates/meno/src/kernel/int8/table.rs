//! A table of 8-bit rows that are looked up one by one.

use super::GREATEST;

/// Rows of 8-bit weights with a scale each.
#[derive(Clone)]
pub(crate) struct Int8Table {
    width: usize,
    weights: Vec<i8>,
    scales: Vec<f32>,
}

impl Int8Table {
    /// Rounds the rows of a table.
    pub(crate) fn quantize(width: usize, rows: &[f32]) -> Self {
        let (mut weights, mut scales) = (Vec::with_capacity(rows.len()), Vec::new());
        for row in rows.chunks_exact(width) {
            let scale = row.iter().fold(0.0_f32, |most, weight| most.max(weight.abs())) / GREATEST;
            let steps = |weight: &f32| match scale {
                0.0 => 0,
                scale => (weight / scale).round_ties_even().clamp(-GREATEST, GREATEST) as i8,
            };
            weights.extend(row.iter().map(steps));
            scales.push(scale);
        }
        Int8Table { width, weights, scales }
    }

    /// From its weights, row after row, and its scales; `None` if there are not as many as there should be, or a weight is -128.
    pub(crate) fn new(width: usize, weights: Vec<i8>, scales: Vec<f32>) -> Option<Self> {
        let fits = Some(weights.len()) == scales.len().checked_mul(width) && !weights.contains(&i8::MIN);
        fits.then_some(Int8Table { width, weights, scales })
    }

    /// Its weights, row after row.
    pub(crate) fn weights(&self) -> &[i8] {
        &self.weights
    }

    /// The scale of each row.
    pub(crate) fn scales(&self) -> &[f32] {
        &self.scales
    }

    /// Writes a row as floats.
    pub(crate) fn copy_row(&self, row: usize, to: &mut [f32]) {
        let weights = &self.weights[row * self.width..][..self.width];
        for (x, &weight) in to.iter_mut().zip(weights) {
            *x = f32::from(weight) * self.scales[row];
        }
    }
}
