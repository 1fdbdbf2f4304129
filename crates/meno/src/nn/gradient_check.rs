//! Gradients against finite differences, for networks of any kind.

use super::{Network, Parameters, Product, Tensor, transpose, values};
use crate::kernel::{Buffer, Kernels};

/// The matrices of a network, transposed.
pub(crate) fn transposed(network: &impl Network, kernels: Kernels, parameters: &[f32]) -> Buffer {
    let mut transposed = Buffer::zeros(network.layout().dense());
    transpose(kernels, &network.matrices(), parameters, &mut transposed);
    transposed
}

/// The gradient of all parameters after a backward pass, laid out as they are.
pub(crate) fn gradient<N: Network>(network: &N, kernels: Kernels, w: &N::Workspace) -> Vec<f32> {
    let layout = network.layout();
    let mut all = vec![0.0; layout.len()];
    for product in network.products(w) {
        let to = product.weight.of_mut(&mut all);
        Product::sum(kernels, &[product], 0, to);
    }
    all[layout.matrices()..layout.dense()].copy_from_slice(network.d_vectors(w));
    for (word, d) in network.d_words(w) {
        let to = network.embedding().row_mut(&mut all, word as usize);
        to.iter_mut().zip(d).for_each(|(to, from)| *to += from);
    }
    all
}

/// Checks the gradient of each tensor; those that `is_still` names have none.
pub(crate) fn check_gradient(
    what: &str,
    network: &impl Network,
    parameters: &Parameters,
    gradient: &[f32],
    is_still: impl Fn(&str) -> bool,
    mut loss: impl FnMut(&Parameters) -> f64,
) {
    for (name, tensor) in network.layout().tensors() {
        let gradient = values(gradient, tensor);
        if is_still(name) {
            assert!(gradient.iter().all(|g| g.abs() < 1e-6), "{what}: {name}");
            continue;
        }
        check_slope(&format!("{what}, {name}"), &parameters.values(tensor), &gradient, |moved| {
            let mut parameters = parameters.clone();
            fill(&mut parameters, tensor, moved);
            loss(&parameters)
        });
    }
}

/// Along its own gradient, a function must rise by the norm of the gradient. Two steps of opposite sign leave an
/// error of the third order; 1 % covers it and the rounding of `f32`, above which a change of 0.01 stands out.
pub(crate) fn check_slope(what: &str, at: &[f32], gradient: &[f32], mut loss: impl FnMut(&[f32]) -> f64) {
    let norm = gradient.iter().map(|&g| f64::from(g).powi(2)).sum::<f64>().sqrt();
    assert!(norm > 0.0, "{what}: no gradient");
    let epsilon = 1e-2 / norm.max(1.0);
    let mut shifted = |by: f64| {
        let moved: Vec<f32> = at
            .iter()
            .zip(gradient)
            .map(|(&x, &g)| (f64::from(x) + by * f64::from(g) / norm) as f32)
            .collect();
        loss(&moved)
    };
    let slope = (shifted(epsilon) - shifted(-epsilon)) / (2.0 * epsilon);
    let allowed = 0.01 * norm + 2e-5;
    assert!((slope - norm).abs() < allowed, "{what}: slope {slope}, gradient {norm}");
}

/// Sets the values of a tensor.
pub(crate) fn fill(parameters: &mut Parameters, tensor: Tensor, values: &[f32]) {
    let mut values = values.iter().copied();
    parameters.fill(tensor, || values.next().expect("of the same size"));
}
