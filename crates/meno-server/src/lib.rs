//! Meno over HTTP: annotation, dialogue, concepts, a page to play with.
//!
//! [`serve`] answers requests until it is told to end; [`router`] gives the same for an axum application of one's own to mount.
//! A request is read and answered on the threads of an async runtime; the model runs on threads of its own, fed by one bounded
//! queue, and what waits for a disk runs on yet others. The interface is described by `/openapi.json`, which is made from the
//! code, and by `docs/server.md`.
//!
//! ```no_run
//! use axum::Router;
//! use axum::routing::get;
//! use meno_server::{Config, router};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (nlu, handle) = router(Config { threads: 2, ..Config::new("my-bot.meno") })?;
//! let app: Router = Router::new().route("/hello", get(|| async { "hello" })).nest("/nlu", nlu);
//! // `axum::serve(listener, app)` answers at /nlu/v1/annotate and shows the page at /nlu. Later, on a thread that may wait:
//! handle.reload()?;
//! # drop(app);
//! # Ok(())
//! # }
//! ```
//!
//! - `app`: what answers, and the threads behind it.
//! - `access`: who asks, and what they may do; `terms`: until when and how often; `limit`: who asks too often.
//! - `engine`: the threads that run the model; `lanes`: the queue before them, fair to callers.
//! - `turns`: who may use the store, as fair.
//! - `sessions`: dialogues under way; `bodies`: how much is asked and answered at once.
//! - `metrics`: what is counted; `log`: what is told; `audit`: who changed what; `trail`: which request it was.
//! - `problem`, `reply`, `extract`: refusals, answers, what requests bring; `stream`: answers that are long.
//! - `routes`: what each address does; `schema`: the shapes of answers.
//! - `around`: what is done around every request.
//! - `listen`: connections, `connections`: who has a place, and `tls`: what protects them.
//! - `service`: what systemd is told.

mod access;
mod app;
mod around;
mod audit;
mod bodies;
mod connections;
mod engine;
mod extract;
mod lanes;
mod limit;
mod listen;
mod log;
mod metrics;
mod problem;
mod reply;
mod routes;
mod schema;
mod service;
mod sessions;
mod stream;
mod terms;
mod tls;
mod trail;
mod turns;

use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use meno::Error;
use meno::memory::{Owner, Spelling};
use meno_store::{Assistant, Clock, Quota, Result};
use socket2::{Domain, Socket, Type};
use tokio::sync::Notify;

pub use access::{TokenSource, new_token};
pub(crate) use app::App;
pub use app::{Handle, router};
#[cfg(unix)]
use audit::Deed;
use connections::Connections;
use listen::Times;
use log::warn;
pub use log::{LogFormat, note};
#[cfg(unix)]
use problem::Code;
pub use terms::{Expiry, Terms, quota, rate};
pub use tls::TlsFiles;
#[cfg(unix)]
use trail::Trail;

/// How to serve. What is said of connections and signals is for [`serve`] alone: a [`router`] has neither.
#[derive(Clone, Debug)]
pub struct Config {
    /// The model file.
    pub model: PathBuf,
    /// Where concepts are kept: a file, or `postgres://...`; they are forgotten with the server if there is none.
    pub store: Option<String>,
    /// The address to listen on.
    pub listen: String,
    /// The certificate to show there; without one the connections are plain.
    pub tls: Option<TlsFiles>,
    /// Who may ask; everybody who reaches the server if there are no tokens.
    pub tokens: Option<TokenSource>,
    /// Who everybody is without tokens.
    pub owner: Owner,
    /// Whether misspellings of concepts are forgiven.
    pub spelling: Spelling,
    /// How dialogues are led.
    pub assistant: Assistant,
    /// Where the phrases of dialogues came from, to be read again.
    pub phrases: Option<PathBuf>,
    /// What tells when something is said, unless a request states it.
    pub clock: Clock,
    /// How many requests a second a token may send, unless its line says it.
    pub rate: Option<f64>,
    /// How many of them at once; by default those of a second.
    pub burst: Option<u32>,
    /// Threads that run the model.
    pub threads: usize,
    /// How many requests may wait for them.
    pub queue: usize,
    /// Another address on which only health and counts are told, however many connections the first has.
    pub admin_listen: Option<String>,
    /// How many connections may be open; who is silent for longest gives way to others.
    pub connections: usize,
    /// How many of them from one address.
    pub address_connections: usize,
    /// The bytes of a body.
    pub max_body: usize,
    /// The bytes of all bodies that are read or answered at once, half of them of one caller; small ones are not counted.
    pub max_bodies: usize,
    /// The characters of a text.
    pub max_text: usize,
    /// The texts of a request.
    pub max_batch: usize,
    /// How long a client may take to send or to take something, and a request may wait for the model or the store.
    pub timeout: Duration,
    /// How long requests under way have when the server ends.
    pub grace: Duration,
    /// How many dialogues there may be; the oldest give way.
    pub sessions: usize,
    /// How many dialogues of one owner there may be; its oldest give way.
    pub owner_sessions: usize,
    /// How much an owner may be taught.
    pub quota: Quota,
    /// How long a dialogue waits for the next turn.
    pub session_lifetime: Duration,
    /// How far the journal of changes goes back.
    pub journal_age: Duration,
    /// How a line on standard error is written for every request; `None` for no lines.
    pub log: Option<LogFormat>,
    /// Whether that line has what was said.
    pub log_text: bool,
    /// A file that gets a line for every change and every refusal.
    pub audit: Option<PathBuf>,
    /// Whether signals are handled, SIGTERM and SIGINT to end the server, SIGHUP to read its files again, and systemd is told of the
    /// start and the end.
    pub signals: bool,
}

impl Config {
    /// The defaults, for a model.
    pub fn new(model: impl Into<PathBuf>) -> Self {
        Config {
            model: model.into(),
            store: None,
            listen: "127.0.0.1:8080".to_owned(),
            tls: None,
            tokens: None,
            owner: Owner::Everyone,
            spelling: Spelling::Strict,
            assistant: Assistant::default(),
            phrases: None,
            clock: Clock::default(),
            rate: None,
            burst: None,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            queue: 1024,
            admin_listen: None,
            connections: 1024,
            address_connections: 512,
            max_body: 1 << 20,
            max_bodies: 32 << 20,
            max_text: 4096,
            max_batch: 256,
            timeout: Duration::from_secs(10),
            grace: Duration::from_secs(10),
            sessions: 10_000,
            owner_sessions: 1_000,
            quota: Quota { concepts: 100_000, bytes: 64 << 20 },
            session_lifetime: Duration::from_secs(30 * 60),
            journal_age: Duration::from_secs(30 * 24 * 60 * 60),
            log: None,
            log_text: false,
            audit: None,
            signals: false,
        }
    }
}

/// After so long, what is not done when the time for requests under way is over is left alone.
const LEFT_ALONE: Duration = Duration::from_millis(500);

/// Connections for those who look after the server.
const ADMIN_CONNECTIONS: usize = 64;

/// A server that has its address and everything it needs.
pub struct Server {
    app: Arc<App>,
    router: Router,
    listener: TcpListener,
    address: SocketAddr,
    admin: Option<TcpListener>,
    stop: Arc<Notify>,
}

/// Ends a server from another thread.
#[derive(Clone)]
pub struct Stop(Arc<Notify>);

impl Stop {
    /// Takes no more requests and finishes those under way.
    pub fn stop(&self) {
        self.0.notify_one();
    }
}

impl Server {
    /// Loads the model, opens the store and takes the address.
    pub fn bind(config: Config) -> Result<Server> {
        for listen in std::iter::once(&config.listen).chain(&config.admin_listen) {
            let others = resolve(listen)?.iter().any(|address| !address.ip().is_loopback());
            if config.tokens.is_none() && others {
                let problem = format!("{listen} can be reached by others, and there are no tokens");
                let hint = "make a token for each who may ask, or listen on 127.0.0.1".to_owned();
                return Err(Error::Access { problem, hint }.into());
            }
        }
        let (router, app) = app::start(config)?;
        let addresses = || -> Result<_> {
            let listener = listener(&app.config.listen)?;
            let admin = app.config.admin_listen.as_deref().map(self::listener).transpose()?;
            let address = listener.local_addr().map_err(|error| unheard(&app.config.listen, &error))?;
            Ok((listener, admin, address))
        };
        match addresses() {
            Ok((listener, admin, address)) => {
                Ok(Server { app, router, listener, address, admin, stop: Arc::default() })
            }
            Err(error) => {
                end(&app);
                Err(error)
            }
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it tells of its health, if that is another address.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin.as_ref()?.local_addr().ok()
    }

    /// What ends it.
    pub fn stopper(&self) -> Stop {
        Stop(self.stop.clone())
    }

    /// Answers requests until it is stopped.
    pub fn run(self) -> Result<()> {
        self.run_and_tell(|_| ())
    }

    /// As [`Server::run`]; `started` is told the address when signals are handled.
    fn run_and_tell(self, started: impl FnOnce(SocketAddr)) -> Result<()> {
        let Server { app, router, listener, address, admin, stop } = self;
        if app.config.signals {
            survive_full_files();
        }
        let failed = |error: std::io::Error| setting(format!("cannot serve: {error}"), "");
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            // To read and write takes a fraction of what the model takes; more threads only wake each other. While one is busy there is another.
            .worker_threads((app.config.threads / 4).max(2))
            // Few use the store at a time ([`turns`]); the others write down who was refused.
            .max_blocking_threads(16)
            .build()
            .map_err(failed)?;
        let served = runtime.block_on(async {
            let signals = app.config.signals.then(Signals::new);
            started(address);
            if app.config.signals {
                service::tell("READY=1");
            }
            tokio::spawn(tell_of_trouble(app.clone()));
            let ended = async {
                tokio::select! {
                    () = stop.notified() => {}
                    () = handle_signals(signals, app.clone()) => {}
                }
                if app.config.signals {
                    service::tell("STOPPING=1");
                }
            };
            let times = Times { timeout: app.config.timeout, grace: app.config.grace };
            if let Some(admin) = admin {
                let connections = Connections::new(ADMIN_CONNECTIONS, ADMIN_CONNECTIONS);
                let router = routes::admin(app.clone());
                let is_local = admin.local_addr().is_ok_and(|address| address.ip().is_loopback());
                let tls = app.tls.clone().filter(|_| !is_local);
                // It tells of the server as long as the server is there.
                tokio::spawn(listen::listen(admin, router, tls, connections, times, std::future::pending()));
            }
            listen::listen(listener, router, app.tls.clone(), app.connections.clone(), times, ended).await
        });
        // Neither what hangs at a store that is away nor one long text is waited for.
        runtime.shutdown_timeout(LEFT_ALONE);
        end(&app);
        served.map_err(failed)
    }
}

/// Ends the threads and closes the store, which whoever is left alone does not keep open: it is one file then.
fn end(app: &App) {
    app.engine.stop_within(LEFT_ALONE);
    app.memory.close();
}

/// Says in the log when the store goes away and comes back, and why.
async fn tell_of_trouble(app: Arc<App>) {
    let mut told = None;
    loop {
        let trouble = app.memory.trouble();
        if trouble != told {
            match &trouble {
                Some(problem) => warn(format_args!("the store is away: {problem}")),
                None => note("the store is back"),
            }
            told = trouble;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Answers requests until a signal ends it, if the configuration says so; `started` is told the address.
pub fn serve(config: Config, started: impl FnOnce(SocketAddr)) -> Result<()> {
    Server::bind(config)?.run_and_tell(started)
}

/// Makes a file that may not grow any more (`ulimit -f`) an error like a full disk; by default the system ends the program, in the
/// middle of a line. It holds from now on, for all that the program does. To be called before anything is written, and not by an
/// async function.
pub fn survive_full_files() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        /// That a file is larger than it may be, on Linux, macOS and the BSDs.
        const SIGXFSZ: i32 = 25;
        // What handles a signal stays when the runtime is gone. If there can be none, all is as it was.
        if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() {
            let _within = runtime.enter();
            let _ = signal(SignalKind::from_raw(SIGXFSZ));
        }
    }
}

/// What the system may tell the server; handled from when this is made.
#[cfg(unix)]
struct Signals([std::io::Result<tokio::signal::unix::Signal>; 3]);

#[cfg(unix)]
impl Signals {
    fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        Signals([SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal))
    }
}

/// Reads the certificate, tokens, phrases and the model again at SIGHUP; ends at SIGTERM and SIGINT.
#[cfg(unix)]
async fn handle_signals(signals: Option<Signals>, app: Arc<App>) {
    let Some(Signals([Ok(mut terminate), Ok(mut interrupt), Ok(mut hangup)])) = signals else {
        // The system ends the program, as it does any other.
        return std::future::pending().await;
    };
    loop {
        tokio::select! {
            _ = terminate.recv() => return,
            _ = interrupt.recv() => return,
            _ = hangup.recv() => {
                // On a thread of its own: nothing that blocks makes the server deaf.
                let app = app.clone();
                std::thread::spawn(move || reload(&app));
            }
        }
    }
}

/// Reads again what can be, each by itself, and says what became of it.
#[cfg(unix)]
fn reload(app: &App) {
    if let Err(error) = app.reopen_audit() {
        warn(format_args!("the old audit log stays: {error}"));
    }
    let trail = Trail::of_signal("SIGHUP");
    let deed = |code| Deed { status: None, code, ..Deed::new("reload", None, &[], 0) };
    app.record(&trail, deed(None));
    let failed = |what: &str, code: &'static str, error: &Error| {
        warn(format_args!("the old {what}: {error}"));
        app.record(&trail, deed(Some(code)));
    };
    match app.reload_certificate() {
        Ok(Some(_)) => note("the certificate was read again"),
        Ok(None) => {}
        Err(error) => failed("certificate stays", Code::BadCertificate.name(), &error),
    }
    match app.reload_tokens() {
        Ok(Some(n)) => note(format_args!("{n} tokens are known now")),
        Ok(None) => {}
        Err(error) => failed("tokens stay", Code::BadTokens.name(), &error),
    }
    match app.reload_phrases() {
        Ok(true) => note("the phrases were read again"),
        Ok(false) => {}
        Err(error) => failed("phrases stay", "bad_phrases", &error),
    }
    match app.reload_model() {
        Ok(loaded) => note(format_args!("{}: loaded again", loaded.file)),
        Err(error) => failed("model stays", Code::BadModel.name(), &error),
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> Self {
        Signals
    }
}

/// Ends at Ctrl-C.
#[cfg(not(unix))]
async fn handle_signals(signals: Option<Signals>, _: Arc<App>) {
    if signals.is_none() || tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}

/// So many connections wait to be taken before the system drops some, whose clients try again a second later.
const BACKLOG: i32 = 4096;

fn listener(listen: &str) -> Result<TcpListener> {
    let bind = |address: SocketAddr| -> std::io::Result<TcpListener> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        // As the standard library does it: elsewhere it would let others take the address.
        #[cfg(unix)]
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        Ok(socket.into())
    };
    let mut bound = Err(std::io::ErrorKind::AddrNotAvailable.into());
    for address in resolve(listen)? {
        bound = bind(address);
        if bound.is_ok() {
            break;
        }
    }
    bound.map_err(|error| unheard(listen, &error))
}

fn unheard(listen: &str, error: &std::io::Error) -> meno_store::Error {
    setting(format!("cannot listen on {listen}: {error}"), "take another address")
}

fn resolve(listen: &str) -> Result<Vec<SocketAddr>> {
    let hint = "an address is for example 127.0.0.1:8080";
    let addresses = listen.to_socket_addrs();
    let addresses = addresses.map_err(|error| setting(format!("`{listen}` is no address: {error}"), hint))?;
    Ok(addresses.collect())
}

fn setting(problem: String, hint: &str) -> meno_store::Error {
    Error::Setting { problem, hint: hint.to_owned() }.into()
}
