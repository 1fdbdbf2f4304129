//! Words of an utterance to words of a tree and back.
//!
//! Universal Dependencies split clitics off: `what's` is `what` and `'s`, `don't` is `do` and `n't`. Utterances have
//! them in one word (ATIS), in two without the apostrophe (`what s`, `don t` in Snips), or in one without it (`whats`,
//! `dont`). No word is joined to another, so every word of the tree belongs to one word of the utterance.

use super::Parse;

/// A word of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    pub text: &'a str,
    /// The word of the utterance to which it belongs, from 0.
    pub word: usize,
}

impl AsRef<str> for Piece<'_> {
    fn as_ref(&self) -> &str {
        self.text
    }
}

/// Verbs that `n't` follows, as they are written before it.
const NEGATED: [&str; 22] = [
    "do", "does", "did", "is", "are", "was", "were", "have", "has", "had", "ca", "wo", "could", "would",
    "should", "must", "need", "might", "ought", "sha", "dare", "ai",
];

/// Words without apostrophes, with the length of what comes before the clitic. Those that are other words as well, such
/// as `its` and `were`, are missing on purpose.
const BARE: [(&str, usize); 26] = [
    ("whats", 4),
    ("thats", 4),
    ("lets", 3),
    ("hes", 2),
    ("shes", 3),
    ("heres", 4),
    ("theres", 5),
    ("wheres", 5),
    ("whos", 3),
    ("hows", 3),
    ("im", 1),
    ("ive", 1),
    ("youre", 3),
    ("theyre", 4),
    ("youve", 3),
    ("weve", 2),
    ("theyve", 4),
    ("youll", 3),
    ("theyll", 4),
    ("itll", 2),
    ("whatre", 4),
    ("cannot", 3),
    ("gonna", 3),
    ("wanna", 3),
    ("gotta", 3),
    ("whatll", 4),
];

/// Splits the words of an utterance.
pub(crate) fn split<'a>(words: &[&'a str], pieces: &mut Vec<Piece<'a>>) {
    pieces.clear();
    let mut negation = false;
    for (word, &text) in words.iter().enumerate() {
        // `don t`: both have a word of the tree of their own.
        if std::mem::take(&mut negation) {
            pieces.push(Piece { text: "n't", word });
            continue;
        }
        if let Some(next) = words.get(word + 1)
            && next.eq_ignore_ascii_case("t")
            && let Some(verb) = without_n(text)
        {
            pieces.push(Piece { text: verb, word });
            negation = true;
            continue;
        }
        match clitic(text) {
            Some(at) => {
                pieces.push(Piece { text: &text[..at], word });
                pieces.push(Piece { text: &text[at..], word });
            }
            None => pieces.push(Piece { text, word }),
        }
    }
}

/// `do` of `don`.
fn without_n(text: &str) -> Option<&str> {
    let verb = text.strip_suffix(['n', 'N'])?;
    NEGATED.iter().any(|negated| negated.eq_ignore_ascii_case(verb)).then_some(verb)
}

/// Where a clitic begins, in bytes.
fn clitic(text: &str) -> Option<usize> {
    if text.is_ascii() && !text.contains('\'') {
        return bare_clitic(text);
    }
    let (apostrophe, mark) = text.char_indices().rfind(|&(_, c)| c == '\'' || c == '’')?;
    let (stem, tail) = (&text[..apostrophe], &text[apostrophe + mark.len_utf8()..]);
    let is = |clitics: &[&str]| clitics.iter().any(|clitic| clitic.eq_ignore_ascii_case(tail));
    let last = stem.chars().next_back()?;
    if !last.is_alphanumeric() && last != '.' {
        return None;
    }
    if is(&["t"]) {
        let verb = stem.strip_suffix(['n', 'N'])?;
        return (!verb.is_empty()).then_some(verb.len());
    }
    let is_possessive = tail.is_empty() && matches!(last, 's' | 'S') && stem.len() > 1;
    (is_possessive || is(&["s", "d", "ll", "m", "re", "ve"])).then_some(apostrophe)
}

fn bare_clitic(text: &str) -> Option<usize> {
    if let Some(&(_, at)) = BARE.iter().find(|(word, _)| word.eq_ignore_ascii_case(text)) {
        return Some(at);
    }
    let at = text.len().checked_sub(2)?;
    let (verb, tail) = text.split_at(at);
    let is_negated = tail.eq_ignore_ascii_case("nt") && NEGATED.iter().any(|n| n.eq_ignore_ascii_case(verb));
    is_negated.then_some(at)
}

/// The tree of the pieces as one of the words: a word is what its piece nearest the root is.
///
/// Its head is then a word whose nearest piece is nearer still, so that the result is a tree again.
pub(crate) fn join(parse: Parse, pieces: &[Piece<'_>], n_words: usize) -> Parse {
    if pieces.len() == n_words {
        return parse;
    }
    let depths = depths(&parse.heads);
    let mut nearest: Vec<Option<usize>> = vec![None; n_words];
    for (idx, piece) in pieces.iter().enumerate() {
        let nearest = &mut nearest[piece.word];
        if nearest.is_none_or(|other| depths[idx] < depths[other]) {
            *nearest = Some(idx);
        }
    }
    let mut joined = Parse::default();
    for idx in nearest.into_iter().flatten() {
        joined.upos.push(parse.upos[idx]);
        joined.heads.push(match parse.heads[idx] {
            0 => 0,
            head => pieces[head - 1].word + 1,
        });
        joined.relations.push(parse.relations[idx].clone());
    }
    joined
}

/// How far each word is from the root, in linear time.
fn depths(heads: &[usize]) -> Vec<usize> {
    let mut depths = vec![0; heads.len()];
    let mut way = Vec::new();
    for start in 0..heads.len() {
        let mut word = start;
        while depths[word] == 0 {
            way.push(word);
            match heads[word] {
                0 => break,
                head => word = head - 1,
            }
        }
        let mut depth = depths[word];
        while let Some(word) = way.pop() {
            depth += 1;
            depths[word] = depth;
        }
    }
    depths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::{Upos, tree};

    fn check(utterance: &str, expected: &str) {
        let words: Vec<&str> = utterance.split(' ').collect();
        let mut pieces = Vec::new();
        split(&words, &mut pieces);
        let mut text = String::new();
        for (idx, piece) in pieces.iter().enumerate() {
            let is_same = idx > 0 && pieces[idx - 1].word == piece.word;
            text += if idx == 0 {
                ""
            } else if is_same {
                "|"
            } else {
                " "
            };
            text += piece.text;
        }
        assert_eq!(text, expected);
    }

    #[test]
    fn clitics_are_split_off() {
        check("what's the fare", "what|'s the fare");
        check("I don't know", "I do|n't know");
        check("i don t know", "i do n't know");
        check("i dont know", "i do|nt know");
        check("CAN'T won t cannot", "CA|N'T wo n't can|not");
        check("what s betsy s list", "what s betsy s list");
        check("whats new york's the users' u.s.'s", "what|s new york|'s the users|' u.s.|'s");
        check("It’s five o'clock rock 'n' roll", "It|’s five o'clock rock 'n' roll");
        check("its were ill 's ' n't t", "its were ill 's ' n't t");
        check("ca't 日本's 🎵 é", "ca't 日本|'s 🎵 é");
    }

    #[test]
    fn a_word_is_its_piece_nearest_the_root() {
        // a1 <- b <- a2 <- root: taken by its first piece, word a would hang under its own child.
        let pieces = [("a1", 0), ("a2", 0), ("b", 1)].map(|(text, word)| Piece { text, word });
        let parse = Parse {
            upos: vec![Upos::Noun, Upos::Verb, Upos::Adj],
            heads: vec![3, 0, 2],
            relations: ["nsubj", "root", "amod"].map(Into::into).to_vec(),
        };
        let joined = join(parse, &pieces, 2);
        assert_eq!(joined.heads, [0, 1]);
        assert_eq!(joined.upos, [Upos::Verb, Upos::Adj]);
        assert_eq!(tree::check(&joined.heads), Ok(()));
    }
}
