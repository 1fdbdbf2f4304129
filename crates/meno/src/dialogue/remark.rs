//! What is said beside a request and is no part of it: *we might go camping*.

use super::narrow::{clauses, words};
use super::{Dialogue, Heard};
use crate::label::UNKNOWN;

impl Dialogue<'_> {
    /// A request that is not trusted as it is read without a remark, if it is trusted then.
    pub(super) fn without_remark(&self, heard: Heard) -> Heard {
        let is_trusted = heard.intents.is_empty() && heard.slots.iter().all(|slot| slot.slot != UNKNOWN);
        if is_trusted || heard.confidence.is_none() || heard.rejected {
            return heard;
        }
        let text = &heard.text;
        let clauses = clauses(text);
        let remarks = clauses.iter().filter(|clause| {
            let is_known =
                |place: &std::ops::Range<usize>| place.start < clause.end && clause.start < place.end;
            let has_slot = heard.slots.iter().any(|slot| slot.slot != UNKNOWN && is_known(&slot.place));
            clauses.len() > 1 && !has_slot && self.is_remark(&text[(*clause).clone()])
        });
        let readings = remarks.filter_map(|clause| {
            // Spaces in its place keep all others.
            let blank = " ".repeat(clause.len());
            let rest = [&text[..clause.start], &blank, &text[clause.end..]].concat();
            let read = self.engine.read(&rest, &[]);
            let is_trusted = !read.rejected
                && read.intents.is_empty()
                && read.slots.iter().all(|slot| slot.slot != UNKNOWN);
            let keeps = |slot: &super::Slot| read.slots.iter().any(|other| other.place == slot.place);
            let keeps_all = heard.slots.iter().filter(|slot| slot.slot != UNKNOWN).all(keeps);
            (is_trusted && keeps_all && words(&rest).nth(1).is_some()).then_some(read)
        });
        let best = readings
            .max_by(|a, b| a.confidence.unwrap_or_default().total_cmp(&b.confidence.unwrap_or_default()));
        match best {
            Some(read) => Heard { text: heard.text, ..read },
            None => heard,
        }
    }

    /// Whether a clause tells of somebody or something instead of asking for it.
    fn is_remark(&self, clause: &str) -> bool {
        let mut words = words(clause).map(|word| clause[word].to_lowercase());
        let first = words.next();
        first.is_some_and(|word| self.book.begins_remark(&word)) || words.any(|word| self.book.tells(&word))
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;
    use crate::dialogue::{Engine, Phrasebook, Settings, Slot};

    /// Trusts a request of `weather` alone.
    struct Weather;

    impl Engine for Weather {
        fn slot_of(&self, _: &str) -> Option<String> {
            None
        }

        fn is_plain(&self, _: &str) -> bool {
            false
        }

        fn is_value(&self, _: &str, _: &str) -> bool {
            false
        }

        fn remembers(&self, _: &str) -> bool {
            false
        }

        fn read(&self, text: &str, _: &[(Range<usize>, String)]) -> Heard {
            let slot = |name: &str, words: &str| {
                let start = text.find(words)?;
                let place = start..start + words.len();
                Some(Slot { slot: name.to_owned(), text: words.to_owned(), place, ..Slot::default() })
            };
            let slots = [slot("place", "cornwall"), slot(UNKNOWN, "camping")].into_iter().flatten().collect();
            Heard { text: text.to_owned(), confidence: Some(0.5), slots, ..Heard::default() }
        }
    }

    #[test]
    fn a_remark_is_not_asked_about_and_words_of_the_request_are() {
        let (settings, book) = (Settings::default(), Phrasebook::english());
        let dialogue =
            Dialogue { settings: &settings, book: &book, answers: None, types: &[], engine: &Weather };
        let slots = |text: &str| {
            let read = dialogue.without_remark(Weather.read(text, &[]));
            assert_eq!(read.text, text);
            read.slots
                .iter()
                .map(|slot| format!("{}={}", slot.slot, &text[slot.place.clone()]))
                .collect::<Vec<_>>()
        };
        assert_eq!(slots("weather in cornwall, we might go camping"), ["place=cornwall"]);
        assert_eq!(
            slots("we might go camping, weather in cornwall"),
            ["unknown=camping", "place=cornwall"][1..]
        );
        let both = ["place=cornwall", "unknown=camping"];
        assert_eq!(slots("weather in cornwall for camping"), both);
        assert_eq!(slots("weather in cornwall, near camping"), both);
    }
}
