//! `POST /v1/annotate`: one text or many, without a dialogue.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::extract::{Extension, State};
use axum::http::StatusCode;
use axum::response::Response;
use meno::Annotation;
use meno::decision::Policy;
use meno::engine::Tokenization;
use meno::memory::Remembered;
use meno::resolve::Shape;
use meno_store::Clock;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::access::{By, Caller, Right};
use crate::engine::{Context, Turn};
use crate::extract::{Json, demand_short};
use crate::problem::{Code, Problem};
use crate::stream::{self, Source};
use crate::trail::Trail;
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
    Extension(trail): Extension<Arc<Trail>>,
    Json(request): Json<AnnotateRequest>,
) -> Result<Response, Problem> {
    caller.demand(Right::Read)?;
    let (texts, is_one) = texts(&app, request.text, request.texts)?;
    let reading = match request.reading {
        ReadingName::Text => Tokenization::Raw,
        ReadingName::Words => Tokenization::Pretokenized,
    };
    let said = app.said(texts.iter().map(String::as_str));
    let mut batch = Batch {
        app: app.clone(),
        caller,
        how: Arc::new(How {
            reading,
            has_syntax: request.syntax,
            stated: (request.threshold, request.act_from),
            shape: request.values.into(),
            clock: app.clock(request.now.as_deref(), request.zone.as_deref())?.stopped(),
        }),
        texts: texts.into(),
        is_one,
        is_begun: false,
        is_ended: false,
        _trail: trail,
    };
    let answer = match batch.is_short() {
        true => reply::json(StatusCode::OK, batch.next().await?.unwrap_or_default()),
        false => stream::answer(stream::room(&app, batch.caller.id)?, "application/json", batch).await?,
    };
    Ok(said.with(answer))
}

/// How texts are annotated.
struct How {
    reading: Tokenization,
    has_syntax: bool,
    stated: (Option<f64>, Option<f64>),
    shape: Shape,
    /// All texts of a request are said at the same moment.
    clock: Clock,
}

/// The texts of a request, annotated some at a time.
struct Batch {
    app: Arc<App>,
    caller: Arc<Caller>,
    how: Arc<How>,
    texts: VecDeque<String>,
    is_one: bool,
    is_begun: bool,
    is_ended: bool,
    /// It has what the body takes.
    _trail: Arc<Trail>,
}

/// So many words are read at a time, if there are several texts.
const PART: u32 = 256;

impl Batch {
    /// Whether it is answered in one part.
    fn is_short(&self) -> bool {
        self.texts.len() < 2 || self.texts.iter().map(|text| n_words(text)).sum::<u32>() <= PART
    }

    /// The next texts, and how many words they have.
    fn part(&mut self) -> (Vec<String>, u32) {
        let (mut part, mut words) = (Vec::new(), 0);
        while let Some(text) = self.texts.front() {
            let more = n_words(text);
            if !part.is_empty() && words + more > PART {
                break;
            }
            words += more;
            part.extend(self.texts.pop_front());
        }
        (part, words)
    }
}

impl Source for Batch {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, Problem> {
        if self.is_ended {
            return Ok(None);
        }
        let (part, words) = self.part();
        let (is_one, is_first) = (self.is_one, !self.is_begun);
        (self.is_begun, self.is_ended) = (true, self.texts.is_empty());
        let (is_last, how, owner) = (self.is_ended, self.how.clone(), self.caller.owner.clone());
        let reading = how.reading;
        let complete =
            move |context: &mut Context<'_>, policy: Option<&Policy>, said: Vec<Annotation<'_>>| {
                let mut json = Vec::with_capacity(512 * said.len());
                if is_first && !is_one {
                    json.extend_from_slice(b"{\"annotations\":[");
                }
                for (idx, annotation) in said.into_iter().enumerate() {
                    if idx > 0 || !is_first {
                        json.push(b',');
                    }
                    let Context { memory, worker, .. } = context;
                    let mut remembered = memory.complete(worker, policy, annotation, reading, owner.user());
                    worker.model().resolve_remembered(&mut remembered, how.shape, || how.clock.now());
                    write(&mut json, remembered, how.has_syntax.then_some(&mut *context));
                }
                if is_last && !is_one {
                    json.extend_from_slice(b"]}");
                }
                json
            };
        self.app.access.charge(&self.caller, words);
        let turn = Turn { caller: self.caller.id, words, is_first };
        let engine = &self.app.engine;
        if self.how.stated == (None, None) {
            let answer =
                move |context: &mut Context<'_>, said: Vec<Annotation<'_>>| complete(context, None, said);
            return engine.annotate(turn, part, reading, answer).await.map(Some);
        }
        let stated = self.how.stated;
        let work = move |context: &mut Context<'_>| {
            let policy = policy(context, stated)?;
            let texts: Vec<&str> = part.iter().map(String::as_str).collect();
            let by = policy.as_ref().unwrap_or(context.worker.model().policy()).clone();
            let said = context.worker.annotate_all_by(&by, &texts, reading);
            Ok(complete(context, policy.as_ref(), said))
        };
        engine.run(turn, work).await?.map(Some)
    }
}

/// About how many words a text has, at least as many as the model reads: what it costs to read it.
pub(super) fn n_words(text: &str) -> u32 {
    let (mut n, mut before) = (8_u32, Kind::Space);
    for c in text.chars() {
        let kind = Kind::of(c);
        n += u32::from(kind != Kind::Space && (kind != before || kind == Kind::Single));
        before = kind;
    }
    n
}

/// What a character may do to the number of words.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Space,
    /// A letter that is written together with others.
    Letter,
    Digit,
    /// A mark, or a letter of a script without spaces: perhaps a word by itself.
    Single,
}

impl Kind {
    fn of(c: char) -> Self {
        match c {
            'a'..='z' | 'A'..='Z' => Kind::Letter,
            ' ' => Kind::Space,
            // From Thai on there are scripts without spaces; those with accents are in a block of their own.
            '\u{80}'..'\u{e00}' | '\u{1e00}'..'\u{2000}' if c.is_alphabetic() => Kind::Letter,
            _ if c.is_numeric() => Kind::Digit,
            _ if c.is_whitespace() => Kind::Space,
            _ => Kind::Single,
        }
    }
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

#[cfg(test)]
mod tests {
    use meno::text::Normalizer;

    use super::*;

    /// Whatever is written, the tokenizer finds no more.
    #[test]
    fn a_text_has_no_more_words_than_it_is_charged_for() {
        let [as_typed, raw] = [Normalizer::default(), Normalizer::raw()];
        for part in [
            "play the wall ",
            "a,",
            "a😀",
            "1a",
            "6am ",
            "it's",
            "don't",
            "don't've",
            "$5.",
            "...",
            "北京",
            "กรุง",
            "привет ",
            "đẹp ",
            "é",
            "\u{200b}a",
            "a\u{301}",
            "a\u{ad}",
            "ｆｕｌｌ",
            "x\0",
            "©®",
            "1,2",
            "नमस्ते ",
            "ك،",
            "ေမ",
            "\u{feff}",
        ] {
            let text = part.repeat(300);
            let n = as_typed.read(&text).len().max(raw.read(&text).len());
            assert!(n_words(&text) >= n as u32, "{part:?}: {} for {n}", n_words(&text));
        }
        // People are charged for what they say.
        let said =
            [("play the wall, please!", 6), ("réveille-moi à six heures", 6), ("разбуди меня в шесть", 4)];
        for (text, n) in said {
            assert_eq!(n_words(text) - 8, n, "{text}");
        }
    }
}
