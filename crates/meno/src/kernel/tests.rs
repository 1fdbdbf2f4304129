//! What every variant of the kernels promises: agreement with plain arithmetic in `f64` and with the portable
//! variant, the same bits from both kinds of vectors, and no NaN or denormal however odd the input.

use super::simd::{self, Simd};
use super::*;
use crate::random::Random;

/// The variants that this processor can run, the portable one first.
pub(crate) fn variants() -> impl Iterator<Item = Kernels> {
    [Instructions::Portable, Instructions::Avx2, Instructions::Avx512].into_iter().filter_map(
        |instructions| {
            let kernels = Kernels::with(instructions);
            if kernels.is_none() {
                let name = format!("{instructions:?}").to_lowercase();
                println!("left out: {name} because this processor lacks it");
            }
            kernels
        },
    )
}

/// Variants may differ by this, absolutely below 1 and relatively above.
const AGREEMENT: f32 = 1e-4;

fn floats(random: &mut Random, n: usize) -> Vec<f32> {
    (0..n).map(|_| 2.0 * random.uniform() - 1.0).collect()
}

/// Runs `work` on every variant: all agree with the portable one, and those with fused multiply-add bit for bit.
fn check_agreement(what: &str, work: impl Fn(Kernels) -> Vec<f32>) -> Vec<f32> {
    let results: Vec<_> = variants().map(|kernels| (kernels.instructions(), work(kernels))).collect();
    let (_, portable) = &results[0];
    for (instructions, result) in &results[1..] {
        for (i, (&a, &b)) in portable.iter().zip(result).enumerate() {
            assert!(
                (a - b).abs() <= AGREEMENT * a.abs().max(1.0),
                "{what}, {instructions:?}, {i}: {b}, not {a}"
            );
        }
    }
    if let [_, (_, avx2), (_, avx512)] = &results[..] {
        assert_eq!(bits(avx2), bits(avx512), "{what}: avx2 and avx512 give different bits");
    }
    results.into_iter().next().map(|(_, result)| result).unwrap_or_default()
}

fn bits(floats: &[f32]) -> Vec<u32> {
    floats.iter().map(|x| x.to_bits()).collect()
}

/// Sums of up to 300 products of numbers below 1 in `f32`: 300 roundings of 6e-8 each, most of which cancel.
const SUM_ERROR: f64 = 2e-5;

#[test]
fn products_of_odd_sizes() {
    let mut random = Random::new(1);
    for round in 0..150 {
        let (m, n) = (1 + random.below(20), 16 * (1 + random.below(8)));
        let k = if round % 10 == 0 { round / 10 } else { random.below(301) };
        let (a_row, b_row, c_row) = (k + random.below(20), n + random.below(20), n + random.below(20));
        let a = floats(&mut random, m * a_row);
        let b = floats(&mut random, k * b_row);
        let c = floats(&mut random, m * c_row);
        // Panels: all rows of columns 0..16, then all rows of columns 16..32, and so on.
        let panels: Vec<f32> =
            (0..n * k).map(|i| b[i / 16 % k.max(1) * b_row + i / (16 * k) * 16 + i % 16]).collect();
        let transposed: Vec<f32> = (0..m * k).map(|i| a[i % m * a_row + i / m]).collect();
        let row = floats(&mut random, n);
        for (from, start) in [("zero", Start::Zero), ("sum", Start::Sum), ("row", Start::Row(&row))] {
            let expected: Vec<f64> = (0..m * n)
                .map(|at| {
                    let (i, j) = (at / n, at % n);
                    let start = match start {
                        Start::Zero => 0.0,
                        Start::Sum => f64::from(c[i * c_row + j]),
                        Start::Row(row) => f64::from(row[j]),
                    };
                    (0..k)
                        .fold(start, |sum, l| sum + f64::from(a[i * a_row + l]) * f64::from(b[l * b_row + j]))
                })
                .collect();
            let rows = Strided { data: &a, row: a_row, column: 1 };
            let columns = Strided { data: &transposed, row: 1, column: m };
            for (what, a, b) in [
                ("rows x panels", rows, Right::Panels(&panels)),
                ("rows x rows", rows, Right::Rows(&b, b_row)),
                ("columns x rows", columns, Right::Rows(&b, b_row)),
            ] {
                let what = format!("{what} {m} x {k} x {n}, start from {from}");
                let result = check_agreement(&what, |kernels| {
                    let mut c = c.clone();
                    let terms = &[Term { k, a, b }];
                    kernels.gemm(Gemm { m, n, terms, start, c: &mut c, c_row, c_panel: 16 });
                    (0..m * n).map(|at| c[at / n * c_row + at % n]).collect()
                });
                for (&found, &expected) in result.iter().zip(&expected) {
                    assert!(
                        (f64::from(found) - expected).abs() < SUM_ERROR,
                        "{what}: {found}, not {expected}"
                    );
                }
            }
        }
    }
}

/// With weights of 16 bits a row has the same bits as with the same weights in 32.
#[test]
fn products_of_bf16() {
    assert_eq!(round_to_bf16(1.0 + 1.0 / 256.0), 1.0, "ties to even");
    assert_eq!(round_to_bf16(1.0 + 3.0 / 256.0), 1.0 + 4.0 / 256.0, "ties to even");
    assert_eq!(round_to_bf16(-1.001_954), -1.0);
    let mut random = Random::new(11);
    for (k, n) in [(1, 16), (16, 32), (7, 48), (96, 384), (33, 112)] {
        let (x, start) = (floats(&mut random, k), floats(&mut random, n));
        let exact = floats(&mut random, k * n);
        assert!(Bf16Matrix::of(k, &exact).is_none(), "not rounded");
        let panels: Vec<f32> = exact.iter().map(|&weight| round_to_bf16(weight)).collect();
        let far = exact.iter().zip(&panels).any(|(exact, half)| (exact - half).abs() > exact.abs() / 256.0);
        assert!(!far, "rounded to 8 bits");
        let bf16 = Bf16Matrix::of(k, &panels).expect("they are rounded");
        for kernels in variants() {
            let (mut found, mut expected) = (start.clone(), start.clone());
            kernels.add_product_bf16(&x, &bf16, &mut found);
            let a = Strided { data: &x, row: k, column: 1 };
            let terms = &[Term { k, a, b: Right::Panels(&panels) }];
            kernels.gemm(Gemm { m: 1, n, terms, start: Start::Sum, c: &mut expected, c_row: n, c_panel: 16 });
            assert_eq!(bits(&found), bits(&expected), "{kernels:?} {k} x {n}");
        }
    }
}

/// A product may be cut into terms along the shared dimension without changing a bit, however many there are.
#[test]
fn terms_continue_one_sum() {
    let mut random = Random::new(9);
    let (m, n, k) = (19, 48, 600);
    let (a, b) = (floats(&mut random, m * k), floats(&mut random, k * n));
    let panels = |from: usize, k: usize| -> Vec<f32> {
        (0..n * k).map(|i| b[(from + i / 16 % k) * n + i / (16 * k) * 16 + i % 16]).collect()
    };
    let term = |from: usize, to: usize| Term {
        k: to - from,
        a: Strided { data: &a[from..], row: k, column: 1 },
        b: Right::Rows(&b[from * n..], n),
    };
    let (early, late) = (panels(0, 150), panels(150, 450));
    let in_panels = |b, from: usize, to: usize| Term { b: Right::Panels(b), ..term(from, to) };
    for kernels in variants() {
        let product = |terms: &[Term<'_>]| {
            let mut c = vec![0.0; m * n];
            kernels.gemm(Gemm { m, n, terms, start: Start::Zero, c: &mut c, c_row: n, c_panel: 16 });
            bits(&c)
        };
        let whole = product(&[term(0, k)]);
        let many: Vec<Term<'_>> = (0..12).map(|i| term(i * 50, (i + 1) * 50)).collect();
        assert_eq!(product(&[term(0, 9), term(9, 310), term(310, k)]), whole, "{kernels:?}");
        assert_eq!(product(&many), whole, "{kernels:?}: many terms");
        assert_eq!(product(&[in_panels(&early, 0, 150), in_panels(&late, 150, k)]), whole, "{kernels:?}");
        assert_eq!(product(&[term(0, 150), in_panels(&late, 150, k)]), whole, "{kernels:?}: both kinds");
    }
}

/// A row of a product does not depend on the rows beside it, nor a column on the panels beside it: so an utterance
/// has the same logits alone and in a batch.
#[test]
fn products_do_not_depend_on_how_they_are_cut() {
    let mut random = Random::new(2);
    let (m, n, k) = (19, 112, 77);
    let (a, b) = (floats(&mut random, m * k), floats(&mut random, k * n));
    for kernels in variants() {
        let product = |m, n, a: &[f32], b: &[f32], b_row| {
            let mut c = vec![0.0; m * n];
            let a = Strided { data: a, row: k, column: 1 };
            let b = Right::Rows(b, b_row);
            let terms = &[Term { k, a, b }];
            kernels.gemm(Gemm { m, n, terms, start: Start::Zero, c: &mut c, c_row: n, c_panel: 16 });
            c
        };
        let whole = product(m, n, &a, &b, n);
        for i in 0..m {
            assert_eq!(bits(&product(1, n, &a[i * k..], &b, n)), bits(&whole[i * n..][..n]), "{kernels:?}");
            for panel in 0..n / 16 {
                let part = product(1, 16, &a[i * k..], &b[panel * 16..], n);
                assert_eq!(bits(&part), bits(&whole[i * n + panel * 16..][..16]), "{kernels:?}");
            }
        }
    }
}

#[test]
fn transposed_twice_is_the_same() {
    let mut random = Random::new(3);
    for (rows, columns) in [(16, 16), (16, 128), (96, 32), (48, 80)] {
        let matrix = floats(&mut random, rows * columns);
        let at = |rows: usize, row: usize, column: usize| (column / 16 * rows + row) * 16 + column % 16;
        for kernels in variants() {
            let mut turned = vec![0.0; rows * columns];
            kernels.transpose_panels(rows, columns, 0, &matrix, &mut turned);
            for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
                assert_eq!(turned[at(columns, column, row)], matrix[at(rows, row, column)], "{kernels:?}");
            }
            let mut back = vec![0.0; rows * columns];
            kernels.transpose_panels(columns, rows, 0, &turned, &mut back);
            assert_eq!(bits(&back), bits(&matrix), "{kernels:?}");
        }
    }
}

#[test]
fn attention_over_1_to_40_words() {
    let mut random = Random::new(4);
    let width = 48;
    for words in 1..=40 {
        let queries = if words % 3 == 0 { 1 } else { words };
        let (key_row, query_row, weights_row) = (width + 16, width, padded(words));
        let scaled = |random: &mut Random, n: usize| -> Vec<f32> {
            floats(random, n).into_iter().map(|x| 3.0 * x).collect()
        };
        let (keys, query) = (scaled(&mut random, words * key_row), scaled(&mut random, queries * query_row));
        let vector = floats(&mut random, width);
        let d_weights = floats(&mut random, queries * weights_row);
        let expected =
            attention_in_f64(words, queries, width, [&keys, &query, &vector], [key_row, query_row]);
        let result = check_agreement(&format!("attention of {words} words"), |kernels| {
            let (mut key_exponentials, mut query_exponentials) = (keys.clone(), query.clone());
            kernels.exponentials(&mut key_exponentials);
            kernels.exponentials(&mut query_exponentials);
            let attention = Attention {
                queries,
                words,
                width,
                keys: &key_exponentials,
                key_row,
                query: &query_exponentials,
                query_row,
                vector: &vector,
                weights_row,
            };
            let mut weights = vec![f32::NAN; queries * weights_row];
            kernels.attention(&attention, &mut weights);
            for row in weights.chunks_exact(weights_row) {
                assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5, "weights sum to one");
                assert!(row[words..].iter().all(|&x| x == 0.0), "nothing beyond the last word");
            }
            let (mut d_keys, mut d_query) = (vec![0.0; keys.len()], vec![0.0; query.len()]);
            let (mut d_vector, mut d_weights) = (vec![0.0; width], d_weights.clone());
            let gradient = AttentionGradient {
                weights: &weights,
                d_weights: &mut d_weights,
                d_keys: &mut d_keys,
                d_query: &mut d_query,
                d_query_row: query_row,
                d_vector: &mut d_vector,
            };
            kernels.attention_backward(&attention, gradient);
            let weights = weights.chunks_exact(weights_row).flat_map(|row| row[..words].to_vec());
            weights.chain(d_keys).chain(d_query).chain(d_vector).collect()
        });
        for (found, expected) in result.iter().zip(&expected) {
            assert!((f64::from(*found) - expected).abs() < SUM_ERROR, "{words}: {found}, not {expected}");
        }
    }
}

fn attention_in_f64(
    words: usize,
    queries: usize,
    width: usize,
    [keys, query, vector]: [&[f32]; 3],
    [key_row, query_row]: [usize; 2],
) -> Vec<f64> {
    let mut all = Vec::new();
    for i in 0..queries {
        let score = |j: usize| -> f64 {
            (0..width)
                .map(|k| {
                    let x = f64::from(keys[j * key_row + k]) + f64::from(query[i * query_row + k]);
                    f64::from(vector[k]) * x.tanh()
                })
                .sum()
        };
        let exponentials: Vec<f64> = (0..words).map(|j| score(j).exp()).collect();
        let sum: f64 = exponentials.iter().sum();
        all.extend(exponentials.iter().map(|e| e / sum));
    }
    all
}

#[test]
fn softmax_of_odd_logits() {
    let mut random = Random::new(5);
    let mut rows: Vec<Vec<f32>> = (0..40)
        .map(|i| {
            let scale = [1e-30, 1e-3, 1.0, 30.0, 200.0, 1e9, 1e38][i % 7];
            floats(&mut random, 16 * (1 + i % 4)).into_iter().map(|x| x * scale).collect()
        })
        .collect();
    rows.push(vec![0.0; 16]);
    rows.push([f32::MAX, f32::MIN].repeat(8));
    rows.push([f32::INFINITY, 0.0, f32::NEG_INFINITY, f32::NAN].repeat(4));
    rows.push([1e-45; 16].to_vec());
    for logits in rows {
        let probabilities = check_agreement(&format!("softmax of {logits:?}"), |kernels| {
            let mut row = logits.clone();
            kernels.softmax(row.len(), &mut row);
            row
        });
        let sum: f32 = probabilities.iter().sum();
        assert!((sum - 1.0).abs() < 1e-5, "{logits:?} gives a sum of {sum}");
        assert!(
            probabilities.iter().all(|&p| p == 0.0 || p.is_normal()),
            "{logits:?} gives {probabilities:?}"
        );
        if logits.iter().all(|x| x.is_finite()) {
            let max = logits.iter().copied().fold(f32::MIN, f32::max);
            let e = |x: f32| (f64::from(x) - f64::from(max)).exp();
            let sum: f64 = logits.iter().map(|&x| e(x)).sum();
            for (&x, &p) in logits.iter().zip(&probabilities) {
                let difference = (f64::from(p) - e(x) / sum).abs();
                assert!(difference < 1e-6, "{logits:?}: off by {difference}");
            }
        }
    }
}

/// Gate inputs and cell states that saturate, vanish and overflow.
const ODD: [f32; 16] =
    [0.0, -0.0, 1e-30, -1e-20, 1e-3, -0.5, 1.0, -3.0, 7.9, -8.0, 20.0, -90.0, 1e4, -1e10, 1e30, -3e38];

#[test]
fn cell_of_odd_inputs() {
    let hidden = 16;
    for shift in 0..16 {
        let odd = |by: usize| (0..16).map(move |i| ODD[(i * 3 + by) % 16]);
        let gates: Vec<f32> = (0..4).flat_map(|gate| odd(shift * (gate + 1) + gate)).collect();
        // A cell state grows by one a step at most, so this is that of a long utterance.
        let before: Vec<f32> = odd(shift).map(|x| x.clamp(-40.0, 40.0)).collect();
        let d_hidden: Vec<f32> = odd(shift + 5).map(|x| x.clamp(-10.0, 10.0)).collect();
        for rows_before in [0, 1] {
            let all = check_agreement(&format!("cell {shift}"), |kernels| {
                let mut gates = gates.clone();
                let (mut cell, mut cell_tanh, mut out) = (vec![0.0; 16], vec![0.0; 16], vec![0.0; 16]);
                kernels.cell(Cell {
                    rows: 1,
                    rows_before,
                    hidden,
                    gates: &mut gates,
                    gates_row: 64,
                    before: &before,
                    cell: &mut cell,
                    cell_tanh: &mut cell_tanh,
                    out: &mut out,
                    out_row: 16,
                });
                assert!([&gates[..32], &gates[48..]].concat().iter().all(|x| (0.0..=1.0).contains(x)));
                assert!(gates[32..48].iter().chain(&cell_tanh).chain(&out).all(|x| x.abs() <= 1.0));
                let (mut d_cell, mut d_gates) = (d_hidden.clone(), gates.clone());
                kernels.cell_backward(CellGradient {
                    rows: 1,
                    rows_before,
                    hidden,
                    gates: &mut d_gates,
                    gates_row: 64,
                    before: &before,
                    cell_tanh: &cell_tanh,
                    d_hidden: &d_hidden,
                    d_cell: &mut d_cell,
                });
                [gates, cell, cell_tanh, out, d_cell, d_gates].concat()
            });
            assert!(all.iter().all(|&x| x == 0.0 || x.is_normal()), "cell {shift} gives {all:?}");
        }
    }
}

#[test]
fn adam_of_odd_gradients() {
    // Clipping comes first, so no gradient is beyond its limit; 1e4 leaves room for any sensible one.
    let gradients: Vec<f32> = ODD.iter().map(|x| x.clamp(-1e4, 1e4)).chain([1e-45; 16]).collect();
    let sizes: Vec<StepSize> = (1..400).map(|t| StepSize::new(t, 1e-3, BETA2)).collect();
    for n_missed in [0, 1, 7, 127, 128, 129, 300] {
        check_agreement(&format!("adam, {n_missed} missed"), |kernels| {
            let mut parameters = floats(&mut Random::new(6), 32);
            let (mut first, mut second) = (vec![0.0; 32], vec![0.0; 32]);
            for (step, &size) in sizes[..20].iter().enumerate() {
                let gradient: Vec<f32> = gradients.iter().cycle().skip(step).take(32).copied().collect();
                let adam = Adam { parameters: &mut parameters, first: &mut first, second: &mut second };
                kernels.adam(adam, &gradient, 1.0, size);
            }
            let adam = Adam { parameters: &mut parameters, first: &mut first, second: &mut second };
            kernels.adam_catch_up(adam, &sizes[20..20 + n_missed]);
            let all = [parameters, first, second].concat();
            assert!(all.iter().all(|&x| x == 0.0 || x.is_normal()), "{n_missed} missed: {all:?}");
            all
        });
    }
}

/// Catching up on missed steps is what steps with a zero gradient would have done, to the accuracy of the rounding
/// of each step: after 128 of them the rest moves nothing that `f32` could hold.
#[test]
fn catching_up_equals_steps_without_gradient() {
    let mut random = Random::new(7);
    let rate = 1e-2;
    let sizes: Vec<StepSize> = (1..500).map(|t| StepSize::new(t, rate, BETA2)).collect();
    let (parameters, gradient) = (floats(&mut random, 64), floats(&mut random, 64));
    for kernels in variants() {
        for n_missed in [1, 2, 10, 100, 128, 200, 400] {
            let mut states = [0, 1].map(|_| (parameters.clone(), vec![0.0; 64], vec![0.0; 64]));
            for (state, lazy) in states.iter_mut().zip([false, true]) {
                let mut step = |gradient: &[f32], size| {
                    let (parameters, first, second) = (&mut state.0, &mut state.1, &mut state.2);
                    kernels.adam(Adam { parameters, first, second }, gradient, 1.0, size);
                };
                step(&gradient, sizes[0]);
                if !lazy {
                    sizes[1..=n_missed].iter().for_each(|&size| step(&[0.0; 64], size));
                } else {
                    let (parameters, first, second) = (&mut state.0, &mut state.1, &mut state.2);
                    kernels.adam_catch_up(Adam { parameters, first, second }, &sizes[1..=n_missed]);
                }
            }
            let [(dense, dense_first, dense_second), (lazy, lazy_first, lazy_second)] = states;
            for i in 0..64 {
                assert!(
                    (dense[i] - lazy[i]).abs() < 1e-6,
                    "{kernels:?}, {n_missed}: {} {}",
                    dense[i],
                    lazy[i]
                );
                let relative = (dense_second[i] - lazy_second[i]).abs() / dense_second[i];
                assert!(relative < 1e-4, "{kernels:?}, {n_missed}: second moment off by {relative}");
                assert!((dense_first[i] - lazy_first[i]).abs() < 1e-7, "{kernels:?}, {n_missed}");
            }
        }
    }
}

#[test]
fn rows_and_vectors() {
    let mut random = Random::new(8);
    for n in [16, 32, 48, 96, 128, 208] {
        let (x, y, z) = (floats(&mut random, n), floats(&mut random, n), floats(&mut random, n));
        let rows = floats(&mut random, 7 * (n + 16));
        check_agreement(&format!("vectors of {n}"), |kernels| {
            let (mut sum, mut product, mut scaled, mut tanh, mut of_rows) =
                (y.clone(), vec![0.0; n], y.clone(), vec![0.0; n], z.clone());
            kernels.add(&x, &mut sum);
            kernels.multiply(&x, &y, &mut product);
            kernels.scale(&x, &mut scaled);
            kernels.sum_rows(&rows[..6 * (n + 16) + n], n + 16, &mut of_rows);
            let gate = kernels.gate(&x, &y, &z, &mut tanh);
            let squares = kernels.sum_squares(&x);
            let mut dots = vec![0.0; 7 * 16];
            let all = Dots { m: 7, n: 3, width: n, a: &rows, a_row: n + 16, b: &rows, b_row: n + 16 };
            kernels.dots(&all, &mut dots, 16);
            for i in 0..n {
                assert_eq!(sum[i], x[i] + y[i]);
                assert_eq!(product[i], x[i] * y[i]);
                assert_eq!(scaled[i], x[i] * y[i]);
            }
            let expected: f64 = x.iter().map(|&x| f64::from(x).powi(2)).sum();
            assert!((f64::from(squares) - expected).abs() < SUM_ERROR);
            [of_rows, tanh, vec![gate, squares], dots].concat()
        });
    }
}

/// Dropout's choice: as many kept as the threshold says, of all bytes.
#[test]
fn bytes_below_the_threshold_are_chosen() {
    let bytes: Vec<u8> = (0..=255).collect();
    for threshold in [1, 26, 128, 255, 256] {
        let chosen = check_agreement(&format!("threshold {threshold}"), |kernels| {
            let mut out = vec![f32::NAN; 256];
            kernels.choose(&bytes, threshold as f32, 1.5, &mut out);
            out
        });
        for (byte, &factor) in chosen.iter().enumerate() {
            assert_eq!(
                factor,
                if byte < threshold { 1.5 } else { 0.0 },
                "byte {byte}, threshold {threshold}"
            );
        }
    }
}

fn map<S: Simd>(function: unsafe fn(S::V) -> S::V, x: &[f32]) -> Vec<f32> {
    let mut out = vec![0.0; x.len()];
    for (x, out) in x.chunks_exact(LANES).zip(out.chunks_exact_mut(LANES)) {
        // SAFETY: both chunks hold 16 floats; `largest_error` checks the processor.
        unsafe { S::store(out.as_mut_ptr(), function(S::load(x.as_ptr()))) }
    }
    out
}

/// The largest error over `x` of one function in all variants that this processor has.
macro_rules! largest_error {
    ($function:ident, $x:expr, $error:expr) => {{
        let x: &[f32] = $x;
        let error = |found: Vec<f32>| {
            let errors = found.iter().zip(x).map(|(&found, &x)| $error(f64::from(found), f64::from(x)));
            errors.fold(0.0, |a: f64, b: f64| if b.is_nan() { f64::INFINITY } else { a.max(b) })
        };
        let mut largest = error(map::<simd::Portable>(simd::$function::<simd::Portable>, x));
        #[cfg(target_arch = "x86_64")]
        for kernels in variants() {
            largest = largest.max(match kernels.instructions() {
                Instructions::Portable => 0.0,
                Instructions::Avx2 => error(map::<simd::Avx2>(simd::$function::<simd::Avx2>, x)),
                Instructions::Avx512 => error(map::<simd::Avx512>(simd::$function::<simd::Avx512>, x)),
            });
        }
        largest
    }};
}

/// Evenly spread over `low..high`, 2^18 numbers.
fn spread(low: f64, high: f64) -> Vec<f32> {
    let n = 1 << 18;
    (0..n).map(|i| (low + (high - low) * f64::from(i) / f64::from(n - 1)) as f32).collect()
}

#[test]
fn functions_are_accurate() {
    let relative = |expected: f64, found: f64| (found / expected - 1.0).abs();
    let error = largest_error!(exp, &spread(-87.0, 88.0), |found, x: f64| relative(x.exp(), found));
    assert!(error < 3e-7, "exp: relative error {error}");
    let error = largest_error!(tanh, &spread(-12.0, 12.0), |found: f64, x: f64| (found - x.tanh()).abs());
    assert!(error < 4e-7, "tanh: error {error}");
    let error = largest_error!(tanh, &spread(-0.01, 0.01), |found: f64, x: f64| {
        if x == 0.0 { found.abs() } else { relative(x.tanh(), found) }
    });
    assert!(error < 5e-7, "tanh near 0: relative error {error}");
    let logistic = |x: f64| 1.0 / (1.0 + (-x).exp());
    let error =
        largest_error!(sigmoid, &spread(-20.0, 20.0), |found: f64, x: f64| (found - logistic(x)).abs());
    assert!(error < 2e-7, "sigmoid: error {error}");
    for exponent in [-120.0, -60.0, -8.0, 0.0, 1.0, 40.0, 100.0] {
        let x = spread(2f64.powf(exponent), 2f64.powf(exponent + 2.0));
        let error = largest_error!(reciprocal, &x, |found, x: f64| relative(1.0 / x, found));
        assert!(error < 2e-7, "reciprocal near 2^{exponent}: relative error {error}");
    }
}

/// Beyond their range the functions keep to their limits, and what is no number becomes one.
#[test]
fn functions_are_bounded() {
    let mut x = ODD.to_vec();
    x.extend([f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MIN_POSITIVE, 1e-45, 88.0, -87.0, 89.0]);
    x.extend([-104.0, 7.905_311, -7.905_311, 9.0, -9.0, 16.0, -16.0, f32::MAX]);
    assert_eq!(x.len(), 32);
    let outside = |bound: f64| {
        move |found: f64, x: f64| {
            let allowed = if x.is_nan() { f64::INFINITY } else { bound };
            if found.is_finite() && found.abs() <= allowed { 0.0 } else { f64::INFINITY }
        }
    };
    assert_eq!(largest_error!(tanh, &x, outside(1.0)), 0.0, "tanh leaves -1..1");
    assert_eq!(largest_error!(sigmoid, &x, outside(1.0)), 0.0, "sigmoid leaves 0..1");
    assert_eq!(largest_error!(exp, &x, outside(f64::from(f32::MAX))), 0.0, "exp overflows");
}

fn entropies_of(
    kernels: Kernels,
    n_labels: usize,
    ln_alpha: &mut [f32],
    entropy: &mut [f32],
    gradient: bool,
) {
    let row = padded(n_labels);
    kernels.dirichlet_entropy(Dirichlets { n_labels, row, ln_alpha, entropy, gradient });
}

#[test]
fn entropies_of_dirichlets() {
    let mut random = Random::new(31);
    for n_labels in [1, 2, 7, 16, 17, 120] {
        let row = padded(n_labels);
        // Concentrations from e^-s to e^s: near 1, as trained, and beyond what is believed.
        for spread in [0.1, 4.0, 20.0, 60.0] {
            let n = 12;
            let logits: Vec<f32> = floats(&mut random, n * row).iter().map(|x| x * spread).collect();
            let exact: Vec<(f64, Vec<f64>)> = (logits.chunks_exact(row))
                .map(|logits| {
                    let ln_alpha: Vec<f64> = logits[..n_labels].iter().map(|&m| f64::from(m)).collect();
                    let mut gradient = vec![0.0; n_labels];
                    (crate::dirichlet::entropy_log_gradient(&ln_alpha, &mut gradient), gradient)
                })
                .collect();
            let what = format!("{n_labels} labels, spread {spread}");
            for kernels in variants() {
                let (mut ln_alpha, mut entropy) = (logits.clone(), vec![0.0; n]);
                entropies_of(kernels, n_labels, &mut ln_alpha, &mut entropy, false);
                assert_eq!(bits(&ln_alpha), bits(&logits), "{kernels:?}, {what}: changed");
                let without = entropy.clone();
                entropies_of(kernels, n_labels, &mut ln_alpha, &mut entropy, true);
                assert_eq!(bits(&entropy), bits(&without), "{kernels:?}, {what}: the gradient changed it");
                for (i, (expected, slopes)) in exact.iter().enumerate() {
                    // A sum of n_labels terms, each to a few places of `f32`, of which the largest is -1 / alpha.
                    let allowed = 1e-5 * expected.abs() + 5e-6 * n_labels as f64;
                    let found = f64::from(entropy[i]);
                    assert!(
                        (found - expected).abs() < allowed,
                        "{kernels:?}, {what}: {found}, not {expected}"
                    );
                    let found = &ln_alpha[i * row..][..row];
                    assert!(found[n_labels..].iter().all(|&x| x == 0.0), "{kernels:?}, {what}: padding");
                    let largest = slopes.iter().fold(n_labels as f64, |a, b| a.max(b.abs()));
                    for (found, expected) in found.iter().zip(slopes) {
                        let off = (f64::from(*found) - expected).abs();
                        assert!(
                            off < 1e-6 * largest + 1e-5 * expected.abs(),
                            "{kernels:?}, {what}: {found}, not {expected}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn entropies_of_odd_rows_are_finite() {
    let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN, 1e-40, 0.0, -0.0];
    for kernels in variants() {
        let mut ln_alpha: Vec<f32> = odd.iter().cycle().take(64).copied().collect();
        let mut entropy = vec![0.0; 2];
        entropies_of(kernels, 30, &mut ln_alpha, &mut entropy, true);
        assert!(
            entropy.iter().chain(&ln_alpha).all(|x| x.is_finite()),
            "{kernels:?}: {entropy:?} {ln_alpha:?}"
        );
    }
}
