//! Asking what a request is for, where the tagger is not sure of the intent.

use serde::{Deserialize, Serialize};

use super::answer::{Answer, Asked};
use super::{Dialogue, Heard, Lesson, Outcome, Reply, State, Thread, finished};

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
        thread: Thread,
        mut said: Vec<String>,
        lessons: Vec<Lesson>,
    ) -> (State, Reply) {
        said.push(self.intent_question(&choosing));
        let options = choosing.request.intents.clone();
        let outcome = Outcome::Ask { phrase: None, place: None, slot: None, options, proposed: None };
        let state = State { choosing: Some(choosing), thread, ..State::default() };
        (state, Reply { text: said.join(" "), outcome, lessons, forget: Vec::new() })
    }

    fn intent_question(&self, choosing: &Choosing) -> String {
        let names: Vec<String> =
            choosing.request.intents.iter().map(|intent| self.book.intent(intent)).collect();
        let options = match names.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, others)) => format!("{}{}{last}", others.join(", "), self.book.say("or", &[])),
            None => String::new(),
        };
        self.book.say("ask_intent", &[("options", &options)])
    }

    /// A turn after such a question.
    pub(super) fn choose(&self, mut choosing: Choosing, thread: Thread, heard: Heard) -> (State, Reply) {
        let options = std::mem::take(&mut choosing.request.intents);
        let understood =
            Asked { filled: Vec::new(), options: &options, types: &[], ..self.asked(&choosing.request) }
                .understand(&heard.text);
        let mut aside = None;
        let chosen = match understood.answer {
            Answer::Type(intent) => Some(intent),
            Answer::Yes => options.first().cloned(),
            Answer::DontKnow => None,
            Answer::Cancel | Answer::No => {
                return finished(thread, self.book.say("dropped", &[]), Outcome::Drop);
            }
            Answer::Why => {
                aside = Some(self.book.say("why_intent", &[]));
                None
            }
            Answer::Help => {
                let names: Vec<String> = options.iter().map(|intent| self.book.intent(intent)).collect();
                aside = Some(self.book.say("help_intent", &[("options", &names.join(", "))]));
                None
            }
            _ if self.is_request(&heard) => return self.request(thread, heard),
            _ => None,
        };
        if let Some(intent) = chosen {
            let request = Heard { intent, is_chosen: true, ..choosing.request };
            return self.go_on(request, thread, choosing.n_asked, Vec::new(), Vec::new());
        }
        choosing.n_missed += usize::from(aside.is_none());
        if choosing.n_missed >= self.settings.max_misses {
            return finished(thread, self.book.say("dropped", &[]), Outcome::Drop);
        }
        choosing.request.intents = options;
        let question = self.intent_question(&choosing);
        let said = match aside {
            Some(aside) => format!("{aside} {question}"),
            None => self.book.say("again", &[("question", &question)]),
        };
        let options = choosing.request.intents.clone();
        let outcome = Outcome::Ask { phrase: None, place: None, slot: None, options, proposed: None };
        let state = State { choosing: Some(choosing), thread, ..State::default() };
        (state, Reply { text: said, outcome, lessons: Vec::new(), forget: Vec::new() })
    }
}
