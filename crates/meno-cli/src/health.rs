//! `meno health`: whether a server can answer and learn, for those who look after it.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use meno::{Error, Result};
use meno_store::trust::{self, Authorities};
use rustls::pki_types::ServerName;
use rustls::{CertificateError, ClientConfig, ClientConnection, StreamOwned};
use serde::Deserialize;
use serde_json::json;

use crate::memory::told;
use crate::output::{note, print};
use crate::serve::seconds;

const EXAMPLES: &str = "\
Examples:
  meno health                     asks the server of this machine
  meno health 127.0.0.1:9090      the one that `meno serve --admin-listen 127.0.0.1:9090` started
  meno health https://bot.example:8443 --tls-ca authority.pem      one with a certificate
  HEALTHCHECK CMD [\"meno\", \"health\"]    in a Dockerfile

Exit code 0: it answers and can learn. 1: it does not answer, is not trusted, or cannot learn. Where there is no address it is that of
MENO_ADMIN_LISTEN, or MENO_LISTEN, or 127.0.0.1:8080.";

/// What was typed after `meno health`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Where the server listens; with https:// before it if it has a certificate.
    #[arg(value_name = "ADDRESS")]
    address: Option<String>,
    /// A PEM file with the authority that signed the certificate of the server, or that certificate itself; without it those are
    /// trusted whom the system trusts.
    #[arg(long, value_name = "FILE", env = "MENO_TLS_CA")]
    tls_ca: Option<String>,
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
    let no_address = |problem: String| Error::Setting {
        problem: format!("`{address}` is no address: {problem}"),
        hint: "an address is for example 127.0.0.1:8080 or https://localhost:8443".to_owned(),
    };
    let (host, is_secure) = match address.split_once("://") {
        None => (address.as_str(), false),
        Some(("http", host)) => (host.trim_end_matches('/'), false),
        Some(("https", host)) => (host.trim_end_matches('/'), true),
        Some((scheme, _)) => return Err(no_address(format!("{scheme}:// is not known"))),
    };
    let places = host.to_socket_addrs().map_err(|error| no_address(error.to_string()))?;
    let security = match is_secure {
        true => Some(Security::new(host, args.tls_ca.as_deref()).map_err(told)?),
        false => None,
    };
    let ask = |place| ask(place, security.as_ref(), Instant::now() + args.timeout);
    // A name may have several addresses; that nothing listens on one says less than what is wrong with another.
    let either = |one: io::Result<String>, other: io::Result<String>| match (one, other) {
        (Err(one), Err(other)) if other.kind() == io::ErrorKind::ConnectionRefused => Err(one),
        (one, other) => one.or(other),
    };
    let answer = places.map(reachable).map(ask).reduce(either);
    let answer = answer.unwrap_or_else(|| Err(io::ErrorKind::NotFound.into()));
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
            let (problem, hint) = trouble(&error);
            note(format_args!("hint: {hint}"));
            let reason = format!("{problem}: {error}");
            let json = json!({ "ready": false, "learning": false, "reason": reason }).to_string();
            (false, reason, json)
        }
    };
    print(if args.json { json } else { format!("{address}: {text}") })?;
    Ok(ExitCode::from(u8::from(!is_well)))
}

/// What it is that there is no answer, and what helps.
fn trouble(error: &io::Error) -> (&'static str, &'static str) {
    const SILENT: &str = "it does not answer";
    const DISTRUSTED: &str = "its certificate is not trusted";
    let tls = error.get_ref().and_then(|source| source.downcast_ref::<rustls::Error>());
    match (tls, error.kind()) {
        (
            Some(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )),
            _,
        ) => (DISTRUSTED, "call it by a name of the certificate's subjectAltName"),
        (Some(rustls::Error::InvalidCertificate(_)), _) => {
            (DISTRUSTED, "--tls-ca FILE names the certificate of the authority that signed the server's")
        }
        (Some(_), _) => (SILENT, "it may have no TLS: leave out https://"),
        (None, io::ErrorKind::TimedOut) => (SILENT, "--timeout SECONDS waits for longer"),
        (None, io::ErrorKind::InvalidData) => {
            (SILENT, "another program may listen there; a server with a certificate is https://HOST:PORT")
        }
        (None, _) => (SILENT, "`meno serve` starts one; name the address of its --listen or --admin-listen"),
    }
}

/// How a server with a certificate is spoken to.
struct Security {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Security {
    /// For a host with a port.
    fn new(host: &str, authorities: Option<&str>) -> meno_store::Result<Self> {
        let config =
            trust::client(authorities.map_or(Authorities::System, Authorities::File), true, "--tls-ca")?;
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        let name = name.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(name).map_err(|error| Error::Setting {
            problem: format!("`{host}` is no name that a certificate has: {error}"),
            hint: "a name is for example localhost or bot.example".to_owned(),
        })?;
        Ok(Security { config: Arc::new(config), name })
    }
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
fn ask(address: SocketAddr, security: Option<&Security>, deadline: Instant) -> io::Result<String> {
    let stream = TcpStream::connect_timeout(&address, left(deadline)?)?;
    let stream = Timed { stream, deadline };
    match security {
        None => exchange(stream, address),
        Some(Security { config, name }) => {
            let session = ClientConnection::new(config.clone(), name.clone()).map_err(io::Error::other)?;
            exchange(StreamOwned::new(session, stream), address)
        }
    }
}

fn exchange(mut stream: impl Read + Write, address: SocketAddr) -> io::Result<String> {
    write!(stream, "GET /readyz HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")?;
    let mut bytes = Vec::new();
    // More than this is no answer to what was asked.
    stream.take(1 << 16).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let is_other = || io::Error::new(io::ErrorKind::InvalidData, "this is not the answer of meno");
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(is_other)?;
    match head.split(' ').nth(1) {
        Some("200") => Ok(body.to_owned()),
        _ => Err(is_other()),
    }
}

/// The time that is left.
fn left(deadline: Instant) -> io::Result<Duration> {
    match deadline.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
        left => Ok(left),
    }
}

/// A connection on which everything is done by a deadline.
struct Timed {
    stream: TcpStream,
    deadline: Instant,
}

/// So a system says that there was no time.
fn timely<T>(result: io::Result<T>) -> io::Result<T> {
    result.map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
        _ => error,
    })
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(left(self.deadline)?))?;
        timely(self.stream.read(buffer))
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(left(self.deadline)?))?;
        timely(self.stream.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
