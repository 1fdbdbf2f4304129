//! The shapes of answers, as OpenAPI tells them.
//!
//! Answers are written by the types of the engine and the store; the tests include this file and read every answer by its
//! types, which refuse fields that they do not know.

#![allow(dead_code)] // The server itself reads none of them.

pub mod access;

use std::collections::BTreeMap;

use serde::Deserialize;
use utoipa::ToSchema;

/// What the server says about an utterance. Offsets are bytes of the text in UTF-8.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Annotation {
    /// The text as it was given.
    pub text: String,
    /// The likeliest intent; null if there are no words or the corpus had no intents.
    pub intent: Option<Choice>,
    /// How likely intent and slots are all right, by the tagger alone, if the model says so.
    #[schema(nullable = false)]
    pub confidence: Option<f32>,
    /// What to do about it.
    pub decision: Decision,
    /// What to ask about, if the decision is `ask`.
    #[schema(nullable = false)]
    pub about: Option<About>,
    /// Why it is rejected, if the decision is `reject`.
    #[schema(nullable = false)]
    pub because: Option<Rejection>,
    /// The words.
    pub tokens: Vec<Token>,
    /// The slots, in the order of the text.
    pub spans: Vec<Span>,
    /// The stretches of words outside of all slots, if the model says how sure it is of them.
    #[schema(nullable = false)]
    pub outside: Option<Vec<Outside>>,
    /// The concepts among the spans that were taught.
    pub memory: Vec<Recalled>,
    /// The dependency tree, one entry for each token, if it was asked for.
    #[schema(nullable = false)]
    pub parse: Option<Vec<Node>>,
}

/// What to do about an utterance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// Do what it asks for.
    Act,
    /// Ask about a part of it first.
    Ask,
    /// Reject it.
    Reject,
}

/// Why an utterance is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rejection {
    /// It is unlike everything that the tagger was trained on.
    OutOfScope,
    /// It is in another language than the corpus.
    Language,
}

/// What a question is about: one of `span`, `outside` and `intent`.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// The number of a span, from 0: an unknown one, the least certain.
    #[schema(nullable = false)]
    pub span: Option<usize>,
    /// The number of a stretch of words outside of all slots, from 0.
    #[schema(nullable = false)]
    pub outside: Option<usize>,
    /// The likeliest intent.
    #[schema(nullable = false)]
    pub intent: Option<String>,
    /// The first byte of the words in question.
    #[schema(nullable = false)]
    pub start: Option<usize>,
    /// One past their last byte.
    #[schema(nullable = false)]
    pub end: Option<usize>,
    /// Slots, or intents, the likeliest first.
    pub options: Vec<Choice>,
}

/// Words outside of all slots.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Outside {
    /// The words as they stand in the text.
    pub text: String,
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// How likely nothing of them belongs into a slot.
    pub confidence: f32,
}

/// A name and how likely it is.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// The name.
    pub name: String,
    /// Its probability.
    pub probability: f32,
    /// How likely it is right, if the model says so.
    #[schema(nullable = false)]
    pub confidence: Option<f32>,
}

/// A word and its label.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// The word as it stands in the text.
    pub text: String,
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// The IOB2 label; `B-unknown` or `I-unknown` if the word is unknown.
    pub label: String,
    /// The probability of the tagger's first choice.
    pub probability: f32,
    /// The tagger's own label, if the model has a threshold, and so for the rest.
    #[schema(nullable = false)]
    pub first_choice: Option<String>,
    /// How unsure the tagger is; higher is less sure.
    #[schema(nullable = false)]
    pub uncertainty: Option<f32>,
    /// Whether that is over the threshold, or the word belongs to a phrase with one that is.
    #[schema(nullable = false)]
    pub unknown: Option<bool>,
    /// By what it was decided.
    #[schema(nullable = false)]
    pub reason: Option<Reason>,
    /// What joins it to an unknown word, if it is not over the threshold itself.
    #[schema(nullable = false)]
    pub grown: Option<Grown>,
}

/// By what it was decided whether a word is unknown.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// The name of the score that gave the uncertainty.
    pub score: String,
    /// The largest uncertainty that is still known.
    pub threshold: f64,
    /// The likeliest labels after the first choice.
    pub runners_up: Vec<RunnerUp>,
}

/// A label that was not chosen.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RunnerUp {
    /// Its name.
    pub label: String,
    /// Its probability.
    pub probability: f32,
}

/// Why a word belongs to an unknown phrase: one of `head`, `child` and `neighbour`.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Grown {
    /// The word of the phrase from which it was reached, from 0.
    pub from: usize,
    /// It is the head; the relation of the other word.
    #[schema(nullable = false)]
    pub head: Option<String>,
    /// It is a child; its relation.
    #[schema(nullable = false)]
    pub child: Option<String>,
    /// It is a neighbour; its part of speech.
    #[schema(nullable = false)]
    pub neighbour: Option<String>,
}

/// A slot and the piece of text that fills it.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Span {
    /// The slot type.
    pub slot: String,
    /// The words as they stand in the text.
    pub text: String,
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// What the words stand for, if the training corpus said that they stand for something else.
    #[schema(nullable = false)]
    pub value: Option<String>,
    /// What the words are, if the slot declares it: `{"dim": "time", "type": "value", "value": ..., "grain": ...}` as Duckling
    /// has it, or as Snips does (`docs/values.md`); null if that is not known for sure.
    pub resolved: Option<serde_json::Value>,
    /// How likely boundaries and slot are right, if the model says so.
    #[schema(nullable = false)]
    pub confidence: Option<f32>,
    /// What the tagger takes it for, if it judges whole concepts.
    #[schema(nullable = false)]
    pub guess: Option<Guess>,
}

/// The slot that a concept most likely fills.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Guess {
    /// The slot, also where the span is `unknown`.
    pub slot: String,
    /// How likely it is, given that there is a concept.
    pub probability: f32,
    /// How likely there is a concept of exactly these words.
    pub boundaries: f32,
    /// The same by the name that it had before.
    #[schema(deprecated)]
    pub limits: f32,
    /// How unsure the model is of both; higher is less sure.
    pub uncertainty: f32,
}

/// A concept that was recognised.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Recalled {
    /// The number of the concept.
    pub concept: u64,
    /// The slot type.
    pub slot: String,
    /// The value that it stands for.
    #[schema(nullable = false)]
    pub value: Option<String>,
    /// The words as they stand in the text.
    pub text: String,
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// A word of a dependency tree.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// The number of its head, from 0; null for the root.
    pub head: Option<usize>,
    /// How it relates to its head, such as `nsubj`.
    pub relation: String,
    /// Its part of speech, such as `NOUN`.
    pub upos: String,
}

/// What the server says about several utterances.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Annotations {
    /// One for each text, in the same order.
    pub annotations: Vec<Annotation>,
}

/// One annotation for `text`, several for `texts`.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum Annotated {
    /// Of one text.
    One(Box<Annotation>),
    /// Of several.
    Many(Annotations),
}

/// A turn of a dialogue.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// The dialogue.
    pub session: String,
    /// What is said in return.
    pub reply: Reply,
    /// What a model and memory made of the text.
    pub annotation: Annotation,
    /// The numbers of the concepts that this turn taught.
    pub concepts: Vec<u64>,
}

/// What is said in return.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// In words.
    pub text: String,
    /// What became of the request.
    pub outcome: Outcome,
    /// The words in question, if it is `ask` and not about the intent.
    #[schema(nullable = false)]
    pub phrase: Option<String>,
    /// Where they stand in the request, in bytes.
    #[schema(nullable = false)]
    pub place: Option<Place>,
    /// The slot that the request lacks, if that is asked for.
    #[schema(nullable = false)]
    pub slot: Option<String>,
    /// The types, or the intents, that are offered.
    #[schema(nullable = false)]
    pub options: Option<Vec<String>>,
    /// A type that the question proposes, which waits for a yes.
    #[schema(nullable = false)]
    pub proposed: Option<String>,
    /// The intent, if it is `act`.
    #[schema(nullable = false)]
    pub intent: Option<String>,
    /// The slots, in the order of the text.
    #[schema(nullable = false)]
    pub slots: Option<Vec<Slot>>,
    /// What was taught.
    #[schema(nullable = false)]
    pub lessons: Option<Vec<Lesson>>,
    /// Phrases whose concepts were forgotten.
    #[schema(nullable = false)]
    pub forget: Option<Vec<String>>,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It waits for an answer.
    Ask,
    /// It is understood.
    Act,
    /// Something was said in return; there is nothing to do.
    Talk,
    /// The person let it go.
    Drop,
    /// It is about something else than the model knows.
    Reject,
    /// There was no request.
    Nothing,
}

/// A piece of a text, in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// A slot of a request.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Slot {
    /// The slot type.
    pub slot: String,
    /// The words.
    pub text: String,
    /// What they stand for, if that is something else.
    #[schema(nullable = false)]
    pub value: Option<String>,
    /// What they are, if the slot declares it and the request is understood, as in spans.
    pub resolved: Option<serde_json::Value>,
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// What the words might be, with probabilities, the likeliest first.
    #[schema(nullable = false)]
    pub guesses: Option<Vec<(String, f32)>>,
    /// How uncertain they are; higher is less sure.
    pub uncertainty: f32,
}

/// Something that was explained.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Lesson {
    /// The phrase as it was said.
    pub phrase: String,
    /// What it is.
    pub slot: String,
    /// What it stands for, if it is another name.
    #[schema(nullable = false)]
    pub value: Option<String>,
    /// The request in which it stood.
    pub request: String,
    /// Its intent.
    pub intent: String,
    /// What else is known of it.
    #[schema(nullable = false)]
    pub slots: Option<Vec<Slot>>,
}

/// A phrase and what it stands for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Concept {
    /// Its number, never used for another concept.
    pub id: u64,
    /// The phrase as it was said.
    pub phrase: String,
    /// The phrase as it is compared.
    pub normal: String,
    /// The slot type.
    pub slot: String,
    /// The known value that it is another name for.
    #[schema(nullable = false)]
    pub value: Option<String>,
    /// Whose it is; null is everyone's.
    pub owner: Option<String>,
    /// The utterance in which it was learnt.
    #[schema(nullable = false)]
    pub source: Option<Source>,
    /// When it was learnt, in milliseconds since 1970.
    pub created: u64,
    /// When it was changed last.
    pub updated: u64,
    /// How many times it was found in what somebody said.
    pub uses: u64,
}

/// An utterance with one IOB2 label for each word.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The words.
    pub words: Vec<String>,
    /// Their labels, if they are known.
    #[schema(nullable = false)]
    pub labels: Option<Vec<String>>,
    /// The intent, if it is known.
    #[schema(nullable = false)]
    pub intent: Option<String>,
}

/// A page of concepts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// In the order of their numbers.
    pub concepts: Vec<Concept>,
    /// What to give as `after` for the next page; null if this is the last.
    pub next: Option<u64>,
}

/// What was taken back.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Undone {
    /// None if nothing was left to take back.
    pub changes: Vec<Change>,
}

/// What was erased.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Erased {
    /// Concepts.
    pub concepts: u64,
    /// Rows of the journal.
    pub changes: u64,
    /// Dialogues under way.
    pub sessions: u64,
}

/// What was imported.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Imported {
    /// How many concepts were learnt or changed.
    pub concepts: usize,
    /// How many of them are new.
    pub new: usize,
}

/// What became of a concept.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The concept before; null if it is new.
    pub before: Option<Concept>,
    /// The concept after; null if it is gone.
    pub after: Option<Concept>,
}

/// The model that answers.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelInfo {
    /// `span-tagger` scores whole spans, `slot-gated` scores words.
    pub architecture: String,
    /// `tagger` or `paper`, as it was called before.
    #[schema(deprecated)]
    pub recipe: String,
    /// The slot types.
    pub slots: Vec<String>,
    /// The intents.
    pub intents: Vec<String>,
    /// Above which uncertainty something is unknown, and how that was chosen: `score`, `value`, `median` and more; null if
    /// nothing ever is.
    pub threshold: Option<serde_json::Value>,
    /// Above which out-of-scope score an utterance is rejected; null if none ever is.
    pub reject: Option<f64>,
    /// When a reading is acted upon; null if the model does not say how likely it is right.
    pub trust: Option<TrustInfo>,
    /// What slots and intents are called, and what can be said, as far as it is known.
    pub description: Description,
    /// How the model came to be.
    pub record: serde_json::Value,
    /// The name of its file.
    pub file: String,
    /// The bytes of its file.
    pub size: u64,
    /// When it was loaded, in milliseconds since 1970.
    pub loaded: u64,
    /// How many models were loaded, this one included.
    pub generation: u64,
    /// The version of meno.
    pub version: String,
}

/// When a reading is acted upon.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TrustInfo {
    /// From which confidence, unless a request says another.
    pub act_from: f64,
    /// Of utterances like those of the corpus, the share that is asked about if `act_from` is 0, 0.05, 0.1 and so on to 1; none
    /// if the model does not know.
    pub asked: Vec<f64>,
}

/// How to talk about a model, by the names of its slots and intents; all of it may be missing.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Of slots.
    #[schema(nullable = false)]
    pub slots: Option<BTreeMap<String, SlotDescription>>,
    /// Of intents.
    #[schema(nullable = false)]
    pub intents: Option<BTreeMap<String, IntentDescription>>,
}

/// What is said of a slot.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SlotDescription {
    /// The kind in a question: `a place`.
    #[schema(nullable = false)]
    pub say: Option<String>,
    /// What people call that kind.
    #[schema(nullable = false)]
    pub names: Option<Vec<String>>,
    /// Some values.
    #[schema(nullable = false)]
    pub examples: Option<Vec<String>>,
    /// What its values are turned into, such as `time`.
    #[schema(nullable = false)]
    pub resolve: Option<String>,
}

/// What is said of an intent.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct IntentDescription {
    /// What follows *Did you mean to*: `set an alarm`.
    #[schema(nullable = false)]
    pub say: Option<String>,
    /// What is said once it is understood, with slots in braces.
    #[schema(nullable = false)]
    pub reply: Option<Vec<String>>,
    /// The slots without which it cannot be carried out.
    #[schema(nullable = false)]
    pub required: Option<Vec<String>>,
    /// Some requests, those of the description or typical ones of the training set.
    #[schema(nullable = false)]
    pub examples: Option<Vec<String>>,
}

/// What Rasa's `POST /model/parse` answers, and the annotation. Offsets are characters of the text.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RasaParse {
    /// The text of the message.
    pub text: String,
    /// The number of the message, if one was given.
    #[schema(nullable = false)]
    pub message_id: Option<String>,
    /// The likeliest intent.
    pub intent: RasaIntent,
    /// All intents, the likeliest first.
    pub intent_ranking: Vec<RasaIntent>,
    /// The slots.
    pub entities: Vec<RasaEntity>,
    /// What `/v1/annotate` answers.
    pub meno: Annotation,
}

/// An intent as Rasa tells it.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RasaIntent {
    /// Its name; null if there is none.
    pub name: Option<String>,
    /// Its probability.
    pub confidence: f32,
}

/// A slot as Rasa tells it.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RasaEntity {
    /// The slot type.
    pub entity: String,
    /// The first character.
    pub start: usize,
    /// One past the last character.
    pub end: usize,
    /// What the words are, if the slot declares it: as in `additional_info`, or `{"from", "to"}`; else what they stand for, or the
    /// words.
    pub value: serde_json::Value,
    /// What Duckling says of the words, with the dimension as `dim`, if the slot declares it and it is known for sure.
    #[schema(nullable = false)]
    pub additional_info: Option<serde_json::Value>,
    /// How likely it is: the name that Rasa's specification has for it.
    pub confidence: f32,
    /// The same: the name that Rasa's own extractors have for it.
    pub confidence_entity: f32,
    /// `meno`.
    pub extractor: String,
}

/// Whether the server can answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Ready {
    /// It can.
    pub ready: bool,
    /// Whether it can learn.
    pub learning: bool,
    /// Why it cannot learn.
    #[schema(nullable = false)]
    pub reason: Option<String>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The problem.
    pub error: Problem,
}

/// A problem.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// What kind it is, for programs.
    pub code: String,
    /// What is wrong, for people.
    pub message: String,
    /// What to do about it; may be empty.
    pub hint: String,
    /// The name of the request, as `X-Request-Id` has it.
    pub request_id: String,
}
