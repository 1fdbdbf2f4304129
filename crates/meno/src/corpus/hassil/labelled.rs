//! Where the values of slots stand in the sentence of a test.
//!
//! A test says `area: Bedroom` of `lights on in the bedroom`, and `brightness: 100` of `bedroom to maximum`. A value is
//! looked for as it is, then in the phrases of which a list says that they mean it. Values that are nowhere in the
//! sentence, such as a domain, are no slots of it.

use super::super::raw::Slot;
use super::super::yaml::Node;
use super::expand::Names;
use super::names;

pub(super) fn slots(text: &str, values: &[(Node, Node)], names: &Names) -> Vec<Slot> {
    let lower = text.to_lowercase();
    if lower.len() != text.len() {
        // A letter whose cases differ in length: places in one are not places in the other.
        return Vec::new();
    }
    let mut wanted: Vec<(String, String)> = Vec::new();
    for (name, value) in values {
        let (Some(name), Some(value)) = (name.text(), value.text()) else { continue };
        wanted.push((name.to_owned(), value.to_lowercase()));
        wanted
            .extend(phrases(value, names).into_iter().map(|phrase| (name.to_owned(), phrase.to_lowercase())));
    }
    // The longest first: `living room lamp` before `living room`.
    wanted.sort_by_key(|(_, phrase)| std::cmp::Reverse(phrase.len()));
    let mut slots: Vec<Slot> = Vec::new();
    for (name, phrase) in wanted {
        if phrase.is_empty() || slots.iter().any(|slot| slot.name == name) {
            continue;
        }
        let free = |start: usize| {
            let range = start..start + phrase.len();
            let apart =
                slots.iter().all(|slot| range.end <= slot.range.start || slot.range.end <= range.start);
            (apart && is_whole(&lower, range.start, range.end)).then_some(range)
        };
        let place = lower.match_indices(&phrase).find_map(|(start, _)| free(start));
        slots.extend(place.map(|range| Slot { range, name }));
    }
    slots
}

/// Whether no letter or digit goes on before or after a place.
fn is_whole(text: &str, start: usize, end: usize) -> bool {
    !text[..start].ends_with(char::is_alphanumeric) && !text[end..].starts_with(char::is_alphanumeric)
}

/// The phrases that mean a value, in any list: slots and lists have different names.
fn phrases(value: &str, names: &Names) -> Vec<String> {
    let mut found = Vec::new();
    for list in names.lists.values() {
        for (phrases, out) in names::phrases(list, names) {
            if phrases.iter().chain(&out).any(|phrase| phrase.to_lowercase() == value.to_lowercase()) {
                found.extend(phrases);
            }
        }
    }
    found
}
