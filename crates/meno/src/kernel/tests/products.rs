//! Matrix products: against plain arithmetic, and the same bits however they are cut.

use super::{SUM_ERROR, bits, check_agreement, floats, variants};
use crate::kernel::{
    Bf16Matrix, Bf16Product, Gemm, Instructions, Right, Start, Strided, Term, round_to_bf16,
};
use crate::random::Random;

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
    for (k, n) in [(1, 16), (16, 32), (7, 48), (96, 384), (33, 112), (5, 240)] {
        let (x, start) = (floats(&mut random, k), floats(&mut random, n));
        let exact = floats(&mut random, k * n);
        assert!(Bf16Matrix::for_one_row(k, &exact).is_none(), "not rounded");
        let panels: Vec<f32> = exact.iter().map(|&weight| round_to_bf16(weight)).collect();
        let far = exact.iter().zip(&panels).any(|(exact, half)| (exact - half).abs() > exact.abs() / 256.0);
        assert!(!far, "rounded to 8 bits");
        let bf16 = Bf16Matrix::for_one_row(k, &panels).expect("they are rounded");
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

/// The same for several rows, from nothing, a row or a sum.
#[test]
fn products_of_rows_and_bf16() {
    let mut random = Random::new(13);
    for (m, k, n) in [(0, 4, 32), (1, 16, 32), (5, 7, 96), (14, 96, 64), (15, 33, 32), (31, 5, 160)] {
        let (a_row, c_row) = (k + 3, n + 16);
        let (x, row) = (floats(&mut random, m * a_row), floats(&mut random, n));
        let panels: Vec<f32> = floats(&mut random, k * n).into_iter().map(round_to_bf16).collect();
        let b = Bf16Matrix::for_rows(k, &panels).expect("they are rounded");
        let a = Strided { data: &x, row: a_row, column: 1 };
        for (kernels, start) in variants()
            .flat_map(|kernels| [Start::Zero, Start::Sum, Start::Row(&row)].map(|start| (kernels, start)))
        {
            let mut found = floats(&mut random, m * c_row);
            let mut expected = found.clone();
            kernels.multiply_bf16(Bf16Product { m, a, b: &b, start, c: &mut found, c_row });
            let terms = &[Term { k, a, b: Right::Panels(&panels) }];
            kernels.gemm(Gemm { m, n, terms, start, c: &mut expected, c_row, c_panel: 16 });
            assert_eq!(bits(&found), bits(&expected), "{kernels:?} {m} x {k} x {n}");
        }
    }
    assert!(Bf16Matrix::for_rows(2, &[0.0; 48 * 2]).is_none(), "an odd number of panels");
}

/// Every element is one chain of multiply-adds in the order of the shared dimension, whatever tile it falls into and whether or
/// not B is packed.
#[test]
fn products_are_chains_in_order() {
    let mut random = Random::new(12);
    let heights = (0..=26).chain([37, 50, 400]);
    let sizes = heights.flat_map(|m| [1, 2, 3, 4, 5, 8, 11].map(|panels| (m, 16 * panels)));
    for (m, n) in sizes {
        let k = 1 + random.below(if m == 400 { 300 } else { 40 });
        let (a, b) = (floats(&mut random, m * k), floats(&mut random, k * n));
        let panels: Vec<f32> = (0..n * k).map(|i| b[i / 16 % k * n + i / (16 * k) * 16 + i % 16]).collect();
        let transposed: Vec<f32> = (0..m * k).map(|i| a[i % m * k + i / m]).collect();
        let rows = Strided { data: &a, row: k, column: 1 };
        let columns = Strided { data: &transposed, row: 1, column: m };
        for kernels in variants() {
            let fused = kernels.instructions() != Instructions::Portable;
            let add = |sum, x: f32, y: f32| if fused { x.mul_add(y, sum) } else { x * y + sum };
            let chain = |at| (0..k).fold(0.0, |sum, l| add(sum, a[at / n * k + l], b[l * n + at % n]));
            let expected: Vec<f32> = (0..m * n).map(chain).collect();
            for (a, b) in
                [(rows, Right::Panels(&panels)), (rows, Right::Rows(&b, n)), (columns, Right::Rows(&b, n))]
            {
                let mut c = vec![0.0; m * n];
                let terms = &[Term { k, a, b }];
                kernels.gemm(Gemm { m, n, terms, start: Start::Zero, c: &mut c, c_row: n, c_panel: 16 });
                assert_eq!(bits(&c), bits(&expected), "{kernels:?} {m} x {k} x {n}");
            }
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
