//! Answers that are longer than memory should be: lines of JSON, written page by page as the client takes them.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::StatusCode;
use axum::response::Response;
use hyper::body::{Bytes, Frame};
use serde::Serialize;
use tokio::sync::mpsc;

use crate::extract::blocking;
use crate::problem::Problem;
use crate::{App, reply};

/// A page and the number after which the next one begins; `None` after the last.
type Page<T> = (Vec<T>, Option<u64>);
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

    /// All of them.
    pub async fn collect(mut self) -> Result<Vec<T>, Problem> {
        let mut all = Vec::new();
        while let Some(page) = self.next().await? {
            all.extend(page);
        }
        Ok(all)
    }
}

/// So many bytes are gathered before an answer begins: most are whole by then, and a store that is away is told by a status.
const HEAD: usize = 256 << 10;

/// A line for each thing of each of the parts, one after the other.
pub(crate) async fn lines<T: Serialize + Send + 'static>(parts: Vec<Pages<T>>) -> Result<Response, Problem> {
    let mut parts = VecDeque::from(parts);
    let mut head = Vec::new();
    while let Some(pages) = parts.front_mut().filter(|_| head.len() < HEAD) {
        match pages.next().await? {
            Some(page) => write(&page, &mut head),
            None => drop(parts.pop_front()),
        }
    }
    let body = if parts.is_empty() { Body::from(head) } else { Body::new(stream(head, parts)) };
    Ok(reply::typed(StatusCode::OK, "application/x-ndjson", body))
}

fn write(page: &[impl Serialize], text: &mut Vec<u8>) {
    for line in page {
        serde_json::to_writer(&mut *text, line).expect("answers are plain data");
        text.push(b'\n');
    }
}

/// The rest is read as it is taken, a page ahead.
fn stream<T: Serialize + Send + 'static>(head: Vec<u8>, parts: VecDeque<Pages<T>>) -> Stream {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        // If it cannot be sent, nobody takes it any more.
        if sender.send(Ok(head.into())).await.is_err() {
            return;
        }
        for mut pages in parts {
            while let Some(page) = pages.next().await.transpose() {
                let Ok(page) = page else {
                    // It is too late for a status: the client sees that the answer breaks off.
                    let _ = sender.send(Err("the store went away")).await;
                    return;
                };
                let mut text = Vec::new();
                write(&page, &mut text);
                if sender.send(Ok(text.into())).await.is_err() {
                    return;
                }
            }
        }
    });
    Stream(receiver)
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
