//! What tells one request from others, in its answer, in the log and in the audit log.

use std::sync::{Arc, OnceLock};

use axum::http::{HeaderMap, HeaderName, HeaderValue};

use crate::access::Caller;
use crate::bodies::Held;

/// The header with the number of a request.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// A request.
pub(crate) struct Trail {
    /// The client's own name for it, or a random one.
    pub request_id: String,
    /// The trace that it is part of, as W3C Trace Context has it.
    pub trace_id: Option<String>,
    pub method: &'static str,
    /// A route that is not there is not named: it may be anything.
    pub route: String,
    /// Who made it, once that is known.
    pub caller: OnceLock<Arc<Caller>>,
    /// What its body takes, as long as it is answered.
    pub held: OnceLock<Held>,
}

impl Trail {
    pub fn new(headers: &HeaderMap, method: &'static str, route: &str) -> Self {
        let stated = only(headers, "x-request-id").filter(|id| is_request_id(id));
        Trail {
            request_id: stated.map_or_else(random, str::to_owned),
            trace_id: only(headers, "traceparent").and_then(trace_id).map(str::to_owned),
            method,
            route: route.to_owned(),
            caller: OnceLock::new(),
            held: OnceLock::new(),
        }
    }

    /// What the system asked for.
    #[cfg(unix)]
    pub fn of_signal(name: &'static str) -> Self {
        Trail::new(&HeaderMap::new(), name, "-")
    }

    pub fn header(&self) -> HeaderValue {
        HeaderValue::from_str(&self.request_id).expect("it has letters and digits only")
    }
}

/// A header that is there once.
fn only<'a>(headers: &'a HeaderMap, name: &'static str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

fn is_request_id(id: &str) -> bool {
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=64).contains(&id.len()) && id.bytes().all(is_fit)
}

fn random() -> String {
    format!("{:016x}", getrandom::u64().unwrap_or_default())
}

/// The second part of `version-trace-parent-flags`, if all of it is valid.
fn trace_id(header: &str) -> Option<&str> {
    let mut parts = header.split('-');
    let [version, trace, parent, flags] = [parts.next()?, parts.next()?, parts.next()?, parts.next()?];
    let is_hex = |part: &str, n: usize| {
        part.len() == n && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let is_set = |part: &str| part.bytes().any(|byte| byte != b'0');
    // Later versions may have more parts.
    let is_known = is_hex(version, 2) && version != "ff" && (version != "00" || parts.next().is_none());
    let is_valid =
        is_hex(trace, 32) && is_set(trace) && is_hex(parent, 16) && is_set(parent) && is_hex(flags, 2);
    (is_known && is_valid).then_some(trace)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Those of the specification, and what it forbids.
    #[test]
    fn traces_are_those_of_the_specification() {
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        for (header, is_valid) in [
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", true),
            ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-comes", true),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what", false),
            ("ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false),
            ("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", false),
            ("00-00000000000000000000000000000000-00f067aa0ba902b7-01", false),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", false),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7", false),
            ("00-4bf92f3577b34da6a3ce929d0e0e47-00f067aa0ba902b7-01", false),
            ("", false),
        ] {
            assert_eq!(trace_id(header), is_valid.then_some(trace), "{header}");
        }
    }

    #[test]
    fn a_client_names_its_requests_in_plain_letters() {
        let longest = "x".repeat(64);
        for (id, is_fit) in [
            ("a", true),
            ("A-z_0.9", true),
            (longest.as_str(), true),
            ("", false),
            ("a b", false),
            ("a\"b", false),
            ("é", false),
            (&"x".repeat(65), false),
        ] {
            assert_eq!(is_request_id(id), is_fit, "{id}");
        }
        assert_ne!(random(), random());
    }
}
