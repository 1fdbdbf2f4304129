//! Gradients of a batch, and Adam with global clipping.
//!
//! Every thread has a [`Replica`] of the network and updates it with the same gradient, unless the network is large
//! ([`Network::IS_LARGE`]). Embedding rows are updated only when their word occurs;
//! what dense Adam would have done to them in between is made up for then, so that the result is that of dense Adam.

use rayon::prelude::*;

use super::{Network, Parameters, Product, Tensor, transpose};
use crate::kernel::{Adam, BETA2, Buffer, Kernels, LANES, StepSize};

/// About how many floats are treated as one piece of work; the pieces do not depend on the number of threads.
const PIECE: usize = 8 * 1024;

/// Panels of a piece of a large network: as many as the matrix product works on at a time.
const LARGE_PIECE: usize = 4;

/// Pieces of a large network whose gradient is one product: it reads the activations again for each piece, from a near cache if
/// it does so at once.
const LARGE_PRODUCT: usize = 6;

/// Parameters from some place on, up to the next group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    /// Where it begins in the layout.
    pub start: usize,
    /// Its share of the learning rate.
    pub rate: f32,
    /// How much of a parameter a step takes away for each unit of the learning rate; 0 for tables.
    pub decay: f32,
}

impl Group {
    /// The size of its step.
    fn size(self, step: usize, rate: f32, beta2: f32) -> StepSize {
        let rate = rate * self.rate;
        StepSize { shrink: 1.0 - rate * self.decay, ..StepSize::new(step, rate, beta2) }
    }
}

impl Default for Group {
    fn default() -> Self {
        Group { start: 0, rate: 1.0, decay: 0.0 }
    }
}

/// Some panels of a matrix.
#[derive(Clone)]
struct Piece {
    /// Which of the network's matrices.
    index: usize,
    matrix: Tensor,
    first_panel: usize,
    /// Where it lies.
    start: usize,
    len: usize,
}

fn pieces<N: Network>(network: &N) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut start = 0;
    for (index, matrix) in network.matrices().into_iter().enumerate() {
        let (panel, panels) = (LANES * matrix.rows(), matrix.width() / LANES);
        let step = if N::IS_LARGE { LARGE_PIECE } else { (PIECE / panel).max(1) };
        for first_panel in (0..panels).step_by(step) {
            let len = step.min(panels - first_panel) * panel;
            pieces.push(Piece { index, matrix, first_panel, start, len });
            start += len;
        }
    }
    pieces
}

/// The gradient of a batch.
pub(crate) struct Gradient {
    table: Tensor,
    matrices: usize,
    pieces: Vec<Piece>,
    /// Of matrices and vectors.
    dense: Buffer,
    /// The rows of the table that occur in the batch, in rising order.
    touched: Vec<u32>,
    /// Of those rows.
    rows: Buffer,
}

impl Gradient {
    /// Of a batch of nothing.
    pub(crate) fn new(network: &impl Network) -> Self {
        let layout = network.layout();
        Gradient {
            table: network.embedding(),
            matrices: layout.matrices(),
            pieces: pieces(network),
            dense: Buffer::zeros(layout.dense()),
            touched: Vec::new(),
            rows: Buffer::default(),
        }
    }

    /// Begins with a batch of these words.
    pub(crate) fn begin(&mut self, words: impl Iterator<Item = u32>) {
        self.touched.clear();
        self.touched.extend(words);
        self.touched.sort_unstable();
        self.touched.dedup();
    }

    /// Sums up the gradients of the shards, whose backward passes are done; gives the norm.
    pub(crate) fn sum<N: Network>(
        &mut self,
        kernels: Kernels,
        network: &N,
        parameters: &[f32],
        shards: &[&N::Workspace],
    ) -> f32 {
        let (matrices, vectors) = self.dense.split_at_mut(self.matrices);
        let vectors = &mut vectors[..network.layout().dense() - self.matrices];
        let rows = self.rows.clear(self.touched.len() * self.table.width());
        let (matrices, (vectors, rows)) = rayon::join(
            || sum_matrices(kernels, network, parameters, shards, &self.pieces, matrices),
            || {
                let vectors = sum_vectors(kernels, network, shards, vectors);
                (vectors, sum_rows(kernels, network, shards, &self.touched, rows))
            },
        );
        (matrices + vectors + rows).sqrt()
    }
}

fn sum_matrices<N: Network>(
    kernels: Kernels,
    network: &N,
    parameters: &[f32],
    shards: &[&N::Workspace],
    pieces: &[Piece],
    mut gradient: &mut [f32],
) -> f32 {
    let at_once = if N::IS_LARGE { LARGE_PRODUCT } else { 1 };
    let mut work = Vec::with_capacity(pieces.len());
    for pieces in pieces.chunk_by(|a, b| a.index == b.index).flat_map(|pieces| pieces.chunks(at_once)) {
        let (part, rest) = gradient.split_at_mut(pieces.iter().map(|piece| piece.len).sum());
        work.push((pieces, part));
        gradient = rest;
    }
    let products: Vec<_> = shards.iter().map(|shard| network.products(shard)).collect();
    let squares: Vec<f32> = (work.into_par_iter())
        .flat_map_iter(|(pieces, mut gradient)| {
            let first = &pieces[0];
            let products: Vec<_> = products.iter().map(|products| products[first.index]).collect();
            Product::sum(kernels, &products, first.first_panel, gradient);
            pieces.iter().map(move |piece| {
                let (part, rest) = std::mem::take(&mut gradient).split_at_mut(piece.len);
                gradient = rest;
                if network.rectified_matrix() == Some(piece.matrix) {
                    kernels.keep_where_positive(&parameters[piece.start..piece.start + piece.len], part);
                }
                kernels.sum_squares(part)
            })
        })
        .collect();
    squares.iter().sum()
}

fn sum_vectors<N: Network>(kernels: Kernels, network: &N, shards: &[&N::Workspace], sums: &mut [f32]) -> f32 {
    sums.fill(0.0);
    for shard in shards {
        kernels.add(network.d_vectors(shard), sums);
    }
    kernels.sum_squares(sums)
}

/// The gradients of the touched rows of the table.
fn sum_rows<N: Network>(
    kernels: Kernels,
    network: &N,
    shards: &[&N::Workspace],
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

/// The parameters of a network with the moments of each.
#[derive(Clone)]
pub struct Replica {
    table: Tensor,
    matrices: Vec<Tensor>,
    pieces: Vec<Piece>,
    groups: Vec<Group>,
    beta2: f32,
    dense: usize,
    /// All but the rows of the table are up to date; those after [`Replica::begin`] or [`Replica::settle`].
    pub(crate) parameters: Parameters,
    /// The matrices transposed, as they are now.
    pub(crate) transposed: Buffer,
    pub(crate) first: Buffer,
    pub(crate) second: Buffer,
    /// The sizes of all steps of the table so far.
    pub(crate) sizes: Vec<StepSize>,
    /// For each row of the table the number of steps it has seen; 0 if it was never touched.
    pub(crate) seen: Vec<u32>,
}

impl Replica {
    /// A network that has seen no step.
    pub fn new(kernels: Kernels, network: &impl Network, parameters: Parameters) -> Self {
        let (layout, table, matrices) = (network.layout(), network.embedding(), network.matrices());
        let mut transposed = Buffer::zeros(layout.dense());
        transpose(kernels, &matrices, &parameters, &mut transposed);
        Replica {
            pieces: pieces(network),
            groups: vec![Group::default()],
            beta2: BETA2,
            dense: layout.dense(),
            first: Buffer::zeros(layout.len()),
            second: Buffer::zeros(layout.len()),
            sizes: Vec::new(),
            seen: vec![0; table.rows()],
            table,
            matrices,
            parameters,
            transposed,
        }
    }

    /// The same with groups of parameters, and with another decay of the second moment.
    pub(crate) fn with(self, groups: Vec<Group>, beta2: f32) -> Self {
        Replica { groups, beta2, ..self }
    }

    /// Goes on after steps of these rates, of which each row has seen so many, with parameters and moments that have been
    /// put in their places.
    pub fn restore(&mut self, kernels: Kernels, rates: &[f32], seen: Vec<u32>) {
        let (group, beta2) = (self.table_group(), self.beta2);
        self.sizes = (1..).zip(rates).map(|(step, &rate)| group.size(step, rate, beta2)).collect();
        self.seen = seen;
        transpose(kernels, &self.matrices, &self.parameters, &mut self.transposed);
    }

    /// Brings the rows that a batch touches up to date.
    pub(crate) fn begin(&mut self, kernels: Kernels, gradient: &Gradient) {
        for &row in &gradient.touched {
            self.catch_up(kernels, row as usize);
        }
    }

    /// Brings every row up to date; must come before the parameters are used for anything else.
    pub fn settle(&mut self, kernels: Kernels) {
        for row in 0..self.table.rows() {
            self.catch_up(kernels, row);
        }
    }

    fn catch_up(&mut self, kernels: Kernels, row: usize) {
        let (seen, now) = (self.seen[row] as usize, self.sizes.len());
        if seen == 0 || seen == now {
            return;
        }
        self.seen[row] = now as u32;
        let (state, sizes) = self.row_state(row);
        kernels.adam_catch_up(state, &sizes[seen..]);
    }

    /// One step against the gradient times `scale`.
    pub(crate) fn step(&mut self, kernels: Kernels, rate: f32, gradient: &Gradient, scale: f32) {
        self.matrix_states(rate, gradient).into_iter().for_each(|state| state.update(kernels, scale));
        self.step_rest(kernels, rate, gradient, scale);
    }

    /// The same, with the matrices shared out among the threads.
    pub(crate) fn step_on_threads(&mut self, kernels: Kernels, rate: f32, gradient: &Gradient, scale: f32) {
        self.matrix_states(rate, gradient).into_par_iter().for_each(|state| state.update(kernels, scale));
        self.step_rest(kernels, rate, gradient, scale);
    }

    /// The matrices with all that their step reads and writes.
    fn matrix_states<'a>(&'a mut self, rate: f32, gradient: &'a Gradient) -> Vec<MatrixState<'a>> {
        let step = self.sizes.len() + 1;
        let (mut parameters, mut first) = (&mut self.parameters[..], &mut self.first[..]);
        let (mut second, mut transposed) = (&mut self.second[..], &mut self.transposed[..]);
        let mut states = Vec::with_capacity(self.matrices.len());
        for pieces in self.pieces.chunk_by(|a, b| a.index == b.index) {
            let len = pieces.iter().map(|piece| piece.len).sum();
            let take = |floats: &mut &'a mut [f32]| -> &'a mut [f32] {
                let (taken, rest) = std::mem::take(floats).split_at_mut(len);
                *floats = rest;
                taken
            };
            let adam = Adam {
                parameters: take(&mut parameters),
                first: take(&mut first),
                second: take(&mut second),
            };
            let start = pieces[0].start;
            let gradient = &gradient.dense[start..][..len];
            let size = group_at(&self.groups, start).size(step, rate, self.beta2);
            states.push(MatrixState { pieces, adam, transposed: take(&mut transposed), gradient, size });
        }
        states
    }

    /// The step of vectors and of the touched rows of the table.
    fn step_rest(&mut self, kernels: Kernels, rate: f32, gradient: &Gradient, scale: f32) {
        let step = self.sizes.len() + 1;
        let mut start = gradient.matrices;
        while start < self.dense {
            let next = self.groups.iter().map(|group| group.start).find(|&next| next > start);
            let end = next.map_or(self.dense, |next| next.min(self.dense));
            let size = group_at(&self.groups, start).size(step, rate, self.beta2);
            let state = Adam {
                parameters: &mut self.parameters[start..end],
                first: &mut self.first[start..end],
                second: &mut self.second[start..end],
            };
            kernels.adam(state, &gradient.dense[start..end], scale, size);
            start = end;
        }
        let size = self.table_group().size(step, rate, self.beta2);
        self.sizes.push(size);
        let width = self.table.width();
        for (i, &row) in gradient.touched.iter().enumerate() {
            let (state, _) = self.row_state(row as usize);
            kernels.adam(state, &gradient.rows[i * width..][..width], scale, size);
            self.seen[row as usize] = self.sizes.len() as u32;
        }
    }

    fn table_group(&self) -> Group {
        group_at(&self.groups, self.dense)
    }

    fn row_state(&mut self, row: usize) -> (Adam<'_>, &[StepSize]) {
        let state = Adam {
            parameters: self.table.row_mut(&mut self.parameters, row),
            first: self.table.row_mut(&mut self.first, row),
            second: self.table.row_mut(&mut self.second, row),
        };
        (state, &self.sizes)
    }
}

/// The group of what begins at a place.
fn group_at(groups: &[Group], at: usize) -> Group {
    groups.iter().rev().find(|group| group.start <= at).copied().unwrap_or_default()
}

/// A matrix with all that its step reads and writes.
struct MatrixState<'a> {
    pieces: &'a [Piece],
    adam: Adam<'a>,
    transposed: &'a mut [f32],
    gradient: &'a [f32],
    size: StepSize,
}

impl MatrixState<'_> {
    fn update(self, kernels: Kernels, scale: f32) {
        let MatrixState { pieces, adam, transposed, gradient, size } = self;
        let (matrix, panel) = (pieces[0].matrix, LANES * pieces[0].matrix.rows());
        for (first_panel, start) in (0..gradient.len()).step_by(panel).enumerate() {
            let at = start..start + panel;
            let state = Adam {
                parameters: &mut adam.parameters[at.clone()],
                first: &mut adam.first[at.clone()],
                second: &mut adam.second[at.clone()],
            };
            kernels.adam(state, &gradient[at.clone()], scale, size);
            // While it is in a near cache.
            let updated = &adam.parameters[at];
            kernels.transpose_panels(matrix.rows(), matrix.width(), first_panel, updated, transposed);
        }
    }
}
