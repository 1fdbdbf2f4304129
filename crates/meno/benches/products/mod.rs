//! What share of the multiply-adds that a core can do the matrix products reach, in the shapes that the networks use.
//!
//! Products and bare multiply-adds take turns in short stretches, and the best stretch of each counts: a machine that has other
//! work to do then changes little.

use std::time::Instant;

use meno::bench::{
    Bf16Matrix, Buffer, Gemm, Instructions, Kernels, Right, Start, Strided, Term, round_to_bf16,
};
use meno::random::Random;
use serde_json::{Value, json};

/// Floats between rows beyond their width, as `nn` lays out activations.
const GAP: usize = LANES;
/// Columns of a panel.
const LANES: usize = 16;
/// Multiplications and additions of one stretch; a larger product is a stretch by itself.
const STRETCH: usize = 4_000_000;
/// Floats that a second-level cache does not hold.
const FAR: usize = 4_000_000;

/// How the factors lie.
#[derive(Clone, Copy)]
enum Kind {
    /// Rows times panels, begun with a bias: a layer forward, and backward to its inputs.
    Layer,
    /// The same with weights that are not in the second-level cache, as after other work.
    Cold,
    /// Columns times rows, into panels: the gradient of weights. So many terms of `k` are summed up.
    Weights(usize),
    /// Rows times rows: attention's weights times its values.
    Values,
    /// Columns times rows, into rows: the gradient of those values.
    ValuesGradient,
    /// A row times weights of 16 bits.
    Bf16,
}

/// `(what, kind, rows, shared dimension, columns)`.
type Shape = (&'static str, Kind, usize, usize, usize);

#[rustfmt::skip]
const SHAPES: &[Shape] = &[
    // The span tagger: 8 utterances of 9 words a shard, 96 hidden units, 176 inputs.
    ("span tagger, input", Kind::Layer, 72, 176, 768),
    ("span tagger, recurrence of 8", Kind::Layer, 8, 96, 384),
    ("span tagger, recurrence of 5", Kind::Layer, 5, 96, 384),
    ("span tagger, recurrence of 2", Kind::Layer, 2, 96, 384),
    ("span tagger, recurrence of 1", Kind::Layer, 1, 96, 384),
    ("span tagger, recurrence of 1, 16 bits", Kind::Bf16, 1, 96, 384),
    ("span tagger, input of 9 words", Kind::Layer, 9, 176, 768),
    ("span tagger, recurrence of 8, cold", Kind::Cold, 8, 96, 384),
    ("span tagger, input of 9 words, cold", Kind::Cold, 9, 176, 768),
    ("span tagger, input of 72 words, cold", Kind::Cold, 72, 176, 768),
    ("span tagger, input backward, cold", Kind::Cold, 72, 768, 176),
    ("span tagger, slots", Kind::Layer, 72, 192, 48),
    ("span tagger, recurrence backward", Kind::Layer, 8, 384, 96),
    ("span tagger, input backward", Kind::Layer, 72, 768, 176),
    ("span tagger, gradient of input, a piece", Kind::Weights(4), 176, 72, 32),
    ("span tagger, gradient of recurrence, a piece", Kind::Weights(4), 96, 72, 80),
    // The slot-gated network: 64 hidden units, 64 inputs.
    ("slot-gated, input", Kind::Layer, 90, 64, 512),
    ("slot-gated, recurrence of 8", Kind::Layer, 8, 64, 256),
    ("slot-gated, attention's projections", Kind::Layer, 90, 128, 384),
    ("slot-gated, slots", Kind::Layer, 90, 128, 128),
    ("slot-gated, recurrence backward", Kind::Layer, 8, 256, 64),
    ("slot-gated, gradient of input, a piece", Kind::Weights(2), 64, 90, 128),
    ("slot-gated, context of 12 words", Kind::Values, 12, 12, 128),
    // A transformer of width 384 with 12 heads.
    ("transformer, 8 tokens, 384 x 384", Kind::Layer, 8, 384, 384),
    ("transformer, 32 tokens, 384 x 384", Kind::Layer, 32, 384, 384),
    ("transformer, 128 tokens, 384 x 384", Kind::Layer, 128, 384, 384),
    ("transformer, 512 tokens, 384 x 384", Kind::Layer, 512, 384, 384),
    ("transformer, 32 tokens, 384 x 1152", Kind::Layer, 32, 384, 1152),
    ("transformer, 256 tokens, 384 x 1152", Kind::Layer, 256, 384, 1152),
    ("transformer, 8 tokens, 384 x 1536", Kind::Layer, 8, 384, 1536),
    ("transformer, 32 tokens, 384 x 1536", Kind::Layer, 32, 384, 1536),
    ("transformer, 128 tokens, 384 x 1536", Kind::Layer, 128, 384, 1536),
    ("transformer, 8 tokens, 1536 x 384", Kind::Layer, 8, 1536, 384),
    ("transformer, 32 tokens, 1536 x 384", Kind::Layer, 32, 1536, 384),
    ("transformer, 128 tokens, 1536 x 384", Kind::Layer, 128, 1536, 384),
    ("transformer, gradient of 384 x 384", Kind::Weights(1), 384, 500, 384),
    ("transformer, gradient of 1536 x 384, a sixth", Kind::Weights(1), 1536, 500, 64),
    ("transformer, gradient of 384 x 1536, a panel", Kind::Weights(1), 384, 500, 16),
    ("transformer, gradient of 1536 x 384, a panel", Kind::Weights(1), 1536, 500, 16),
    ("transformer, values of 12 tokens", Kind::Values, 12, 12, 32),
    ("transformer, values of 64 tokens", Kind::Values, 64, 64, 32),
    ("transformer, values backward, 12 tokens", Kind::ValuesGradient, 12, 12, 32),
    ("transformer, values backward, 64 tokens", Kind::ValuesGradient, 64, 64, 32),
];

/// A line for each shape whose name contains `only`.
pub(crate) fn products(only: &str) -> Vec<Value> {
    let kernels: Vec<Kernels> =
        [Instructions::Avx512, Instructions::Avx2].into_iter().filter_map(Kernels::with).collect();
    let shapes = SHAPES.iter().filter(|(what, ..)| what.contains(only));
    shapes.map(|shape| line(shape, &kernels)).collect()
}

fn line(&(what, kind, m, k, n): &Shape, kernels: &[Kernels]) -> Value {
    let mut operands = Operands::new(kind, m, k, n);
    let mut best = vec![(0.0f64, 0.0f64); kernels.len()];
    let flops = 2 * m * k * n * operands.n_terms;
    let repeats = (STRETCH / flops).max(1);
    let rounds = (300_000_000 / flops).clamp(60, 200);
    for _ in 0..rounds {
        for (kernels, (product, peak)) in kernels.iter().zip(&mut best) {
            *peak = peak.max(rate(|| 2 * kernels.multiply_adds(20_000)));
            *product = product.max(rate(|| {
                operands.multiply(*kernels, repeats);
                repeats * flops
            }));
        }
    }
    let mut line = json!({"what": "products", "product": what, "m": m, "k": k * operands.n_terms, "n": n});
    for (kernels, (product, peak)) in kernels.iter().zip(best) {
        let name = format!("{:?}", kernels.instructions()).to_lowercase();
        line[format!("{name}_gflops")] = json!((10.0 * product).round() / 10.0);
        line[format!("{name}_share")] = json!((100.0 * product / peak).round() / 100.0);
    }
    line
}

/// Billions a second of what `work` says that it did.
fn rate(work: impl FnOnce() -> usize) -> f64 {
    let start = Instant::now();
    work() as f64 / start.elapsed().as_secs_f64() / 1e9
}

/// The factors of a product and room for the result.
struct Operands {
    kind: Kind,
    /// Which of the copies of B comes next, of how many.
    copy: usize,
    n_copies: usize,
    m: usize,
    k: usize,
    n: usize,
    n_terms: usize,
    a: Buffer,
    b: Buffer,
    bias: Buffer,
    bf16: Option<Bf16Matrix>,
    c: Buffer,
}

impl Operands {
    fn new(kind: Kind, m: usize, k: usize, n: usize) -> Self {
        let n_terms = if let Kind::Weights(n_terms) = kind { n_terms } else { 1 };
        let mut random = Random::new(1);
        let mut floats = |n: usize| {
            let mut floats = Buffer::zeros(n);
            floats.iter_mut().for_each(|x| *x = 2.0 * random.uniform() - 1.0);
            floats
        };
        let a = floats(n_terms * (m + GAP) * (k + GAP));
        let n_copies = if let Kind::Cold = kind { (FAR / (k * n)).max(1) } else { 1 };
        let (mut b, bias) = (floats(n_copies * n_terms * k * (n + GAP)), floats(n));
        let mut bf16 = None;
        if matches!(kind, Kind::Bf16) {
            b.iter_mut().for_each(|weight| *weight = round_to_bf16(*weight));
            bf16 = Bf16Matrix::for_one_row(k, &b[..k * n]);
        }
        Operands {
            kind,
            copy: 0,
            n_copies,
            m,
            k,
            n,
            n_terms,
            a,
            b,
            bias,
            bf16,
            c: Buffer::zeros(m * (n + GAP)),
        }
    }

    /// So many times the same product, or one after the other with each copy of B.
    fn multiply(&mut self, kernels: Kernels, repeats: usize) {
        let (m, k, n, row) = (self.m, self.k, self.n, self.n + GAP);
        if let Some(matrix) = &self.bf16 {
            (0..repeats).for_each(|_| kernels.add_product_bf16(&self.a[..k], matrix, &mut self.c[..n]));
            return;
        }
        let (a_row, a_column) = match self.kind {
            Kind::Layer | Kind::Cold | Kind::Values | Kind::Bf16 => (k + GAP, 1),
            Kind::Weights(_) | Kind::ValuesGradient => (1, m + GAP),
        };
        let (c_row, c_panel) =
            if let Kind::Weights(_) = self.kind { (LANES, LANES * m) } else { (row, LANES) };
        let layer = matches!(self.kind, Kind::Layer | Kind::Cold);
        let term = |i: usize| Term {
            k,
            a: Strided { data: &self.a[i * k * (m + GAP)..], row: a_row, column: a_column },
            b: if layer { Right::Panels(&self.b) } else { Right::Rows(&self.b[i * k * row..], row) },
        };
        let mut terms: Vec<Term<'_>> = (0..self.n_terms).map(term).collect();
        let start = if layer { Start::Row(&self.bias) } else { Start::Zero };
        for _ in 0..repeats {
            if self.n_copies > 1 {
                self.copy = (self.copy + 1) % self.n_copies;
                terms[0].b = Right::Panels(&self.b[self.copy * k * n..]);
            }
            kernels.gemm(Gemm { m, n, terms: &terms, start, c: &mut self.c, c_row, c_panel });
        }
    }
}
