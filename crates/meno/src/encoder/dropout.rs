//! Dropout: a factor for each activation, `0` or `1 / keep`.

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
    pub(crate) fn fill(&mut self, factors: &mut [f32]) {
        let keep = 1.0 - self.rate;
        // Eight bits a choice: fine enough for a rate, and random numbers are the cost.
        let threshold = (keep * 256.0).round() as u16;
        let factor = 256.0 / f32::from(threshold);
        for eight in factors.chunks_mut(8) {
            let bytes = self.random.next_u64().to_le_bytes();
            for (x, byte) in eight.iter_mut().zip(bytes) {
                *x = if u16::from(byte) < threshold { factor } else { 0.0 };
            }
        }
    }
}
