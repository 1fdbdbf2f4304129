//! How far a hidden state is from those of training words.

use crate::kernel::{Buffer, Dots, Kernels, padded};
use crate::math::logistic::{factorise, solve};
use crate::random::Random;
use crate::{Error, Result};

/// Hidden states of words, each with the id of its label.
pub(super) struct States {
    width: usize,
    labels: Vec<u32>,
    rows: Vec<f32>,
}

impl States {
    pub(super) fn new(width: usize) -> Self {
        States { width, labels: Vec::new(), rows: Vec::new() }
    }

    pub(super) fn push(&mut self, label: u32, state: &[f32]) {
        self.labels.push(label);
        self.rows.extend_from_slice(state);
    }

    fn iter(&self) -> impl Iterator<Item = (u32, &[f32])> {
        self.labels.iter().copied().zip(self.rows.chunks_exact(self.width))
    }

    fn demand_some(&self) -> Result<()> {
        if self.labels.is_empty() {
            return Err(Error::Evaluation {
                problem: "there are no training words to compare states with".to_owned(),
                hint: "take a score of the logits, or give the data the model was trained on".to_owned(),
            });
        }
        Ok(())
    }
}

/// Gaussians around the mean state of each label, with one covariance for all.
pub(super) struct Mahalanobis {
    width: usize,
    /// The lower triangle L with L L^T = the covariance.
    factor: Vec<f64>,
    /// L^-1 times each mean.
    means: Vec<f64>,
}

/// Added to the diagonal of the covariance, relative to its mean diagonal: a state may hardly move in some direction.
const RIDGE: f64 = 1e-3;

impl Mahalanobis {
    pub(super) fn fit(states: &States, n_labels: usize) -> Result<Self> {
        states.demand_some()?;
        let width = states.width;
        let (mut sums, mut counts) = (vec![0.0; n_labels * width], vec![0usize; n_labels]);
        for (label, state) in states.iter() {
            counts[label as usize] += 1;
            let sum = &mut sums[label as usize * width..][..width];
            sum.iter_mut().zip(state).for_each(|(sum, &x)| *sum += f64::from(x));
        }
        for (mean, &count) in sums.chunks_exact_mut(width).zip(&counts) {
            mean.iter_mut().for_each(|x| *x /= count.max(1) as f64);
        }
        let mut covariance = vec![0.0; width * width];
        let mut centred = vec![0.0; width];
        for (label, state) in states.iter() {
            let mean = &sums[label as usize * width..][..width];
            for ((centred, &x), mean) in centred.iter_mut().zip(state).zip(mean) {
                *centred = f64::from(x) - mean;
            }
            for (i, &x) in centred.iter().enumerate() {
                let row = &mut covariance[i * width..=i * width + i];
                row.iter_mut().zip(&centred).for_each(|(sum, y)| *sum += x * y);
            }
        }
        let n = states.labels.len() as f64;
        covariance.iter_mut().for_each(|x| *x /= n);
        let trace: f64 = (0..width).map(|i| covariance[i * width + i]).sum();
        for i in 0..width {
            covariance[i * width + i] += RIDGE * (trace / width as f64).max(f64::MIN_POSITIVE);
        }
        factorise(&mut covariance, width);
        let mut means = Vec::new();
        for (mean, &count) in sums.chunks_exact_mut(width).zip(&counts) {
            if count > 0 {
                solve(&covariance, mean);
                means.extend_from_slice(mean);
            }
        }
        Ok(Mahalanobis { width, factor: covariance, means })
    }

    /// The squared distance from the nearest mean.
    pub(super) fn distance(&self, state: &[f32]) -> f64 {
        let mut state: Vec<f64> = state.iter().map(|&x| f64::from(x)).collect();
        solve(&self.factor, &mut state);
        let distance = |mean: &[f64]| mean.iter().zip(&state).map(|(a, b)| (a - b).powi(2)).sum();
        self.means.chunks_exact(self.width).map(distance).fold(f64::MAX, f64::min)
    }
}

/// A sample of training states, normalised.
pub(super) struct Neighbours {
    width: usize,
    n: usize,
    rows: Buffer,
}

/// At most this many states are kept.
const SAMPLE: usize = 10_000;
/// Which neighbour's distance counts.
const NEIGHBOUR: usize = 10;

impl Neighbours {
    pub(super) fn fit(states: &States, random: &mut Random) -> Result<Self> {
        states.demand_some()?;
        let mut order: Vec<usize> = (0..states.labels.len()).collect();
        random.shuffle(&mut order);
        order.truncate(SAMPLE);
        let width = states.width;
        let mut rows = Buffer::zeros(order.len() * width);
        for (to, &from) in rows.chunks_exact_mut(width).zip(&order) {
            normalise(&states.rows[from * width..][..width], to);
        }
        Ok(Neighbours { width, n: order.len(), rows })
    }

    /// The distance from the tenth nearest, or from the farthest if there are fewer.
    pub(super) fn distance(&self, kernels: Kernels, state: &[f32]) -> f64 {
        let mut query = Buffer::zeros(self.width);
        normalise(state, &mut query);
        let out_row = padded(self.n);
        let mut cosines = Buffer::zeros(out_row);
        let dots = Dots {
            m: 1,
            n: self.n,
            width: self.width,
            a: &query,
            a_row: self.width,
            b: &self.rows,
            b_row: self.width,
        };
        kernels.dots(&dots, &mut cosines, out_row);
        let cosines = &mut cosines[..self.n];
        let rank = NEIGHBOUR.min(self.n) - 1;
        let (_, cosine, _) = cosines.select_nth_unstable_by(rank, |a, b| b.total_cmp(a));
        (2.0 - 2.0 * f64::from(*cosine)).max(0.0).sqrt()
    }
}

fn normalise(from: &[f32], to: &mut [f32]) {
    let norm = from.iter().map(|x| x * x).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
    for (to, from) in to.iter_mut().zip(from) {
        *to = from / norm;
    }
}
