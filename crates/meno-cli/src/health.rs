//! `meno health`: whether a server can answer and learn, for those who look after it.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use meno::{Error, Result};
use serde::Deserialize;
use serde_json::json;

use crate::output::print;
use crate::serve::seconds;

const EXAMPLES: &str = "\
Examples:
  meno health                     asks the server of this machine
  meno health 127.0.0.1:9090      the one that `meno serve --admin-listen 127.0.0.1:9090` started
  HEALTHCHECK CMD [\"meno\", \"health\"]    in a Dockerfile

Exit code 0: it answers and can learn. 1: it does not answer, or cannot learn. Where there is no address it is that of
MENO_ADMIN_LISTEN, or MENO_LISTEN, or 127.0.0.1:8080.";

/// What was typed after `meno health`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Where the server listens.
    #[arg(value_name = "ADDRESS")]
    address: Option<String>,
    /// Seconds in which it must answer.
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = seconds)]
    timeout: Duration,
    /// Print the answer of the server.
    #[arg(long)]
    json: bool,
}

/// What `/readyz` answers.
#[derive(Deserialize)]
struct Ready {
    ready: bool,
    learning: bool,
    reason: Option<String>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<ExitCode> {
    let variable = |name| std::env::var(name).ok();
    let address =
        args.address.clone().or_else(|| variable("MENO_ADMIN_LISTEN")).or_else(|| variable("MENO_LISTEN"));
    let address = address.unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let places = address.to_socket_addrs().map_err(|error| Error::Setting {
        problem: format!("`{address}` is no address: {error}"),
        hint: "an address is for example 127.0.0.1:8080".to_owned(),
    })?;
    let answer = places.map(reachable).map(|place| ask(place, Instant::now() + args.timeout));
    let answer = answer.reduce(Result::or).unwrap_or_else(|| Err(io::ErrorKind::NotFound.into()));
    let read = answer.and_then(|body| Ok((serde_json::from_str(&body)?, body)));
    let (is_well, text, json) = match read {
        Ok((Ready { ready: true, learning: true, .. }, body)) => {
            (true, "it answers and can learn".to_owned(), body)
        }
        Ok((Ready { reason, .. }, body)) => {
            let reason = reason.unwrap_or_else(|| "it does not say why".to_owned());
            (false, format!("it answers but cannot learn: {reason}"), body)
        }
        Err(error) => {
            let reason = format!("it does not answer: {error}");
            (
                false,
                reason.clone(),
                json!({ "ready": false, "learning": false, "reason": reason }).to_string(),
            )
        }
    };
    print(if args.json { json } else { format!("{address}: {text}") })?;
    Ok(ExitCode::from(u8::from(!is_well)))
}

/// A server that listens on all addresses is asked on this machine's own.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(if address.is_ipv4() {
            Ipv4Addr::LOCALHOST.into()
        } else {
            Ipv6Addr::LOCALHOST.into()
        });
    }
    address
}

/// The body that `/readyz` answers with.
fn ask(address: SocketAddr, deadline: Instant) -> io::Result<String> {
    let left = || match deadline.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(io::Error::from(io::ErrorKind::TimedOut)),
        left => Ok(left),
    };
    let mut stream = TcpStream::connect_timeout(&address, left()?)?;
    stream.set_write_timeout(Some(left()?))?;
    write!(stream, "GET /readyz HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")?;
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    // More than this is no answer to what was asked.
    while bytes.len() < 1 << 16 {
        stream.set_read_timeout(Some(left()?))?;
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(n) => bytes.extend_from_slice(&piece[..n]),
            // So a system says that there was no time.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(io::ErrorKind::TimedOut.into());
            }
            Err(error) => return Err(error),
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    let is_other = || io::Error::new(io::ErrorKind::InvalidData, "this is not the answer of meno");
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(is_other)?;
    match head.split(' ').nth(1) {
        Some("200") => Ok(body.to_owned()),
        _ => Err(is_other()),
    }
}
