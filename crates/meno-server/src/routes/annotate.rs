//! `POST /v1/annotate`: one text or many, without a dialogue.

use std::cell::OnceCell;
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use meno::decision::Policy;
use meno::engine::Tokenization;
use meno::memory::Remembered;
use meno::resolve::Shape;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::access::{By, Right};
use crate::engine::Context;
use crate::extract::{Json, demand_short};
use crate::problem::{Code, Problem};
use crate::{App, reply, schema};

/// What to annotate: `text` or `texts`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnnotateRequest {
    /// One text.
    #[serde(default)]
    #[schema(example = "play something by the clerks")]
    text: Option<String>,
    /// Several texts.
    #[serde(default)]
    texts: Option<Vec<String>>,
    /// Whether dependency trees are wanted.
    #[serde(default)]
    syntax: bool,
    /// How the text is cut into words.
    #[serde(default)]
    reading: ReadingName,
    /// Above which uncertainty something is unknown, in place of the model's own threshold.
    #[serde(default)]
    #[schema(nullable = false, example = 0.5)]
    threshold: Option<f64>,
    /// From which confidence it acts, in place of the model's own.
    #[serde(default)]
    #[schema(nullable = false, minimum = 0, maximum = 1, example = 0.6)]
    act_from: Option<f64>,
    /// When it is said, in RFC 3339, for what times and dates stand for; now if it is left out.
    #[serde(default)]
    #[schema(nullable = false, example = "2026-11-17T08:00:00+01:00")]
    now: Option<String>,
    /// The time zone of who says it.
    #[serde(default)]
    #[schema(nullable = false, example = "Europe/Berlin")]
    zone: Option<String>,
    /// How values are written.
    #[serde(default)]
    values: ShapeName,
}

/// How values are written.
#[derive(Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ShapeName {
    /// As Duckling does.
    #[default]
    Duckling,
    /// As Snips NLU does.
    Snips,
}

impl From<ShapeName> for Shape {
    fn from(name: ShapeName) -> Self {
        match name {
            ShapeName::Duckling => Shape::Duckling,
            ShapeName::Snips => Shape::Snips,
        }
    }
}

/// How text is cut into words.
#[derive(Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum ReadingName {
    /// As people type it.
    #[default]
    Text,
    /// Words separated by white space, as corpora have them.
    Words,
}

/// Annotate one text or many
#[utoipa::path(
    post,
    path = "/v1/annotate",
    request_body = AnnotateRequest,
    responses((status = 200, description = "What the model and memory make of it", body = schema::Annotated))
)]
pub(crate) async fn annotate(
    State(app): State<Arc<App>>,
    By(caller): By,
    Json(request): Json<AnnotateRequest>,
) -> Result<Response, Problem> {
    caller.demand(Right::Read)?;
    let (texts, is_one) = texts(&app, request.text, request.texts)?;
    let reading = match request.reading {
        ReadingName::Text => Tokenization::Raw,
        ReadingName::Words => Tokenization::Pretokenized,
    };
    let (has_syntax, stated) = (request.syntax, (request.threshold, request.act_from));
    let shape = request.values.into();
    let clock = app.clock(request.now.as_deref(), request.zone.as_deref())?;
    let said = app.said(texts.iter().map(String::as_str));
    let work = move |context: &mut Context<'_>| {
        let policy = policy(context, stated)?;
        let mut json = Vec::with_capacity(512 * texts.len());
        // All texts of a request are said at the same moment.
        let now = OnceCell::new();
        let now = || now.get_or_init(|| clock.now()).clone();
        if !is_one {
            json.extend_from_slice(b"{\"annotations\":[");
        }
        for (idx, text) in texts.iter().enumerate() {
            if idx > 0 {
                json.push(b',');
            }
            let mut remembered = context.annotate(policy.as_ref(), text, reading, caller.owner.user());
            context.worker.model().resolve_remembered(&mut remembered, shape, now);
            write(&mut json, remembered, has_syntax.then_some(&mut *context));
        }
        if !is_one {
            json.extend_from_slice(b"]}");
        }
        Ok::<_, Problem>(json)
    };
    let json = app.engine.run(work).await??;
    Ok(said.with(reply::json(StatusCode::OK, json)))
}

/// What decides if a threshold or a confidence to act from is stated.
pub(super) fn policy(
    context: &Context<'_>,
    (threshold, act_from): (Option<f64>, Option<f64>),
) -> Result<Option<Policy>, Problem> {
    let own = context.worker.model().policy();
    let stated = || {
        let policy = threshold.map(|value| own.with_threshold(value)).transpose()?;
        match act_from {
            Some(value) => policy.as_ref().unwrap_or(own).with_act_from(value).map(Some),
            None => Ok(policy),
        }
    };
    stated().map_err(|error: meno::Error| {
        Problem::new(Code::WrongShape, error.to_string(), error.hint().unwrap_or_default())
    })
}

/// The texts of a request, and whether it is one that stands alone.
fn texts(
    app: &App,
    text: Option<String>,
    texts: Option<Vec<String>>,
) -> Result<(Vec<String>, bool), Problem> {
    let (texts, is_one) = match (text, texts) {
        (Some(text), None) => (vec![text], true),
        (None, Some(texts)) => (texts, false),
        _ => {
            let message = "there must be one of `text` and `texts`";
            return Err(Problem::new(Code::WrongShape, message, r#"for example {"text": "play jazz"}"#));
        }
    };
    let limit = app.config.max_batch;
    if texts.len() > limit {
        let message = format!("there are {} texts, more than {limit}", texts.len());
        return Err(Problem::new(Code::TooMany, message, "send several requests"));
    }
    for (idx, text) in texts.iter().enumerate() {
        demand_short(app, format_args!("text {idx}"), text)?;
    }
    Ok((texts, is_one))
}

/// An annotation with its tree.
#[derive(Serialize)]
struct WithParse<'a, 't> {
    #[serde(flatten)]
    remembered: Remembered<'t>,
    parse: &'a [Node<'a>],
}

#[derive(Serialize)]
struct Node<'a> {
    head: Option<usize>,
    relation: &'a str,
    upos: &'static str,
}

/// Writes an annotation as JSON, with its tree if there is a context to find it.
pub(super) fn write(json: &mut Vec<u8>, remembered: Remembered<'_>, context: Option<&mut Context<'_>>) {
    match context {
        None => remembered.write_json(json),
        Some(context) => {
            let words: Vec<&str> = remembered.annotation.tokens.iter().map(|token| token.text).collect();
            let parse = context.parse(&words);
            let nodes = parse.heads.iter().zip(&parse.relations).zip(&parse.upos);
            let nodes = nodes.map(|((head, relation), upos)| Node {
                head: head.checked_sub(1),
                relation,
                upos: upos.name(),
            });
            let nodes: Vec<Node<'_>> = nodes.collect();
            serde_json::to_writer(json, &WithParse { remembered, parse: &nodes })
                .expect("annotations are plain data, and memory takes any text");
        }
    }
}
