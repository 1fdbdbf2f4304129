//! Cross entropy, and what it is weighed by.

/// How much an utterance counts in the loss.
#[derive(Clone, Copy, Debug)]
pub struct LossWeights {
    /// The mean cross entropy of its slot labels.
    pub slots: f32,
    /// The cross entropy of its intent.
    pub intent: f32,
}

/// The bias of labels and intents that are only padding.
pub(crate) const PADDING: f32 = -1e9;

/// `-ln p` of the right answer; turns the probabilities into `weight` times the gradient of the logits.
pub(crate) fn cross_entropy(probabilities: &mut [f32], answer: u32, weight: f32) -> f64 {
    let p = probabilities[answer as usize];
    probabilities[answer as usize] -= 1.0;
    for x in probabilities {
        *x *= weight;
    }
    -f64::from(p.max(1e-20)).ln()
}
