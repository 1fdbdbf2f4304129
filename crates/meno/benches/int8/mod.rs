//! Products with weights of 8 bits beside those with floats, in the shapes of a transformer of width 384.
//!
//! Both take turns, and the best of each counts: a machine that has other work to do then changes little. Each of six layers has
//! weights of its own, so that they are no nearer to the processor than in a network.

use std::time::Instant;

use meno::bench::{Buffer, Gemm, Instructions, Int8Matrix, Int8Product, Int8Rows, Kernels};
use meno::bench::{Right, Start, Strided, Term};
use meno::random::Random;
use serde_json::{Value, json};

const LAYERS: usize = 6;
const TURNS: usize = 60;
/// Floats between rows beyond their width, as `nn` lays out activations.
const GAP: usize = 16;
const SHAPES: [(usize, usize); 4] = [(384, 384), (384, 1152), (384, 1536), (1536, 384)];
const TOKENS: [usize; 7] = [1, 4, 8, 12, 16, 32, 64];

/// A line for each shape and number of tokens.
pub(crate) fn int8() -> Vec<Value> {
    SHAPES.iter().flat_map(|&(k, n)| TOKENS.map(|m| line(m, k, n))).collect()
}

fn line(m: usize, k: usize, n: usize) -> Value {
    let mut random = Random::new(1);
    let mut floats = |n: usize| {
        let mut floats = Buffer::zeros(n);
        floats.iter_mut().for_each(|x| *x = 2.0 * random.uniform() - 1.0);
        floats
    };
    let (a, b, bias) = (floats(m * (k + GAP)), floats(LAYERS * k * n), floats(n));
    let layers: Vec<&[f32]> = b[..LAYERS * k * n].chunks_exact(k * n).collect();
    let matrices: Vec<Int8Matrix> = layers.iter().map(|layer| Int8Matrix::quantize(k, layer)).collect();
    let a = Strided { data: &a, row: k + GAP, column: 1 };
    let (mut c, c_row, mut rows) = (Buffer::zeros(m * (n + GAP)), n + GAP, Int8Rows::default());
    let start = Start::Row(&bias);
    let mut line = json!({"what": "int8", "tokens": m, "k": k, "n": n});
    for instructions in [Instructions::Avx512, Instructions::Avx2] {
        let Some(kernels) = Kernels::with(instructions) else { continue };
        let (mut wide, mut narrow) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..TURNS {
            wide = wide.min(microseconds(|| {
                for layer in &layers {
                    let terms = &[Term { k, a, b: Right::Panels(layer) }];
                    kernels.gemm(Gemm { m, n, terms, start, c: &mut c, c_row, c_panel: GAP });
                }
            }));
            narrow = narrow.min(microseconds(|| {
                for b in &matrices {
                    kernels.quantize_rows(m, k, a, &mut rows);
                    kernels.multiply_int8(Int8Product { a: &rows, b, start, c: &mut c, c_row });
                }
            }));
        }
        let name = format!("{instructions:?}").to_lowercase();
        line[format!("{name}_f32_us")] = json!((10.0 * wide).round() / 10.0);
        line[format!("{name}_int8_us")] = json!((10.0 * narrow).round() / 10.0);
        line[format!("{name}_times")] = json!((100.0 * wide / narrow).round() / 100.0);
    }
    line
}

/// How long one layer takes.
fn microseconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64() * 1e6 / LAYERS as f64
}
