//! Tag schemes: whatever a file uses becomes IOB2 on reading; on writing IOB2 becomes what is asked for.
//!
//! - IOB1: `I-` everywhere, `B-` only where a span directly follows one of the same slot (Ramshaw and Marcus, 1995);
//! - IOB2: every span begins with `B-`;
//! - BILOU: additionally the last word is `L-` and a single word `U-`; BIOES says `E-` and `S-` and is read the same way.
//!
//! Well-formed tags decide the scheme by themselves. Ill-formed sequences are read as conlleval reads them (an orphan
//! opens a span) and noted; a tag of no scheme is fatal.

use std::fmt;
use std::str::FromStr;

use super::finding::Kind;
use crate::Error;
use crate::label;

/// A way to write spans as one tag for each word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// `B-` only between two adjacent spans of one slot.
    Iob1,
    /// `B-` at the start of every span.
    #[default]
    Iob2,
    /// `B- I- L-`, and `U-` for a single word; the same as BIOES.
    Bilou,
}

impl Scheme {
    /// The scheme of `sequences`: BILOU if a tag says so, IOB1 if `I-` opens spans and `B-` only separates them.
    pub(crate) fn detect<'a, S: AsRef<str> + 'a>(sequences: impl IntoIterator<Item = &'a [S]>) -> Scheme {
        let (mut orphans, mut openings) = (false, false);
        for sequence in sequences {
            let mut previous = ("O", "");
            for tag in sequence {
                let (prefix, slot) = label::split(tag.as_ref());
                let inside = previous.0 != "O" && previous.1 == slot;
                match prefix {
                    "L" | "U" | "E" | "S" => return Scheme::Bilou,
                    "I" => orphans |= !inside,
                    "B" => openings |= !inside,
                    _ => {}
                }
                previous = (prefix, slot);
            }
        }
        if orphans && !openings { Scheme::Iob1 } else { Scheme::Iob2 }
    }

    /// Turns tags into IOB2 labels in place; `report` receives the word and what is wrong with its tag.
    pub(super) fn decode(self, tags: &mut [String], mut report: impl FnMut(usize, Kind, String)) {
        let mut open = false;
        for token_idx in 0..tags.len() {
            let (done, rest) = tags.split_at_mut(token_idx);
            let open_slot = done.last().filter(|_| open).map(|label| label::split(label).1);
            match self.step(&rest[0], open_slot) {
                Ok(step) => {
                    if let Some(problem) = step.problem {
                        report(token_idx, Kind::Sequence, problem);
                    }
                    if !rest[0].starts_with(step.prefix) {
                        rest[0].replace_range(..1, step.prefix);
                    }
                    open = step.open;
                }
                Err(problem) => {
                    report(token_idx, Kind::Tag, problem);
                    "O".clone_into(&mut rest[0]);
                    open = false;
                }
            }
        }
    }

    /// Writes IOB2 labels in this scheme.
    pub(crate) fn encode<S: AsRef<str>>(self, labels: &[S]) -> Vec<String> {
        let mut tags = vec!["O".to_owned(); labels.len()];
        let mut previous: Option<label::TokenSpan> = None;
        for span in label::spans(labels) {
            let adjacent =
                previous.is_some_and(|previous| previous.end == span.start && previous.slot == span.slot);
            let length = span.end - span.start;
            for (offset, tag) in tags[span.start..span.end].iter_mut().enumerate() {
                let first = offset == 0;
                let last = offset + 1 == length;
                let prefix = match self {
                    Scheme::Iob1 if first && adjacent => 'B',
                    Scheme::Iob2 if first => 'B',
                    Scheme::Bilou if first && last => 'U',
                    Scheme::Bilou if first => 'B',
                    Scheme::Bilou if last => 'L',
                    _ => 'I',
                };
                *tag = format!("{prefix}-{}", span.slot);
            }
            previous = Some(span);
        }
        tags
    }

    /// What `tag` means after a word inside a span of `open_slot`, or outside of any.
    fn step(self, tag: &str, open_slot: Option<&str>) -> Result<Step, String> {
        let (prefix, slot) = self.parse(tag)?;
        let inner = matches!(prefix, 'I' | 'L');
        let continues = inner && open_slot == Some(slot);
        let problem = if inner && !continues && self != Scheme::Iob1 {
            Some(format!("`{tag}` continues no span of its slot"))
        } else if self == Scheme::Bilou && open_slot.is_some() && !continues {
            Some(format!("`{tag}` follows a span that was not closed by L- or E-"))
        } else {
            None
        };
        let label_prefix = match prefix {
            'O' => "O",
            _ if continues => "I",
            _ => "B",
        };
        Ok(Step { prefix: label_prefix, open: matches!(prefix, 'B' | 'I'), problem })
    }

    /// The prefix, with `E` and `S` as `L` and `U`, and the slot.
    fn parse(self, tag: &str) -> Result<(char, &str), String> {
        let (prefix, slot) = label::split(tag);
        let prefix = match (prefix, self) {
            ("O", _) if tag == "O" => return Ok(('O', "")),
            ("B", _) => 'B',
            ("I", _) => 'I',
            ("L" | "E", Scheme::Bilou) => 'L',
            ("U" | "S", Scheme::Bilou) => 'U',
            _ => return Err(format!("unknown tag `{tag}`: the scheme is none of IOB1, IOB2 and BILOU")),
        };
        if slot.is_empty() { Err(format!("tag `{tag}` names no slot")) } else { Ok((prefix, slot)) }
    }
}

struct Step {
    /// The prefix of the IOB2 label.
    prefix: &'static str,
    /// Whether the next word may continue the span.
    open: bool,
    problem: Option<String>,
}

/// Whether a tag is one of any scheme.
pub(super) fn is_tag(tag: &str) -> bool {
    Scheme::Bilou.parse(tag).is_ok()
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Scheme::Iob1 => "iob1",
            Scheme::Iob2 => "iob2",
            Scheme::Bilou => "bilou",
        })
    }
}

impl FromStr for Scheme {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        match name.to_ascii_lowercase().as_str() {
            "iob1" => Ok(Scheme::Iob1),
            "iob2" | "iob" | "bio" => Ok(Scheme::Iob2),
            "bilou" | "bioes" | "iobes" => Ok(Scheme::Bilou),
            _ => Err(Error::Name {
                problem: format!("unknown label scheme `{name}`"),
                hint: "the schemes are iob1, iob2 and bilou".to_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(scheme: Scheme, input: &str) -> (String, Vec<String>) {
        let mut tags: Vec<String> = input.split_whitespace().map(str::to_owned).collect();
        let mut problems = Vec::new();
        scheme.decode(&mut tags, |token_idx, kind, problem| {
            problems.push(format!("{token_idx} {kind}: {problem}"))
        });
        (tags.join(" "), problems)
    }

    fn check(input: &str, scheme: Scheme, labels: &str, problems: &[&str]) {
        let tags: Vec<&str> = input.split_whitespace().collect();
        assert_eq!(Scheme::detect([tags.as_slice()]), scheme, "{input}");
        let (decoded, found) = decode(scheme, input);
        assert_eq!(decoded, labels, "{input}");
        assert_eq!(found, problems, "{input}");
        if problems.is_empty() {
            let labels: Vec<&str> = labels.split_whitespace().collect();
            let encoded = scheme.encode(&labels).join(" ").replace("E-", "L-").replace("S-", "U-");
            assert_eq!(encoded, input.replace("E-", "L-").replace("S-", "U-"));
        }
    }

    #[test]
    fn detects_and_decodes() {
        check("O O", Scheme::Iob2, "O O", &[]);
        check("B-x I-x B-x O B-y", Scheme::Iob2, "B-x I-x B-x O B-y", &[]);
        check("I-x I-x B-x O I-y I-z", Scheme::Iob1, "B-x I-x B-x O B-y B-z", &[]);
        check("B-x I-x L-x U-x U-y O", Scheme::Bilou, "B-x I-x I-x B-x B-y O", &[]);
        check("B-x E-x S-x", Scheme::Bilou, "B-x I-x B-x", &[]);
        check("B-a-b I-a-b", Scheme::Iob2, "B-a-b I-a-b", &[]);
    }

    #[test]
    fn reads_ill_formed_sequences_as_conlleval_does() {
        check("B-x O I-x", Scheme::Iob2, "B-x O B-x", &["2 sequence: `I-x` continues no span of its slot"]);
        check("B-x I-y", Scheme::Iob2, "B-x B-y", &["1 sequence: `I-y` continues no span of its slot"]);
        check(
            "B-x O L-y U-z I-z",
            Scheme::Bilou,
            "B-x O B-y B-z B-z",
            &[
                "1 sequence: `O` follows a span that was not closed by L- or E-",
                "2 sequence: `L-y` continues no span of its slot",
                "4 sequence: `I-z` continues no span of its slot",
            ],
        );
    }

    #[test]
    fn refuses_unknown_tags() {
        check(
            "B-x X-foo B- I Q",
            Scheme::Iob2,
            "B-x O O O O",
            &[
                "1 tag: unknown tag `X-foo`: the scheme is none of IOB1, IOB2 and BILOU",
                "2 tag: tag `B-` names no slot",
                "3 tag: tag `I` names no slot",
                "4 tag: unknown tag `Q`: the scheme is none of IOB1, IOB2 and BILOU",
            ],
        );
        assert!("xyz".parse::<Scheme>().is_err());
    }
}
