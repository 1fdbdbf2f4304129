//! Asking what a request is for, where the tagger is not sure of the intent.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::answer::{Answer, Asked};
use super::{Dialogue, Heard, Lesson, Outcome, Reply, State, finished};

/// A request whose intent is asked about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Choosing {
    request: Heard,
    n_asked: usize,
    n_missed: usize,
}

impl Choosing {
    pub(super) fn new(request: Heard, n_asked: usize) -> Self {
        Choosing { request, n_asked, n_missed: 0 }
    }
}

impl Dialogue<'_> {
    /// Asks which of the likeliest intents is meant.
    pub(super) fn ask_intent(
        &self,
        choosing: Choosing,
        left: BTreeSet<String>,
        mut said: Vec<String>,
        lessons: Vec<Lesson>,
    ) -> (State, Reply) {
        said.push(self.intent_question(&choosing));
        let outcome = Outcome::Ask { phrase: None, place: None, options: choosing.request.intents.clone() };
        let state = State { choosing: Some(choosing), left, ..State::default() };
        (state, Reply { text: said.join(" "), outcome, lessons })
    }

    fn intent_question(&self, choosing: &Choosing) -> String {
        let names: Vec<String> =
            choosing.request.intents.iter().map(|intent| self.book.plain(intent)).collect();
        let options = match names.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, others)) => format!("{}{}{last}", others.join(", "), self.book.say("or", &[])),
            None => String::new(),
        };
        self.book.say("ask_intent", &[("options", &options)])
    }

    /// A turn after such a question.
    pub(super) fn choose(
        &self,
        mut choosing: Choosing,
        left: BTreeSet<String>,
        heard: Heard,
    ) -> (State, Reply) {
        let options = std::mem::take(&mut choosing.request.intents);
        let asked = Asked { request: "", phrase: 0..0, options: &options, types: &[], book: self.book };
        let chosen = match asked.understand(&heard.text) {
            Answer::Type(intent) => Some(intent),
            Answer::Yes if options.len() == 1 => options.first().cloned(),
            Answer::Cancel | Answer::No => {
                return finished(left, self.book.say("dropped", &[]), Outcome::Drop);
            }
            _ if self.is_request(&heard) => return self.request(left, heard),
            _ => None,
        };
        if let Some(intent) = chosen {
            let request = Heard { intent, ..choosing.request };
            return self.go_on(request, left, choosing.n_asked, Vec::new(), Vec::new());
        }
        choosing.n_missed += 1;
        if choosing.n_missed >= self.settings.max_misses {
            return finished(left, self.book.say("dropped", &[]), Outcome::Drop);
        }
        choosing.request.intents = options;
        let said = self.book.say("again", &[("question", &self.intent_question(&choosing))]);
        let outcome = Outcome::Ask { phrase: None, place: None, options: choosing.request.intents.clone() };
        let state = State { choosing: Some(choosing), left, ..State::default() };
        (state, Reply { text: said, outcome, lessons: Vec::new() })
    }
}
