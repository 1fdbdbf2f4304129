//! The progress of a training on standard error: one line that is drawn over on a terminal, elsewhere a line an epoch, or
//! for every so many.

use std::fmt::{self, Display};
use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use meno::train::{EpochReport, Progress, Watch};

use crate::interrupt::Interrupt;
use crate::output::note;
use crate::style::{self, paint};

/// Drawing more often than the eye sees would only cost time.
const INTERVAL: Duration = Duration::from_millis(80);

/// About so many lines at most tell of the epochs where none can be drawn over.
const MAX_LINES: usize = 40;

/// Watches a training, shows how far it is, and stops it on Ctrl-C.
pub struct Watcher<'a> {
    interrupt: Option<&'a Interrupt>,
    is_terminal: bool,
    color: bool,
    start: Instant,
    drawn: Option<Instant>,
    /// The share that was done when the watch began; more than nothing if an earlier training goes on.
    done_before: Option<f64>,
    valid_slot_f1: Option<f64>,
    /// Whether epochs have lines of their own where no line can be drawn over.
    has_lines: bool,
    /// Epochs in all, those of a cross-validation among them.
    pub epochs: usize,
    /// The epoch under way, from 1.
    pub epoch: usize,
}

impl<'a> Watcher<'a> {
    pub fn new(interrupt: Option<&'a Interrupt>, color: bool) -> Self {
        Watcher {
            interrupt,
            is_terminal: can_draw(),
            color,
            start: Instant::now(),
            drawn: None,
            done_before: None,
            valid_slot_f1: None,
            has_lines: false,
            epochs: 0,
            epoch: 1,
        }
    }

    /// With a line for each epoch, or for every so many, where there is no terminal.
    pub fn with_lines(self) -> Self {
        Watcher { has_lines: !self.is_terminal, ..self }
    }

    /// Takes the line away and gives the time that was needed.
    pub fn finish(self) -> Duration {
        if self.drawn.is_some() {
            let _ = write!(io::stderr().lock(), "\r\x1b[2K");
        }
        self.start.elapsed()
    }

    fn draw(&mut self, progress: &Progress, done: f64, done_before: f64) {
        let Progress { epoch, epochs, loss, .. } = *progress;
        let elapsed = self.start.elapsed();
        let left = elapsed.mul_f64((1.0 - done).max(0.0) / (done - done_before));
        let f1 = self.valid_slot_f1.map_or("    -".to_owned(), |f1| format!("{f1:5.2}"));
        let bar = paint(Bar(done), style::BAR, self.color);
        let width = epochs.to_string().len();
        let _ = write!(
            io::stderr().lock(),
            "\r\x1b[2K  epoch {epoch:width$}/{epochs}  {bar}  loss {loss:6.4}  F1 {f1}  {} left",
            Time(left)
        );
        self.drawn = Some(Instant::now());
    }
}

impl Watch for Watcher<'_> {
    fn step(&mut self, progress: &Progress) -> ControlFlow<()> {
        (self.epoch, self.epochs) = (progress.epoch, progress.epochs);
        let done = ((progress.epoch - 1) as f64 + progress.share) / progress.epochs as f64;
        let done_before = *self.done_before.get_or_insert(done);
        let drawn = self.drawn.unwrap_or(self.start);
        // From the first step alone no time could be told.
        if self.is_terminal && drawn.elapsed() >= INTERVAL && done > done_before {
            self.draw(progress, done, done_before);
        }
        if self.interrupt.is_some_and(Interrupt::pressed) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn epoch(&mut self, report: &EpochReport) {
        self.valid_slot_f1 = report.valid.as_ref().map(|valid| valid.slot_f1);
        if self.has_lines && has_line(report.epoch, self.epochs) {
            let f1 = self.valid_slot_f1.map_or_else(String::new, |f1| format!("  valid slot F1 {f1:5.2}"));
            note(format_args!("epoch {} of {}  loss {:6.4}{f1}", report.epoch, self.epochs, report.loss));
        }
    }
}

/// Whether an epoch has a line of its own: each of a few, every so many of more, the first and the last.
fn has_line(epoch: usize, epochs: usize) -> bool {
    epoch.is_multiple_of(epochs.div_ceil(MAX_LINES).max(1)) || epoch == 1 || epoch == epochs
}

/// Whether standard error is a terminal on which a line can be drawn over.
fn can_draw() -> bool {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    io::stderr().is_terminal() && !is_dumb
}

/// Shows how far many tasks are that run side by side.
pub struct Tasks {
    jobs: usize,
    color: bool,
    is_terminal: bool,
    start: Instant,
    state: Mutex<Shares>,
}

struct Shares {
    /// Of each task, how much is done.
    done: Vec<f64>,
    drawn: Option<Instant>,
}

impl Tasks {
    pub fn new(n_tasks: usize, jobs: usize, color: bool) -> Self {
        let state = Shares { done: vec![0.0; n_tasks], drawn: None };
        Tasks { jobs, color, is_terminal: can_draw(), start: Instant::now(), state: Mutex::new(state) }
    }

    /// So much of a task is done.
    pub fn step(&self, task_idx: usize, done: f64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.done[task_idx] = done;
        if self.is_terminal && state.drawn.unwrap_or(self.start).elapsed() >= INTERVAL {
            self.draw(&state);
            state.drawn = Some(Instant::now());
        }
    }

    fn draw(&self, state: &Shares) {
        let n_tasks = state.done.len();
        let n_done = state.done.iter().filter(|&&done| done >= 1.0).count();
        let share = state.done.iter().sum::<f64>() / n_tasks as f64;
        let left = state.left(self.start.elapsed(), self.jobs);
        let left = left.map_or("".to_owned(), |left| format!("  {} left", Time(left)));
        let bar = paint(Bar(share), style::BAR, self.color);
        let _ = write!(io::stderr().lock(), "\r\x1b[2K  {n_done}/{n_tasks} done  {bar}{left}");
    }

    /// Takes the line away and gives the time that was needed.
    pub fn finish(self) -> Time {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if state.drawn.is_some() {
            let _ = write!(io::stderr().lock(), "\r\x1b[2K");
        }
        Time(self.start.elapsed())
    }
}

impl Shares {
    /// The time left at the pace so far, if the tasks go on to be taken up in order by whichever job is free.
    fn left(&self, elapsed: Duration, jobs: usize) -> Option<Duration> {
        let done: f64 = self.done.iter().sum();
        let pace = done / (elapsed.as_secs_f64() * jobs as f64);
        let mut loads = vec![0.0; jobs];
        for rest in self.done.iter().map(|done| 1.0 - done) {
            if let Some(least) = loads.iter_mut().min_by(|a, b| f64::total_cmp(a, b)) {
                *least += rest;
            }
        }
        let longest = loads.into_iter().fold(0.0, f64::max);
        Duration::try_from_secs_f64(longest / pace).ok().filter(|_| done > 0.0)
    }
}

/// A share from 0 to 1 as a bar.
struct Bar(f64);

impl Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const WIDTH: usize = 24;
        let full = ((self.0 * WIDTH as f64).round() as usize).min(WIDTH);
        write!(f, "{}{}", "━".repeat(full), "─".repeat(WIDTH - full))
    }
}

/// A time as people say it.
pub struct Time(pub Duration);

impl Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs_f64().round() as u64;
        match seconds {
            0..60 => write!(f, "{seconds} s"),
            60..3600 => write!(f, "{} min {} s", seconds / 60, seconds % 60),
            _ => write!(f, "{} h {} min", seconds / 3600, seconds / 60 % 60),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_that_of_the_busiest_job() {
        let left = |done: &[f64], seconds: u64, jobs| {
            let shares = Shares { done: done.to_vec(), drawn: None };
            shares.left(Duration::from_secs(seconds), jobs).map(|left| left.as_secs_f64().round())
        };
        // Half of each of two tasks took a minute.
        assert_eq!(left(&[0.5, 0.5], 60, 2), Some(60.0));
        // Two tasks took two minutes side by side; of three more, one job does two.
        assert_eq!(left(&[1.0, 1.0, 0.0, 0.0, 0.0], 120, 2), Some(240.0));
        // One task is left, and the other job idles.
        assert_eq!(left(&[1.0, 1.0, 0.0], 120, 2), Some(120.0));
        assert_eq!(left(&[0.0], 10, 1), None);
    }

    #[test]
    fn many_epochs_have_few_lines() {
        let lines =
            |epochs: usize| -> Vec<usize> { (1..=epochs).filter(|&epoch| has_line(epoch, epochs)).collect() };
        assert_eq!(lines(3), [1, 2, 3]);
        assert_eq!(lines(40).len(), 40);
        assert_eq!(lines(41).len(), 22);
        assert_eq!((lines(2400).len(), &lines(2400)[..3]), (41, &[1, 60, 120][..]));
        assert_eq!(lines(101).last(), Some(&101));
    }

    #[test]
    fn shows() {
        for (share, bar) in [
            (0.0, "────────────────────────"),
            (0.5, "━━━━━━━━━━━━────────────"),
            (1.0, "━━━━━━━━━━━━━━━━━━━━━━━━"),
        ] {
            assert_eq!(Bar(share).to_string(), bar);
        }
        for (seconds, time) in [(0.4, "0 s"), (59.4, "59 s"), (61.0, "1 min 1 s"), (7260.0, "2 h 1 min")] {
            assert_eq!(Time(Duration::from_secs_f64(seconds)).to_string(), time);
        }
    }
}
