//! Words that one slip makes of others.

/// How a search takes words that memory does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spelling {
    /// As they stand.
    #[default]
    Strict,
    /// One word of a phrase may have a slip: a letter left out, put in or replaced, or two neighbours in each other's
    /// place. Words of fewer than five letters are too like each other, and numbers are never forgiven.
    Forgiving,
}

/// Shorter words are not forgiven, and none are made.
const MIN_LETTERS: usize = 5;

/// Longer words would take long, and nobody types them.
const MAX_LETTERS: usize = 32;

/// All words that a slip may have made this one of, as far as their letters are those of the word or `a` to `z`.
pub(crate) fn slips(word: &str, mut each: impl FnMut(&str)) {
    let letters: Vec<char> = word.chars().take(MAX_LETTERS + 1).collect();
    let is_fit = (MIN_LETTERS..=MAX_LETTERS).contains(&letters.len());
    if !is_fit || !letters.iter().all(|letter| letter.is_alphabetic()) {
        return;
    }
    let mut slip = String::with_capacity(word.len() + 4);
    let mut make = |head: &[char], middle: &[char], tail: &[char]| {
        slip.clear();
        slip.extend(head.iter().chain(middle).chain(tail));
        each(&slip);
    };
    for at in 0..=letters.len() {
        let (head, tail) = letters.split_at(at);
        for letter in 'a'..='z' {
            make(head, &[letter], tail);
            if let [_, tail @ ..] = tail {
                make(head, &[letter], tail);
            }
        }
        if let [_, tail @ ..] = tail
            && letters.len() > MIN_LETTERS
        {
            make(head, &[], tail);
        }
        if let [first, second, tail @ ..] = tail {
            make(head, &[*second, *first], tail);
        }
    }
}
