//! Adam with global clipping. Embedding rows are updated only when their word occurs; what dense Adam would have
//! done to them in between is made up for then, so that the result is that of dense Adam.

use rayon::prelude::*;

use crate::encoder::kernel::{Adam, BETA1, BETA2, Buffer, Kernels, LANES, StepSize};
use crate::encoder::{Layout, Parameters, SlotGated, Tensor, Workspace};

/// About how many floats are updated as one piece of work; the pieces do not depend on the number of threads.
const PIECE: usize = 16 * 1024;

/// The moments of every parameter.
pub(crate) struct Optimizer {
    table: Tensor,
    matrices: usize,
    dense: usize,
    clip: f32,
    pieces: Vec<Piece>,
    gradient: Buffer,
    pub(crate) first: Buffer,
    pub(crate) second: Buffer,
    /// The sizes of all steps so far.
    pub(crate) sizes: Vec<StepSize>,
    /// For each row of the table the number of steps it has seen; 0 if it was never touched.
    pub(crate) seen: Vec<u32>,
    touched: Vec<u32>,
    row_gradients: Buffer,
}

/// Some panels of a matrix.
struct Piece {
    matrix: usize,
    first_panel: usize,
    len: usize,
}

impl Optimizer {
    /// For a network whose matrices are these, in the order of its layout.
    pub fn new(layout: &Layout, matrices: &[Tensor], table: Tensor, clip: f32) -> Self {
        let mut pieces = Vec::new();
        for (matrix, tensor) in matrices.iter().enumerate() {
            let (panel, panels) = (LANES * tensor.rows(), tensor.width() / LANES);
            let step = (PIECE / panel).max(1);
            pieces.extend((0..panels).step_by(step).map(|first_panel| Piece {
                matrix,
                first_panel,
                len: step.min(panels - first_panel) * panel,
            }));
        }
        Optimizer {
            table,
            matrices: layout.matrices(),
            dense: layout.dense(),
            clip,
            pieces,
            gradient: Buffer::zeros(layout.dense()),
            first: Buffer::zeros(layout.len()),
            second: Buffer::zeros(layout.len()),
            sizes: Vec::new(),
            seen: vec![0; table.rows()],
            touched: Vec::new(),
            row_gradients: Buffer::default(),
        }
    }

    /// Goes on after `steps` steps of this rate, of which each row has seen so many; the moments are restored apart.
    pub fn restore(&mut self, steps: usize, rate: f32, seen: Vec<u32>) {
        self.sizes = (1..=steps).map(|step| step_size(step, rate)).collect();
        self.seen = seen;
    }

    /// Brings the rows of these words up to date; must come before the forward pass that reads them.
    pub fn touch(&mut self, kernels: Kernels, words: impl Iterator<Item = u32>, parameters: &mut Parameters) {
        self.touched.clear();
        self.touched.extend(words);
        self.touched.sort_unstable();
        self.touched.dedup();
        for i in 0..self.touched.len() {
            self.catch_up(kernels, self.touched[i] as usize, parameters);
        }
    }

    /// Brings every row up to date; must come before the parameters are used for anything else.
    pub fn settle(&mut self, kernels: Kernels, parameters: &mut Parameters) {
        for row in 0..self.table.rows() {
            self.catch_up(kernels, row, parameters);
        }
    }

    fn catch_up(&mut self, kernels: Kernels, row: usize, parameters: &mut Parameters) {
        let (seen, now) = (self.seen[row] as usize, self.sizes.len());
        if seen == 0 || seen == now {
            return;
        }
        self.seen[row] = now as u32;
        let state = row_state(self.table, row, parameters, &mut self.first, &mut self.second);
        kernels.adam_catch_up(state, &self.sizes[seen..]);
    }

    /// One step with the sum of the gradients of the shards, whose backward passes are done.
    pub fn step(
        &mut self,
        kernels: Kernels,
        rate: f32,
        network: &SlotGated,
        shards: &[&Workspace],
        parameters: &mut Parameters,
    ) {
        let norm = self.sum(kernels, network, shards).sqrt();
        let scale = if norm > self.clip { self.clip / norm } else { 1.0 };
        let size = step_size(self.sizes.len() + 1, rate);
        self.sizes.push(size);
        let dense = self.dense;
        (parameters[..dense].par_chunks_mut(PIECE))
            .zip(self.first[..dense].par_chunks_mut(PIECE))
            .zip(self.second[..dense].par_chunks_mut(PIECE))
            .zip(self.gradient[..dense].par_chunks(PIECE))
            .for_each(|(((parameters, first), second), gradient)| {
                kernels.adam(Adam { parameters, first, second }, gradient, scale, size);
            });
        let width = self.table.width();
        for (i, &row) in self.touched.iter().enumerate() {
            let state = row_state(self.table, row as usize, parameters, &mut self.first, &mut self.second);
            kernels.adam(state, &self.row_gradients[i * width..][..width], scale, size);
            self.seen[row as usize] = self.sizes.len() as u32;
        }
    }

    /// The gradients of all parameters, shard after shard; gives the sum of their squares.
    fn sum(&mut self, kernels: Kernels, network: &SlotGated, shards: &[&Workspace]) -> f32 {
        let (matrices, vectors) = self.gradient[..self.dense].split_at_mut(self.matrices);
        let rows = self.row_gradients.clear(self.touched.len() * self.table.width());
        let (matrices, (vectors, rows)) = rayon::join(
            || sum_matrices(kernels, network, shards, &self.pieces, matrices),
            || {
                let vectors = sum_vectors(kernels, network, shards, vectors);
                (vectors, sum_rows(kernels, network, shards, &self.touched, rows))
            },
        );
        matrices + vectors + rows
    }
}

fn sum_matrices(
    kernels: Kernels,
    network: &SlotGated,
    shards: &[&Workspace],
    pieces: &[Piece],
    mut gradient: &mut [f32],
) -> f32 {
    let mut work = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let (part, rest) = gradient.split_at_mut(piece.len);
        work.push((piece, part));
        gradient = rest;
    }
    let products: Vec<_> = shards.iter().map(|shard| network.products(shard)).collect();
    let squares: Vec<f32> = (work.into_par_iter())
        .map(|(piece, gradient)| {
            for (i, products) in products.iter().enumerate() {
                products[piece.matrix].run(kernels, piece.first_panel, gradient, i > 0);
            }
            kernels.sum_squares(gradient)
        })
        .collect();
    squares.iter().sum()
}

fn sum_vectors(kernels: Kernels, network: &SlotGated, shards: &[&Workspace], sums: &mut [f32]) -> f32 {
    sums.fill(0.0);
    for shard in shards {
        kernels.add(network.d_vectors(shard), sums);
    }
    kernels.sum_squares(sums)
}

/// The gradients of the touched rows of the table.
fn sum_rows(
    kernels: Kernels,
    network: &SlotGated,
    shards: &[&Workspace],
    touched: &[u32],
    sums: &mut [f32],
) -> f32 {
    for shard in shards {
        for (word, gradient) in network.d_words(shard) {
            let at = touched.binary_search(&word).expect("every word was touched") * gradient.len();
            kernels.add(gradient, &mut sums[at..at + gradient.len()]);
        }
    }
    kernels.sum_squares(sums)
}

fn step_size(step: usize, rate: f32) -> StepSize {
    let step = step as i32;
    StepSize { rate: rate / (1.0 - BETA1.powi(step)), second: 1.0 / (1.0 - BETA2.powi(step)) }
}

fn row_state<'a>(
    table: Tensor,
    row: usize,
    parameters: &'a mut Parameters,
    first: &'a mut [f32],
    second: &'a mut [f32],
) -> Adam<'a> {
    Adam {
        parameters: table.row_mut(parameters, row),
        first: table.row_mut(first, row),
        second: table.row_mut(second, row),
    }
}
