//! Dropout: a factor for each activation, `0` or `1 / keep`.

use crate::kernel::{Kernels, LANES};
use crate::random::Random;

/// The random part of a training pass.
#[derive(Clone, Debug)]
pub struct Dropout {
    /// The share of activations that is dropped.
    pub rate: f32,
    /// Where the choice comes from.
    pub random: Random,
}

impl Dropout {
    /// Draws a factor for each element.
    pub(crate) fn fill(&mut self, kernels: Kernels, factors: &mut [f32]) {
        // Eight bits a choice: fine enough for a rate, and random numbers are the cost.
        let threshold = ((1.0 - self.rate) * 256.0).round();
        let mut bytes = [0; 64 * LANES];
        for factors in factors.chunks_mut(bytes.len()) {
            for eight in bytes[..factors.len()].chunks_mut(8) {
                eight.copy_from_slice(&self.random.next_u64().to_le_bytes()[..eight.len()]);
            }
            kernels.choose(&bytes[..factors.len()], threshold, 256.0 / threshold, factors);
        }
    }
}
