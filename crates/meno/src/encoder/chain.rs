//! A linear chain over the places of words: the likelihood of whole sequences, not of single words.
//!
//! ```text
//! p(y) = exp(sum_t e_t[y_t] + sum_t A[y_(t-1)][y_t]) / Z
//! ```
//! `e` are logits, `A` is learnt. Nothing is inside that has not begun: a first word cannot be inside, nor can one after
//! a word outside ([`Chain::allows`]). All sums are in `f64`; an utterance has few words and a word three places.

/// Outside of all concepts, at the beginning of one, inside of one.
pub(crate) const N_PLACES: usize = 3;
/// Outside of all concepts.
pub(crate) const OUTSIDE: usize = 0;
/// The first word of a concept.
pub(crate) const BEGIN: usize = 1;
/// A later word of a concept.
pub(crate) const INSIDE: usize = 2;

type Places = [f64; N_PLACES];

/// Sums over all sequences of places of an utterance.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chain {
    logits: Vec<Places>,
    transitions: [Places; N_PLACES],
    /// The log of the sum over all ways to reach a place.
    forward: Vec<Places>,
    /// The log of the sum over all ways to go on from it.
    backward: Vec<Places>,
    ln_z: f64,
}

impl Chain {
    /// Whether a word in the place `to` may follow one in the place `from`; before the first word is outside.
    pub fn allows(from: usize, to: usize) -> bool {
        to != INSIDE || from != OUTSIDE
    }

    /// Reads the logits of an utterance, at least one word, and the transitions, row by row.
    pub fn read<'a>(&mut self, logits: impl Iterator<Item = &'a [f32]>, transitions: &[f32]) {
        self.logits.clear();
        self.logits.extend(logits.map(|row| std::array::from_fn(|place| f64::from(row[place]))));
        self.transitions = std::array::from_fn(|from| {
            std::array::from_fn(|to| f64::from(transitions[from * N_PLACES + to]))
        });
        let n = self.logits.len();
        self.forward.clear();
        self.backward.clear();
        self.backward.resize(n, [0.0; N_PLACES]);
        for t in 0..n {
            let row = std::array::from_fn(|to| {
                let ways = (0..N_PLACES).map(|from| self.arrive(t, from, to));
                ln_sum(ways) + self.logits[t][to]
            });
            self.forward.push(row);
        }
        for t in (0..n.saturating_sub(1)).rev() {
            self.backward[t] = std::array::from_fn(|from| {
                ln_sum((0..N_PLACES).map(|to| {
                    let step =
                        if Self::allows(from, to) { self.transitions[from][to] } else { f64::NEG_INFINITY };
                    step + self.logits[t + 1][to] + self.backward[t + 1][to]
                }))
            });
        }
        self.ln_z = self.forward.last().map_or(0.0, |last| ln_sum(last.iter().copied()));
    }

    /// The log weight of all ways that lead from a place before word `t` to a place of it, without its logit.
    fn arrive(&self, t: usize, from: usize, to: usize) -> f64 {
        if !Self::allows(from, to) {
            return f64::NEG_INFINITY;
        }
        match t {
            // The first word follows nothing, which has the place of a word outside but no weight.
            0 if from == OUTSIDE => 0.0,
            0 => f64::NEG_INFINITY,
            _ => self.forward[t - 1][from] + self.transitions[from][to],
        }
    }

    /// How likely a word is in a place, whatever the others are.
    pub fn marginal(&self, t: usize, place: usize) -> f64 {
        (self.forward[t][place] + self.backward[t][place] - self.ln_z).exp()
    }

    /// How likely two words that follow each other are in these places.
    pub fn pair(&self, t: usize, from: usize, to: usize) -> f64 {
        (self.arrive(t, from, to) + self.logits[t][to] + self.backward[t][to] - self.ln_z).exp()
    }

    /// How likely there is a concept of exactly these words.
    pub fn concept(&self, start: usize, end: usize) -> f64 {
        let mut ln = self.forward[start][BEGIN];
        let mut place = BEGIN;
        for t in start + 1..end {
            ln += self.transitions[place][INSIDE] + self.logits[t][INSIDE];
            place = INSIDE;
        }
        let after = if end == self.logits.len() {
            0.0
        } else {
            let step =
                |to: usize| self.transitions[place][to] + self.logits[end][to] + self.backward[end][to];
            ln_sum([step(OUTSIDE), step(BEGIN)].into_iter())
        };
        (ln + after - self.ln_z).exp()
    }

    /// The likeliest sequence of places, with the logit of each word being outside lowered by its penalty.
    pub fn best(&self, penalty: impl Fn(usize) -> f64, places: &mut Vec<usize>) {
        let n = self.logits.len();
        let mut from: Vec<[usize; N_PLACES]> = Vec::with_capacity(n);
        let mut best = [f64::NEG_INFINITY; N_PLACES];
        for t in 0..n {
            let mut logits = self.logits[t];
            logits[OUTSIDE] -= penalty(t);
            let mut origin = [OUTSIDE; N_PLACES];
            let next = std::array::from_fn(|to| {
                let way = |from: usize| match t {
                    _ if !Self::allows(from, to) => f64::NEG_INFINITY,
                    0 if from == OUTSIDE => 0.0,
                    0 => f64::NEG_INFINITY,
                    _ => best[from] + self.transitions[from][to],
                };
                origin[to] = (1..N_PLACES).fold(0, |a, b| if way(b) > way(a) { b } else { a });
                way(origin[to]) + logits[to]
            });
            from.push(origin);
            best = next;
        }
        places.clear();
        places.resize(n, OUTSIDE);
        let mut place = (1..N_PLACES).fold(0, |a, b| if best[b] > best[a] { b } else { a });
        for t in (0..n).rev() {
            places[t] = place;
            place = from[t][place];
        }
    }

    /// `-ln p` of a sequence; puts its gradient, times `weight`, in place of the logits and adds that of the transitions.
    pub fn loss<'a>(
        &self,
        gold: impl Iterator<Item = usize>,
        weight: f32,
        d_logits: impl Iterator<Item = &'a mut [f32]>,
        d_transitions: &mut [f32],
    ) -> f64 {
        let (mut score, mut before) = (0.0, OUTSIDE);
        for ((t, place), d_logits) in gold.enumerate().zip(d_logits) {
            let right = |is: bool| f64::from(u8::from(is));
            d_logits.fill(0.0);
            for to in 0..N_PLACES {
                d_logits[to] = weight * (self.marginal(t, to) - right(to == place)) as f32;
                for from in (0..N_PLACES).filter(|&from| t > 0 && Self::allows(from, to)) {
                    let gradient = self.pair(t, from, to) - right((from, to) == (before, place));
                    d_transitions[from * N_PLACES + to] += weight * gradient as f32;
                }
            }
            score += self.logits[t][place] + if t > 0 { self.transitions[before][place] } else { 0.0 };
            before = place;
        }
        self.ln_z - score
    }
}

fn ln_sum(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = values.clone().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return largest;
    }
    largest + values.map(|value| (value - largest).exp()).sum::<f64>().ln()
}
