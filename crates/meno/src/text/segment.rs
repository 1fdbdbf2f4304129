//! Text without spaces in the words of a corpus that others have cut: the likeliest of them (a unigram model).
//!
//! Clusters enter and are put together. A word is as likely as it is frequent in the corpus, so that the time is linear and
//! the model needs nothing but the corpus; a word that the corpus lacks is as likely as one that occurs once, times one in
//! as many as there are clusters for each of its own. On corpora with spaces whose spaces were taken away this finds many
//! more words than the longest match does (`docs/languages.md`).

use std::collections::{BTreeMap, HashMap, HashSet};

use super::Tokens;
use super::clusters::{begins, is_unspaced};

/// A longer word is not looked for.
const MAX_CLUSTERS: usize = 24;

/// What words cost: the negative log of how likely they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Segmenter {
    words: HashMap<String, f64>,
    /// Of a word that the corpus lacks, and of each of its clusters.
    new_word: f64,
    new_cluster: f64,
    /// In clusters.
    longest: usize,
}

/// The cheapest way to read the clusters up to a place.
#[derive(Clone, Copy)]
struct Way {
    cost: f64,
    /// Where its last word begins.
    start: usize,
}

impl Segmenter {
    /// For words that occur so often.
    pub(super) fn new(counts: &BTreeMap<String, u32>) -> Self {
        let total: f64 = counts.values().map(|&n| f64::from(n)).sum();
        let clusters: HashSet<&str> = counts.keys().flat_map(|word| clusters(word)).collect();
        let longest = counts.keys().map(|word| clusters_of(word)).max().unwrap_or(0);
        Segmenter {
            words: counts
                .iter()
                .map(|(word, &n)| (word.clone(), (total / f64::from(n.max(1))).ln()))
                .collect(),
            new_word: total.max(1.0).ln(),
            new_cluster: (1.0 + clusters.len() as f64).ln(),
            longest: longest.min(MAX_CLUSTERS),
        }
    }

    /// Puts together the words of the tokens from this one on, which are clusters.
    pub(super) fn join(&self, tokens: &mut Tokens, first: usize) {
        let mut end = first;
        let mut joined = Vec::new();
        while end < tokens.len() {
            let start = end;
            end += 1;
            while end < tokens.len() && tokens.places[end].start == tokens.places[end - 1].end {
                end += 1;
            }
            self.join_run(tokens, start, end, &mut joined);
        }
        tokens.places.truncate(first);
        tokens.places.append(&mut joined);
    }

    /// The words of tokens that touch each other.
    fn join_run(&self, tokens: &Tokens, first: usize, end: usize, joined: &mut Vec<super::Placed>) {
        let ways = self.ways(tokens, first, end);
        let from = joined.len();
        let mut at = end - first;
        while at > 0 {
            let start = ways[at].start;
            let last = tokens.places[first + at - 1];
            joined.push(super::Placed { start: tokens.places[first + start].start, ..last });
            at = start;
        }
        joined[from..].reverse();
    }

    /// For each number of tokens the cheapest words that they make.
    fn ways(&self, tokens: &Tokens, first: usize, end: usize) -> Vec<Way> {
        let mut ways = vec![Way { cost: 0.0, start: 0 }];
        for at in 1..=end - first {
            let last = first + at - 1;
            let candidates = (1..=self.longest.max(1).min(at)).map(|n| at - n);
            let known = candidates.filter_map(|start| {
                let cost = self.words.get(tokens.text_of(first + start, last))?;
                Some(Way { cost: ways[start].cost + cost, start })
            });
            let new = self.new_words(tokens, first, last).map(|(start, cost)| {
                let start = start - first;
                Way { cost: ways[start].cost + cost, start }
            });
            let best = known.chain(new).min_by(|a, b| a.cost.total_cmp(&b.cost));
            ways.push(best.unwrap_or(Way { cost: f64::INFINITY, start: at - 1 }));
        }
        ways
    }

    /// Words that the corpus lacks and that end with this token: by their first token, with what they cost.
    fn new_words<'a>(
        &'a self,
        tokens: &'a Tokens,
        first: usize,
        last: usize,
    ) -> impl Iterator<Item = (usize, f64)> + 'a {
        let is_cluster = |token_idx: usize| tokens.text_of(token_idx, token_idx).starts_with(is_unspaced);
        let whole = (first..last)
            .rev()
            .take(MAX_CLUSTERS - 1)
            .take_while(move |&start| is_cluster(last) && is_cluster(start));
        std::iter::once(last)
            .chain(whole)
            .map(move |start| (start, self.new_word + (last - start + 1) as f64 * self.new_cluster))
    }
}

/// The clusters of a word.
pub(super) fn clusters(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let mut chars = rest.char_indices();
        let (_, mut before) = chars.next()?;
        let end = chars.find(|&(at, c)| {
            let begins = begins(before, c, &rest[at + c.len_utf8()..]);
            before = c;
            begins
        });
        let (cluster, after) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
        rest = after;
        Some(cluster)
    })
}

fn clusters_of(word: &str) -> usize {
    clusters(word).count()
}
