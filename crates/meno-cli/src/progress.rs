//! The progress of a training: one line on standard error that is drawn over, and only on a terminal.

use std::fmt::{self, Display};
use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use meno::train::{EpochReport, Progress, Watch};

use crate::interrupt::Interrupt;
use crate::style::{self, paint};

/// Drawing more often than the eye sees would only cost time.
const INTERVAL: Duration = Duration::from_millis(80);

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
    /// The epoch under way, from 1.
    pub epoch: usize,
}

impl<'a> Watcher<'a> {
    pub fn new(interrupt: Option<&'a Interrupt>, color: bool) -> Self {
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Watcher {
            interrupt,
            is_terminal: io::stderr().is_terminal() && !is_dumb,
            color,
            start: Instant::now(),
            drawn: None,
            done_before: None,
            valid_slot_f1: None,
            epoch: 1,
        }
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
        self.epoch = progress.epoch;
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
        self.valid_slot_f1 = Some(report.valid.slot_f1);
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
