//! What the server counts, as Prometheus reads it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::App;

/// The upper bounds of the histogram of latencies, in seconds.
const BOUNDS: [f64; 12] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];

/// Requests of one route.
#[derive(Default)]
struct Series {
    /// How many answers had each status.
    statuses: BTreeMap<u16, u64>,
    /// How many were faster than each bound, and slower than the one before.
    buckets: [u64; BOUNDS.len()],
    sum: f64,
}

/// Counts since the start.
#[derive(Default)]
pub(crate) struct Metrics {
    /// By method and route.
    series: Mutex<BTreeMap<(&'static str, String), Series>>,
}

impl Metrics {
    /// Counts an answer.
    pub fn count(&self, method: &'static str, route: &str, status: u16, took: Duration) {
        let mut series = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        let series = series.entry((method, route.to_owned())).or_default();
        *series.statuses.entry(status).or_default() += 1;
        let seconds = took.as_secs_f64();
        series.sum += seconds;
        if let Some(bucket) = BOUNDS.iter().position(|&bound| seconds <= bound) {
            series.buckets[bucket] += 1;
        }
    }

    /// The text of `/metrics`.
    pub fn render(&self, app: &App) -> String {
        let mut text = String::new();
        self.write(&mut text).expect("a string takes any text");
        let gauges = [
            ("meno_queue_length", "Requests that wait for the engine.", app.engine.n_waiting() as u64),
            ("meno_concepts", "Concepts in memory.", app.memory.len() as u64),
            ("meno_sessions", "Dialogues under way.", app.sessions.len() as u64),
            ("meno_connections", "Open connections.", app.connections.len() as u64),
            ("meno_model_generation", "Models that were loaded.", app.engine.model().generation),
            ("meno_store_up", "1 if concepts can be learnt.", u64::from(app.memory.trouble().is_none())),
        ];
        let n_lost = app.audit.as_ref().map_or(0, |audit| audit.n_lost());
        text.push_str("# HELP meno_audit_failures_total Lines of the audit log that could not be written.\n");
        let _ =
            write!(text, "# TYPE meno_audit_failures_total counter\nmeno_audit_failures_total {n_lost}\n");
        let resident = resident_bytes()
            .map(|bytes| ("process_resident_memory_bytes", "Resident memory size in bytes.", bytes));
        for (name, help, value) in gauges.into_iter().chain(resident) {
            let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}\n");
        }
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        let series = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        text.push_str("# HELP meno_requests_total Requests by method, route and status.\n");
        text.push_str("# TYPE meno_requests_total counter\n");
        for ((method, route), series) in &*series {
            for (status, count) in &series.statuses {
                let labels = format!(r#"method="{method}",route="{route}",status="{status}""#);
                writeln!(text, "meno_requests_total{{{labels}}} {count}")?;
            }
        }
        let rejected: u64 = series.values().filter_map(|series| series.statuses.get(&429)).sum();
        text.push_str("# HELP meno_rejected_total Requests that were refused because there were too many.\n");
        writeln!(text, "# TYPE meno_rejected_total counter\nmeno_rejected_total {rejected}")?;
        text.push_str("# HELP meno_request_seconds How long answers took, without the writing.\n");
        text.push_str("# TYPE meno_request_seconds histogram\n");
        for ((method, route), series) in &*series {
            let labels = format!(r#"method="{method}",route="{route}""#);
            let mut below = 0;
            for (bound, count) in BOUNDS.iter().zip(series.buckets) {
                below += count;
                writeln!(text, r#"meno_request_seconds_bucket{{{labels},le="{bound}"}} {below}"#)?;
            }
            let n: u64 = series.statuses.values().sum();
            writeln!(text, r#"meno_request_seconds_bucket{{{labels},le="+Inf"}} {n}"#)?;
            writeln!(text, "meno_request_seconds_sum{{{labels}}} {}", series.sum)?;
            writeln!(text, "meno_request_seconds_count{{{labels}}} {n}")?;
        }
        Ok(())
    }
}

/// The memory of this process; `None` where the system does not tell.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(1024 * kilobytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_is_cumulative() {
        let metrics = Metrics::default();
        for (status, milliseconds) in [(200, 1), (200, 3), (429, 30), (200, 9000)] {
            metrics.count("POST", "/v1/annotate", status, Duration::from_millis(milliseconds));
        }
        let mut text = String::new();
        metrics.write(&mut text).unwrap();
        for line in [
            r#"meno_requests_total{method="POST",route="/v1/annotate",status="200"} 3"#,
            r#"meno_requests_total{method="POST",route="/v1/annotate",status="429"} 1"#,
            "meno_rejected_total 1",
            r#"meno_request_seconds_bucket{method="POST",route="/v1/annotate",le="0.0005"} 0"#,
            r#"meno_request_seconds_bucket{method="POST",route="/v1/annotate",le="0.001"} 1"#,
            r#"meno_request_seconds_bucket{method="POST",route="/v1/annotate",le="0.005"} 2"#,
            r#"meno_request_seconds_bucket{method="POST",route="/v1/annotate",le="5"} 3"#,
            r#"meno_request_seconds_bucket{method="POST",route="/v1/annotate",le="+Inf"} 4"#,
            r#"meno_request_seconds_count{method="POST",route="/v1/annotate"} 4"#,
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
}
