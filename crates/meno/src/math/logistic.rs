//! Logistic regression with a prior: the probability of an event from a few numbers.
//!
//! ```text
//! p = 1 / (1 + exp(-(w x + b))),      minimising  sum_i v_i -ln p(y_i | x_i) + sum_j strength_j (w_j - prior_j)^2 / 2
//! ```
//! The prior is what many corpora have in common; a corpus moves away from it as far as it has evidence.

/// Newton steps at most; it takes about ten.
const STEPS: usize = 50;
/// Where no weight moves more than this, it is done.
const TOLERANCE: f64 = 1e-9;

/// An observation: what was measured, whether the event took place, and how much it counts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Observation {
    pub x: Vec<f64>,
    pub y: bool,
    pub weight: f64,
}

/// 1 / (1 + exp(-z)).
pub(crate) fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

/// w x + b, where b is the last weight.
pub(crate) fn linear(weights: &[f64], x: &[f64]) -> f64 {
    let (bias, weights) = weights.split_last().expect("there is a bias");
    weights.iter().zip(x).map(|(w, x)| w * x).sum::<f64>() + bias
}

/// The likeliest weights, the bias last; `strength` is what holds each to its prior.
pub(crate) fn fit(observations: &[Observation], prior: &[f64], strength: &[f64]) -> Vec<f64> {
    let n = prior.len();
    let mut weights = prior.to_vec();
    let mut loss = loss_of(observations, &weights, prior, strength);
    for _ in 0..STEPS {
        let (mut hessian, mut step) = (vec![0.0; n * n], vec![0.0; n]);
        for j in 0..n {
            hessian[j * n + j] = strength[j];
            step[j] = strength[j] * (weights[j] - prior[j]);
        }
        for Observation { x, y, weight } in observations {
            let p = sigmoid(linear(&weights, x));
            let (error, curvature) = (weight * (p - f64::from(u8::from(*y))), weight * p * (1.0 - p));
            let x = |j: usize| x.get(j).copied().unwrap_or(1.0);
            for i in 0..n {
                step[i] += error * x(i);
                for j in 0..=i {
                    hessian[i * n + j] += curvature * x(i) * x(j);
                }
            }
        }
        factorise(&mut hessian, n);
        solve(&hessian, &mut step);
        solve_transposed(&hessian, &mut step);
        // Half the step as long as a whole one leads uphill.
        let largest = step.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        let mut scale = 1.0;
        loop {
            let next: Vec<f64> = weights.iter().zip(&step).map(|(w, step)| w - scale * step).collect();
            let next_loss = loss_of(observations, &next, prior, strength);
            if next_loss <= loss || scale < 1e-6 {
                (weights, loss) = (next, next_loss);
                break;
            }
            scale *= 0.5;
        }
        if largest < TOLERANCE {
            break;
        }
    }
    weights
}

fn loss_of(observations: &[Observation], weights: &[f64], prior: &[f64], strength: &[f64]) -> f64 {
    let of = |Observation { x, y, weight }: &Observation| {
        let z = linear(weights, x);
        // ln(1 + exp z) - y z
        weight * (z.max(0.0) + (-z.abs()).exp().ln_1p() - if *y { z } else { 0.0 })
    };
    let held = weights.iter().zip(prior).zip(strength).map(|((w, p), s)| s * (w - p).powi(2));
    observations.iter().map(of).sum::<f64>() + 0.5 * held.sum::<f64>()
}

/// Cholesky: a positive definite matrix, of which the lower triangle is given, becomes L.
pub(crate) fn factorise(matrix: &mut [f64], n: usize) {
    for i in 0..n {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|k| matrix[i * n + k] * matrix[j * n + k]).sum();
            let rest = matrix[i * n + j] - dot;
            matrix[i * n + j] =
                if i == j { rest.max(f64::MIN_POSITIVE).sqrt() } else { rest / matrix[j * n + j] };
        }
    }
}

/// x becomes L^-1 x.
pub(crate) fn solve(factor: &[f64], x: &mut [f64]) {
    let n = x.len();
    for i in 0..n {
        let dot: f64 = (0..i).map(|k| factor[i * n + k] * x[k]).sum();
        x[i] = (x[i] - dot) / factor[i * n + i];
    }
}

/// x becomes L^-T x.
fn solve_transposed(factor: &[f64], x: &mut [f64]) {
    let n = x.len();
    for i in (0..n).rev() {
        let dot: f64 = (i + 1..n).map(|k| factor[k * n + i] * x[k]).sum();
        x[i] = (x[i] - dot) / factor[i * n + i];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference is scikit-learn's (`scripts/goldens/logistic_goldens.py`).
    #[test]
    fn weights_are_those_of_scikit_learn() {
        let x = [
            [0.5, 1.0],
            [1.5, -0.3],
            [-0.7, 0.2],
            [2.0, 0.9],
            [-1.2, -1.1],
            [0.1, 0.4],
            [0.9, -0.8],
            [-0.3, 1.7],
        ];
        let y = [true, true, false, true, false, false, false, true];
        let weight = [1.0, 2.0, 1.0, 0.5, 1.0, 1.0, 1.0, 3.0];
        let observations: Vec<Observation> = (x.iter().zip(y).zip(weight))
            .map(|((x, y), weight)| Observation { x: x.to_vec(), y, weight })
            .collect();
        let found = fit(&observations, &[0.0; 3], &[2.0, 2.0, 0.0]);
        let expected = GOLDEN;
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5), "{found:?}");
    }

    #[test]
    fn without_evidence_the_prior_stays() {
        let prior = [0.7, -1.0, 0.2];
        assert_eq!(fit(&[], &prior, &[1.0; 3]), prior);
        let one = Observation { x: vec![1.0, 1.0], y: true, weight: 1.0 };
        let held = fit(&[one], &prior, &[1e9; 3]);
        assert!(held.iter().zip(prior).all(|(a, b)| (a - b).abs() < 1e-6));
    }

    const GOLDEN: [f64; 3] = [0.5626811, 0.7772668, 0.0329564];
}
