//! The one place that turns word labels into spans and back.

/// A slot over a half-open range of words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenSpan {
    /// The first word.
    pub start: usize,
    /// One past the last word.
    pub end: usize,
    /// The slot type.
    pub slot: String,
}

/// Splits a label at its first dash: `B-time-range` is `("B", "time-range")`, `O` is `("O", "")`.
pub fn split(label: &str) -> (&str, &str) {
    label.split_once('-').unwrap_or((label, ""))
}

/// The spans of a sequence of IOB labels, as conlleval reads them: an orphan `I-` opens a span, `B-x I-y` are two.
pub fn spans<S: AsRef<str>>(labels: &[S]) -> Vec<TokenSpan> {
    let mut spans: Vec<TokenSpan> = Vec::new();
    let mut open = false;
    for (token_idx, label) in labels.iter().enumerate() {
        let (prefix, slot) = split(label.as_ref());
        match prefix {
            "I" if open && spans.last().is_some_and(|span| span.slot == slot) => {
                spans.last_mut().expect("a span is open").end = token_idx + 1;
            }
            "B" | "I" => {
                spans.push(TokenSpan { start: token_idx, end: token_idx + 1, slot: slot.to_owned() });
                open = true;
            }
            _ => open = false,
        }
    }
    spans
}

/// The IOB2 labels of `spans` over `n_tokens` words; the inverse of [`spans`].
pub fn labels(spans: &[TokenSpan], n_tokens: usize) -> Vec<String> {
    let mut labels = vec!["O".to_owned(); n_tokens];
    for span in spans {
        for (token_idx, label) in labels[span.start..span.end].iter_mut().enumerate() {
            let prefix = if token_idx == 0 { "B" } else { "I" };
            *label = format!("{prefix}-{}", span.slot);
        }
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &str, expected: &[(usize, usize, &str)]) {
        let labels: Vec<&str> = input.split_whitespace().collect();
        let found = spans(&labels);
        let found: Vec<_> = found.iter().map(|span| (span.start, span.end, span.slot.as_str())).collect();
        assert_eq!(found, expected, "{input}");
    }

    #[test]
    fn reads_iob_as_conlleval_does() {
        check("O B-x I-x O", &[(1, 3, "x")]);
        check("B-x B-x", &[(0, 1, "x"), (1, 2, "x")]);
        check("I-x I-x O I-y", &[(0, 2, "x"), (3, 4, "y")]);
        check("B-x I-y", &[(0, 1, "x"), (1, 2, "y")]);
        check("B-time-range I-time-range", &[(0, 2, "time-range")]);
        check("", &[]);
    }
}
