//! A concept, and what makes one fit to be remembered.

use serde::{Deserialize, Serialize};

use super::normal::{LoneS, Words, normal_form};
use crate::label::{self, UNKNOWN};
use crate::{Annotation, Error, Result};

/// The longest phrase, in words.
pub const MAX_WORDS: usize = 32;

/// The longest name, phrase, value or part of a source, in bytes.
pub const MAX_BYTES: usize = 4096;

/// How many slots one owner's phrase may fill; more would not tell what it is.
pub const MAX_SLOTS: usize = 8;

/// The name that stands for everyone where an owner is named.
pub const EVERYONE: &str = "everyone";

/// A phrase and what it stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Concept {
    /// Given by the store; never used for another concept.
    pub id: u64,
    /// The phrase as it was said.
    pub phrase: String,
    /// The phrase as it is compared ([`normal_form`]). An owner has one concept for each normal form and slot.
    pub normal: String,
    /// The slot type.
    pub slot: String,
    /// The known value that it is another name for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Whose it is.
    #[serde(default)]
    pub owner: Owner,
    /// The utterance in which it was learnt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// When it was learnt, in milliseconds since 1970 by the clock of the caller.
    pub created: u64,
    /// When it was changed last.
    pub updated: u64,
    /// How many times it was found in what somebody said.
    pub uses: u64,
}

/// A concept that is to be remembered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Draft {
    /// The phrase as it was said.
    pub phrase: String,
    /// The slot type.
    pub slot: String,
    /// The known value that it is another name for.
    pub value: Option<String>,
    /// Whose it is.
    pub owner: Owner,
    /// The utterance in which it was learnt.
    pub source: Option<Source>,
}

/// Who knows a concept; in JSON the name of the user, or `null` for everyone.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "Option<String>", into = "Option<String>")]
pub enum Owner {
    /// Every user.
    #[default]
    Everyone,
    /// One user, by name.
    User(String),
}

/// An utterance with one IOB2 label for each word.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Source {
    /// The words.
    pub words: Vec<String>,
    /// Their labels; empty if nothing is known of the other words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// The intent; empty if it is not known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub intent: String,
}

impl Owner {
    /// The name of the user; `None` for everyone.
    pub fn user(&self) -> Option<&str> {
        match self {
            Owner::Everyone => None,
            Owner::User(name) => Some(name),
        }
    }
}

impl Owner {
    /// The owner of a name as people type it; refuses one that is none.
    pub fn named(name: &str) -> Result<Owner> {
        let owner = if name == EVERYONE { Owner::Everyone } else { Owner::User(name.to_owned()) };
        owner.check().map(|()| owner)
    }

    /// Refuses a name that looks like another, and those that stand for others: `*` for all, and `everyone`. An empty one is that of a
    /// variable which was never set, and whoever typed it did not mean everyone.
    pub fn check(&self) -> Result<()> {
        let Some(name) = self.user() else { return Ok(()) };
        let hint = match name {
            "" => "a name is not empty, such as `anna`; what everyone knows is that of `everyone`",
            EVERYONE => "what everyone knows has no owner: leave it out, or null in JSON",
            name if name == "*" || name.contains(|c| is_hidden(c) || is_joiner(c)) => {
                "a name has no hidden characters, such as `anna`"
            }
            _ => return Ok(()),
        };
        let problem = format!("`{}` is no name of an owner", name.escape_debug());
        Err(Error::Concept { problem, hint: hint.to_owned() })
    }
}

/// Whether a character is none that is seen: a control, a break of a line, one that turns the direction of text (`Bidi_Control` of
/// Unicode), or one that is ignored where it is drawn (`Default_Ignorable_Code_Point`). Those that writing needs are not meant:
/// joiners, and what chooses between the forms of a character.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180e}'
                | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
                | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e001f}' | '\u{e0080}'..='\u{e00ff}'
                | '\u{e01f0}'..='\u{e0fff}'
        )
}

/// Whether a character is not seen by itself but belongs to how others are written: in Persian, in emoji, in flags.
fn is_joiner(c: char) -> bool {
    matches!(
        c,
        '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{200c}'..='\u{200d}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{e0020}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}'
    )
}

/// A text without its hidden characters.
pub fn visible(text: &str) -> String {
    text.chars().filter(|&c| !is_hidden(c)).collect()
}

impl From<Option<String>> for Owner {
    fn from(name: Option<String>) -> Self {
        name.filter(|name| !name.is_empty()).map_or(Owner::Everyone, Owner::User)
    }
}

impl From<Owner> for Option<String> {
    fn from(owner: Owner) -> Self {
        match owner {
            Owner::Everyone => None,
            Owner::User(name) => Some(name),
        }
    }
}

impl Draft {
    /// The normal form of the phrase, if the draft is fit to be remembered.
    pub fn check(&self) -> Result<String> {
        let words = Words::read(&self.phrase, LoneS::Joined);
        let refuse = |problem: String, hint: &str| Err(Error::Concept { problem, hint: hint.to_owned() });
        if words.is_empty() {
            let problem = format!("there is no word in the phrase `{}`", self.phrase);
            return refuse(problem, "a phrase has letters, digits or symbols");
        }
        if words.len() > MAX_WORDS {
            let problem = format!("the phrase has {} words", words.len());
            return refuse(problem, &format!("a phrase has at most {MAX_WORDS}"));
        }
        demand_slot(&self.slot)?;
        let [words, labels, intent] = self.source.as_ref().map_or([0; 3], Source::lengths);
        let lengths = [
            ("phrase", self.phrase.len()),
            ("slot", self.slot.len()),
            ("value", self.value.as_ref().map_or(0, String::len)),
            ("owner", self.owner.user().map_or(0, str::len)),
            ("source", words),
            ("list of labels of the source", labels),
            ("intent of the source", intent),
        ];
        if let Some((name, length)) = lengths.into_iter().find(|(_, length)| *length > MAX_BYTES) {
            return refuse(
                format!("the {name} has {length} bytes"),
                &format!("at most {MAX_BYTES} are kept"),
            );
        }
        // They are printed, and a screen would obey them; and PostgreSQL cannot store a null character.
        let texts = [("phrase", Some(self.phrase.as_str())), ("value", self.value.as_deref())];
        for (name, text) in texts {
            if let Some(c) = text.and_then(hidden) {
                let problem = format!("there is a hidden character, {c}, in the {name}");
                return refuse(problem, "take it out");
            }
        }
        self.owner.check()?;
        self.source.as_ref().map_or(Ok(()), Source::check)?;
        Ok(normal_form(&self.phrase))
    }
}

/// The first hidden character of a text, as it can be shown.
fn hidden(text: &str) -> Option<impl std::fmt::Display> {
    text.chars().find(|&c| is_hidden(c)).map(char::escape_unicode)
}

/// Whether a label can be made of a slot type.
fn demand_slot(slot: &str) -> Result<()> {
    let problem = match slot {
        "" => "the slot has no name".to_owned(),
        slot if slot.contains(char::is_whitespace) => {
            format!("there is white space in the slot `{}`", slot.escape_debug())
        }
        slot => match taken_name(slot) {
            Some(problem) => problem,
            None => return Ok(()),
        },
    };
    Err(Error::Concept { problem, hint: "a slot is named in one word, such as `playlist`".to_owned() })
}

/// Why no slot may be called so, if it may not: the name stands for something else, or is not seen.
pub(crate) fn taken_name(slot: &str) -> Option<String> {
    match slot {
        UNKNOWN => Some(format!("a slot cannot be called `{UNKNOWN}`")),
        "O" => Some("a slot cannot be called `O`, which is no slot".to_owned()),
        slot if slot.starts_with("B-") || slot.starts_with("I-") => {
            Some(format!("a slot cannot be called `{}`, which is a label", slot.escape_debug()))
        }
        slot => hidden(slot).map(|hidden| format!("there is a hidden character, {hidden}, in a slot")),
    }
}

impl Source {
    /// What a model made of an utterance; `None` if there were no words.
    pub fn of(annotation: &Annotation<'_>) -> Option<Source> {
        let word = |text: &str| text.split_whitespace().collect::<Vec<_>>().join("_");
        (!annotation.tokens.is_empty()).then(|| Source {
            words: annotation.tokens.iter().map(|token| word(token.text).to_lowercase()).collect(),
            labels: annotation.tokens.iter().map(|token| token.label.to_string()).collect(),
            intent: annotation.intent.as_ref().map_or(String::new(), |intent| intent.name.to_string()),
        })
    }

    /// An utterance of which nothing is known but its words, which have white space between them.
    pub fn of_text(text: &str, intent: &str) -> Source {
        let words = text.split_whitespace().map(str::to_owned).collect();
        Source { words, labels: Vec::new(), intent: intent.to_owned() }
    }

    /// The bytes of the words, of the labels and of the intent.
    fn lengths(&self) -> [usize; 3] {
        let of = |texts: &[String]| texts.iter().map(|text| text.len() + 1).sum();
        [of(&self.words), of(&self.labels), self.intent.len()]
    }

    fn check(&self) -> Result<()> {
        let bad = |text: &str| text.is_empty() || text.contains(char::is_whitespace);
        let mut texts = self.words.iter().chain(&self.labels).chain([&self.intent]);
        let is_label = |label: &str| {
            label == "O" || matches!(label::split(label), ("B" | "I", slot) if !slot.is_empty() && !bad(slot))
        };
        let problem = if self.words.is_empty() || self.words.iter().any(|word| bad(word)) {
            "the source has no words, or one with white space".to_owned()
        } else if !self.labels.is_empty() && self.labels.len() != self.words.len() {
            format!("the source has {} words but {} labels", self.words.len(), self.labels.len())
        } else if let Some(label) = self.labels.iter().find(|label| !is_label(label)) {
            format!("the source has a label `{label}`, which is not IOB2")
        } else if let Some(c) = texts.find_map(|text| hidden(text)) {
            format!("there is a hidden character, {c}, in the source")
        } else {
            return Ok(());
        };
        Err(Error::Concept { problem, hint: "a source has words and one IOB2 label for each".to_owned() })
    }
}
