//! Answers that are longer than memory should be: they are written piece by piece as the client takes them.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use axum::http::StatusCode;
use axum::response::Response;
use hyper::body::{Bytes, Frame, SizeHint};
use meno_store::write_lines;
use serde::Serialize;
use tokio::sync::mpsc;

use crate::bodies::Held;
use crate::engine::CallerId;
use crate::problem::{Code, Problem};
use crate::{App, reply, turns};

/// Where the pieces of an answer come from.
pub(crate) trait Source: Send + 'static {
    /// The next piece; `None` after the last.
    fn next(&mut self) -> impl Future<Output = Result<Option<Vec<u8>>, Problem>> + Send;
}

/// So many bytes a piece has, about. They are gathered before an answer begins: most are whole by then, and what goes wrong is told by a
/// status.
pub(crate) const PIECE: usize = 256 << 10;

/// What an answer takes of the memory meanwhile: a piece on its way, one that waits, and one that is being made.
const TAKEN: usize = 3 * PIECE;

/// Room for an answer, until all of it is taken.
pub(crate) fn room(app: &App, caller: CallerId) -> Result<Held, Problem> {
    app.bodies.hold(caller, TAKEN).ok_or_else(|| {
        let message = "so much is being answered that there is no room for this answer";
        Problem::new(Code::Busy, message, "take the answers to what you asked for, and ask again")
    })
}

/// Answers with what a source gives.
pub(crate) async fn answer(
    room: Held,
    content_type: &'static str,
    mut source: impl Source,
) -> Result<Response, Problem> {
    let mut head = Vec::new();
    while head.len() < PIECE {
        match source.next().await? {
            Some(piece) => head.extend(piece),
            None => return Ok(reply::typed(StatusCode::OK, content_type, head)),
        }
    }
    let body = Body::new(stream(head, source));
    Ok(reply::typed(StatusCode::OK, content_type, counted(body, room)))
}

/// The rest is made as it is taken: a piece is begun when the one before is on its way.
fn stream(head: Vec<u8>, mut source: impl Source) -> Stream {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        // What cannot be sent nobody takes any more.
        let mut is_taken = sender.send(Ok(head.into())).await.is_ok();
        while is_taken && let Ok(place) = sender.reserve().await {
            // It is too late for a status: the client sees that the answer breaks off.
            let piece = source.next().await.map_err(|_| "it could not be finished");
            is_taken = piece.is_ok();
            match piece.transpose() {
                Some(piece) => place.send(piece.map(Bytes::from)),
                None => return,
            }
        }
    });
    Stream(receiver)
}

/// What is on a page, and the number after which the next one begins; `None` after the last.
pub(crate) type Page<T> = (T, Option<u64>);
type Read<T> = Arc<dyn Fn(&App, u64) -> Result<Page<T>, Problem> + Send + Sync>;

/// What is read from the store a page at a time, so that nobody has the store or the memory for long.
pub(crate) struct Pages<T> {
    app: Arc<App>,
    caller: CallerId,
    read: Read<T>,
    after: Option<u64>,
}

impl<T: Send + 'static> Pages<T> {
    /// `read` gives the page of what comes after a number, as bytes where it becomes an answer.
    pub fn new(
        app: Arc<App>,
        caller: CallerId,
        read: impl Fn(&App, u64) -> Result<Page<T>, Problem> + Send + Sync + 'static,
    ) -> Self {
        Pages { app, caller, read: Arc::new(read), after: Some(0) }
    }

    /// The next page; `None` after the last.
    pub async fn next(&mut self) -> Result<Option<T>, Problem> {
        let Some(after) = self.after else { return Ok(None) };
        let read = self.read.clone();
        let (page, next) = turns::read(&self.app, self.caller, move |app| read(app, after)).await?;
        self.after = next;
        Ok(Some(page))
    }
}

impl Source for VecDeque<Pages<Vec<u8>>> {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, Problem> {
        while let Some(pages) = self.front_mut() {
            match pages.next().await? {
                Some(page) => return Ok(Some(page)),
                None => self.pop_front(),
            };
        }
        Ok(None)
    }
}

/// Answers with lines of JSON: those of each of the parts, one after the other.
pub(crate) async fn lines(
    room: Held,
    parts: impl Into<VecDeque<Pages<Vec<u8>>>>,
) -> Result<Response, Problem> {
    answer(room, "application/x-ndjson", parts.into()).await
}

/// A page of lines of JSON: of things with their numbers, until it is a piece; `next` is what comes after the last of them.
pub(crate) fn page<T: Serialize>(
    things: impl IntoIterator<Item = (u64, T)>,
    next: Option<u64>,
) -> Page<Vec<u8>> {
    let mut text = Vec::new();
    for (number, thing) in things {
        write_lines(&mut text, &[thing]).expect("answers are plain data, and there is room");
        if text.len() >= PIECE {
            return (text, Some(number));
        }
    }
    (text, next)
}

struct Stream(mpsc::Receiver<Result<Bytes, &'static str>>);

impl hyper::body::Body for Stream {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        self.0.poll_recv(context).map(|page| page.map(|page| page.map(Frame::data)))
    }
}

/// A body that is counted until it is taken, or nobody takes it any more.
pub(crate) fn counted(body: Body, held: Held) -> Body {
    Body::new(Counted { body, rest: Bytes::new(), _held: held })
}

/// So much is handed on at a time, since what was handed on is not counted any more.
const SLICE: usize = 16 << 10;

struct Counted {
    body: Body,
    /// What is not handed on yet of what the body gave.
    rest: Bytes,
    _held: Held,
}

impl hyper::body::Body for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(context)).transpose()? {
                Some(frame) => self.rest = frame.into_data().unwrap_or_default(),
                None => return Poll::Ready(None),
            }
        }
        let n = self.rest.len().min(SLICE);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(n)))))
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.len() as u64;
        self.body.size_hint().exact().map_or_else(SizeHint::new, |more| SizeHint::with_exact(rest + more))
    }
}
