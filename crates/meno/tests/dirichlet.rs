//! The Dirichlet agrees with 60-digit arithmetic (`scripts/goldens/dirichlet_goldens.py`, which also compares SciPy and
//! PyTorch) and has the properties that its formulas have.
//!
//! `cargo test --test dirichlet -- --nocapture goldens` prints the largest errors and where they are.

use meno::dirichlet::{
    LN_LIMIT, check, digamma, digamma_at_exp, entropy, entropy_gradient, entropy_log_gradient,
    entropy_of_mean, entropy_plus_one, expected_entropy, ln_gamma, ln_gamma_at_exp, mean, mutual_information,
    trigamma, trigamma_at_exp,
};
use proptest::prelude::*;
use serde::Deserialize;

#[derive(Deserialize)]
struct Goldens {
    special: Vec<(String, f64, f64, f64)>,
    at_exp: Vec<(String, f64, f64, f64)>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    ln_alpha: Vec<String>,
    entropy: f64,
    plus_one: f64,
    of_mean: f64,
    expected: f64,
    information: f64,
    log_gradient: Vec<f64>,
    log_scale: Vec<f64>,
    gradient: Option<Vec<f64>>,
    scale: Option<Vec<f64>>,
}

fn goldens() -> Goldens {
    serde_json::from_str(include_str!("goldens/dirichlet.json")).expect("the goldens are of this form")
}

fn number(text: &str) -> f64 {
    text.parse().expect("the goldens hold numbers")
}

/// The largest error of a function, in units of its tolerance's scale.
struct Worst {
    name: &'static str,
    tolerance: f64,
    error: f64,
    place: String,
}

impl Worst {
    fn new(name: &'static str, tolerance: f64) -> Self {
        Worst { name, tolerance, error: 0.0, place: String::new() }
    }

    fn add(&mut self, found: f64, golden: f64, scale: f64, place: &str) {
        assert!(found.is_finite(), "{} of {place} is {found}", self.name);
        // Below the normal numbers there are no relative errors.
        let error = (found - golden).abs() / scale.max(1e-290);
        assert!(error <= self.tolerance, "{} of {place}: {found:e} instead of {golden:e}", self.name);
        if error > self.error {
            (self.error, self.place) = (error, place.to_owned());
        }
    }
}

impl Drop for Worst {
    fn drop(&mut self) {
        println!("{:<28} {:8.1e} at {}", self.name, self.error, self.place);
    }
}

#[test]
fn goldens_of_special_functions() {
    let mut worst =
        [("ln_gamma", 1e-14), ("digamma", 1e-14), ("trigamma", 2e-15)].map(|(n, t)| Worst::new(n, t));
    let rows = goldens().special;
    assert!(rows.len() > 350);
    for (text, ln_gamma_of_x, digamma_of_x, trigamma_of_x) in &rows {
        let x = number(text);
        // Relative, around the zeros at 1, 2 and 1.46... too.
        worst[0].add(ln_gamma(x), *ln_gamma_of_x, ln_gamma_of_x.abs(), text);
        worst[1].add(digamma(x), *digamma_of_x, digamma_of_x.abs(), text);
        worst[2].add(trigamma(x), *trigamma_of_x, trigamma_of_x.abs(), text);
    }
}

#[test]
fn goldens_of_special_functions_at_exp() {
    let mut worst = [("ln_gamma_at_exp", 1e-14), ("digamma_at_exp", 1e-14), ("trigamma_at_exp", 2e-15)]
        .map(|(n, t)| Worst::new(n, t));
    let rows = goldens().at_exp;
    assert!(rows.len() > 90);
    for (text, ln_gamma_of_x, digamma_of_x, trigamma_of_x) in &rows {
        let ln_x = number(text);
        // Around the zeros at ln 2 and ln 1.46... absolute, 0.1 of the tolerance; that at 0 is exact.
        let near = |zero: f64| if (ln_x - zero).abs() < 0.1 { 0.1 } else { 0.0 };
        let scale = ln_gamma_of_x.abs().max(near(2f64.ln()));
        worst[0].add(ln_gamma_at_exp(ln_x), *ln_gamma_of_x, scale, text);
        let scale = digamma_of_x.abs().max(near(1.461_632_144_968_362_3_f64.ln()));
        worst[1].add(digamma_at_exp(ln_x), *digamma_of_x, scale, text);
        worst[2].add(trigamma_at_exp(ln_x), *trigamma_of_x, trigamma_of_x.abs(), text);
    }
}

#[test]
fn goldens_of_rows() {
    let mut worst_entropy = Worst::new("entropy", 1e-13);
    let mut worst_plus_one = Worst::new("entropy_plus_one", 1e-13);
    let mut worst_of_mean = Worst::new("entropy_of_mean", 2e-14);
    let mut worst_expected = Worst::new("expected_entropy", 2e-14);
    let mut worst_information = Worst::new("mutual_information", 2e-14);
    let mut worst_gradient = Worst::new("entropy_gradient", 1e-13);
    let mut worst_log_gradient = Worst::new("entropy_log_gradient", 1e-13);
    let cases = goldens().cases;
    assert!(cases.len() > 180);
    for case in &cases {
        let ln_alpha: Vec<f64> = case.ln_alpha.iter().map(|text| number(text)).collect();
        let place = format!("{} x [{}]", ln_alpha.len(), case.ln_alpha[..ln_alpha.len().min(4)].join(", "));
        // Entropies of densities pass through 0, where their error is absolute; those of labels are relative.
        worst_entropy.add(entropy(&ln_alpha), case.entropy, case.entropy.abs().max(1.0), &place);
        worst_plus_one.add(entropy_plus_one(&ln_alpha), case.plus_one, case.plus_one.abs().max(1.0), &place);
        worst_of_mean.add(entropy_of_mean(&ln_alpha), case.of_mean, case.of_mean, &place);
        worst_expected.add(expected_entropy(&ln_alpha), case.expected, case.expected, &place);
        worst_information.add(mutual_information(&ln_alpha), case.information, case.information, &place);
        let mut out = vec![0.0; ln_alpha.len()];
        assert_eq!(entropy_log_gradient(&ln_alpha, &mut out), entropy(&ln_alpha));
        for ((&found, &golden), &scale) in out.iter().zip(&case.log_gradient).zip(&case.log_scale) {
            worst_log_gradient.add(found, golden, scale, &place);
        }
        if let (Some(gradient), Some(scale)) = (&case.gradient, &case.scale) {
            assert_eq!(entropy_gradient(&ln_alpha, &mut out), entropy(&ln_alpha));
            for ((&found, &golden), &scale) in out.iter().zip(gradient).zip(scale) {
                worst_gradient.add(found, golden, scale, &place);
            }
        }
    }
}

#[test]
fn one_label_leaves_nothing_open() {
    for ln_alpha in [-700.0, -19.0, 0.0, 0.3, 16.0, 700.0] {
        let row = [ln_alpha];
        for f in [entropy, entropy_plus_one, entropy_of_mean, expected_entropy, mutual_information] {
            assert_eq!(f(&row), 0.0);
        }
        let mut out = [f64::NAN];
        assert_eq!((entropy_gradient(&row, &mut out), out), (0.0, [0.0]));
        assert_eq!((entropy_log_gradient(&row, &mut out), out), (0.0, [0.0]));
        mean(&row, &mut out);
        assert_eq!(out, [1.0]);
    }
}

#[test]
fn the_flat_dirichlet_is_the_widest_symmetric_one() {
    for n_labels in [2, 3, 10, 120] {
        let flat = entropy(&vec![0.0; n_labels]);
        let ln_volume = -ln_gamma(n_labels as f64);
        assert!(
            (flat - ln_volume).abs() <= 1e-13 * ln_volume.abs().max(1.0),
            "{flat} instead of {ln_volume}"
        );
        for step in 1..300 {
            let ln_alpha = 1.02_f64.powi(step) - 1.0;
            assert!(entropy(&vec![ln_alpha; n_labels]) < flat, "{ln_alpha}");
            assert!(entropy(&vec![-ln_alpha; n_labels]) < flat, "{}", -ln_alpha);
        }
    }
}

#[test]
fn rows_that_are_no_logits_are_refused() {
    check(&[0.0]).expect("one label is a row");
    check(&[1e300, -1e300]).expect("finite numbers are a row");
    let problem = |row: &[f64]| check(row).expect_err("not a row").to_string();
    assert_eq!(problem(&[]), "a row of logits has no labels");
    assert_eq!(problem(&[0.0, f64::NAN]), "logit 2 of 2 is NaN, not a finite number");
    assert_eq!(problem(&[f64::NEG_INFINITY]), "logit 1 of 1 is -inf, not a finite number");
}

/// What the functions say for any input whatever.
fn check_finite(ln_alpha: &[f64]) -> Result<(), TestCaseError> {
    for f in [entropy, entropy_plus_one, entropy_of_mean, expected_entropy, mutual_information] {
        prop_assert!(f(ln_alpha).is_finite(), "{}", f(ln_alpha));
    }
    let mut out = vec![f64::NAN; ln_alpha.len()];
    entropy_gradient(ln_alpha, &mut out);
    prop_assert!(out.iter().all(|d| d.is_finite()), "{out:?}");
    entropy_log_gradient(ln_alpha, &mut out);
    prop_assert!(out.iter().all(|d| d.is_finite()), "{out:?}");
    mean(ln_alpha, &mut out);
    prop_assert!((out.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{out:?}");
    Ok(())
}

#[test]
fn every_number_has_an_answer() {
    let odd =
        [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1e308, -1e308, 5e-324, LN_LIMIT, -LN_LIMIT];
    for x in odd {
        for f in [ln_gamma, digamma, trigamma, ln_gamma_at_exp, digamma_at_exp, trigamma_at_exp] {
            assert!(f(x).is_finite(), "{x}: {}", f(x));
        }
        for y in odd {
            check_finite(&[x, y]).expect("finite");
            check_finite(&[x, y, 0.5]).expect("finite");
        }
    }
    assert_eq!(trigamma(1e-300), f64::MAX);
    assert_eq!(trigamma_at_exp(-690.0), f64::MAX);
    check_finite(&vec![LN_LIMIT; 50_000]).expect("finite");
    check_finite(&vec![-LN_LIMIT; 50_000]).expect("finite");
}

fn row(ln_alpha: std::ops::Range<f64>) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(ln_alpha, 2..40)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn recurrences(ln_x in -27.0..27.0_f64) {
        let x = ln_x.exp();
        // The step is what is added exactly: x + 1 is rounded, so it is measured from there.
        let next = x + 1.0;
        let x = next - 1.0;
        prop_assume!(x > 0.0);
        let close = |found: f64, expected: f64, size: f64| (found - expected).abs() <= 1e-14 * size.abs().max(1.0);
        let (r, ln_x) = (1.0 / x, x.ln());
        prop_assert!(close(ln_gamma(next), ln_gamma(x) + ln_x, ln_gamma(x).abs() + ln_x.abs()));
        prop_assert!(close(digamma(next), digamma(x) + r, digamma(x)));
        prop_assert!(close(trigamma(next), trigamma(x) - r * r, trigamma(x)));
    }

    #[test]
    fn of_a_logarithm_is_the_same(ln_x in -300.0..300.0_f64) {
        let x = ln_x.exp();
        // x is rounded, which moves each function by x times its derivative.
        let close = |a: f64, b: f64, moved: f64| (a - b).abs() <= 4e-16 * (moved.abs() + 40.0 * a.abs()) + 1e-15;
        prop_assert!(close(ln_gamma_at_exp(ln_x), ln_gamma(x), x * digamma(x)));
        prop_assert!(close(digamma_at_exp(ln_x), digamma(x), x * trigamma(x)));
        prop_assert!(close(trigamma_at_exp(ln_x), trigamma(x), 0.0));
    }

    #[test]
    fn gradient_is_the_slope_of_the_entropy(ln_alpha in row(-4.0..12.0), label_idx in any::<prop::sample::Index>()) {
        let label_idx = label_idx.index(ln_alpha.len());
        let mut gradient = vec![0.0; ln_alpha.len()];
        entropy_log_gradient(&ln_alpha, &mut gradient);
        let at = |step: f64| {
            let mut ln_alpha = ln_alpha.clone();
            ln_alpha[label_idx] += step;
            entropy(&ln_alpha)
        };
        // Five points: the error is of the fourth order in the step, and rounding is divided by it.
        let step = 2e-3;
        let slope = (8.0 * (at(step) - at(-step)) - (at(2.0 * step) - at(-2.0 * step))) / (12.0 * step);
        let size = entropy(&ln_alpha).abs().max(1.0);
        prop_assert!((slope - gradient[label_idx]).abs() < 1e-9 * size, "{slope} {}", gradient[label_idx]);
        entropy_gradient(&ln_alpha, &mut gradient);
        let by_alpha = gradient[label_idx] * ln_alpha[label_idx].exp();
        prop_assert!((slope - by_alpha).abs() < 1e-9 * size, "{slope} {by_alpha}");
    }

    #[test]
    fn order_does_not_matter(ln_alpha in row(-27.0..27.0).prop_flat_map(|row| (Just(row.clone()), Just(row).prop_shuffle()))) {
        let (ln_alpha, shuffled) = ln_alpha;
        for f in [entropy, entropy_plus_one, entropy_of_mean, expected_entropy, mutual_information] {
            let (a, b) = (f(&ln_alpha), f(&shuffled));
            prop_assert!((a - b).abs() <= 1e-13 * a.abs().max(1.0), "{a} {b}");
        }
    }

    #[test]
    fn uncertainty_splits_in_two(ln_alpha in row(-30.0..30.0)) {
        let (total, expected, information) =
            (entropy_of_mean(&ln_alpha), expected_entropy(&ln_alpha), mutual_information(&ln_alpha));
        let ln_n_labels = (ln_alpha.len() as f64).ln();
        prop_assert!(expected >= 0.0 && information >= 0.0 && information < ln_n_labels);
        prop_assert!(total <= ln_n_labels * (1.0 + 1e-14));
        prop_assert!((expected + information - total).abs() <= 1e-14 * total.max(1e-300), "{total} {expected} {information}");
    }

    #[test]
    fn plus_one_is_the_entropy_of_alpha_plus_one(ln_alpha in row(-20.0..20.0)) {
        let plus_one: Vec<f64> = ln_alpha.iter().map(|l| l.exp().ln_1p()).collect();
        let (a, b) = (entropy_plus_one(&ln_alpha), entropy(&plus_one));
        prop_assert!((a - b).abs() <= 1e-13 * a.abs().max(1.0), "{a} {b}");
        prop_assert!(a <= -ln_gamma(ln_alpha.len() as f64) + 1e-12);
    }

    #[test]
    fn never_nan(ln_alpha in prop::collection::vec(-700.0..700.0_f64, 1..40)) {
        check_finite(&ln_alpha)?;
    }

    #[test]
    fn never_nan_whatever_enters(ln_alpha in prop::collection::vec(any::<f64>(), 1..10)) {
        check_finite(&ln_alpha)?;
    }
}
