//! A semi-Markov conditional random field over boundary tags (Sarawagi and Cohen, 2004): the linear chain of [`super::crf`], where
//! each span has a score of its own too.
//!
//! ```text
//! p(y) = exp(sum_t e_t[y_t] + sum_t A[y_(t-1)][y_t] + sum over spans i..j of s[i][j]) / Z
//! ```
//! Spans of more words than the longest that is scored have a score of 0, so that with scores of 0 it is the linear chain. They
//! are summed up word by word, the others one by one, so that the work grows with the words times the longest. All sums are in
//! `f64`.

use super::crf::{BEGIN, INSIDE, N_TAGS, OUTSIDE, Tags, highest};
use crate::label::Boundary;
use crate::math::log_sum_exp;

/// Sums over all ways to cut an utterance into spans and words outside.
#[derive(Clone, Debug, Default)]
pub(crate) struct SemiCrf {
    /// The most words of a span that has a score.
    longest: usize,
    logits: Vec<Tags>,
    transitions: [Tags; N_TAGS],
    /// For each first word and length the log weight of the span, without what leads to it.
    spans: Vec<f64>,
    /// For each first word that of the longest span, without its score and with the step to another word of it.
    stems: Vec<f64>,
    /// The log of the sum over all ways that lead to a word being outside, or to a span that begins with it.
    enter: Vec<[f64; 2]>,
    /// The log of the sum over all ways to be outside, or to end a span, with a word.
    forward: Vec<Tags>,
    /// The log of the sum over all ways to a word in a span of more words than the longest, all of which it has.
    long: Vec<f64>,
    /// The log of the sum over all ways to go on with a word if the one before has a tag and ends what it is in.
    after: Vec<Tags>,
    /// The log of the sum over all ways to go on after a word in a span of more words than the longest.
    after_long: Vec<f64>,
    /// The log of the sum over all spans that begin with a word, and all that follows them.
    begun: Vec<f64>,
    marginals: Vec<Tags>,
    ln_z: f64,
}

/// The tag of the last word of a span of so many words.
fn last_tag(len: usize) -> usize {
    if len == 1 { BEGIN } else { INSIDE }
}

impl SemiCrf {
    /// Takes the logits of an utterance, at least one word, the transitions from each tag to each, and for each word the scores
    /// of the spans of 1, 2, ... `longest` words that begin with it; those that end after the utterance are not read.
    pub(crate) fn forward_backward(
        &mut self,
        logits: impl Iterator<Item = [f32; N_TAGS]>,
        transitions: &[[f32; N_TAGS]; N_TAGS],
        longest: usize,
        scores: &[f32],
    ) {
        self.logits.clear();
        self.logits.extend(logits.map(|row| row.map(f64::from)));
        self.transitions = transitions.map(|row| row.map(f64::from));
        self.longest = longest;
        self.weigh(scores);
        self.sum_forward();
        self.sum_backward();
        self.ln_z = self.forward.last().map_or(0.0, |last| log_sum_exp(last.iter().copied()));
        self.sum_marginals();
    }

    fn n_words(&self) -> usize {
        self.logits.len()
    }

    /// The lengths of the spans with a score that begin with a word.
    fn lengths(&self, start: usize) -> std::ops::RangeInclusive<usize> {
        1..=self.longest.min(self.n_words() - start)
    }

    fn span(&self, start: usize, len: usize) -> f64 {
        self.spans[start * self.longest + len - 1]
    }

    fn weigh(&mut self, scores: &[f32]) {
        let (n, longest) = (self.n_words(), self.longest);
        self.spans.clear();
        self.spans.resize(n * longest, f64::NEG_INFINITY);
        self.stems.clear();
        for start in 0..n {
            let mut weight = self.logits[start][BEGIN];
            for len in self.lengths(start) {
                if len > 1 {
                    weight +=
                        self.transitions[last_tag(len - 1)][INSIDE] + self.logits[start + len - 1][INSIDE];
                }
                let at = start * longest + len - 1;
                self.spans[at] = weight + f64::from(scores[at]);
            }
            self.stems.push(weight + self.transitions[last_tag(longest)][INSIDE]);
        }
    }

    fn sum_forward(&mut self) {
        self.forward.clear();
        self.enter.clear();
        self.long.clear();
        for t in 0..self.n_words() {
            let enter = [OUTSIDE, BEGIN].map(|to| match t {
                0 => 0.0,
                _ => log_sum_exp(
                    (0..N_TAGS).map(|from| self.forward[t - 1][from] + self.transitions[from][to]),
                ),
            });
            self.enter.push(enter);
            let gone_on =
                if t > 0 { self.long[t - 1] + self.transitions[INSIDE][INSIDE] } else { f64::NEG_INFINITY };
            let ways = [gone_on, self.enter_long(t)];
            self.long.push(log_sum_exp(ways.into_iter()) + self.logits[t][INSIDE]);
            let spans = (2..=self.longest.min(t + 1)).map(|len| {
                let start = t + 1 - len;
                self.enter[start][1] + self.span(start, len)
            });
            let inside = log_sum_exp(spans.chain([self.long[t]]));
            self.forward.push([enter[0] + self.logits[t][OUTSIDE], enter[1] + self.span(t, 1), inside]);
        }
    }

    /// The log weight of all ways to a word that is the first of its span after the longest, without its logit.
    fn enter_long(&self, t: usize) -> f64 {
        match t.checked_sub(self.longest) {
            Some(start) => self.enter[start][1] + self.stems[start],
            None => f64::NEG_INFINITY,
        }
    }

    fn sum_backward(&mut self) {
        let n = self.n_words();
        self.after.clear();
        self.after.resize(n + 1, [0.0; N_TAGS]);
        self.after_long.clear();
        self.after_long.resize(n, 0.0);
        self.begun.clear();
        self.begun.resize(n, 0.0);
        for t in (0..n).rev() {
            let ends = self.after[t + 1][INSIDE];
            let goes_on = self.step_long(t + 1) + self.transitions[INSIDE][INSIDE];
            self.after_long[t] = log_sum_exp([ends, goes_on].into_iter());
            let spans = self.lengths(t).map(|len| self.span(t, len) + self.after[t + len][last_tag(len)]);
            self.begun[t] = log_sum_exp(spans.chain([self.stems[t] + self.step_long(t + self.longest)]));
            let outside = self.logits[t][OUTSIDE] + self.after[t + 1][OUTSIDE];
            self.after[t] = self
                .transitions
                .map(|step| log_sum_exp([step[OUTSIDE] + outside, step[BEGIN] + self.begun[t]].into_iter()));
        }
    }

    /// The log weight of all ways to go on with a word that is in a span of more words than the longest; below all numbers if
    /// there is no such word.
    fn step_long(&self, t: usize) -> f64 {
        if t < self.n_words() { self.logits[t][INSIDE] + self.after_long[t] } else { f64::NEG_INFINITY }
    }

    fn sum_marginals(&mut self) {
        let n = self.n_words();
        self.marginals.clear();
        for t in 0..n {
            let outside = self.enter[t][0] + self.logits[t][OUTSIDE] + self.after[t + 1][OUTSIDE];
            let begun = self.enter[t][1] + self.begun[t];
            let long = self.long[t] + self.after_long[t];
            self.marginals.push([outside, begun, long].map(|ln| (ln - self.ln_z).exp()));
        }
        for start in 0..n {
            // A word is inside of all spans from here that end after it.
            let mut sum = self.stem_marginal(start);
            for len in self.lengths(start).rev().take_while(|&len| len > 1) {
                sum += self.scored_marginal(start, len);
                self.marginals[start + len - 1][INSIDE] += sum;
            }
        }
    }

    /// How likely a span of more words than the longest begins with a word.
    fn stem_marginal(&self, start: usize) -> f64 {
        (self.enter[start][1] + self.stems[start] + self.step_long(start + self.longest) - self.ln_z).exp()
    }

    fn scored_marginal(&self, start: usize, len: usize) -> f64 {
        (self.enter[start][1] + self.span(start, len) + self.after[start + len][last_tag(len)] - self.ln_z)
            .exp()
    }

    /// How likely a word has each tag, whatever the others have.
    pub(crate) fn marginals(&self, t: usize) -> Tags {
        self.marginals[t]
    }

    /// How likely there is a span of exactly these words.
    pub(crate) fn span_marginal(&self, start: usize, end: usize) -> f64 {
        let weight = self.weight(start, end);
        (self.enter[start][1] + weight + self.after[end][last_tag(end - start)] - self.ln_z).exp()
    }

    /// The log weight of a span of any length, without what leads to it.
    fn weight(&self, start: usize, end: usize) -> f64 {
        let len = end - start;
        if len <= self.longest {
            return self.span(start, len);
        }
        let rest = start + self.longest..end;
        let steps = (rest.len() - 1) as f64 * self.transitions[INSIDE][INSIDE];
        self.stems[start] + steps + rest.map(|t| self.logits[t][INSIDE]).sum::<f64>()
    }

    /// The likeliest spans, with the logit of each word being outside lowered by its penalty; each span has one slot too, and
    /// the log probabilities that its words give to the slot count so much: `slots` are those of a word.
    pub(crate) fn joint_viterbi<'s>(
        &self,
        outside_penalty: impl Fn(usize) -> f64,
        slots: impl Fn(usize) -> &'s [f32],
        weight: f64,
        tags: &mut Vec<Boundary>,
    ) {
        let (n, longest) = (self.n_words(), self.longest);
        // Without a weight all slots are one.
        let n_slots = if n == 0 || weight == 0.0 { 1 } else { slots(0).len() };
        let slot =
            |t: usize, slot: usize| if weight == 0.0 { 0.0 } else { weight * f64::from(slots(t)[slot]) };
        // The best way through the words before one, by the tag of the last of them; before the first is outside.
        let mut best = vec![[f64::NEG_INFINITY; N_TAGS]; n + 1];
        best[0][OUTSIDE] = 0.0;
        // Where it came from: the tag before a word outside, or the first word of the span; the tag before a span.
        let (mut origins, mut before) = (vec![[0; N_TAGS]; n + 1], vec![OUTSIDE; n]);
        // For each slot the best way to a span of more words than the longest, and its first word; how each begins.
        let mut long = vec![(f64::NEG_INFINITY, 0); n_slots];
        let mut stems = vec![f64::NEG_INFINITY; n * n_slots];
        let mut sums = vec![0.0; n_slots];
        for t in 0..n {
            let arrive = |to: usize| {
                let step = |from: usize| if t == 0 { 0.0 } else { self.transitions[from][to] };
                highest(&std::array::from_fn::<f64, N_TAGS, _>(|from| best[t][from] + step(from)))
            };
            let [(from, outside), (begun_from, begun)] = [OUTSIDE, BEGIN].map(arrive);
            best[t + 1][OUTSIDE] = outside + self.logits[t][OUTSIDE] - outside_penalty(t);
            origins[t + 1][OUTSIDE] = from;
            before[t] = begun_from;
            let mut end = |end: usize, tag: usize, score: f64, start: usize| {
                if score > best[end][tag] {
                    (best[end][tag], origins[end][tag]) = (score, start);
                }
            };
            sums.fill(0.0);
            for len in self.lengths(t) {
                sums.iter_mut().enumerate().for_each(|(i, sum)| *sum += slot(t + len - 1, i));
                end(t + len, last_tag(len), begun + self.span(t, len) + highest(&sums).1, t);
            }
            for (i, (score, start)) in long.iter_mut().enumerate() {
                stems[t * n_slots + i] = begun + self.stems[t] + sums[i];
                *score += self.transitions[INSIDE][INSIDE];
                if let Some(stem) = t.checked_sub(longest).filter(|stem| stems[stem * n_slots + i] > *score) {
                    (*score, *start) = (stems[stem * n_slots + i], stem);
                }
                *score += self.logits[t][INSIDE] + slot(t, i);
                end(t + 1, INSIDE, *score, *start);
            }
        }
        tags.clear();
        tags.resize(n, Boundary::Outside);
        let (mut end, (mut tag, _)) = (n, highest(&best[n]));
        while end > 0 {
            let origin = origins[end][tag];
            if tag == OUTSIDE {
                (tag, end) = (origin, end - 1);
            } else {
                tags[origin] = Boundary::Begin;
                tags[origin + 1..end].fill(Boundary::Inside);
                (tag, end) = (before[origin], origin);
            }
        }
    }

    /// `-ln p` of a sequence; writes its gradient, times `weight`, in place of the logits and of the scores of spans, and adds
    /// that of the transitions.
    pub(crate) fn loss<'a>(
        &self,
        gold: impl Iterator<Item = Boundary>,
        weight: f32,
        d_logits: impl Iterator<Item = &'a mut [f32]>,
        d_transitions: &mut [f32],
        d_scores: &mut [f32],
    ) -> f64 {
        self.expect(weight, d_transitions, d_scores);
        let (mut score, mut before, mut start) = (0.0, OUTSIDE, None);
        let mut end_span = |start: Option<usize>, end: usize, score: &mut f64| {
            let Some(start) = start else { return };
            *score += self.weight(start, end);
            if end - start <= self.longest {
                d_scores[start * self.longest + end - start - 1] -= weight;
            }
        };
        for ((t, tag), d_logits) in gold.map(|tag| tag as usize).enumerate().zip(d_logits) {
            d_logits.fill(0.0);
            for ((to, d), p) in d_logits.iter_mut().enumerate().zip(self.marginals[t]) {
                *d = weight * (p - f64::from(u8::from(to == tag))) as f32;
            }
            if tag != INSIDE {
                end_span(start, t, &mut score);
                start = (tag == BEGIN).then_some(t);
                score += if tag == OUTSIDE { self.logits[t][OUTSIDE] } else { 0.0 };
                score += if t > 0 { self.transitions[before][tag] } else { 0.0 };
            }
            if t > 0 {
                d_transitions[before * N_TAGS + tag] -= weight;
            }
            before = tag;
        }
        end_span(start, self.n_words(), &mut score);
        self.ln_z - score
    }

    /// How often transitions and spans are expected, times `weight`: the former are added, the latter written.
    fn expect(&self, weight: f32, transitions: &mut [f32], scores: &mut [f32]) {
        let mut add = |from: usize, to: usize, p: f64| transitions[from * N_TAGS + to] += weight * p as f32;
        scores.fill(0.0);
        for t in 0..self.n_words() {
            let stem = self.stem_marginal(t);
            add(last_tag(self.longest), INSIDE, stem);
            for len in self.lengths(t) {
                let p = self.scored_marginal(t, len);
                scores[t * self.longest + len - 1] = weight * p as f32;
                let all = if len == self.longest { p + stem } else { p };
                if len > 1 {
                    add(BEGIN, INSIDE, all);
                    add(INSIDE, INSIDE, all * (len - 2) as f64);
                }
            }
            if t == 0 {
                continue;
            }
            let long = self.long[t - 1] + self.transitions[INSIDE][INSIDE] + self.step_long(t);
            add(INSIDE, INSIDE, (long - self.ln_z).exp());
            let outside = self.logits[t][OUTSIDE] + self.after[t + 1][OUTSIDE];
            for from in 0..N_TAGS {
                for (to, rest) in [(OUTSIDE, outside), (BEGIN, self.begun[t])] {
                    let ln = self.forward[t - 1][from] + self.transitions[from][to] + rest - self.ln_z;
                    add(from, to, ln.exp());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::crf::Crf;
    use crate::random::Random;

    struct Case {
        logits: Vec<[f32; N_TAGS]>,
        transitions: [[f32; N_TAGS]; N_TAGS],
        longest: usize,
        scores: Vec<f32>,
    }

    impl Case {
        fn drawn(n: usize, longest: usize, random: &mut Random) -> Self {
            Case {
                logits: (0..n).map(|_| [(); N_TAGS].map(|()| 2.0 * random.normal())).collect(),
                transitions: [(); N_TAGS].map(|()| [(); N_TAGS].map(|()| random.normal())),
                longest,
                scores: (0..n * longest).map(|_| 2.0 * random.normal()).collect(),
            }
        }

        fn crf(&self) -> SemiCrf {
            let mut crf = SemiCrf::default();
            crf.forward_backward(self.logits.iter().copied(), &self.transitions, self.longest, &self.scores);
            crf
        }

        /// The log weight of a sequence, word by word.
        fn ln_weight(&self, tags: &[usize]) -> f64 {
            let mut sum = 0.0;
            for t in 0..tags.len() {
                let before = if t == 0 { OUTSIDE } else { tags[t - 1] };
                if tags[t] == INSIDE && before == OUTSIDE {
                    return f64::NEG_INFINITY;
                }
                sum += f64::from(self.logits[t][tags[t]]);
                sum += if t == 0 { 0.0 } else { f64::from(self.transitions[before][tags[t]]) };
            }
            for (start, end) in spans(tags) {
                if end - start <= self.longest {
                    sum += f64::from(self.scores[start * self.longest + end - start - 1]);
                }
            }
            sum
        }
    }

    fn spans(tags: &[usize]) -> Vec<(usize, usize)> {
        let starts = (0..tags.len()).filter(|&t| tags[t] == BEGIN);
        starts.map(|t| (t, (t + 1..tags.len()).find(|&t| tags[t] != INSIDE).unwrap_or(tags.len()))).collect()
    }

    fn all(n: usize) -> impl Iterator<Item = Vec<usize>> {
        (0..N_TAGS.pow(n as u32))
            .map(move |code| (0..n).map(|t| code / N_TAGS.pow(t as u32) % N_TAGS).collect())
    }

    fn boundaries(tags: &[usize]) -> impl Iterator<Item = Boundary> {
        tags.iter().map(|&tag| [Boundary::Outside, Boundary::Begin, Boundary::Inside][tag])
    }

    const SIZES: [(usize, usize); 12] =
        [(1, 1), (1, 3), (2, 1), (3, 1), (3, 2), (4, 2), (5, 3), (6, 1), (6, 2), (6, 6), (7, 2), (7, 4)];

    #[test]
    fn sums_agree_with_enumeration() {
        let mut random = Random::new(11);
        for (n, longest) in SIZES {
            let case = Case::drawn(n, longest, &mut random);
            let crf = case.crf();
            let all: Vec<_> = all(n).map(|tags| (case.ln_weight(&tags).exp(), tags)).collect();
            let z: f64 = all.iter().map(|(weight, _)| weight).sum();
            let share = |is: &dyn Fn(&[usize]) -> bool| {
                all.iter().filter(|(_, tags)| is(tags)).map(|(weight, _)| weight / z).sum::<f64>()
            };
            let close = |found: f64, expected: f64, what: &str| {
                assert!((found - expected).abs() < 1e-9, "{n} words, {what}: {found} for {expected}");
            };
            close(crf.ln_z, z.ln(), "sum");
            for t in 0..n {
                for to in 0..N_TAGS {
                    close(crf.marginals(t)[to], share(&|tags| tags[t] == to), "marginal");
                }
                for end in t + 1..=n {
                    close(crf.span_marginal(t, end), share(&|tags| spans(tags).contains(&(t, end))), "span");
                }
            }
            for (weight, tags) in all.iter().filter(|(weight, _)| *weight > 0.0).step_by(7) {
                let mut d = vec![vec![0.0; N_TAGS]; n];
                let mut d_scores = vec![0.0; n * longest];
                let d = d.iter_mut().map(Vec::as_mut_slice);
                let loss = crf.loss(boundaries(tags), 1.0, d, &mut [0.0; 9], &mut d_scores);
                close(loss, -(weight / z).ln(), "loss");
            }
        }
    }

    #[test]
    fn loss_agrees_with_finite_differences() {
        let mut random = Random::new(12);
        for (n, longest) in SIZES {
            let mut case = Case::drawn(n, longest, &mut random);
            let allowed: Vec<_> = all(n).filter(|tags| case.ln_weight(tags).is_finite()).collect();
            for gold in allowed.iter().step_by(1 + allowed.len() / 9) {
                let mut d = vec![vec![0.0; 16]; n];
                let (mut d_transitions, mut d_scores) = ([0.0; 9], vec![0.5; n * longest]);
                let rows = d.iter_mut().map(Vec::as_mut_slice);
                case.crf().loss(boundaries(gold), 0.5, rows, &mut d_transitions, &mut d_scores);
                let loss = |case: &Case| 0.5 * (case.crf().ln_z - case.ln_weight(gold));
                let mut check = |gradient: f32, at: &dyn Fn(&mut Case) -> &mut f32, what: &str| {
                    let value = *at(&mut case);
                    let mut shifted = |by: f32| {
                        *at(&mut case) = value + by;
                        (f64::from(value + by), loss(&case))
                    };
                    let ((x1, y1), (x0, y0)) = (shifted(4e-3), shifted(-4e-3));
                    *at(&mut case) = value;
                    let slope = (y1 - y0) / (x1 - x0);
                    assert!((slope - f64::from(gradient)).abs() < 2e-5, "{what}: {gradient}, not {slope}");
                };
                for (t, d) in d.iter().enumerate() {
                    for (to, &d) in d[..N_TAGS].iter().enumerate() {
                        check(d, &|case| &mut case.logits[t][to], "logit");
                    }
                }
                for (i, &d) in d_transitions.iter().enumerate() {
                    check(d, &|case| &mut case.transitions[i / N_TAGS][i % N_TAGS], "transition");
                }
                for (i, &d) in d_scores.iter().enumerate() {
                    check(d, &|case| &mut case.scores[i], "score");
                }
            }
        }
    }

    #[test]
    fn likeliest_agrees_with_enumeration() {
        let (mut random, n_slots) = (Random::new(13), 3);
        for (n, longest) in SIZES.into_iter().chain(SIZES) {
            let case = Case::drawn(n, longest, &mut random);
            let slots: Vec<Vec<f32>> =
                (0..n).map(|_| (0..n_slots).map(|_| 3.0 * random.normal()).collect()).collect();
            let penalty = |t: usize| if t == 1 { 0.5 } else { 0.0 };
            for weight in [0.0, 0.5] {
                let score = |tags: &[usize]| {
                    let outside = (0..n).filter(|&t| tags[t] == OUTSIDE).map(penalty).sum::<f64>();
                    let of = |(start, end): (usize, usize)| {
                        let of = |slot: usize| (start..end).map(|t| f64::from(slots[t][slot])).sum::<f64>();
                        (0..n_slots).map(of).fold(f64::NEG_INFINITY, f64::max)
                    };
                    case.ln_weight(tags) - outside + weight * spans(tags).into_iter().map(of).sum::<f64>()
                };
                let best = all(n).max_by(|a, b| score(a).total_cmp(&score(b))).expect("one");
                let mut tags = Vec::new();
                case.crf().joint_viterbi(penalty, |t| &slots[t], weight, &mut tags);
                assert_eq!(tags, boundaries(&best).collect::<Vec<_>>(), "{n} words");
            }
        }
    }

    #[test]
    fn without_scores_it_is_the_linear_chain() {
        let mut case = Case::drawn(8, 3, &mut Random::new(14));
        case.scores.fill(0.0);
        let (semi, mut chain) = (case.crf(), Crf::default());
        chain.forward_backward(case.logits.iter().copied(), &case.transitions);
        for t in 0..8 {
            for (a, b) in semi.marginals(t).into_iter().zip(chain.marginals(t)) {
                assert!((a - b).abs() < 1e-12);
            }
            for end in t + 1..=8 {
                assert!((semi.span_marginal(t, end) - chain.span_marginal(t, end)).abs() < 1e-12);
            }
        }
    }
}
