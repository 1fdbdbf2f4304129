//! What an answer to a question means.
//!
//! Numbers, exact names and a few set phrases are read by rules. For all else a model of answers says what the words are for; a
//! known type that is named anywhere is that type. Without such a model there are rules alone.

mod boundaries;
mod explained;
mod forms;
mod head;
mod kinds;
mod mention;
mod taught;
#[cfg(test)]
mod tests;

use std::cell::OnceCell;
use std::ops::Range;

use super::act::{Act, Answers, Said};
use super::phrasebook::{Names, Phrasebook};
use forms::{Word, find_phrase, forms_begin, is_all, is_led, without_lead, words};
use head::Head;
use mention::{Delexicalized, Mention};

/// What a person said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Nothing at all.
    Empty,
    /// The request is to be dropped.
    Cancel,
    Yes,
    No,
    /// Does not know, or does not care.
    DontKnow,
    Why,
    Help,
    Repeat,
    Undo,
    Greet,
    Thank,
    Bye,
    /// This known slot type.
    Type(String),
    /// None of these.
    NotType(Vec<String>),
    /// A slot type that is not known, perhaps.
    NewType(String),
    /// The phrase is another name for this.
    Alias(String),
    /// The phrase is this part of the request, in bytes; and what it is, if that was said too.
    Boundaries(Range<usize>, Option<String>),
    /// What was taught about a phrase is to be forgotten.
    Forget(String),
    /// A phrase is explained that was not asked about; none if it is that of the request.
    Teach(Option<String>, Meaning),
    /// A slot of the last request is to be this.
    Change(String),
    /// A request of its own.
    Request,
    /// None of these.
    Unclear,
}

impl Answer {
    /// Whether it says nothing of what was asked.
    fn is_aside(&self) -> bool {
        matches!(self, Answer::Why | Answer::Help | Answer::Repeat | Answer::Cancel | Answer::DontKnow)
    }
}

/// What a phrase is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Type(String),
    NewType(String),
    Alias(String),
}

/// What was understood, and whether it is plain enough to be learnt without asking back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Understood<T = Answer> {
    pub answer: T,
    pub is_sure: bool,
}

impl Understood {
    /// Whether it was surely said what something is, or something that is no answer.
    fn says_something(&self) -> bool {
        let is_content = matches!(self.answer, Answer::Type(_) | Answer::Boundaries(..) | Answer::NotType(_));
        matches!(self.answer, Answer::Why | Answer::Help | Answer::Repeat | Answer::Cancel | Answer::DontKnow)
            || is_content && self.is_sure
    }
}

/// Finds the slot of a value.
pub(super) type SlotOf<'a> = Box<dyn Fn(&str) -> Option<String> + 'a>;

/// What an answer is read against.
pub(super) struct Asked<'a> {
    /// The utterance that the question is about.
    pub request: &'a str,
    /// The words in question, in bytes of it; empty if it is about something else.
    pub phrase: Range<usize>,
    /// The other slots of the request.
    pub slots: Vec<Range<usize>>,
    /// What these are.
    pub filled: Vec<String>,
    /// The types that were offered, in their order.
    pub options: &'a [String],
    /// All types.
    pub types: &'a [String],
    pub book: &'a Phrasebook,
    /// What its types are called, once that is asked for.
    pub names: OnceCell<Names>,
    pub answers: Option<&'a Answers>,
    /// The slot of a value that is known.
    pub slot_of: SlotOf<'a>,
    /// Whether a question is open.
    pub is_open: bool,
    /// Whether it may well be a request, and whether that has slots.
    pub is_request: bool,
    pub has_slots: bool,
    /// Whether that begins with what is to be done.
    pub is_command: bool,
}

/// Nobody answers at such length, and reading takes time with the square of it.
const MAX_WORDS: usize = 40;

/// What is taught in passing has at most so many words, where the model does not see which they are.
const MAX_SUBJECT: usize = 6;

/// Longer phrases and values are not learnt.
const MAX_PHRASE: usize = 80;

/// Below this likelihood nobody knows what was said.
const LIKELY: f32 = 0.4;

/// So likely a turn without a question is what the model of answers says, and no request.
const SURE: f32 = 0.6;

/// So likely what is said instead of an answer is a greeting or thanks, since people rarely do that; and so likely what could be
/// acted upon is something else.
const VERY_SURE: f32 = 0.9;

/// So likely an answer is what the model says that it is learnt from without asking back.
const TO_LEARN: f32 = 0.95;

impl Asked<'_> {
    /// What an answer means.
    pub(super) fn understand(&self, text: &str) -> Understood {
        let sure = |answer: Answer| Understood { answer, is_sure: true };
        let words = words(text);
        let forms: Vec<&str> = words.iter().map(|word| word.form.as_str()).collect();
        if forms.is_empty() {
            return sure(Answer::Empty);
        }
        if forms.len() > MAX_WORDS {
            return sure(Answer::Unclear);
        }
        // `navigate to Plimsoll Wharf` answers nothing, `call it a playlist` does.
        let is_answer = self.book.hear.intro.iter().any(|intro| forms_begin(&forms, intro));
        if self.is_open && self.is_command && !is_answer {
            return sure(Answer::Request);
        }
        if let Some(answer) = self.by_equation(text).or_else(|| self.by_rules(text, &words, &forms)) {
            // A type by its own name is plain, whether it was offered or not.
            let is_sure = self.is_offered(&answer) || self.says_own_name(&answer, &forms);
            return Understood { answer, is_sure };
        }
        let by_number = || self.ordinal(&forms);
        let named = self.named_intent(&forms).or_else(by_number).filter(|_| self.types.is_empty());
        let Some(answers) = self.answers else {
            return sure(named.map_or_else(|| self.new_type(&forms), Answer::Type));
        };
        let understood = self.by_model(answers, text, &words);
        if let Some(intent) = named.filter(|_| !(understood.answer.is_aside() && understood.is_sure)) {
            return sure(Answer::Type(intent));
        }
        if let Some(answer) = self.by_opening(&words, &forms).filter(|_| !understood.says_something()) {
            return sure(answer);
        }
        match (&understood.answer, self.by_clauses(text)) {
            (Answer::Unclear, Some(answer)) => Understood { answer, is_sure: false },
            _ => understood,
        }
    }

    /// What an answer begins with, if that says it all: `no idea, my wife wrote it down`, `never mind, I'll walk`.
    fn by_opening(&self, words: &[Word], forms: &[&str]) -> Option<Answer> {
        let hear = &self.book.hear;
        let is_filler = |form: &&&str| hear.filler.iter().chain(&hear.hedge).any(|filler| filler == **form);
        let n_fillers = forms.iter().take_while(is_filler).count();
        let ends = |phrases: &[String]| {
            let end_at = |start: usize| {
                let ends = phrases.iter().filter(|phrase| forms_begin(&forms[start..], phrase));
                ends.map(|phrase| start + phrase.split(' ').count()).max()
            };
            (0..=n_fillers.min(forms.len())).filter_map(end_at).max()
        };
        let is_said = |end: usize| match words.get(end) {
            Some(next) => next.after_mark || end > 1 + n_fillers && !hear.relative.contains(&next.form),
            None => true,
        };
        let cancels = ends(&hear.cancel).filter(|&end| is_said(end)).map(|_| Answer::Cancel);
        let leaves = || ends(&hear.dont_know).filter(|&end| is_said(end)).map(|_| Answer::DontKnow);
        let repeats = || ends(&hear.repeat).filter(|&end| is_said(end)).map(|_| Answer::Repeat);
        cancels
            .or_else(leaves)
            .or_else(repeats)
            .filter(|_| self.is_open && self.head(&self.delexicalize(words)).is_none())
    }

    /// Whether a type is called by its own name, and not by that of something which is one: `a place`, not `a village`.
    fn says_own_name(&self, answer: &Answer, forms: &[&str]) -> bool {
        let Answer::Type(slot) = answer else { return false };
        let own = self.book.own_names(slot);
        own.iter().any(|name| find_phrase(forms, std::slice::from_ref(name)).is_some())
    }

    /// `remember: Oleander = person`
    fn by_equation(&self, text: &str) -> Option<Answer> {
        let (said, kind) = text.split_once('=')?;
        let phrase = said.rsplit(':').next().unwrap_or(said).trim();
        let words = words(kind);
        let slot = self.named(&words.iter().map(|word| word.form.as_str()).collect::<Vec<_>>())?;
        self.is_phrase(phrase).then(|| Answer::Teach(Some(phrase.to_owned()), Meaning::Type(slot)))
    }

    /// What one part of a longer answer says plainly: `never mind, I'll walk`, `room, as I told you`.
    fn by_clauses(&self, text: &str) -> Option<Answer> {
        let clauses = text
            .split([',', '.', '!', '?', ';', ':'])
            .filter(|clause| clause.contains(char::is_alphanumeric));
        let mut clauses = clauses.clone().filter(|_| clauses.clone().nth(1).is_some());
        clauses.find_map(|clause| {
            let words = words(clause);
            let forms: Vec<&str> = words.iter().map(|word| word.form.as_str()).collect();
            self.by_rules(clause, &words, &forms)
        })
    }

    /// Whether the request is said once more: that is no longer name.
    fn is_request_again(&self, forms: &[&str]) -> bool {
        let (request, phrase) = (words(self.request), words(&self.request[self.phrase.clone()]));
        phrase.len() < request.len()
            && request.iter().map(|word| word.form.as_str()).eq(forms.iter().copied())
    }

    /// What is surer by rules: numbers, exact names, set phrases. Without a model, all that there are rules for.
    fn by_rules(&self, text: &str, words: &[Word], forms: &[&str]) -> Option<Answer> {
        let hear = &self.book.hear;
        let set_phrases = [
            (&hear.cancel, Answer::Cancel),
            (&hear.thank, Answer::Thank),
            (&hear.greet, Answer::Greet),
            (&hear.bye, Answer::Bye),
            (&hear.help, Answer::Help),
            (&hear.why, Answer::Why),
            (&hear.repeat, Answer::Repeat),
            (&hear.undo, Answer::Undo),
            (&hear.dont_know, Answer::DontKnow),
            (&hear.denial, Answer::No),
        ];
        let said = set_phrases.into_iter().find(|(phrases, _)| is_all(forms, phrases, &hear.filler));
        let needs_question = |answer: &Answer| matches!(answer, Answer::DontKnow | Answer::No);
        if let Some((_, answer)) = said.filter(|(_, answer)| self.is_open || !needs_question(answer)) {
            return Some(answer);
        }
        if !self.is_open {
            return None;
        }
        if self.is_request_again(forms) {
            return Some(Answer::Request);
        }
        if let Some(boundaries) = self.boundaries(words).or_else(|| self.boundaries_and_type(words)) {
            return Some(boundaries);
        }
        if let Some(end) = find_phrase(forms, &hear.alias).filter(|_| !self.phrase.is_empty()) {
            // `the name of our band` says what it is, `what we call Emma's house` does not.
            let is_name_of = forms[..end].ends_with(&["name", "of"]);
            let is_owned = forms[end..].iter().any(|form| form.ends_with("'s"));
            let is_kind = |slot: &String| {
                is_name_of && self.options.contains(slot) || !is_owned && !self.is_value(text, &words[end..])
            };
            let named = self.named(&forms[end..]).filter(is_kind);
            return Some(match named {
                Some(slot) => self.with_boundaries(&self.delexicalize(words), slot),
                None => self.alias(text, &words[end..]),
            });
        }
        let (is_no, rest) = without_lead(forms, &hear.no);
        // `none of the three` chooses nothing.
        if is_no && hear.none.iter().any(|none| none == forms[0]) && self.number(rest).is_some() {
            return Some(Answer::No);
        }
        let (is_yes, rest) = without_lead(rest, &hear.yes);
        // `no person` rules a person out, `no, person` does not.
        let n_led = forms.len() - rest.len();
        if is_no && n_led < words.len() && self.type_words(&words[n_led..]).is_some() {
            let between = &text[words[n_led - 1].place.end..words[n_led].place.start];
            if between.trim().is_empty() {
                return None;
            }
        }
        let is_filler = |form: &&str| hear.filler.iter().any(|filler| filler == form);
        if rest.iter().all(is_filler) && (is_yes || is_no) {
            return Some(if is_no { Answer::No } else { Answer::Yes });
        }
        if let Some(idx) = self.number(rest) {
            return Some(self.options.get(idx).cloned().map_or(Answer::Unclear, Answer::Type));
        }
        self.named(rest).map(Answer::Type).or_else(|| self.known_value(text, words))
    }

    /// What a phrase stands for: the rest of the answer as it was typed, without fillers around it.
    fn alias(&self, text: &str, words: &[Word]) -> Answer {
        let hear = &self.book.hear;
        let is_filler = |word: &&Word| hear.filler.contains(&word.form);
        let first = words.iter().position(|word| !is_filler(&word));
        let last = words.iter().rposition(|word| !is_filler(&word));
        match (first, last) {
            (Some(first), Some(last)) if first <= last => {
                // `my` is a filler, but belongs to `my nan's place`.
                let is_own = first > 0 && hear.own.contains(&words[first - 1].form);
                let start = words[first - usize::from(is_own)].place.start;
                let value = self.bare(&text[start..words[last].place.end]);
                if value.len() <= MAX_PHRASE { Answer::Alias(value) } else { Answer::Unclear }
            }
            _ => Answer::Unclear,
        }
    }

    /// Whether some words of an answer, without fillers before them, are a value that is known.
    fn is_value(&self, text: &str, words: &[Word]) -> bool {
        let is_filler = |word: &&Word| self.book.hear.filler.contains(&word.form);
        let first = words.iter().find(|word| !is_filler(word));
        first
            .zip(words.last())
            .is_some_and(|(first, last)| (self.slot_of)(&text[first.place.start..last.place.end]).is_some())
    }

    /// `it's Josh`, where Josh is known: the phrase is another name for that.
    fn known_value(&self, text: &str, words: &[Word]) -> Option<Answer> {
        let is_filler = |word: &&Word| self.book.hear.filler.contains(&word.form);
        let first = words.iter().position(|word| !is_filler(&word))?;
        let value = &text[words[first].place.start..words.last()?.place.end];
        let is_phrase = value.to_lowercase() == self.request[self.phrase.clone()].to_lowercase();
        let slot = (self.slot_of)(value).filter(|_| !is_phrase && !self.phrase.is_empty())?;
        // `a launderette` is a kind of place, whatever else is called so; `the launderette` may be that one.
        let hear = &self.book.hear;
        let is_one =
            first == 0 || [&hear.one, &hear.own].iter().any(|list| list.contains(&words[first - 1].form));
        let is_sort = words[..first].iter().any(|word| hear.sort.contains(&word.form));
        match is_sort || is_one && self.is_noun_of(value, &slot) {
            true => Some(Answer::Type(slot)),
            false => Some(Answer::Alias(value.to_owned())),
        }
    }

    /// What a model of answers makes of it.
    fn by_model(&self, answers: &Answers, text: &str, words: &[Word]) -> Understood {
        let answer = self.delexicalize(words);
        let said = answers.read(&answer.forms());
        let (meant, likelihood) = self.meant(text, &answer, &said);
        let head = self.head(&answer);
        let is_head = |slot: &String| {
            let is_it = |head: Head| head.is_exact && head.meaning == Meaning::Type(slot.clone());
            head.clone().is_some_and(is_it)
        };
        // What the model labels must be what the answer is taken to say.
        let is_labelled = match &meant {
            Answer::Type(slot) | Answer::Boundaries(_, Some(slot)) => is_head(slot),
            Answer::Teach(_, Meaning::Type(slot)) => is_head(slot) && said.words("type").is_some(),
            Answer::Alias(_) | Answer::Teach(_, Meaning::Alias(_)) => said.words("value").is_some(),
            _ => true,
        };
        let is_plain = match &meant {
            Answer::Teach(phrase, _) => {
                let is_subject = self.subject(text, &answer).is_some() && phrase.is_some();
                is_led(&self.book.hear, &answer.forms()) || is_subject && self.is_about_last(&answer)
            }
            Answer::Type(slot) => {
                let is_said = self.is_offered(&meant) && !self.says_more(&answer);
                is_said || self.is_plain(text, slot) && self.says_own_name(&meant, &answer.all_forms())
            }
            // A time has no name.
            Answer::Boundaries(_, Some(slot)) => self.is_offered(&meant) && !self.book.resolves(slot),
            meant => self.is_offered(meant),
        };
        Understood { answer: meant, is_sure: is_plain && is_labelled && likelihood >= TO_LEARN }
    }

    /// Whether a type is all that one clause of an answer says: `it's a playlist, the one I run to`.
    fn is_plain(&self, text: &str, slot: &str) -> bool {
        text.split([',', '.', '!', '?', ';', ':']).any(|clause| {
            let words = words(clause);
            let forms: Vec<&str> = words.iter().map(|word| word.form.as_str()).collect();
            self.named(&forms).as_deref() == Some(slot)
        })
    }

    /// Whether an answer speaks of names, or takes something back: `the hoover is called that`, `a group, but ...`.
    fn says_more(&self, answer: &Delexicalized<'_>) -> bool {
        let hear = &self.book.hear;
        answer.words.iter().any(|word| hear.naming.contains(&word.form) || hear.but.contains(&word.form))
    }

    /// Whether it begins with a no, or is about words of the last request.
    fn is_about_last(&self, answer: &Delexicalized<'_>) -> bool {
        let hear = &self.book.hear;
        let forms = answer.forms();
        [&hear.no, &hear.repair].into_iter().any(|words| without_lead(&forms, words).0)
            || self.mentioned(answer).is_some()
    }

    /// Whether an answer is one that was to be expected: a type that was offered, or another name for something of such a type.
    fn is_offered(&self, answer: &Answer) -> bool {
        let slot = match answer {
            Answer::Type(slot) | Answer::Boundaries(_, Some(slot)) => Some(slot.clone()),
            Answer::Alias(value) => match (self.slot_of)(value) {
                Some(slot) => Some(slot),
                // What it is is asked then.
                None => return true,
            },
            _ => None,
        };
        slot.is_none_or(|slot| self.options.is_empty() || self.options.contains(&slot))
    }

    /// What it means, and how likely that is.
    fn meant(&self, text: &str, answer: &Delexicalized<'_>, said: &Said) -> (Answer, f32) {
        let has_request = !self.request.is_empty();
        let is_about_intent = self.types.is_empty();
        let is_led = is_led(&self.book.hear, &answer.forms());
        let can_be = |act: Act| match act {
            Act::Type | Act::Alias | Act::Boundaries => self.is_open && !is_about_intent,
            Act::Yes | Act::No | Act::DontKnow => self.is_open,
            Act::NotType | Act::Correct => {
                has_request && !is_about_intent && (!self.has_slots || is_led || self.corrects(answer))
            }
            Act::Change => has_request && !self.is_open && !self.is_command && !self.asks(answer),
            Act::Teach if !is_led && !self.equates(answer) => false,
            Act::Teach | Act::Forget | Act::Undo => !self.is_request || is_led,
            Act::Request => !self.is_open || is_about_intent || !self.begins_as_answer(answer),
            Act::Cancel | Act::Repeat | Act::Help | Act::Why => !self.is_request,
            _ => !self.has_slots,
        };
        let Some((act, likelihood)) = said.act(can_be) else { return (Answer::Unclear, 0.0) };
        let least = match act {
            Act::Greet | Act::Thank | Act::Bye => VERY_SURE,
            _ if self.is_request && !is_led => VERY_SURE,
            _ if !self.is_open => SURE,
            _ => LIKELY,
        };
        let instead = || self.said_instead(text, answer.words).filter(|value| !self.is_kind(value));
        if act == Act::Request || likelihood < least {
            let otherwise = if self.is_open { Answer::Unclear } else { Answer::Request };
            let is_request = act == Act::Request && likelihood >= least;
            let meant =
                instead().map_or(if is_request { Answer::Request } else { otherwise }, Answer::Change);
            return (meant, likelihood);
        }
        let meant = match act {
            Act::Yes => Answer::Yes,
            Act::No => Answer::No,
            Act::DontKnow => Answer::DontKnow,
            Act::Why => Answer::Why,
            Act::Help => Answer::Help,
            Act::Repeat => Answer::Repeat,
            Act::Cancel => Answer::Cancel,
            Act::Undo => Answer::Undo,
            Act::Greet => Answer::Greet,
            Act::Thank => Answer::Thank,
            Act::Bye => Answer::Bye,
            Act::Request => Answer::Request,
            Act::NotType if self.denies(answer) => self.ruled_out(answer),
            Act::NotType if self.is_open => self.explained(text, answer, said),
            Act::NotType => self.taught(Act::Correct, text, answer, said),
            Act::Type => self.explained(text, answer, said),
            Act::Alias => match self.value(text, answer, said) {
                Some(value) if self.is_name_for(answer, said, &value) => Answer::Alias(value),
                _ => self.explained(text, answer, said),
            },
            Act::Boundaries => self.other_boundaries(answer, said),
            Act::Forget => self.named_phrase(text, answer, said).map_or(Answer::Unclear, Answer::Forget),
            Act::Change => match self.value(text, answer, said) {
                Some(value) if self.is_kind(&value) => self.taught(Act::Correct, text, answer, said),
                Some(value) => Answer::Change(value),
                None => Answer::Request,
            },
            Act::Teach | Act::Correct => self.taught(act, text, answer, said),
        };
        (meant, likelihood)
    }

    /// Whether it begins as people say what something is, and not what to do: `the room at the back`, `where I sleep`.
    fn begins_as_answer(&self, answer: &Delexicalized<'_>) -> bool {
        let hear = &self.book.hear;
        let first = answer.words.iter().find(|word| !hear.hedge.contains(&word.form));
        let says = |word: &Word| {
            let lists = [&hear.intro, &hear.article, &hear.own, &hear.one, &hear.relative];
            lists.into_iter().any(|words| words.contains(&word.form))
        };
        let is_offered = |types: &[String]| types.iter().any(|slot| self.options.contains(slot));
        first.is_some_and(says) || !answer.pieces.is_empty() && answer.types(0).is_some_and(is_offered)
    }

    /// Whether it begins as a question does that wants no change: `is butter on the list?`
    fn asks(&self, answer: &Delexicalized<'_>) -> bool {
        let first = answer.words.iter().find(|word| !self.book.hear.hedge.contains(&word.form));
        first.is_some_and(|word| self.book.hear.ask.contains(&word.form))
    }

    /// Whether it says that something is something, or is called so, without which nothing is taught.
    fn equates(&self, answer: &Delexicalized<'_>) -> bool {
        let hear = &self.book.hear;
        let lists = [&hear.is, &hear.intro, &hear.naming];
        let says = |word: &Word| lists.into_iter().any(|words| words.contains(&word.form));
        answer.words.iter().any(|word| says(word) || word.form.ends_with("'s"))
    }

    /// Whether a value is what the phrase is another name for, and no noun that says what it is: `a launderette`.
    fn is_name_for(&self, answer: &Delexicalized<'_>, said: &Said, value: &str) -> bool {
        let hear = &self.book.hear;
        let forms = answer.forms();
        let names = forms.iter().any(|form| hear.naming.iter().any(|word| word == form));
        let start = said.words("value").map_or(0, |pieces| pieces.start);
        let is_one =
            start.checked_sub(1).is_some_and(|before| hear.one.iter().any(|one| one == forms[before]));
        let is_title = value.starts_with(char::is_uppercase) && (self.slot_of)(value).is_some();
        names || is_title || !is_one && self.head(answer).is_none()
    }

    /// Whether an answer has a word that denies something.
    fn denies(&self, answer: &Delexicalized<'_>) -> bool {
        let hear = &self.book.hear;
        let denies = |word: &Word| {
            let lists = [&hear.not, &hear.no, &hear.cut, &hear.deny];
            word.form.ends_with("n't") || lists.into_iter().any(|words| words.contains(&word.form))
        };
        answer.words.iter().any(denies)
    }

    /// Whether an answer has words of a correction: it begins with a no, or says that something *is a* something.
    fn corrects(&self, answer: &Delexicalized<'_>) -> bool {
        let hear = &self.book.hear;
        let forms = answer.forms();
        let has = |words: &[String], form: &str| words.iter().any(|word| word == form);
        let begins = |words: &Vec<String>| without_lead(&forms, words).0;
        let is_said = |pair: &[&str]| has(&hear.is, pair[0]) && has(&hear.article, pair[1]);
        [&hear.no, &hear.repair, &hear.just, &hear.not].into_iter().any(begins)
            || forms.windows(2).any(is_said)
    }

    /// The part of the request that is mentioned, if there is one.
    fn mentioned(&self, answer: &Delexicalized<'_>) -> Option<Range<usize>> {
        answer.pieces.iter().find_map(|(_, mention)| match mention {
            Mention::Phrase(place) => Some(place.clone()),
            _ => None,
        })
    }
}

fn touches(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}
