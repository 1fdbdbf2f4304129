//! Threads that run the model, fed by one bounded queue that is fair to callers ([`Lanes`]).
//!
//! A job enters as a closure over a [`Context`], with who asks and about how many words it reads; its answer leaves by a channel. Texts
//! that wait together are annotated together, which is faster and gives the same bits. What nobody waits for any more is not begun, and large
//! requests come in parts, so that this is soon noticed. Each thread has the workers of one model on its stack. When there is another model they
//! finish the job they have, and the next one runs on the new model.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use meno::decision::Policy;
use meno::engine::Tokenization;
use meno::memory::Remembered;
use meno::syntax::{Parse, Syntax, SyntaxWorker};
use meno::{Annotation, Error, Model, Result, Worker};
use meno_store::{Memory, now};
use tokio::sync::oneshot;

use crate::lanes::{CREDIT, Lanes};
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

struct Job {
    /// Gone when nobody waits for it any more.
    waits: Weak<()>,
    task: Task,
}

enum Task {
    Work(Box<dyn FnOnce(&mut Context<'_>) + Send>),
    /// Texts, how they are read, and what is done with the annotations.
    Texts(Vec<String>, Tokenization, Answer),
}

type Answer = Box<dyn FnOnce(&mut Context<'_>, Vec<Annotation<'_>>) + Send>;

impl Task {
    /// How its texts are read, if it is nothing but that.
    fn reading(&self) -> Option<Tokenization> {
        match self {
            Task::Work(_) => None,
            Task::Texts(_, reading, _) => Some(*reading),
        }
    }
}

/// So many requests are annotated together at most; more would not be faster, and the first would wait for the last.
const TOGETHER: usize = 32;

/// Who asks, as far as turns go.
pub(crate) type CallerId = u64;

/// Whose turn a job needs.
#[derive(Clone, Copy)]
pub(crate) struct Turn {
    pub caller: CallerId,
    /// About how many words it reads.
    pub words: u32,
    /// Whether it is the first of its request: parts of a request are not refused after others were answered.
    pub is_first: bool,
}

impl Turn {
    pub fn new(caller: CallerId, words: u32) -> Self {
        Turn { caller, words, is_first: true }
    }
}

struct Queue {
    jobs: Lanes<CallerId, Job>,
    n_threads: usize,
    /// Heavy jobs under way.
    n_heavy: usize,
    /// How many there may be: one thread is left for everybody else.
    max_heavy: usize,
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
    /// A job, or some whose texts are read alike, and whether it is heavy.
    Jobs(Vec<Job>, bool),
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
        let queue = Queue {
            jobs: Lanes::new(),
            n_threads,
            n_heavy: 0,
            max_heavy: (n_threads - 1).max(1),
            model: Arc::new(model),
            n_idle: 0,
            is_closed: false,
        };
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

    /// Runs some work on one of the threads, when it is the caller's turn; it reads about so many words.
    pub async fn run<T: Send + 'static>(
        &self,
        turn: Turn,
        work: impl FnOnce(&mut Context<'_>) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        self.wait(turn, |sender| Task::Work(Box::new(move |context| drop(sender.send(work(context)))))).await
    }

    /// As [`Engine::run`], of what the model says of some texts; those of several callers are read together.
    pub async fn annotate<T: Send + 'static>(
        &self,
        turn: Turn,
        texts: Vec<String>,
        reading: Tokenization,
        work: impl FnOnce(&mut Context<'_>, Vec<Annotation<'_>>) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        self.wait(turn, |sender| {
            let answer = move |context: &mut Context<'_>, annotations: Vec<Annotation<'_>>| {
                drop(sender.send(work(context, annotations)));
            };
            Task::Texts(texts, reading, Box::new(answer))
        })
        .await
    }

    async fn wait<T>(&self, turn: Turn, task: impl FnOnce(oneshot::Sender<T>) -> Task) -> Result<T, Problem> {
        if turn.is_first {
            self.demand_room(turn)?;
        }
        let (sender, receiver) = oneshot::channel();
        let waits = Arc::new(());
        self.push(turn, Job { waits: Arc::downgrade(&waits), task: task(sender) })?;
        match tokio::time::timeout(self.timeout, receiver).await {
            Ok(answer) => answer.map_err(|_| Problem::mistake()),
            Err(_) => Err(Problem::new(Code::TooSlow, "there was no time for it", "try again later")),
        }
    }

    /// Refuses more than there is room for. Whoever has nothing in the queue yet finds a place even if others fill it.
    fn demand_room(&self, Turn { caller, words, .. }: Turn) -> Result<(), Problem> {
        let queue = self.shared.lock();
        let (n_own, n_all) = (queue.jobs.len_of(&caller), queue.jobs.len());
        let capacity = if n_own == 0 { 2 * self.capacity } else { self.capacity };
        let share = self.capacity.div_ceil(2);
        // Long texts have long answers: they count as what they cost.
        let cost = queue.jobs.cost_of(&caller) + u64::from(words);
        let is_cheap = n_own == 0 || cost <= u64::from(CREDIT) * share as u64;
        if n_all < capacity && n_own < share && is_cheap {
            return Ok(());
        }
        // How many others ask is not for everybody.
        let message = format!("as many requests wait as may, {n_own} of them yours");
        Err(Problem::new(Code::Busy, message, "try again later, or send several texts at once"))
    }

    fn push(&self, turn: Turn, job: Job) -> Result<(), Problem> {
        let mut queue = self.shared.lock();
        if queue.is_closed {
            return Err(Problem::new(Code::Stopped, "the model was stopped", "it does not answer again"));
        }
        queue.jobs.push(turn.caller, turn.words, job);
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
        self.close().into_iter().for_each(|thread| drop(thread.join()));
    }

    /// The same, but whoever is not done in time is left alone.
    pub fn stop_within(&self, limit: Duration) {
        let (threads, deadline) = (self.close(), Instant::now() + limit);
        while Instant::now() < deadline && threads.iter().any(|thread| !thread.is_finished()) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn close(&self) -> Vec<JoinHandle<()>> {
        self.shared.lock().is_closed = true;
        self.shared.news.notify_all();
        std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner))
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
                    Next::Jobs(jobs, is_heavy) => {
                        let done = catch_unwind(AssertUnwindSafe(|| do_all(jobs, &mut context)));
                        if is_heavy {
                            self.lock().n_heavy -= 1;
                            self.news.notify_one();
                            // Its buffers have grown.
                            context.worker = loaded.model.worker();
                        }
                        if done.is_err() {
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
            let may_be_heavy = queue.n_heavy < queue.max_heavy;
            if let Some((job, is_heavy)) = queue.jobs.pop(|is_heavy, _| may_be_heavy || !is_heavy) {
                queue.n_heavy += usize::from(is_heavy);
                let more = if is_heavy { Vec::new() } else { queue.alike(&job) };
                return Next::Jobs(std::iter::once(job).chain(more).collect(), is_heavy);
            }
            // What is left then is heavy, and others see to it.
            if queue.is_closed && (queue.jobs.len() == 0 || queue.n_heavy > 0) {
                return Next::End;
            }
            queue.n_idle += 1;
            queue = self.news.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.n_idle -= 1;
        }
    }
}

impl Queue {
    /// This thread's share of the jobs whose texts can be read together with those of a job.
    fn alike(&mut self, job: &Job) -> Vec<Job> {
        let Some(reading) = job.task.reading() else { return Vec::new() };
        let share = self.jobs.len().div_ceil(self.n_threads).min(TOGETHER - 1);
        let is_alike = |is_heavy: bool, job: &Job| !is_heavy && job.task.reading() == Some(reading);
        std::iter::from_fn(|| self.jobs.pop(is_alike)).take(share).map(|(job, _)| job).collect()
    }
}

/// Does jobs for which somebody waits: one, or some whose texts are read alike.
fn do_all(jobs: Vec<Job>, context: &mut Context<'_>) {
    let (mut texts, mut answers, mut tokenization) = (Vec::new(), Vec::new(), None);
    for job in jobs.into_iter().filter(|job| job.waits.strong_count() > 0) {
        match job.task {
            Task::Work(work) => work(context),
            Task::Texts(some, reading, answer) => {
                tokenization = Some(reading);
                answers.push((some.len(), answer));
                texts.extend(some);
            }
        }
    }
    let Some(reading) = tokenization else { return };
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut annotations = context.worker.annotate_all(&texts, reading).into_iter();
    for (n, answer) in answers {
        answer(context, annotations.by_ref().take(n).collect());
    }
}
