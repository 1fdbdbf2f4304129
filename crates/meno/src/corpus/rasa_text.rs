//! The examples of Rasa: `to [Paris](city)`, `to [LA]{"entity": "city", "role": "to", "value": "Los Angeles"}`.
//!
//! The slot is the entity, or `entity.role` if there is a role, since two roles are two slots. `value`, or what follows
//! a colon in `(city:Los Angeles)`, is what the text stands for. `group` is dropped. Brackets that no mark follows are
//! text, as in Rasa. The time is linear in the length of the example.

use serde::Deserialize;

use super::known::KnownValue;
use super::markup::Piece;
use super::source::json_problem;

/// An example cut at its marks.
#[derive(Debug, Default)]
pub(super) struct Example {
    pub(super) pieces: Vec<Piece>,
    pub(super) known_values: Vec<KnownValue>,
}

/// Cuts marks out of an example.
pub(super) fn parse(line: &str) -> Result<Example, String> {
    let mut example = Example::default();
    let mut marks = Marks::new(line);
    let (mut plain, mut at) = (0, 0);
    while let Some(open) = line[at..].find('[').map(|found| at + found) {
        at = open + 1;
        let Some(close) = marks.bracket.after(line, open) else { break };
        let Some(mark) = marks.at(line, close + 1)? else { continue };
        if close == open + 1 {
            continue;
        }
        let text = &line[open + 1..close];
        let known_value = KnownValue::new(Some(&mark.slot), text, mark.value.as_deref());
        example.known_values.extend(known_value.stands_for.is_some().then_some(known_value));
        example.pieces.push(Piece::plain(&line[plain..open]));
        example.pieces.push(Piece { text: text.to_owned(), slot: Some(mark.slot) });
        at = mark.end;
        plain = at;
    }
    example.pieces.push(Piece::plain(&line[plain..]));
    Ok(example)
}

/// A slot in the way that says least: `[text](slot)`.
pub(super) fn mark(text: &str, slot: &str) -> String {
    if slot.contains([':', ')']) {
        format!("[{text}]{}", serde_json::json!({ "entity": slot }))
    } else {
        format!("[{text}]({slot})")
    }
}

struct Mark {
    slot: String,
    value: Option<String>,
    /// Where the text goes on.
    end: usize,
}

struct Marks {
    bracket: Next,
    parenthesis: Next,
    brace: Next,
    braces: Next,
}

impl Marks {
    fn new(line: &str) -> Self {
        let next = |mark| Next { mark, from: 0, found: line.find(mark) };
        Marks { bracket: next("]"), parenthesis: next(")"), brace: next("}"), braces: next("}]") }
    }

    /// The mark that begins at `start`, if one does.
    fn at(&mut self, line: &str, start: usize) -> Result<Option<Mark>, String> {
        let text = &line[start..];
        if text.starts_with('(') {
            let Some(close) = self.parenthesis.after(line, start) else { return Ok(None) };
            let inner = &line[start + 1..close];
            let (entity, value) =
                inner.split_once(':').map_or((inner, None), |(entity, v)| (entity, Some(v)));
            let mark = Mark { slot: entity.to_owned(), value: value.map(str::to_owned), end: close + 1 };
            return Ok((!entity.is_empty()).then_some(mark));
        }
        let (open, end) = if text.starts_with('{') {
            (start, self.brace.after(line, start).map(|close| close + 1))
        } else if text.starts_with("[{") {
            // Several entities over one text; the first is taken.
            (start + 1, self.braces.after(line, start).map(|close| close + 2))
        } else {
            return Ok(None);
        };
        let (Some(end), Some(close)) = (end, self.brace.after(line, start)) else { return Ok(None) };
        let json = &line[open..=close];
        let entity: Entity = serde_json::from_str(json)
            .map_err(|error| format!("`{}` is not an entity: {}", short(json), json_problem(&error)))?;
        let slot = match entity.role {
            Some(role) => format!("{}.{role}", entity.entity),
            None => entity.entity,
        };
        let value = entity.value.and_then(|value| match value {
            serde_json::Value::String(value) => Some(value),
            serde_json::Value::Null => None,
            value => Some(value.to_string()),
        });
        Ok(Some(Mark { slot, value, end }))
    }
}

#[derive(Deserialize)]
struct Entity {
    entity: String,
    #[serde(default)]
    role: Option<String>,
    #[serde(default)]
    value: Option<serde_json::Value>,
}

/// The next place of a mark from places that only grow: nothing is searched twice.
struct Next {
    mark: &'static str,
    from: usize,
    found: Option<usize>,
}

impl Next {
    fn after(&mut self, line: &str, at: usize) -> Option<usize> {
        debug_assert!(at >= self.from);
        self.from = at;
        if self.found? < at {
            self.found = line[at..].find(self.mark).map(|found| at + found);
        }
        self.found
    }
}

/// The start of a text that may be long.
fn short(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Brackets that are likely meant as a slot but mark none.
pub(super) fn suspicions(pieces: &[Piece]) -> Vec<String> {
    let mut problems = Vec::new();
    for Piece { text, slot } in pieces {
        if slot.is_some() {
            if text.contains('[') {
                problems.push(format!("the slot of `{}` has another bracket in it", short(text)));
            }
            continue;
        }
        for (open, _) in text.match_indices('[') {
            let rest = &text[open + 1..];
            let until = rest.find(['[', ']']).unwrap_or(rest.len());
            let (inner, after) = rest.split_at(until);
            let problem = match after.strip_prefix(']') {
                Some(after) if inner.trim().is_empty() && after.starts_with(['(', '{']) => "marks no words",
                Some(after) if after.starts_with(' ') && slot_name(after.trim_start()) => {
                    "has a space before the slot"
                }
                Some(_) => continue,
                None if inner.char_indices().any(|(at, c)| c == '(' && slot_name(&inner[at..])) => {
                    "has a bracket that is not closed"
                }
                None => continue,
            };
            problems.push(format!("`{}` {problem}", short(&text[open..])));
        }
        if let Some(close) = text.find("](").filter(|close| !text[..*close].contains('['))
            && slot_name(&text[close + 1..])
        {
            problems.push(format!("`{}` has a bracket that is not opened", short(text)));
        }
    }
    problems
}

/// Whether a text begins with a name in parentheses: `(room)`.
fn slot_name(text: &str) -> bool {
    let Some(name) = text.strip_prefix('(') else { return false };
    let after = name.trim_start_matches(|c: char| c.is_alphanumeric() || "_-.:".contains(c));
    after.len() < name.len() && after.starts_with(')')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_each_text_stands_for() {
        let example =
            parse(r#"[LA]{"entity":"city","role":"to","value":"Los Angeles"} [ny](city:New York) [x](y) [a]{"entity":"n","value":5}"#)
                .unwrap();
        let found: Vec<String> = example
            .known_values
            .iter()
            .map(|value| format!("{:?} {} {:?}", value.slot, value.phrase, value.stands_for))
            .collect();
        assert_eq!(
            found,
            [
                r#"Some("city.to") LA Some("Los Angeles")"#,
                r#"Some("city") ny Some("New York")"#,
                r#"Some("n") a Some("5")"#
            ]
        );
    }

    #[test]
    fn suspects_slips() {
        let check = |line: &str, expected: &[&str]| {
            assert_eq!(suspicions(&parse(line).unwrap().pieces), expected, "{line}");
        };
        check("[kitchen(room)", &["`[kitchen(room)` has a bracket that is not closed"]);
        check("the [](room) x", &["`[](room) x` marks no words"]);
        check("[lights] (room)", &["`[lights] (room)` has a space before the slot"]);
        check("kitchen](room)", &["`kitchen](room)` has a bracket that is not opened"]);
        check("[a [b](x)", &["the slot of `a [b` has another bracket in it"]);
        check("[a](x) [b] (see c) [d] f(x)", &[]);
    }

    #[test]
    fn is_linear() {
        for repeated in ["[a]{\"entity\":\"", "[", "[a](:", "[a][{", "[a](", "[]("] {
            let text = repeated.repeat(2_000_000 / repeated.len());
            let start = std::time::Instant::now();
            let pieces = parse(&text).map(|example| example.pieces).unwrap_or_default();
            suspicions(&pieces);
            assert!(start.elapsed().as_secs() < 5, "{repeated}");
        }
    }
}
