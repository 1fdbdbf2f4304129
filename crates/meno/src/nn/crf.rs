//! A linear-chain conditional random field over boundary tags: the likelihood of whole sequences, not of single words.
//!
//! ```text
//! p(y) = exp(sum_t e_t[y_t] + sum_t A[y_(t-1)][y_t]) / Z
//! ```
//! `e` are logits, `A` is learnt. Nothing is inside that has not begun: a first word cannot be inside, nor can one after
//! a word outside ([`Crf::allows`]). All sums are in `f64`; an utterance has few words and there are three tags.

use crate::label::Boundary;
use crate::math::log_sum_exp;

/// Outside of all spans, at the beginning of one, inside of one.
pub(crate) const N_TAGS: usize = 3;
pub(super) const OUTSIDE: usize = Boundary::Outside as usize;
pub(super) const BEGIN: usize = Boundary::Begin as usize;
pub(super) const INSIDE: usize = Boundary::Inside as usize;

pub(super) type Tags = [f64; N_TAGS];

/// Sums over all sequences of boundary tags of an utterance.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crf {
    logits: Vec<Tags>,
    transitions: [Tags; N_TAGS],
    /// The log of the sum over all ways to reach a tag.
    forward: Vec<Tags>,
    /// The log of the sum over all ways to go on from it.
    backward: Vec<Tags>,
    ln_z: f64,
}

impl Crf {
    /// Whether a word with the tag `to` may follow one with the tag `from`; before the first word is outside.
    fn allows(from: usize, to: usize) -> bool {
        to != INSIDE || from != OUTSIDE
    }

    /// Takes the logits of an utterance, at least one word, and the transitions from each tag to each.
    pub(crate) fn forward_backward(
        &mut self,
        logits: impl Iterator<Item = [f32; N_TAGS]>,
        transitions: &[[f32; N_TAGS]; N_TAGS],
    ) {
        self.logits.clear();
        self.logits.extend(logits.map(|row| row.map(f64::from)));
        self.transitions = transitions.map(|row| row.map(f64::from));
        let n = self.logits.len();
        self.forward.clear();
        self.backward.clear();
        self.backward.resize(n, [0.0; N_TAGS]);
        for t in 0..n {
            let row = std::array::from_fn(|to| {
                let ways = (0..N_TAGS).map(|from| self.arrive(t, from, to));
                log_sum_exp(ways) + self.logits[t][to]
            });
            self.forward.push(row);
        }
        for t in (0..n.saturating_sub(1)).rev() {
            self.backward[t] = std::array::from_fn(|from| {
                log_sum_exp((0..N_TAGS).map(|to| {
                    let step =
                        if Self::allows(from, to) { self.transitions[from][to] } else { f64::NEG_INFINITY };
                    step + self.logits[t + 1][to] + self.backward[t + 1][to]
                }))
            });
        }
        self.ln_z = self.forward.last().map_or(0.0, |last| log_sum_exp(last.iter().copied()));
    }

    /// The log weight of all ways that lead from a tag before word `t` to a tag of it, without its logit.
    fn arrive(&self, t: usize, from: usize, to: usize) -> f64 {
        if !Self::allows(from, to) {
            return f64::NEG_INFINITY;
        }
        match t {
            // The first word follows nothing, which has the tag of a word outside but no weight.
            0 if from == OUTSIDE => 0.0,
            0 => f64::NEG_INFINITY,
            _ => self.forward[t - 1][from] + self.transitions[from][to],
        }
    }

    /// How likely a word has each tag, whatever the others have.
    pub(crate) fn marginals(&self, t: usize) -> Tags {
        std::array::from_fn(|tag| self.marginal(t, tag))
    }

    fn marginal(&self, t: usize, tag: usize) -> f64 {
        (self.forward[t][tag] + self.backward[t][tag] - self.ln_z).exp()
    }

    /// How likely two words that follow each other have these tags.
    pub(crate) fn pair_marginal(&self, t: usize, from: usize, to: usize) -> f64 {
        (self.arrive(t, from, to) + self.logits[t][to] + self.backward[t][to] - self.ln_z).exp()
    }

    /// How likely there is a span of exactly these words.
    pub(crate) fn span_marginal(&self, start: usize, end: usize) -> f64 {
        let mut ln = self.forward[start][BEGIN];
        let mut tag = BEGIN;
        for t in start + 1..end {
            ln += self.transitions[tag][INSIDE] + self.logits[t][INSIDE];
            tag = INSIDE;
        }
        let after = if end == self.logits.len() {
            0.0
        } else {
            let step = |to: usize| self.transitions[tag][to] + self.logits[end][to] + self.backward[end][to];
            log_sum_exp([step(OUTSIDE), step(BEGIN)].into_iter())
        };
        (ln + after - self.ln_z).exp()
    }

    /// The likeliest sequence of tags, with the logit of each word being outside lowered by its penalty.
    pub(crate) fn viterbi(&self, outside_penalty: impl Fn(usize) -> f64, tags: &mut Vec<Boundary>) {
        let n = self.logits.len();
        let mut from: Vec<[usize; N_TAGS]> = Vec::with_capacity(n);
        let mut best = [f64::NEG_INFINITY; N_TAGS];
        for t in 0..n {
            let mut logits = self.logits[t];
            logits[OUTSIDE] -= outside_penalty(t);
            let mut origin = [OUTSIDE; N_TAGS];
            let next = std::array::from_fn(|to| {
                let way = |from: usize| match t {
                    _ if !Self::allows(from, to) => f64::NEG_INFINITY,
                    0 if from == OUTSIDE => 0.0,
                    0 => f64::NEG_INFINITY,
                    _ => best[from] + self.transitions[from][to],
                };
                origin[to] = (1..N_TAGS).fold(0, |a, b| if way(b) > way(a) { b } else { a });
                way(origin[to]) + logits[to]
            });
            from.push(origin);
            best = next;
        }
        tags.clear();
        tags.resize(n, Boundary::Outside);
        let mut tag = (1..N_TAGS).fold(0, |a, b| if best[b] > best[a] { b } else { a });
        for t in (0..n).rev() {
            tags[t] = [Boundary::Outside, Boundary::Begin, Boundary::Inside][tag];
            tag = from[t][tag];
        }
    }

    /// As [`Crf::viterbi`], where each span has one slot too, and the log probabilities that its words give to the slot count so
    /// much: `slots` are those of a word.
    pub(crate) fn joint_viterbi<'s>(
        &self,
        outside_penalty: impl Fn(usize) -> f64,
        slots: impl Fn(usize) -> &'s [f32],
        weight: f64,
        tags: &mut Vec<Boundary>,
    ) {
        let n = self.logits.len();
        let n_slots = if n == 0 { 0 } else { slots(0).len() };
        // The best way to each tag and slot of the word before; outside has slot 0.
        let mut best = [vec![0.0], vec![f64::NEG_INFINITY; n_slots], vec![f64::NEG_INFINITY; n_slots]];
        // Where the best ways to outside and begin came from, and for each slot whether inside came from inside.
        let (mut origins, mut went_on) = (Vec::with_capacity(n), Vec::with_capacity(n * n_slots));
        let transitions = &self.transitions;
        for t in 0..n {
            let logits = &self.logits[t];
            let last = best.each_ref().map(|scores| highest(scores));
            let arrive = |to: usize| {
                let step = |from: usize| if t == 0 { 0.0 } else { transitions[from][to] };
                let ways = std::array::from_fn::<f64, N_TAGS, _>(|from| last[from].1 + step(from));
                let (from, score) = highest(&ways);
                ((from, last[from].0), score)
            };
            let [(to_outside, outside), (to_begin, begin)] = [OUTSIDE, BEGIN].map(arrive);
            origins.push([to_outside, to_begin]);
            for (slot, &ln) in slots(t).iter().enumerate() {
                let begun = best[BEGIN][slot] + transitions[BEGIN][INSIDE];
                let gone_on = best[INSIDE][slot] + transitions[INSIDE][INSIDE];
                went_on.push(gone_on > begun);
                best[INSIDE][slot] = begun.max(gone_on) + logits[INSIDE] + weight * f64::from(ln);
                best[BEGIN][slot] = begin + logits[BEGIN] + weight * f64::from(ln);
            }
            best[OUTSIDE][0] = outside + logits[OUTSIDE] - outside_penalty(t);
        }
        tags.clear();
        tags.resize(n, Boundary::Outside);
        let last = best.each_ref().map(|scores| highest(scores));
        let (mut tag, _) = highest(&last.map(|(_, score)| score));
        let mut slot = last[tag].0;
        for t in (0..n).rev() {
            tags[t] = [Boundary::Outside, Boundary::Begin, Boundary::Inside][tag];
            (tag, slot) = match tag {
                INSIDE => (if went_on[t * n_slots + slot] { INSIDE } else { BEGIN }, slot),
                tag => origins[t][tag],
            };
        }
    }

    /// `-ln p` of a sequence; puts its gradient, times `weight`, in place of the logits and adds that of the transitions.
    pub(crate) fn loss<'a>(
        &self,
        gold: impl Iterator<Item = Boundary>,
        weight: f32,
        d_logits: impl Iterator<Item = &'a mut [f32]>,
        d_transitions: &mut [f32],
    ) -> f64 {
        let (mut score, mut before) = (0.0, OUTSIDE);
        for ((t, tag), d_logits) in gold.map(|tag| tag as usize).enumerate().zip(d_logits) {
            let right = |is: bool| f64::from(u8::from(is));
            d_logits.fill(0.0);
            for to in 0..N_TAGS {
                d_logits[to] = weight * (self.marginal(t, to) - right(to == tag)) as f32;
                for from in (0..N_TAGS).filter(|&from| t > 0 && Self::allows(from, to)) {
                    let gradient = self.pair_marginal(t, from, to) - right((from, to) == (before, tag));
                    d_transitions[from * N_TAGS + to] += weight * gradient as f32;
                }
            }
            score += self.logits[t][tag] + if t > 0 { self.transitions[before][tag] } else { 0.0 };
            before = tag;
        }
        self.ln_z - score
    }
}

/// The first of the largest, and how large it is; below all numbers if there is none.
pub(super) fn highest(scores: &[f64]) -> (usize, f64) {
    let start = (0, f64::NEG_INFINITY);
    scores.iter().copied().enumerate().fold(start, |a, b| if b.1 > a.1 { b } else { a })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Sums over sequences, done one sequence after the other.
    #[test]
    fn agrees_with_enumeration() {
        let mut random = Random::new(6);
        for n in 1..=5 {
            let logits: Vec<[f32; N_TAGS]> =
                (0..n).map(|_| [(); N_TAGS].map(|()| 2.0 * random.normal())).collect();
            let transitions = [(); N_TAGS].map(|()| [(); N_TAGS].map(|()| random.normal()));
            let weight = |tags: &[usize]| -> f64 {
                let mut sum = 0.0;
                for t in 0..n {
                    let before = if t == 0 { 0 } else { tags[t - 1] };
                    if !Crf::allows(before, tags[t]) {
                        return 0.0;
                    }
                    sum += f64::from(logits[t][tags[t]]);
                    sum += if t == 0 { 0.0 } else { f64::from(transitions[before][tags[t]]) };
                }
                sum.exp()
            };
            let all: Vec<(Vec<usize>, f64)> = (0..N_TAGS.pow(n as u32))
                .map(|code| (0..n).map(|t| code / N_TAGS.pow(t as u32) % N_TAGS).collect::<Vec<_>>())
                .map(|tags| (tags.clone(), weight(&tags)))
                .collect();
            let z: f64 = all.iter().map(|(_, weight)| weight).sum();
            let share = |is: &dyn Fn(&[usize]) -> bool| {
                all.iter().filter(|(tags, _)| is(tags)).map(|(_, weight)| weight / z).sum::<f64>()
            };
            let mut crf = Crf::default();
            crf.forward_backward(logits.iter().copied(), &transitions);
            let close = |found: f64, expected: f64, what: &str| {
                assert!((found - expected).abs() < 1e-9, "{n} words, {what}: {found} for {expected}");
            };
            for t in 0..n {
                for to in 0..N_TAGS {
                    close(crf.marginal(t, to), share(&|tags| tags[t] == to), "marginal");
                    for from in 0..N_TAGS {
                        if t > 0 {
                            let expected = share(&|tags| tags[t - 1] == from && tags[t] == to);
                            close(crf.pair_marginal(t, from, to), expected, "pair");
                        }
                    }
                }
                for end in t + 1..=n {
                    let is = |tags: &[usize]| {
                        tags[t] == 1
                            && tags[t + 1..end].iter().all(|&tag| tag == 2)
                            && tags.get(end) != Some(&2)
                    };
                    close(crf.span_marginal(t, end), share(&is), "span");
                }
            }
            let best = all.iter().max_by(|a, b| a.1.total_cmp(&b.1)).expect("there is one");
            let mut tags = Vec::new();
            crf.viterbi(|_| 0.0, &mut tags);
            assert_eq!(tags.iter().map(|&tag| tag as usize).collect::<Vec<_>>(), best.0, "{n} words");
            let mut d = vec![vec![0.0; N_TAGS]; n];
            let loss =
                crf.loss(tags.iter().copied(), 1.0, d.iter_mut().map(Vec::as_mut_slice), &mut [0.0; 9]);
            close(loss, -(best.1 / z).ln(), "loss");
        }
    }

    /// Each sequence of tags with the best slot for each of its spans, one after the other.
    #[test]
    fn tags_and_slots_together_agree_with_enumeration() {
        let (mut random, n_slots, weight) = (Random::new(7), 2, 0.5);
        for n in [1, 2, 3, 4, 4, 4, 5, 5, 5] {
            let logits: Vec<[f32; N_TAGS]> = (0..n).map(|_| [(); N_TAGS].map(|()| random.normal())).collect();
            let transitions = [(); N_TAGS].map(|()| [(); N_TAGS].map(|()| random.normal()));
            let slots: Vec<Vec<f32>> =
                (0..n).map(|_| (0..n_slots).map(|_| 3.0 * random.normal()).collect()).collect();
            let penalty = |t: usize| if t == 1 { 0.5 } else { 0.0 };
            let score = |tags: &[usize], weight: f64| -> f64 {
                let mut sum = 0.0;
                for t in 0..n {
                    let before = if t == 0 { OUTSIDE } else { tags[t - 1] };
                    if !Crf::allows(before, tags[t]) {
                        return f64::NEG_INFINITY;
                    }
                    sum += f64::from(logits[t][tags[t]]);
                    sum += if t == 0 { 0.0 } else { f64::from(transitions[before][tags[t]]) };
                    sum -= if tags[t] == OUTSIDE { penalty(t) } else { 0.0 };
                    if tags[t] == BEGIN {
                        let end = (t + 1..n).find(|&t| tags[t] != INSIDE).unwrap_or(n);
                        let of = |slot: usize| (t..end).map(|t| f64::from(slots[t][slot])).sum::<f64>();
                        sum += weight * (0..n_slots).map(of).fold(f64::NEG_INFINITY, f64::max);
                    }
                }
                sum
            };
            let all = (0..N_TAGS.pow(n as u32))
                .map(|code| (0..n).map(|t| code / N_TAGS.pow(t as u32) % N_TAGS).collect::<Vec<_>>());
            let mut crf = Crf::default();
            crf.forward_backward(logits.iter().copied(), &transitions);
            for weight in [0.0, weight] {
                let best =
                    all.clone().max_by(|a, b| score(a, weight).total_cmp(&score(b, weight))).expect("one");
                let mut tags = Vec::new();
                crf.joint_viterbi(penalty, |t| &slots[t], weight, &mut tags);
                assert_eq!(tags.iter().map(|&tag| tag as usize).collect::<Vec<_>>(), best, "{n} words");
            }
        }
    }

    /// Two words whose logits and transitions were typed by hand.
    #[test]
    fn two_words_by_hand() {
        let (ln2, ln3) = (2f32.ln(), 3f32.ln());
        let mut crf = Crf::default();
        // Weights 1, 2, anything of the first word and 1, 3, 2 of the second; begin-inside counts twice.
        let transitions = [[0.0; 3], [0.0, 0.0, ln2], [0.0; 3]];
        crf.forward_backward([[0.0, ln2, 5.0], [0.0, ln3, ln2]].into_iter(), &transitions);
        // OO 1, OB 3, BO 2, BB 6, BI 2 * 2 * 2 = 8: together 20.
        let expected = [[4.0, 16.0, 0.0], [3.0, 9.0, 8.0]];
        for (t, expected) in expected.iter().enumerate() {
            for (found, expected) in crf.marginals(t).iter().zip(expected) {
                assert!((found - expected / 20.0).abs() < 1e-6, "word {t}: {found}, not {expected} / 20");
            }
        }
        for ((start, end), expected) in [((0, 1), 8.0), ((0, 2), 8.0), ((1, 2), 9.0)] {
            assert!((crf.span_marginal(start, end) - expected / 20.0).abs() < 1e-6, "{start}..{end}");
        }
        let mut tags = Vec::new();
        crf.viterbi(|_| 0.0, &mut tags);
        assert_eq!(tags, [Boundary::Begin, Boundary::Inside]);
        // A penalty below 0 draws the first word outside: exp(4) times 3 is more than 8.
        crf.viterbi(|t| if t == 0 { -4.0 } else { 0.0 }, &mut tags);
        assert_eq!(tags, [Boundary::Outside, Boundary::Begin]);
    }
}
