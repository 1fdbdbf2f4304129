//! What a Markdown text names: code in backticks, targets of links, lines of fenced blocks.

use super::scan::line;

/// A piece of a text and where it stands.
#[derive(Debug, PartialEq)]
pub struct Mention {
    pub line: usize,
    pub place: Place,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// Between backticks, in running text.
    Code,
    Link,
    /// A line of a fenced block.
    Fence,
}

/// All mentions, fenced blocks first.
pub fn mentions(text: &str) -> Vec<Mention> {
    let (mut mentions, prose) = fences(text);
    inline(&prose, &mut mentions);
    mentions
}

/// The lines of fenced blocks, and the text with spaces in their place.
fn fences(text: &str) -> (Vec<Mention>, String) {
    let mut mentions = Vec::new();
    let mut prose = String::new();
    let mut fence = None;
    for (number, row) in text.lines().enumerate() {
        let mark = ["```", "~~~"].into_iter().find(|mark| row.trim_start().starts_with(mark));
        match (fence, mark) {
            (None, None) => prose += row,
            (None, Some(_)) => fence = mark,
            (Some(_), Some(_)) if fence == mark => fence = None,
            (Some(_), _) => {
                mentions.push(Mention { line: number + 1, place: Place::Fence, text: row.to_owned() });
            }
        }
        prose.push('\n');
    }
    (mentions, prose)
}

/// Code and links of running text.
fn inline(prose: &str, mentions: &mut Vec<Mention>) {
    let mut at = 0;
    while at < prose.len() {
        let rest = &prose[at..];
        let n_ticks = rest.bytes().take_while(|byte| *byte == b'`').count();
        let found = match code(rest, n_ticks).map(|code| (Place::Code, code)) {
            None if rest.starts_with("](") => link(rest).map(|target| (Place::Link, target)),
            found => found,
        };
        if let Some((place, text)) = found {
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            mentions.push(Mention { line: line(prose, at), place, text });
        }
        at += match found {
            Some((Place::Code, text)) => text.len() + 2 * n_ticks,
            _ => n_ticks.max(rest.chars().next().map_or(1, char::len_utf8)),
        };
    }
}

/// What stands between `n_ticks` backticks and as many again, in the same paragraph.
fn code(rest: &str, n_ticks: usize) -> Option<&str> {
    let ticks = "`".repeat(n_ticks);
    let inside = rest.strip_prefix(ticks.as_str()).filter(|_| n_ticks > 0)?;
    let end = inside.find(&ticks)?;
    (!inside[..end].contains("\n\n")).then_some(&inside[..end])
}

/// The target of a link that begins with its bracket, without a title.
fn link(rest: &str) -> Option<&str> {
    let target = &rest[2..rest.find(')')?];
    target.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(usize, Place, &str)]) {
        let found = mentions(text);
        let found: Vec<_> = found.iter().map(|m| (m.line, m.place, m.text.as_str())).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn code_and_links() {
        check(
            "a `b` ``c ` d``\n[e](f.md) ![g](h \"i\")",
            &[
                (1, Place::Code, "b"),
                (1, Place::Code, "c ` d"),
                (2, Place::Link, "f.md"),
                (2, Place::Link, "h"),
            ],
        );
        check("[`a`](b)", &[(1, Place::Code, "a"), (1, Place::Link, "b")]);
        check("é `b\nc` d", &[(1, Place::Code, "b c")]);
        check("a ` b\n\nc ` d", &[]);
    }

    #[test]
    fn fences() {
        check(
            "`a`\n```sh\nb `c`\n```\n`d`",
            &[(3, Place::Fence, "b `c`"), (1, Place::Code, "a"), (5, Place::Code, "d")],
        );
    }
}
