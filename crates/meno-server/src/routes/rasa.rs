//! `POST /model/parse`, as Rasa answers it, for clients that were made for Rasa.
//!
//! The shape is `ParseResult` of Rasa's specification (`docs/static/spec/rasa.yml` in github.com/RasaHQ/rasa): `text`,
//! `intent` and `intent_ranking` with `name` and `confidence`, `entities` with `start` and `end` in characters, `value`,
//! `entity` and `confidence`; Rasa's own extractors say `confidence_entity` and `extractor`, and that for Duckling
//! `additional_info`. The annotation is added.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use meno::answer::{Choice, Span};
use meno::engine::Tokenization;
use meno::memory::Remembered;
use meno::resolve::{Shape, Shaped};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::annotate::n_words;
use crate::access::{By, Right};
use crate::engine::{Context, Turn};
use crate::extract::{AnyJson, demand_short};
use crate::problem::Problem;
use crate::{App, reply, schema};

/// A message to be parsed.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ParseRequest {
    /// The message.
    #[schema(example = "play something by the clerks")]
    text: String,
    /// Its number, which comes back.
    #[serde(default)]
    message_id: Option<String>,
    /// When it is said, in RFC 3339, for what times and dates stand for; now if it is left out.
    #[serde(default)]
    #[schema(nullable = false, example = "2026-11-17T08:00:00+01:00")]
    now: Option<String>,
    /// The time zone of who says it.
    #[serde(default)]
    #[schema(nullable = false, example = "Europe/Berlin")]
    zone: Option<String>,
}

/// As [`schema::RasaParse`].
#[derive(Serialize)]
struct Parsed<'t> {
    text: &'t str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_id: Option<&'t str>,
    intent: Intent<'t>,
    intent_ranking: Vec<Intent<'t>>,
    entities: Vec<Entity<'t>>,
    meno: &'t Remembered<'t>,
}

#[derive(Serialize)]
struct Intent<'t> {
    name: Option<&'t str>,
    confidence: f32,
}

impl<'t> From<&'t Choice> for Intent<'t> {
    fn from(choice: &'t Choice) -> Self {
        Intent { name: Some(&choice.name), confidence: choice.probability }
    }
}

#[derive(Serialize)]
struct Entity<'t> {
    entity: &'t str,
    start: usize,
    end: usize,
    value: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_info: Option<&'t Shaped>,
    confidence: f32,
    confidence_entity: f32,
    extractor: &'static str,
}

/// Annotate a text, as Rasa does
#[utoipa::path(
    post,
    path = "/model/parse",
    request_body = ParseRequest,
    responses((status = 200, description = "Rasa's shape, and the annotation", body = schema::RasaParse))
)]
pub(crate) async fn parse(
    State(app): State<Arc<App>>,
    By(caller): By,
    // Rasa does not look at the type, and neither do its examples. Nothing is changed here, so other sites may send it.
    AnyJson(ParseRequest { text, message_id, now, zone }): AnyJson<ParseRequest>,
) -> Result<Response, Problem> {
    caller.demand(Right::Read)?;
    demand_short(&app, "the text", &text)?;
    let clock = app.clock(now.as_deref(), zone.as_deref())?;
    let said = app.said([text.as_str()]);
    let (id, n_words) = (caller.id, n_words(&text));
    app.access.charge(&caller, n_words);
    let work = move |context: &mut Context<'_>| {
        let mut remembered = context.annotate(None, &text, Tokenization::Raw, caller.owner.user());
        let choices = context.worker.intents();
        context.worker.model().resolve_remembered(&mut remembered, Shape::Duckling, || clock.now());
        let parsed = Parsed {
            text: &text,
            message_id: message_id.as_deref(),
            intent: choices.first().map_or(Intent { name: None, confidence: 0.0 }, Intent::from),
            intent_ranking: choices.iter().map(Intent::from).collect(),
            entities: entities(&remembered),
            meno: &remembered,
        };
        serde_json::to_vec(&parsed).expect("annotations are plain data")
    };
    let json = app.engine.run(Turn::new(id, n_words), work).await?;
    Ok(said.with(reply::json(StatusCode::OK, json)))
}

fn entities<'t>(remembered: &'t Remembered<'t>) -> Vec<Entity<'t>> {
    let text = remembered.annotation.text;
    let entity = |span: &'t Span<'t>| {
        let recalled = remembered.memory.iter().find(|recalled| recalled.start == span.start);
        let confidence = recalled.map_or_else(|| confidence(remembered, span), |_| 1.0);
        let start = text[..span.start].chars().count();
        Entity {
            entity: &span.slot,
            start,
            end: start + span.text.chars().count(),
            value: value(remembered, span),
            additional_info: resolved(span),
            confidence,
            confidence_entity: confidence,
            extractor: "meno",
        }
    };
    remembered.annotation.spans.iter().map(entity).collect()
}

fn resolved<'t>(span: &'t Span<'_>) -> Option<&'t Shaped> {
    span.resolved.as_ref()?.as_deref()
}

/// As Rasa's extractor for Duckling has it: the value within what Duckling says, both ends of an interval; else the words.
fn value(remembered: &Remembered<'_>, span: &Span<'_>) -> Value {
    let words = || Value::from(remembered.value_of(span).unwrap_or(span.text));
    let Some(Ok(said)) = resolved(span).map(serde_json::to_value) else { return words() };
    match said["type"] == "interval" {
        true => json!({ "from": said["from"]["value"], "to": said["to"]["value"] }),
        false => said["value"].clone(),
    }
}

/// How likely the slot of a span is: that of the guess at the whole, or else of the word that is least so.
fn confidence(remembered: &Remembered<'_>, span: &Span<'_>) -> f32 {
    let tokens = remembered.annotation.tokens.iter();
    let words = tokens.filter(|token| span.start <= token.start && token.end <= span.end);
    let least = || words.map(|token| token.probability).fold(1.0, f32::min);
    span.guess.as_ref().map_or_else(least, |guess| guess.probability)
}
