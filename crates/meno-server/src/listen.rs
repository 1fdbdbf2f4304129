//! Connections: taken up to a number, closed when a client is slow or silent, finished when the server ends.

use std::io;
use std::net::TcpListener;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

use crate::connections::{Connection, Connections, UnderWay};
use crate::tls::{Stream, Tls};

/// How long clients have.
#[derive(Clone, Copy)]
pub(crate) struct Times {
    /// To send a header, and to take something.
    pub timeout: Duration,
    /// To be answered when the server ends.
    pub grace: Duration,
}

/// Answers requests until `stop` is there, and then finishes those under way.
pub(crate) async fn listen(
    listener: TcpListener,
    router: Router,
    tls: Option<Arc<Tls>>,
    connections: Arc<Connections>,
    times: Times,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let under_way = GracefulShutdown::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let (stream, address) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(_) => {
                    // There may be no more files to open; it does not help to ask at once.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
            () = &mut stop => break,
        };
        // Who finds no place is told by the end of the connection.
        let mut place = connections.enter(address.ip());
        // All may be asking something just now.
        let mut n_tries = 50;
        while place.is_none() && connections.is_full() && n_tries > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
            place = connections.enter(address.ip());
            n_tries -= 1;
        }
        let Some(place) = place else { continue };
        // It only makes answers faster.
        let _ = stream.set_nodelay(true);
        let mut http = http1::Builder::new();
        // It runs from when a connection is idle, so that nobody holds one by saying nothing.
        let patience = connections.patience(times.timeout);
        http.timer(TokioTimer::new()).header_read_timeout(patience).max_buf_size(64 << 10);
        let connection = place.connection.clone();
        let service =
            Counted { service: TowerToHyperService::new(router.clone()), connection: connection.clone() };
        let stream = TimeoutStream { stream, connection, limit: times.timeout, waiting: None };
        let stream = match &tls {
            Some(tls) => tls.accept(stream),
            None => Stream::Plain(stream),
        };
        let served = under_way.watch(http.serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            tokio::select! {
                // What is wrong with a connection is not of interest to the others.
                _ = served => {}
                () = place.connection.evicted.notified() => {}
            }
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(times.grace, under_way.shutdown()).await;
    Ok(())
}

/// What answers on a connection, which has a request under way meanwhile.
struct Counted {
    service: TowerToHyperService<Router>,
    connection: Arc<Connection>,
}

impl Service<Request<Incoming>> for Counted {
    type Response = Response<Body>;
    type Error = std::convert::Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Self::Error>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let (under_way, answer) = (self.connection.request(), self.service.call(request));
        Box::pin(async move {
            let answer = answer.await?;
            // An answer that is streamed is under way to its end.
            let is_whole = answer.body().size_hint().exact().is_some();
            Ok(if is_whole { answer } else { answer.map(|body| held(body, under_way)) })
        })
    }
}

/// A body that has something until it is taken, or nobody takes it any more.
fn held(body: Body, what: UnderWay) -> Body {
    Body::new(body.map_frame(move |frame| {
        let _held = &what;
        frame
    }))
}

/// A connection that is given up when its client does not take what is written for some time.
struct TimeoutStream {
    stream: TcpStream,
    connection: Arc<Connection>,
    limit: Duration,
    waiting: Option<Pin<Box<Sleep>>>,
}

impl TimeoutStream {
    fn watch<T>(&mut self, context: &mut Context<'_>, poll: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if poll.is_ready() {
            self.connection.touch();
            self.waiting = None;
            return poll;
        }
        let limit = self.limit;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        waiting.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for TimeoutStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.stream).poll_read(context, buffer);
        if poll.is_ready() {
            self.connection.touch();
        }
        poll
    }
}

impl AsyncWrite for TimeoutStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch(context, poll)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.watch(context, poll)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
