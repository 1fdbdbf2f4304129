//! Products of bytes against whole numbers of 64 bits, on every variant.

use super::*;
use crate::kernel::Kernels;
use crate::kernel::tests::variants;
use crate::random::Random;

fn floats(random: &mut Random, n: usize) -> Vec<f32> {
    (0..n).map(|_| 2.0 * random.uniform() - 1.0).collect()
}

/// In panels, from rows.
fn panels(rows: usize, columns: usize, matrix: &[f32]) -> Vec<f32> {
    let at = |i: usize| i / LANES % rows * columns + i / (LANES * rows) * LANES + i % LANES;
    (0..rows * columns).map(|i| matrix[at(i)]).collect()
}

/// A row in 8 bits, by the definition: its bytes, scale and zero.
fn rounded(row: &[f32]) -> (Vec<i64>, f32, i64) {
    let (least, most) = row.iter().fold((0.0_f32, 0.0_f32), |(least, most), &x| (least.min(x), most.max(x)));
    let range = most - least;
    if range == 0.0 {
        return (vec![0; row.len()], 0.0, 0);
    }
    let inverse = 255.0 / range;
    let zero = (-least * inverse).round_ties_even();
    let byte = |x: &f32| ((x * inverse).round_ties_even() + zero).clamp(0.0, 255.0) as i64;
    (row.iter().map(byte).collect(), range / 255.0, zero as i64)
}

/// The product by the definition, with sums of 64 bits.
fn expected(x: &[f32], matrix: &Int8Matrix, start: impl Fn(usize, usize) -> f32) -> Vec<f32> {
    let (k, n) = (matrix.rows(), matrix.columns);
    let weights: Vec<i8> = matrix.weights().collect();
    let mut out = Vec::new();
    for (i, row) in x.chunks_exact(k).enumerate() {
        let (bytes, scale, zero) = rounded(row);
        for j in 0..n {
            let sum: i64 = (0..k).map(|l| (bytes[l] - zero) * i64::from(weights[l * n + j])).sum();
            let product = i32::try_from(sum).unwrap() as f32 * (scale * matrix.scales()[j]);
            out.push(product + start(i, j));
        }
    }
    out
}

fn product(kernels: Kernels, x: &[f32], matrix: &Int8Matrix, start: Start<'_>, c: &[f32]) -> Vec<f32> {
    let (k, n) = (matrix.rows(), matrix.columns);
    let (m, mut rows, mut c) = (x.len() / k, Int8Rows::default(), c.to_vec());
    kernels.quantize_rows(m, k, Strided { data: x, row: k, column: 1 }, &mut rows);
    kernels.multiply_int8(Int8Product { a: &rows, b: matrix, start, c: &mut c, c_row: n });
    c
}

fn bits(floats: &[f32]) -> Vec<u32> {
    floats.iter().map(|x| x.to_bits()).collect()
}

#[test]
fn products_are_exact_on_every_variant() {
    let mut random = Random::new(3);
    for round in 0..120 {
        let m = if round < 40 { round + 1 } else { 1 + random.below(64) };
        let (k, n) = (16 * (1 + random.below(12)), 16 * (1 + random.below(9)));
        let matrix = Int8Matrix::quantize(k, &floats(&mut random, k * n));
        // Rows of all ranges: of both signs, of one, and of nothing but zeros.
        let mut x = floats(&mut random, m * k);
        x.chunks_exact_mut(k).step_by(3).for_each(|row| row.iter_mut().for_each(|x| *x = 1e3 * x.abs()));
        x[..k].fill(if round % 7 == 0 { 0.0 } else { -0.125 });
        let (bias, c) = (floats(&mut random, n), floats(&mut random, m * n));
        for kernels in variants() {
            let what = format!("{kernels:?}, {m} x {k} x {n}");
            let result = product(kernels, &x, &matrix, Start::Row(&bias), &c);
            assert_eq!(bits(&result), bits(&expected(&x, &matrix, |_, j| bias[j])), "{what}");
            let result = product(kernels, &x, &matrix, Start::Sum, &c);
            assert_eq!(bits(&result), bits(&expected(&x, &matrix, |i, j| c[i * n + j])), "{what}");
            let result = product(kernels, &x, &matrix, Start::Zero, &c);
            let expected = expected(&x, &matrix, |_, _| 0.0);
            assert!(result.iter().zip(&expected).all(|(a, b)| a == b), "{what}");
        }
    }
}

/// Two products of the greatest bytes do not fit 16 bits, and their sums are the largest there are.
#[test]
fn the_greatest_bytes_do_not_saturate() {
    let (k, n) = (1536, 32);
    for sign in [1.0, -1.0] {
        let matrix = Int8Matrix::quantize(k, &vec![sign; k * n]);
        for kernels in variants() {
            let result = product(kernels, &vec![1.0; 3 * k], &matrix, Start::Zero, &vec![0.0; 3 * n]);
            let exact = sign * 1536.0;
            assert!(
                result.iter().all(|x| (x - exact).abs() < 1e-3),
                "{kernels:?}: {}, not {exact}",
                result[0]
            );
        }
    }
}

#[test]
fn products_are_near_those_of_floats() {
    let mut random = Random::new(5);
    let (m, k, n) = (7, 384, 96);
    let (x, rows) = (floats(&mut random, m * k), floats(&mut random, k * n));
    let matrix = Int8Matrix::quantize(k, &panels(k, n, &rows));
    let result = product(Kernels::best(), &x, &matrix, Start::Zero, &vec![0.0; m * n]);
    let (mut error, mut size) = (0.0, 0.0);
    for (at, &found) in result.iter().enumerate() {
        let (i, j) = (at / n, at % n);
        let exact: f64 = (0..k).map(|l| f64::from(x[i * k + l]) * f64::from(rows[l * n + j])).sum();
        error += (f64::from(found) - exact).powi(2);
        size += exact.powi(2);
    }
    // A rounding to 1/127 of uniform numbers, and one to 2/255: errors of 0.4 % of the numbers each.
    let share = (error / size).sqrt();
    assert!(share < 0.008, "{share}");
}

#[test]
fn what_is_stored_comes_back() {
    let (k, n) = (32, 48);
    let weights = floats(&mut Random::new(7), k * n);
    let matrix = Int8Matrix::quantize(k, &panels(k, n, &weights));
    let bytes: Vec<i8> = matrix.weights().collect();
    for (at, (&byte, &weight)) in bytes.iter().zip(&weights).enumerate() {
        let scale = matrix.scales()[at % n];
        assert!((f32::from(byte) * scale - weight).abs() <= 0.5001 * scale, "{at}");
    }
    let again = Int8Matrix::new(k, n, &bytes, matrix.scales()).unwrap();
    assert!(
        again.weights().eq(matrix.weights())
            && again.scales() == matrix.scales()
            && again.sums == matrix.sums
    );
    assert!(Int8Matrix::new(k, n, &bytes[1..], matrix.scales()).is_none());
    assert!(Int8Matrix::new(k, n, &bytes, &matrix.scales()[1..]).is_none());
    assert!(Int8Matrix::new(k, n, &vec![-128; k * n], matrix.scales()).is_none());
    assert!(Int8Matrix::new(usize::MAX / 4 * 4, n, &bytes, matrix.scales()).is_none());
}

#[test]
#[should_panic(expected = "out of bounds")]
fn a_result_without_room_is_refused() {
    let matrix = Int8Matrix::quantize(16, &[1.0; 256]);
    product(Kernels::best(), &[1.0; 32], &matrix, Start::Zero, &[0.0; 31]);
}
