//! What answers, and the threads behind it.

use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use axum::Router;
use axum::response::Response;
use meno::dialogue::Phrasebook;
use meno_store::{Access as StoreAccess, Assistant, Clock, Memory, Result, Scope};

use crate::access::{Access, Caller};
use crate::audit::{Audit, Deed};
use crate::bodies::Bodies;
use crate::connections::Connections;
use crate::engine::{Engine, Loaded};
use crate::log::{LogFormat, write_json};
use crate::metrics::Metrics;
use crate::problem::{Code, Problem};
use crate::sessions::Sessions;
use crate::tls::Tls;
use crate::trail::Trail;
use crate::turns::Turns;
use crate::{Config, around, routes, setting};

/// Loads the model, opens the store and starts the threads; what answers, and a handle to it.
///
/// The router is mounted in an axum application, as it is or under a prefix: the page, its files and `/openapi.json` find each
/// other there. The threads end when the router and its clones are gone, or by [`Handle::stop`]. Requests are answered on the
/// application's tokio runtime, which must have its clock enabled (`enable_time`).
///
/// Without tokens everybody whom the application lets through may do everything, as long as they call it by an address or
/// `localhost`; an application with a name needs tokens.
pub fn router(config: Config) -> Result<(Router, Handle)> {
    // To open a PostgreSQL store is not allowed on a thread of an async runtime.
    let (router, app) = std::thread::scope(|scope| scope.spawn(|| start(config)).join())
        .unwrap_or_else(|mistake| std::panic::resume_unwind(mistake))?;
    Ok((router, Handle(Arc::downgrade(&app))))
}

/// As [`router`], with what is behind it.
pub(crate) fn start(config: Config) -> Result<(Router, Arc<App>)> {
    let access = Access::new(config.tokens.clone(), config.owner.clone())?;
    let access = access.limited(config.rate, config.burst);
    if config.log == Some(LogFormat::Json) {
        write_json();
    }
    let audit = config.audit.as_deref().map(Audit::open).transpose()?;
    let tls = config.tls.clone().map(Tls::new).transpose()?.map(Arc::new);
    let loaded = Loaded::read(&config.model)?;
    let memory = match &config.store {
        Some(location) => Memory::open(location, StoreAccess::Create)?,
        None => Memory::volatile()?,
    };
    let memory = memory.with_spelling(config.spelling).with_journal_of(config.journal_age);
    let engine = Engine::start(loaded, memory.clone(), config.threads, config.queue, config.timeout)?;
    let app = Arc::new(App {
        engine,
        memory,
        assistant: RwLock::new(Arc::new(config.assistant.clone())),
        sessions: Sessions::new(config.sessions, config.owner_sessions, config.session_lifetime),
        access,
        audit,
        tls,
        bodies: Bodies::new(config.max_bodies),
        readers: Turns::of_readers(),
        writers: Turns::of_writers(),
        metrics: Metrics::default(),
        connections: Connections::new(config.connections, config.address_connections),
        config,
    });
    look_after_sessions(&app)?;
    Ok((routes::router(app.clone()), app))
}

/// How often it is looked which dialogues are over.
const LOOK: Duration = Duration::from_secs(1);

/// Ends dialogues in which nobody speaks any more, and those of owners of whom everything was erased, by whatever process; on a thread that
/// ends with the app.
fn look_after_sessions(app: &Arc<App>) -> Result<()> {
    let app = Arc::downgrade(app);
    let look = move || {
        loop {
            std::thread::sleep(LOOK);
            let Some(app) = app.upgrade() else { return };
            app.sessions.end_old(Instant::now());
            let erased = app.memory.take_erased();
            app.sessions.end_where(|owner| erased.iter().any(|gone| gone.is(owner)));
        }
    };
    let thread = std::thread::Builder::new().name("meno-sessions".to_owned()).spawn(look);
    let failed = |error| setting(format!("there is no thread for dialogues: {error}"), "");
    thread.map(drop).map_err(failed)
}

/// What is behind a [`router`]; it does not keep it alive.
#[derive(Clone)]
pub struct Handle(Weak<App>);

impl Handle {
    /// Reads the tokens, the phrases and the model again, each by itself, which waits for a disk, and opens the audit log again.
    /// Requests under way are answered by the old model; of what cannot be read the old stays, and the first error is told.
    pub fn reload(&self) -> Result<()> {
        let app = self.0.upgrade();
        let app = app.ok_or_else(|| setting("nothing answers any more".to_owned(), "make another router"))?;
        let read = [
            app.reopen_audit(),
            app.reload_tokens().map(drop),
            app.reload_phrases().map(drop),
            app.reload_model().map(drop),
        ];
        Ok(read.into_iter().collect::<meno::Result<()>>()?)
    }

    /// Finishes what waits for the model and ends its threads. What is asked of it later is refused.
    pub fn stop(&self) {
        if let Some(app) = self.0.upgrade() {
            app.engine.stop();
        }
    }
}

/// What requests share.
pub(crate) struct App {
    pub config: Config,
    pub engine: Engine,
    pub memory: Memory,
    assistant: RwLock<Arc<Assistant>>,
    pub sessions: Sessions,
    pub access: Access,
    pub audit: Option<Audit>,
    pub tls: Option<Arc<Tls>>,
    pub bodies: Arc<Bodies>,
    /// Who reads the store and who writes to it.
    pub readers: Arc<Turns>,
    pub writers: Arc<Turns>,
    pub metrics: Metrics,
    pub connections: Arc<Connections>,
}

impl App {
    /// How dialogues are led.
    pub fn assistant(&self) -> Arc<Assistant> {
        self.assistant.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds a line to the audit log, if there is one, which waits for a disk.
    pub fn record(&self, trail: &Trail, deed: Deed<'_>) {
        if let Some(audit) = &self.audit {
            audit.record(trail, deed);
        }
    }

    /// The same of an admin who reads what others taught, if it does.
    pub fn record_reading(&self, trail: &Trail, other: Option<&str>, concepts: &[u64]) {
        if other.is_some() {
            self.record(trail, Deed::new("read", other, concepts, 200));
        }
    }

    /// Goes on in a new audit log if the old one was moved away.
    pub fn reopen_audit(&self) -> meno::Result<()> {
        self.audit.as_ref().map_or(Ok(()), Audit::reopen)
    }

    /// Reads the tokens again; how many there are, if any are asked for.
    pub fn reload_tokens(&self) -> meno::Result<Option<usize>> {
        self.access.reload()
    }

    /// Reads the certificate again; how many there are with those that lead to an authority, if there is TLS.
    pub fn reload_certificate(&self) -> meno::Result<Option<usize>> {
        self.tls.as_ref().map(|tls| tls.reload()).transpose()
    }

    /// Reads the phrases again; whether there is a file of them.
    pub fn reload_phrases(&self) -> meno::Result<bool> {
        let Some(path) = &self.config.phrases else { return Ok(false) };
        let text = std::fs::read_to_string(path)
            .map_err(|source| meno::Error::Read { path: path.clone(), source })?;
        let assistant = Assistant { book: Phrasebook::read(&text, path)?, ..self.config.assistant.clone() };
        *self.assistant.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(assistant);
        Ok(true)
    }

    /// Reads the model again.
    pub fn reload_model(&self) -> meno::Result<Arc<Loaded>> {
        Ok(self.engine.renew(Loaded::read(&self.config.model)?))
    }

    /// What a caller sees and changes ([`Caller::scope`]), and how much it may have.
    pub fn scope(&self, caller: &Caller, named: Option<&str>) -> Result<Scope, Problem> {
        let scope = caller.scope(named)?;
        Ok(if caller.is_admin() { scope } else { scope.up_to(self.config.quota) })
    }

    /// What tells when a request was made, if it may state a moment and a zone.
    pub fn clock(&self, now: Option<&str>, zone: Option<&str>) -> Result<Clock, Problem> {
        let refused = |error: meno::Error| {
            Problem::new(Code::BadRequest, error.to_string(), error.hint().unwrap_or_default())
        };
        self.config.clock.at(now, zone).map_err(refused)
    }

    /// What was said, for the log if it is to have it.
    pub fn said<'a>(&self, texts: impl IntoIterator<Item = &'a str>) -> Heard {
        let is_wanted = self.config.log.is_some() && self.config.log_text;
        Heard(is_wanted.then(|| around::Said(texts.into_iter().collect::<Vec<_>>().join("\n"))))
    }
}

/// What was said, on its way to the log.
pub(crate) struct Heard(Option<around::Said>);

impl Heard {
    pub fn with(self, mut response: Response) -> Response {
        if let Some(said) = self.0 {
            response.extensions_mut().insert(said);
        }
        response
    }
}
