//! What makes heads a tree.

/// Why heads are no tree with one root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// This word, from 0, has a head that is not in the sentence.
    Outside(usize),
    /// This word, from 0, has the head 0, and so has an earlier one.
    SecondRoot(usize),
    /// Going up from this word, from 0, leads back to it.
    Cycle(usize),
}

/// Whether `heads`, numbers of words from 1 with 0 for the root, form a tree with one root; in linear time.
pub fn check(heads: &[usize]) -> Result<(), Fault> {
    if let Some(word) = heads.iter().position(|&head| head > heads.len()) {
        return Err(Fault::Outside(word));
    }
    // For each word the walk that came by first; words on the way to the root are never walked twice.
    let mut walks = vec![0; heads.len()];
    for start in 0..heads.len() {
        let mut word = start;
        while walks[word] == 0 {
            walks[word] = start + 1;
            match heads[word] {
                0 => break,
                head => word = head - 1,
            }
            if walks[word] == start + 1 {
                return Err(Fault::Cycle(word));
            }
        }
    }
    // Without a cycle every walk ends at a root.
    match (0..heads.len()).filter(|&word| heads[word] == 0).nth(1) {
        Some(second) => Err(Fault::SecondRoot(second)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_named() {
        assert_eq!(check(&[]), Ok(()));
        assert_eq!(check(&[0]), Ok(()));
        assert_eq!(check(&[2, 0, 2, 3]), Ok(()));
        assert_eq!(check(&[2, 0, 5, 3]), Err(Fault::Outside(2)));
        assert_eq!(check(&[0, 0, 2]), Err(Fault::SecondRoot(1)));
        assert_eq!(check(&[1, 0]), Err(Fault::Cycle(0)));
        assert_eq!(check(&[0, 3, 4, 2]), Err(Fault::Cycle(1)));
        assert_eq!(check(&[2, 1]), Err(Fault::Cycle(0)));
    }
}
