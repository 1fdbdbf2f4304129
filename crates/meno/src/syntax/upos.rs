//! The universal part-of-speech tags.

use std::fmt;

use serde::{Serialize, Serializer};

macro_rules! tags {
    ($($name:ident $text:literal $what:literal,)*) => {
        /// A universal part-of-speech tag.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Upos {
            $(#[doc = $what] $name,)*
        }

        impl Upos {
            /// All of them, in the order of their numbers.
            pub const ALL: [Upos; 17] = [$(Upos::$name,)*];

            /// As CoNLL-U writes it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Upos::$name => $text,)*
                }
            }
        }
    };
}

tags! {
    Adj "ADJ" "Adjective.",
    Adp "ADP" "Preposition or postposition.",
    Adv "ADV" "Adverb.",
    Aux "AUX" "Auxiliary verb.",
    Cconj "CCONJ" "Coordinating conjunction.",
    Det "DET" "Determiner.",
    Intj "INTJ" "Interjection.",
    Noun "NOUN" "Common noun.",
    Num "NUM" "Number.",
    Part "PART" "Particle.",
    Pron "PRON" "Pronoun.",
    Propn "PROPN" "Proper noun.",
    Punct "PUNCT" "Punctuation.",
    Sconj "SCONJ" "Subordinating conjunction.",
    Sym "SYM" "Symbol.",
    Verb "VERB" "Verb.",
    X "X" "Anything else.",
}

impl Upos {
    /// The tag of this name.
    pub fn from_name(name: &str) -> Option<Upos> {
        Upos::ALL.into_iter().find(|upos| upos.name() == name)
    }
}

impl fmt::Display for Upos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Upos {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
