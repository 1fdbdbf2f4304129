//! Threads that run the model, fed by one bounded queue.
//!
//! A job enters as a closure over a [`Context`]; its answer leaves by a channel. Each thread has the workers of one model on its
//! stack. When there is another model they finish the job they have, and the next one runs on the new model.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use meno::decision::Policy;
use meno::engine::Tokenization;
use meno::memory::Remembered;
use meno::syntax::{Parse, Syntax, SyntaxWorker};
use meno::{Error, Model, Result, Worker};
use meno_store::{Memory, now};
use tokio::sync::oneshot;

use crate::problem::{Code, Problem};

/// A model, and what is told of its file.
pub(crate) struct Loaded {
    pub model: Model,
    /// How many models there were before it, plus one.
    pub generation: u64,
    /// The name of the file, without its folder.
    pub file: String,
    /// Its bytes.
    pub size: u64,
    /// When it was loaded, in milliseconds since 1970.
    pub time: u64,
}

impl Loaded {
    /// Reads a model file.
    pub fn read(path: &Path) -> Result<Self> {
        let model = Model::load(path)?;
        let size = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Loaded { model, generation: 1, file, size, time: now() })
    }
}

/// What a thread works with.
pub(crate) struct Context<'a> {
    pub worker: Worker,
    pub memory: &'a Memory,
    syntax: Option<SyntaxWorker>,
}

impl Context<'_> {
    /// What the model and memory make of a text together; by another policy than the model's if there is one.
    pub fn annotate<'t>(
        &mut self,
        policy: Option<&Policy>,
        text: &'t str,
        tokenization: Tokenization,
        user: Option<&str>,
    ) -> Remembered<'t> {
        self.memory.annotate(&mut self.worker, policy, text, tokenization, user)
    }

    /// The tree of some words.
    pub fn parse(&mut self, words: &[&str]) -> Parse {
        self.syntax.get_or_insert_with(|| Syntax::english().worker()).parse(words)
    }
}

type Job = Box<dyn FnOnce(&mut Context<'_>) + Send>;

struct Queue {
    jobs: VecDeque<Job>,
    model: Arc<Loaded>,
    /// Threads that wait for a job.
    n_idle: usize,
    is_closed: bool,
}

struct Shared {
    queue: Mutex<Queue>,
    news: Condvar,
    memory: Memory,
}

/// What a thread does next.
enum Next {
    Job(Job),
    /// There is another model.
    Renew,
    End,
}

/// The threads and their queue.
pub(crate) struct Engine {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    capacity: usize,
    timeout: Duration,
}

impl Engine {
    /// Starts the threads. At most `capacity` jobs wait; a job that is not done after `timeout` is given up.
    pub fn start(
        model: Loaded,
        memory: Memory,
        n_threads: usize,
        capacity: usize,
        timeout: Duration,
    ) -> Result<Engine> {
        let queue = Queue { jobs: VecDeque::new(), model: Arc::new(model), n_idle: 0, is_closed: false };
        let shared = Arc::new(Shared { queue: Mutex::new(queue), news: Condvar::new(), memory });
        let engine = Engine { shared, threads: Mutex::default(), capacity, timeout };
        for _ in 0..n_threads {
            let shared = engine.shared.clone();
            let spawned =
                std::thread::Builder::new().name("meno-engine".to_owned()).spawn(move || shared.work());
            let thread = spawned.map_err(|error| Error::Setting {
                problem: format!("cannot start a thread: {error}"),
                hint: "ask for fewer threads".to_owned(),
            })?;
            engine.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        }
        Ok(engine)
    }

    /// Runs some work on one of the threads.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Context<'_>) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let (sender, receiver) = oneshot::channel();
        self.push(Box::new(move |context: &mut Context<'_>| {
            // Nobody waits if the connection is gone.
            if !sender.is_closed() {
                let _ = sender.send(work(context));
            }
        }))?;
        match tokio::time::timeout(self.timeout, receiver).await {
            Ok(answer) => answer.map_err(|_| Problem::mistake()),
            Err(_) => Err(Problem::new(Code::TooSlow, "there was no time for it", "try again later")),
        }
    }

    fn push(&self, job: Job) -> Result<(), Problem> {
        let mut queue = self.shared.lock();
        if queue.is_closed {
            return Err(Problem::new(Code::Stopped, "the model was stopped", "it does not answer again"));
        }
        if queue.jobs.len() >= self.capacity {
            let message = format!("{} requests wait already", queue.jobs.len());
            return Err(Problem::new(Code::Busy, message, "try again later, or send several texts at once"));
        }
        queue.jobs.push_back(job);
        let is_awaited = queue.n_idle > 0;
        drop(queue);
        if is_awaited {
            self.shared.news.notify_one();
        }
        Ok(())
    }

    /// How many jobs wait.
    pub fn n_waiting(&self) -> usize {
        self.shared.lock().jobs.len()
    }

    /// The model that answers now.
    pub fn model(&self) -> Arc<Loaded> {
        self.shared.lock().model.clone()
    }

    /// From now on another model answers.
    pub fn renew(&self, loaded: Loaded) -> Arc<Loaded> {
        let mut queue = self.shared.lock();
        let generation = queue.model.generation + 1;
        queue.model = Arc::new(Loaded { generation, ..loaded });
        self.shared.news.notify_all();
        queue.model.clone()
    }

    /// Finishes the jobs that wait and ends the threads.
    pub fn stop(&self) {
        self.shared.lock().is_closed = true;
        self.shared.news.notify_all();
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        threads.into_iter().for_each(|thread| drop(thread.join()));
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a thread does until the queue is closed.
    fn work(&self) {
        loop {
            let loaded = self.lock().model.clone();
            let mut context = Context { worker: loaded.model.worker(), memory: &self.memory, syntax: None };
            loop {
                match self.next(loaded.generation) {
                    // A worker may be left in any state by a panic, so there is to be a new one.
                    Next::Job(job) => {
                        if catch_unwind(AssertUnwindSafe(|| job(&mut context))).is_err() {
                            break;
                        }
                    }
                    Next::Renew => break,
                    Next::End => return,
                }
            }
        }
    }

    fn next(&self, generation: u64) -> Next {
        let mut queue = self.lock();
        loop {
            if queue.model.generation != generation {
                return Next::Renew;
            }
            if let Some(job) = queue.jobs.pop_front() {
                return Next::Job(job);
            }
            if queue.is_closed {
                return Next::End;
            }
            queue.n_idle += 1;
            queue = self.news.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.n_idle -= 1;
        }
    }
}
