//! Answers that are longer than memory should be: they are written piece by piece as the client takes them.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::StatusCode;
use axum::response::Response;
use hyper::body::{Bytes, Frame};
use meno_store::write_lines;
use serde::Serialize;
use tokio::sync::mpsc;

use crate::extract::blocking;
use crate::problem::Problem;
use crate::{App, reply};

/// Where the pieces of an answer come from.
pub(crate) trait Source: Send + 'static {
    /// The next piece; `None` after the last.
    fn next(&mut self) -> impl Future<Output = Result<Option<Vec<u8>>, Problem>> + Send;
}

/// So many bytes are gathered before an answer begins: most are whole by then, and what goes wrong is told by a status.
const HEAD: usize = 256 << 10;

/// Answers with what a source gives.
pub(crate) async fn answer(content_type: &'static str, mut source: impl Source) -> Result<Response, Problem> {
    let mut head = Vec::new();
    while head.len() < HEAD {
        match source.next().await? {
            Some(piece) => head.extend(piece),
            None => return Ok(reply::typed(StatusCode::OK, content_type, head)),
        }
    }
    Ok(reply::typed(StatusCode::OK, content_type, Body::new(stream(head, source))))
}

/// The rest is made as it is taken, a piece ahead.
fn stream(head: Vec<u8>, mut source: impl Source) -> Stream {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        let mut piece = Ok(Some(head));
        while let Some(bytes) = piece.transpose() {
            // It is too late for a status: the client sees that the answer breaks off.
            let bytes = bytes.map(Bytes::from).map_err(|_| "it could not be finished");
            let is_last = bytes.is_err();
            // If it cannot be sent, nobody takes it any more.
            if sender.send(bytes).await.is_err() || is_last {
                return;
            }
            piece = source.next().await;
        }
    });
    Stream(receiver)
}

/// A page and the number after which the next one begins; `None` after the last.
pub(crate) type Page<T> = (Vec<T>, Option<u64>);
type Read<T> = Arc<dyn Fn(&App, u64) -> Result<Page<T>, Problem> + Send + Sync>;

/// Things that are read from the store a page at a time, so that nobody has the store or the memory for long.
pub(crate) struct Pages<T> {
    app: Arc<App>,
    read: Read<T>,
    after: Option<u64>,
}

impl<T: Send + 'static> Pages<T> {
    /// `read` gives the page of what comes after a number.
    pub fn new(
        app: Arc<App>,
        read: impl Fn(&App, u64) -> Result<Page<T>, Problem> + Send + Sync + 'static,
    ) -> Self {
        Pages { app, read: Arc::new(read), after: Some(0) }
    }

    /// The next page; `None` after the last.
    pub async fn next(&mut self) -> Result<Option<Vec<T>>, Problem> {
        let Some(after) = self.after else { return Ok(None) };
        let read = self.read.clone();
        let (page, next) = blocking(&self.app, move |app| read(app, after)).await?;
        self.after = next;
        Ok(Some(page))
    }
}

/// Lines of JSON: one for each thing of each of the parts, one after the other.
pub(crate) struct Lines<T>(pub VecDeque<Pages<T>>);

impl<T: Serialize + Send + 'static> Source for Lines<T> {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, Problem> {
        while let Some(pages) = self.0.front_mut() {
            let Some(page) = pages.next().await? else {
                self.0.pop_front();
                continue;
            };
            let mut text = Vec::new();
            write_lines(&mut text, &page).expect("answers are plain data, and there is room");
            return Ok(Some(text));
        }
        Ok(None)
    }
}

/// Answers with lines of JSON.
pub(crate) async fn lines<T: Serialize + Send + 'static>(
    parts: impl Into<VecDeque<Pages<T>>>,
) -> Result<Response, Problem> {
    answer("application/x-ndjson", Lines(parts.into())).await
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
