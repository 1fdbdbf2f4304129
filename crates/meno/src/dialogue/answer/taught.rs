//! What is taught, corrected or changed: the phrase that a sentence is about, what it says of it, and values.

use super::mention::Delexicalized;
use super::{Answer, Asked, MAX_PHRASE, MAX_SUBJECT, Meaning, Word, find_phrase, touches, without_lead};
use crate::dialogue::act::{Act, Said};
use crate::dialogue::find_words;

impl Asked<'_> {
    /// A phrase is explained that need not be the one in question.
    pub(super) fn taught(&self, act: Act, text: &str, answer: &Delexicalized<'_>, said: &Said) -> Answer {
        let (labelled, subject) = (self.named_phrase(text, answer, said), self.subject(text, answer));
        let phrase = match (labelled, subject) {
            // All of it is the name: `Tiny Keith is a person`.
            (Some(labelled), Some(subject)) if find_words(&subject, &labelled).is_some() => Some(subject),
            (labelled, subject) => labelled.or(subject),
        };
        let alias = said.words("value").and_then(|_| self.value(text, answer, said)).map(Meaning::Alias);
        let meaning = match act {
            Act::Teach => alias.or_else(|| self.type_in(text, answer, said)),
            _ => self.type_in(text, answer, said),
        };
        match (phrase, meaning) {
            (Some(phrase), Some(meaning)) => self.taught_of(phrase, meaning),
            (None, Some(_)) if self.is_open => self.explained(text, answer, said),
            // `remember that the is a song` is about words that nobody can learn.
            (None, Some(_)) if act == Act::Teach && !self.is_of_it(answer) => Answer::Unclear,
            (None, Some(meaning)) => {
                // `in the kitchen instead` names a room, which is a value by itself.
                let mentions = |idx: usize| answer.types(idx).map(|_| answer.text(text, idx..idx + 1));
                let value = (0..answer.pieces.len()).find_map(mentions);
                let is_it =
                    |value: &&str| (self.slot_of)(value).is_some_and(|slot| meaning == Meaning::Type(slot));
                // `he's my brother` says what somebody is, and names nobody else.
                match value.filter(is_it).filter(|_| !self.is_of_it(answer)) {
                    Some(value) if act == Act::Correct || !self.request.is_empty() => {
                        Answer::Change(value.to_owned())
                    }
                    _ => self
                        .changed_to(text, answer, &meaning)
                        .map_or(Answer::Teach(None, meaning), Answer::Change),
                }
            }
            (_, None) => Answer::Unclear,
        }
    }

    /// Whether it says something of *it*: `remember it's a band`.
    fn is_of_it(&self, answer: &Delexicalized<'_>) -> bool {
        find_phrase(&answer.all_forms(), &self.book.hear.intro).is_some()
    }

    /// What is said of a part of the phrase in question, or of more than it, says what that is.
    fn taught_of(&self, phrase: String, meaning: Meaning) -> Answer {
        let place =
            find_words(self.request, &phrase).filter(|place| self.is_open && touches(place, &self.phrase));
        match (place, meaning) {
            (Some(place), Meaning::Type(slot)) if place == self.phrase => Answer::Type(slot),
            (Some(place), Meaning::Type(slot)) => Answer::Boundaries(place, Some(slot)),
            (_, meaning) => Answer::Teach(Some(phrase), meaning),
        }
    }

    /// `make it five`, `I said feed the rat`: what follows is the value.
    pub(super) fn said_instead(&self, text: &str, words: &[Word]) -> Option<String> {
        let hear = &self.book.hear;
        let forms: Vec<&str> = words.iter().map(|word| word.form.as_str()).collect();
        let (_, rest) = without_lead(&forms, &hear.no);
        let (is_led, rest) = without_lead(rest, &hear.instead);
        let start = forms.len() - rest.len();
        let n = words[start..].iter().take_while(|word| !word.after_mark).count();
        let is_short =
            is_led && self.phrase.is_empty() && !self.request.is_empty() && (1..=MAX_SUBJECT).contains(&n);
        is_short.then(|| self.bare(&text[words[start].place.start..words[start + n - 1].place.end]))
    }

    /// `I meant next week` says another date and not that something is one.
    fn changed_to(&self, text: &str, answer: &Delexicalized<'_>, meaning: &Meaning) -> Option<String> {
        let Meaning::Type(slot) = meaning else { return None };
        if !self.book.resolves(slot) || !self.filled.contains(slot) {
            return None;
        }
        let words = answer.words;
        let first = words.iter().position(|word| !self.book.is_lead(&word.form))?;
        let n = words[first + 1..].iter().take_while(|word| !word.after_mark).count();
        Some(self.bare(&text[words[first].place.start..words[first + n].place.end]))
    }

    /// Whether some words can be learnt: they are not too long, and not ordinary all of them.
    pub(super) fn is_phrase(&self, words: &str) -> bool {
        let hear = &self.book.hear;
        let is_ordinary = |word: &str| {
            let word = word.to_lowercase();
            hear.filler.contains(&word) || self.book.is_ordinary(&word)
        };
        words.len() <= MAX_PHRASE && words.split_whitespace().any(|word| !is_ordinary(word))
    }

    /// The phrase that an answer names.
    pub(super) fn named_phrase(&self, text: &str, answer: &Delexicalized<'_>, said: &Said) -> Option<String> {
        let labelled = said.words("phrase").map(|pieces| answer.text(text, pieces));
        let labelled = labelled.map(|phrase| self.bare(self.without_leads(self.without_tail(phrase))));
        let labelled = labelled.filter(|phrase| self.is_phrase(phrase));
        labelled.or_else(|| self.mentioned(answer).map(|place| self.request[place].to_owned()))
    }

    /// A phrase without ordinary words before it: `and the Wharf`.
    pub(super) fn without_leads<'t>(&self, mut phrase: &'t str) -> &'t str {
        while let Some((_, rest)) = phrase.split_once(' ').filter(|(first, _)| self.book.is_lead(first)) {
            phrase = rest.trim_start();
        }
        phrase
    }

    /// A phrase without the subject of what follows: `Binky I`, of *when I say Binky I mean*.
    fn without_tail<'t>(&self, phrase: &'t str) -> &'t str {
        let is_subject = |word: &str| self.book.hear.subject.contains(&word.to_lowercase());
        phrase.rsplit_once(' ').filter(|(_, last)| is_subject(last)).map_or(phrase, |(phrase, _)| phrase)
    }

    /// What stands before *is* or *means* in a sentence that teaches.
    pub(super) fn subject(&self, text: &str, answer: &Delexicalized<'_>) -> Option<String> {
        let hear = &self.book.hear;
        let words = answer.words;
        let verb = words.iter().position(|word| hear.is.contains(&word.form)).filter(|&verb| verb > 0)?;
        let is_break = |idx: usize| {
            hear.that.contains(&words[idx - 1].form)
                || text[words[idx - 1].place.end..words[idx].place.start].contains([',', ':', ';', '.', '!'])
        };
        let start = (1..verb).rev().find(|&idx| is_break(idx)).unwrap_or(0);
        let forms: Vec<&str> = words[start..verb].iter().map(|word| word.form.as_str()).collect();
        let (_, rest) = without_lead(&forms, &hear.teach);
        let (_, rest) = without_lead(rest, &hear.no);
        let (_, rest) = without_lead(rest, &hear.repair);
        let start = verb - rest.len();
        let phrase = text.get(words[start].place.start..words[verb - 1].place.end)?;
        let phrase = self.bare(self.without_leads(phrase));
        let is_short = phrase.split_whitespace().count() <= MAX_SUBJECT;
        // `the thing I said is a song` names nothing.
        let is_sentence = phrase.split(' ').any(|word| hear.subject.contains(&word.to_lowercase()));
        (is_short && !is_sentence && self.is_phrase(&phrase)).then_some(phrase)
    }

    /// The value that an answer names: where the model sees one, else a mention of something that is a value itself.
    pub(super) fn value(&self, text: &str, answer: &Delexicalized<'_>, said: &Said) -> Option<String> {
        let labelled = said.words("value");
        let mention = || {
            let is_type = |idx: &usize| answer.types(*idx).is_some();
            (0..answer.pieces.len()).find(is_type).map(|idx| idx..idx + 1)
        };
        let pieces = labelled.or_else(mention)?;
        // What follows a mark is a remark: `six, my parents are coming`.
        let end = (pieces.start + 1..pieces.end).find(|&idx| answer.is_after_mark(idx)).unwrap_or(pieces.end);
        let said = answer.text(text, pieces.start..end);
        // `Emma's pet name` is Emma's.
        let owner = said.strip_suffix("'s").filter(|_| end < answer.pieces.len());
        let value = self.bare(self.without_object(owner.unwrap_or(said)));
        (value.len() <= MAX_PHRASE).then_some(value)
    }

    /// A value without whom is called so: `him Bertie`.
    fn without_object<'t>(&self, value: &'t str) -> &'t str {
        let is_object = |word: &str| self.book.hear.object.contains(&word.to_lowercase());
        value.split_once(' ').filter(|(first, _)| is_object(first)).map_or(value, |(_, rest)| rest)
    }

    /// Words without the articles before them; `my` belongs to what is somebody's: `my nan's place`.
    pub(super) fn bare(&self, words: &str) -> String {
        let mut words = words;
        while let Some((first, rest)) = words.split_once(' ')
            && self.book.hear.article.iter().any(|article| *article == first.to_lowercase())
            && !(rest.contains("'s ") && self.book.hear.own.contains(&first.to_lowercase()))
        {
            words = rest.trim_start();
        }
        self.without_kind(words).to_owned()
    }

    /// A value without the word behind it that only says its kind: `workout playlist`, where `workout` is a playlist.
    pub(super) fn without_kind<'t>(&self, words: &'t str) -> &'t str {
        let Some((value, kind)) = words.rsplit_once(' ').filter(|_| (self.slot_of)(words).is_none()) else {
            return words;
        };
        // Of a title the word is a part: `Chill Mix`.
        if kind.starts_with(char::is_uppercase) {
            return words;
        }
        let kind = kind.to_lowercase();
        let is_known =
            |slot: &String| (self.slot_of)(value).as_ref() == Some(slot) && self.is_name(slot, &kind);
        let is_called =
            |slot: &String| self.options.contains(slot) && *slot == kind && !value.ends_with("'s");
        let is_kind = self.types.iter().any(|slot| is_known(slot) || is_called(slot));
        if is_kind { value } else { words }
    }
}
