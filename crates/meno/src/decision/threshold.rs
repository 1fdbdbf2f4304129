//! The uncertainty above which a word or a span is unknown, chosen on in-domain valid data alone (`docs/math.md`, "The
//! threshold"). Here for taggers that give labels; `spans.rs` has those of whole spans.

use serde::{Deserialize, Serialize};

use crate::label::{self, TokenSpanRef, UNKNOWN, mark};
use crate::metrics::SlotCounts;
use crate::{Error, Result};

/// The points of valid F1 that a threshold may cost, unless another budget is asked for.
pub const BUDGET: f64 = 1.0;

/// The uncertainty above which a word is unknown, and how it was chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    /// The largest uncertainty of a word that is still known.
    pub value: f64,
    /// How many points of slot F1 it was allowed to cost on the valid set.
    pub budget: f64,
    /// Slot F1 on the valid set without it, in percent.
    pub f1_before: f64,
    /// Slot F1 on the valid set with it, unknown spans counted as wrong.
    pub f1_after: f64,
    /// The median uncertainty of the words of the valid set: that of a word without any doubt.
    #[serde(default)]
    pub median: f64,
    /// What budgets up to `MAX_BUDGET` give on the valid set, from the smallest on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offers: Vec<Offer>,
}

/// A threshold that no lower one undercuts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    /// The threshold.
    pub value: f64,
    /// Slot F1 on the valid set with it, in percent.
    pub f1: f64,
}

/// Larger budgets than this are not offered once a threshold is chosen.
pub(crate) const MAX_BUDGET: f64 = 10.0;

/// A valid utterance: what is right, what the tagger says and how unsure it is, for each word.
#[derive(Debug)]
pub struct ScoredUtterance<'a, G> {
    /// The gold labels.
    pub gold: &'a [G],
    /// The tagger's own labels.
    pub first_choices: &'a [&'a str],
    /// The uncertainty of each.
    pub uncertainty: &'a [f64],
}

impl Threshold {
    /// The lowest threshold that costs at most `budget` points of slot F1 on in-domain utterances.
    ///
    /// F1 is conlleval's over all utterances. It is counted strictly: an unknown span is a wrong prediction, and the
    /// words it covers have lost their labels. F1 is no monotone function of the threshold (two wrong spans that become
    /// one unknown span raise it); among *all* thresholds that meet the budget the lowest is taken, also where a higher
    /// one misses it. Candidates are the uncertainties of the words, which are the lowest thresholds of their effect,
    /// and [`f64::MIN`], under which every word is unknown: the answer if the budget is not below the F1 of the tagger.
    ///
    /// A budget below 0 asks for a gain. Fails if no threshold meets the budget, if it is not finite, if there is no slot in the
    /// gold labels or a slot `unknown`, if labels and uncertainties differ in number, if an uncertainty is not finite.
    pub fn choose<G: AsRef<str>>(budget: f64, utterances: &[ScoredUtterance<'_, G>]) -> Result<Threshold> {
        let words = by_falling_uncertainty(utterances)?;
        let mut sweep = Sweep::new(utterances);
        demand_slots(&sweep)?;
        let f1_before = sweep.f1();
        let first = words.first().map_or(f64::MIN, |word| word.uncertainty);
        let mut offers = vec![Offer { value: first, f1: f1_before }];
        for (end, value) in steps(&words) {
            sweep.extend_to(&words[..end]);
            let f1 = sweep.f1();
            while offers.last().is_some_and(|dearer| dearer.f1 <= f1) {
                offers.pop();
            }
            offers.push(Offer { value, f1 });
        }
        let median = words.get(words.len() / 2).map_or(0.0, |word| word.uncertainty);
        Threshold { value: first, budget, f1_before, f1_after: f1_before, median, offers }.offered(budget)
    }

    /// What a budget gives, without the offers that are dearer than any budget may be.
    pub(super) fn offered(&self, budget: f64) -> Result<Threshold> {
        let mut threshold = self.for_budget(budget)?;
        threshold.offers.retain(|offer| self.f1_before - offer.f1 <= MAX_BUDGET);
        Ok(threshold)
    }

    /// A threshold that was not chosen on anything.
    pub fn stated(value: f64) -> Threshold {
        Threshold { value, budget: 0.0, f1_before: 0.0, f1_after: 0.0, median: value, offers: Vec::new() }
    }

    /// The threshold that another budget gives on the same valid set; that of `MAX_BUDGET` for larger ones.
    pub fn for_budget(&self, budget: f64) -> Result<Threshold> {
        if !budget.is_finite() {
            let hint = format!("a budget is a number of points of F1, such as {BUDGET:.1}");
            return Err(Error::Setting { problem: format!("a budget of {budget}"), hint });
        }
        if self.offers.is_empty() {
            let problem = "nothing is known of other budgets".to_owned();
            return Err(Error::Threshold { problem, hint: "state a threshold instead".to_owned() });
        }
        // Percentages are quotients; what is equal on paper may differ in the last place.
        let within = |offer: &&Offer| self.f1_before - offer.f1 <= budget + 1e-9;
        let offer = self.offers.iter().rfind(within).ok_or_else(|| no_threshold(budget, self.f1_before))?;
        Ok(Threshold { value: offer.value, budget, f1_after: offer.f1, ..self.clone() })
    }

    /// How far the uncertainty is on its way from the median of known words, 0, to the threshold, 1; at most 2.
    pub fn heat(&self, uncertainty: f64) -> f64 {
        match (self.is_unknown(uncertainty), self.value > self.median) {
            // A threshold below the median leaves no scale.
            (is_unknown, false) => 2.0 * f64::from(u8::from(is_unknown)),
            (is_unknown, true) => {
                let heat = (uncertainty - self.median) / (self.value - self.median);
                if is_unknown { heat.clamp(1.0, 2.0) } else { heat.clamp(0.0, 1.0) }
            }
        }
    }

    /// Whether a word of this uncertainty is unknown.
    pub fn is_unknown(&self, uncertainty: f64) -> bool {
        uncertainty > self.value
    }
}

/// A word of the valid set.
struct Word {
    uncertainty: f64,
    utterance_idx: usize,
    token_idx: usize,
}

fn by_falling_uncertainty<G>(utterances: &[ScoredUtterance<'_, G>]) -> Result<Vec<Word>> {
    let mut words = Vec::new();
    for (utterance_idx, scored) in utterances.iter().enumerate() {
        let utterance = utterance_idx + 1;
        let (gold, predicted) = (scored.gold.len(), scored.first_choices.len());
        if gold != predicted {
            return Err(Error::LabelCount { utterance, gold, predicted });
        }
        if scored.uncertainty.len() != gold {
            let found = scored.uncertainty.len();
            let problem = format!("utterance {utterance}: {gold} words but {found} uncertainties");
            return Err(Error::Evaluation { problem, hint: "there must be one for each word".to_owned() });
        }
        for (token_idx, &uncertainty) in scored.uncertainty.iter().enumerate() {
            if !uncertainty.is_finite() {
                let word = token_idx + 1;
                let problem = format!("utterance {utterance}, word {word}: an uncertainty of {uncertainty}");
                return Err(Error::Evaluation {
                    problem,
                    hint: "uncertainties are finite numbers".to_owned(),
                });
            }
            words.push(Word { uncertainty, utterance_idx, token_idx });
        }
    }
    words.sort_by(|a, b| b.uncertainty.total_cmp(&a.uncertainty));
    Ok(words)
}

/// The lower thresholds in falling order, each with the number of words over it.
fn steps(words: &[Word]) -> impl Iterator<Item = (usize, f64)> {
    (1..=words.len()).filter_map(|end| {
        let value = words.get(end).map_or(f64::MIN, |word| word.uncertainty);
        (value < words[end - 1].uncertainty).then_some((end, value))
    })
}

fn demand_slots<G>(sweep: &Sweep<'_, G>) -> Result<()> {
    if sweep.total.gold == 0 {
        let problem = match sweep.utterances.len() {
            0 => "there is no utterance to choose a threshold on".to_owned(),
            n => format!("none of the {n} utterances to choose a threshold on has a slot"),
        };
        let hint = "take labelled in-domain utterances that were not trained on".to_owned();
        return Err(Error::Threshold { problem, hint });
    }
    match sweep.gold.iter().position(|spans| spans.iter().any(|span| span.slot == UNKNOWN)) {
        None => Ok(()),
        Some(utterance_idx) => Err(Error::Threshold {
            problem: format!("utterance {} to choose a threshold on has a new concept", utterance_idx + 1),
            hint: "the threshold is chosen on in-domain data alone, which has no slot `unknown`".to_owned(),
        }),
    }
}

fn no_threshold(budget: f64, f1: f64) -> Error {
    Error::Threshold {
        problem: format!("no threshold meets the budget {budget}: it would have to raise F1 above {f1:.2}"),
        hint: "a budget of 0 or more is always met".to_owned(),
    }
}

/// Slot counts of the valid set while more and more words become unknown; a step counts the touched utterance only.
struct Sweep<'a, G> {
    utterances: &'a [ScoredUtterance<'a, G>],
    gold: Vec<Vec<TokenSpanRef<'a>>>,
    unknown: Vec<Vec<bool>>,
    /// Predicted and correct spans of each utterance.
    counts: Vec<(usize, usize)>,
    total: SlotCounts,
    n_done: usize,
}

impl<'a, G: AsRef<str>> Sweep<'a, G> {
    fn new(utterances: &'a [ScoredUtterance<'a, G>]) -> Self {
        let gold: Vec<Vec<_>> =
            utterances.iter().map(|scored| label::iter_spans(scored.gold).collect()).collect();
        let mut sweep = Sweep {
            utterances,
            unknown: utterances.iter().map(|scored| vec![false; scored.gold.len()]).collect(),
            counts: vec![(0, 0); utterances.len()],
            total: SlotCounts { gold: gold.iter().map(Vec::len).sum(), ..SlotCounts::default() },
            gold,
            n_done: 0,
        };
        (0..utterances.len()).for_each(|utterance_idx| sweep.count(utterance_idx));
        sweep
    }

    /// Makes the words that are new at the end of `words` unknown.
    fn extend_to(&mut self, words: &[Word]) {
        for word in &words[self.n_done..] {
            self.unknown[word.utterance_idx][word.token_idx] = true;
        }
        for word in &words[self.n_done..] {
            self.count(word.utterance_idx);
        }
        self.n_done = words.len();
    }

    fn count(&mut self, utterance_idx: usize) {
        let labels = mark(self.utterances[utterance_idx].first_choices, &self.unknown[utterance_idx]);
        let gold = &self.gold[utterance_idx];
        let (mut predicted, mut correct) = (0, 0);
        for span in label::iter_spans(&labels) {
            predicted += 1;
            correct += usize::from(gold.binary_search(&span).is_ok());
        }
        let before = std::mem::replace(&mut self.counts[utterance_idx], (predicted, correct));
        self.total.predicted = self.total.predicted + predicted - before.0;
        self.total.correct = self.total.correct + correct - before.1;
    }

    fn f1(&self) -> f64 {
        self.total.scores().f1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Evaluation;
    use proptest::prelude::*;

    /// Words as `label:uncertainty`.
    fn parse(utterance: &str) -> (Vec<&str>, Vec<f64>) {
        let word = |word: &'_ str| -> (usize, f64) {
            let colon = word.rfind(':').unwrap();
            (colon, word[colon + 1..].parse().unwrap())
        };
        utterance.split_whitespace().map(|text| (&text[..word(text).0], word(text).1)).unzip()
    }

    /// Each utterance as gold labels, a bar, and the words of the tagger.
    fn choose(budget: f64, utterances: &[&str]) -> Result<Threshold> {
        let parsed: Vec<_> = utterances
            .iter()
            .map(|utterance| {
                let (gold, words) = utterance.split_once('|').unwrap();
                (gold.split_whitespace().collect::<Vec<_>>(), parse(words))
            })
            .collect();
        let scored: Vec<_> = parsed
            .iter()
            .map(|(gold, (first_choices, uncertainty))| ScoredUtterance { gold, first_choices, uncertainty })
            .collect();
        Threshold::choose(budget, &scored)
    }

    fn check_choice(budget: f64, utterances: &[&str], value: f64, before: f64, after: f64) {
        let threshold = choose(budget, utterances).unwrap();
        assert_eq!((threshold.value, threshold.budget), (value, budget), "{utterances:?}");
        assert!((threshold.f1_before - before).abs() < 1e-9, "{threshold:?} for {utterances:?}");
        assert!((threshold.f1_after - after).abs() < 1e-9, "{threshold:?} for {utterances:?}");
    }

    #[test]
    fn the_lowest_threshold_within_the_budget() {
        // Two slots, both found. The unknown word makes 2 of 3 right, precision 2/3, recall 1, F1 80.
        let both = ["O B-x B-y | O:3 B-x:2 B-y:1"];
        check_choice(0.0, &both, 3.0, 100.0, 100.0);
        check_choice(19.9, &both, 3.0, 100.0, 100.0);
        check_choice(20.0, &both, 2.0, 100.0, 80.0);
        // x is covered as well, by the same unknown span: 1 of 2 right, 1 of 2 found.
        check_choice(50.0, &both, 1.0, 100.0, 50.0);
        check_choice(100.0, &both, f64::MIN, 100.0, 0.0);
        // A slot that is unknown costs its hit and stays a wrong prediction.
        check_choice(50.0, &["B-x O B-y | B-x:2 O:0 B-y:1"], 1.0, 100.0, 50.0);
        // Unknown in place of a slot that is wrong anyway costs nothing.
        check_choice(0.0, &["B-x O B-y | B-x:1 O:0 B-z:2"], 1.0, 50.0, 50.0);
        // Words that are equally unsure become unknown together.
        check_choice(30.0, &["O B-x B-y | O:2 B-x:1 B-y:2"], 2.0, 100.0, 100.0);
    }

    #[test]
    fn a_lower_threshold_within_the_budget_wins_over_a_gap() {
        // Two of 4 spans are right; over 3 two of 5, over 2 two of 4 again, over 0 all that is wrong is one span: 2 of 3.
        let gap = ["B-x O O O B-y | B-x:0 B-z:3 O:4 B-z:2 B-y:0"];
        check_choice(0.0, &gap, 0.0, 200.0 / 3.0, 80.0);
        // The same as a gain.
        check_choice(-10.0, &gap, 0.0, 200.0 / 3.0, 80.0);
    }

    #[test]
    fn other_budgets_give_what_they_would_have_given() {
        let utterances = ["B-x O O O B-y | B-x:0 B-z:3 O:4 B-z:2 B-y:0", "B-x O B-y | B-x:5 O:1 B-y:2.5"];
        let chosen = choose(1.0, &utterances).unwrap();
        for budget in [-2.0, 0.0, 0.5, 5.0, 9.9] {
            let (other, anew) = (chosen.for_budget(budget), choose(budget, &utterances));
            assert_eq!(other.ok(), anew.ok(), "a budget of {budget}");
        }
        let problem = chosen.for_budget(-50.0).unwrap_err().to_string();
        assert_eq!(problem, choose(-50.0, &utterances).unwrap_err().to_string());
        assert!(chosen.for_budget(f64::NAN).is_err());
    }

    #[test]
    fn heat_goes_from_the_median_to_the_threshold_and_on() {
        let threshold = Threshold { median: -10.0, value: -6.0, ..choose(0.0, &["B-x | B-x:1"]).unwrap() };
        let heat = |uncertainty| threshold.heat(uncertainty);
        assert_eq!([-20.0, -10.0, -8.0, -6.0, -4.0, 50.0].map(heat), [0.0, 0.0, 0.5, 1.0, 1.5, 2.0]);
        for value in [-10.0, -12.0, f64::MIN] {
            let odd = Threshold { value, ..threshold.clone() };
            assert_eq!((odd.heat(-5.0), odd.heat(f64::MIN)), (2.0, 0.0), "{value}");
        }
    }

    #[test]
    fn what_no_threshold_can_do_is_an_error() {
        let check = |budget, utterances: &[&str], problem: &str| {
            assert_eq!(choose(budget, utterances).unwrap_err().to_string(), problem);
        };
        let good = "B-x | B-x:1";
        check(-0.1, &[good], "no threshold meets the budget -0.1: it would have to raise F1 above 100.00");
        check(f64::NAN, &[good], "a budget of NaN");
        check(f64::INFINITY, &[good], "a budget of inf");
        check(1.0, &[], "there is no utterance to choose a threshold on");
        check(1.0, &["O | B-x:1", "|"], "none of the 2 utterances to choose a threshold on has a slot");
        check(1.0, &[good, "B-unknown | O:1"], "utterance 2 to choose a threshold on has a new concept");
        check(1.0, &[good, "O O | O:1"], "utterance 2: 2 gold labels but 1 predicted");
        check(1.0, &[good, "O O | O:1 O:NaN"], "utterance 2, word 2: an uncertainty of NaN");
    }

    #[test]
    fn a_tagger_that_finds_nothing_meets_any_budget_with_everything_unknown() {
        check_choice(1.0, &["B-x O | O:1 O:2"], f64::MIN, 0.0, 0.0);
    }

    fn any_label() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec!["O", "O", "B-x", "I-x", "B-y", "I-y"])
    }

    type Utterance = Vec<(&'static str, &'static str, u8)>;

    fn any_utterances() -> impl Strategy<Value = Vec<Utterance>> {
        let word = (any_label(), any_label(), 0..12u8, any::<bool>()).prop_map(
            |(gold, other, uncertainty, right)| (gold, if right { gold } else { other }, uncertainty),
        );
        prop::collection::vec(prop::collection::vec(word, 0..8), 1..6)
    }

    fn f1_over(threshold: f64, utterances: &[Utterance]) -> f64 {
        let mut evaluation = Evaluation::default();
        for utterance in utterances {
            let gold: Vec<&str> = utterance.iter().map(|word| word.0).collect();
            let first_choices: Vec<&str> = utterance.iter().map(|word| word.1).collect();
            let unknown: Vec<bool> = utterance.iter().map(|word| f64::from(word.2) > threshold).collect();
            evaluation.add(&gold, &mark(&first_choices, &unknown), "", "").unwrap();
        }
        evaluation.report().slot_f1
    }

    proptest! {
        #[test]
        fn the_sweep_finds_what_trying_all_thresholds_finds(
            utterances in any_utterances(),
            budget in 0..30u8,
        ) {
            let gold: Vec<Vec<&str>> = utterances.iter().map(|u| u.iter().map(|w| w.0).collect()).collect();
            prop_assume!(gold.iter().flatten().any(|label| *label != "O"));
            let first: Vec<Vec<&str>> = utterances.iter().map(|u| u.iter().map(|w| w.1).collect()).collect();
            let scores: Vec<Vec<f64>> = utterances.iter().map(|u| u.iter().map(|w| w.2.into()).collect()).collect();
            let scored: Vec<_> = (0..utterances.len())
                .map(|i| ScoredUtterance { gold: &gold[i], first_choices: &first[i], uncertainty: &scores[i] })
                .collect();
            let found = Threshold::choose(budget.into(), &scored).unwrap();
            let mut values: Vec<f64> = scores.concat();
            values.push(f64::MIN);
            values.sort_by(f64::total_cmp);
            let before = f1_over(f64::MAX, &utterances);
            let least = before - f64::from(budget) - 1e-9;
            let lowest = values.into_iter().find(|&value| f1_over(value, &utterances) >= least);
            prop_assert_eq!(Some(found.value), lowest);
            prop_assert_eq!((found.f1_before, found.f1_after), (before, f1_over(found.value, &utterances)));
        }
    }
}
