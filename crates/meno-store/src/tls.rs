//! TLS to PostgreSQL: `sslmode` and `sslrootcert` of an address, as libpq means them.
//!
//! | `sslmode` | encrypted | authority | name |
//! |---|---|---|---|
//! | `disable` | no | | |
//! | `prefer`, if none is given | if the server can | with `sslrootcert` | no |
//! | `require` | yes | with `sslrootcert` | no |
//! | `verify-ca` | yes | yes | no |
//! | `verify-full` | yes | yes | yes |
//!
//! Authorities are those of `sslrootcert`, else those that the system trusts. A Unix socket has no TLS.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use percent_encoding::percent_decode_str;
use rustls::CertificateError;
use rustls::pki_types::{InvalidDnsNameError, ServerName};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;

use crate::trust::{Authorities, client};
use crate::{Error, Result};

/// The authorities that the system trusts, in place of a file of them.
const SYSTEM: &str = "system";

/// What an address says of TLS.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Security {
    mode: SslMode,
    /// Whether it is looked at who signed the certificate, and for whom.
    verifies_authority: bool,
    verifies_name: bool,
    roots: Option<String>,
}

impl Security {
    /// Takes what it says of TLS out of an address.
    pub fn take(url: &str) -> Result<(Self, String)> {
        // A password may have a question mark.
        let credentials = url.find('@').unwrap_or_default();
        let query = url[credentials..].find('?').map_or(url.len(), |at| credentials + at);
        let (mut mode, mut roots, mut others) = (None, None, Vec::new());
        for part in url[query..].trim_start_matches('?').split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let value = || percent_decode_str(value).decode_utf8_lossy().into_owned();
            match name {
                "sslmode" => mode = Some(value()),
                "sslrootcert" => roots = Some(value()).filter(|path| !path.is_empty()),
                _ => others.push(part),
            }
        }
        let rest = match others.is_empty() {
            true => url[..query].to_owned(),
            false => format!("{}?{}", &url[..query], others.join("&")),
        };
        let is_system = roots.as_deref() == Some(SYSTEM);
        let mode = mode.unwrap_or(if is_system { "verify-full" } else { "prefer" }.to_owned());
        if is_system && mode != "verify-full" {
            let problem = format!("sslmode={mode} is too weak for sslrootcert={SYSTEM}");
            return Err(refused(problem, "say sslmode=verify-full"));
        }
        let (ssl_mode, verifies_authority, verifies_name) = match mode.as_str() {
            "disable" => (SslMode::Disable, false, false),
            "prefer" => (SslMode::Prefer, roots.is_some(), false),
            "require" => (SslMode::Require, roots.is_some(), false),
            "verify-ca" => (SslMode::Require, true, false),
            "verify-full" => (SslMode::Require, true, true),
            _ => {
                let problem = format!("`{}` is no sslmode", mode.escape_debug());
                return Err(refused(
                    problem,
                    "there are disable, prefer, require, verify-ca and verify-full",
                ));
            }
        };
        Ok((Security { mode: ssl_mode, verifies_authority, verifies_name, roots }, rest))
    }

    /// Makes connections by a configuration as this says.
    pub fn apply(&self, config: &mut tokio_postgres::Config) -> Result<Tls> {
        // A certificate may be for an address, too.
        if config.get_hosts().is_empty() {
            for address in config.get_hostaddrs().to_vec() {
                config.host(address.to_string());
            }
        }
        let is_socket = config.get_hosts().iter().all(|host| !matches!(host, Host::Tcp(_)));
        config.ssl_mode(if is_socket { SslMode::Disable } else { self.mode });
        let authorities = match (self.verifies_authority && !is_socket, self.roots.as_deref()) {
            (false, _) => Authorities::Any,
            (true, None | Some(SYSTEM)) => Authorities::System,
            (true, Some(path)) => Authorities::File(path),
        };
        let config = client(authorities, self.verifies_name, "sslrootcert")?;
        Ok(Tls(TlsConnector::from(Arc::new(config))))
    }
}

fn refused(problem: String, hint: &str) -> Error {
    meno::Error::Setting { problem, hint: hint.to_owned() }.into()
}

/// Why a handshake failed, if it was for what the other side is: what is wrong, and what helps.
pub(crate) fn distrust(source: &(dyn std::error::Error + 'static)) -> Option<(String, &'static str)> {
    if source.to_string() == "server does not support TLS" {
        return Some(("it has no TLS".to_owned(), "turn on `ssl` there, or say sslmode=prefer"));
    }
    let error = source.downcast_ref::<io::Error>()?.get_ref()?.downcast_ref::<rustls::Error>()?;
    let hint = match error {
        rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => "call it by a name of the certificate's subjectAltName, or say sslmode=verify-ca",
        rustls::Error::InvalidCertificate(_) => {
            "sslrootcert=FILE names the certificate of the authority that signed the server's"
        }
        _ => "",
    };
    Some((error.to_string(), hint))
}

/// Makes the TLS connections of `tokio_postgres`.
#[derive(Clone)]
pub(crate) struct Tls(TlsConnector);

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Tls {
    type Stream = Stream<S>;
    type TlsConnect = Handshake;
    type Error = InvalidDnsNameError;

    fn make_tls_connect(&mut self, host: &str) -> Result<Handshake, InvalidDnsNameError> {
        // A socket has no name, and no use for one.
        let name = if host.is_empty() { "localhost" } else { host };
        Ok(Handshake(self.0.clone(), ServerName::try_from(name)?.to_owned()))
    }
}

pub(crate) struct Handshake(TlsConnector, ServerName<'static>);

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Handshake {
    type Stream = Stream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move { Ok(Stream(self.0.connect(self.1, stream).await?)) })
    }
}

pub(crate) struct Stream<S>(tokio_rustls::client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Stream<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Stream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Stream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_address_says_of_tls_is_taken_out_of_it() {
        let check = |url: &str, left: &str, mode, verifies: [bool; 2], roots: Option<&str>| {
            let (security, rest) = Security::take(url).unwrap();
            let [verifies_authority, verifies_name] = verifies;
            let roots = roots.map(str::to_owned);
            assert_eq!(security, Security { mode, verifies_authority, verifies_name, roots }, "{url}");
            assert_eq!(rest, left, "{url}");
        };
        use SslMode::{Disable, Prefer, Require};
        check("postgres://h/d", "postgres://h/d", Prefer, [false; 2], None);
        check("postgres://h/d?sslmode=disable&user=a", "postgres://h/d?user=a", Disable, [false; 2], None);
        check("postgres://a:?@h/d?sslmode=require", "postgres://a:?@h/d", Require, [false; 2], None);
        let roots = "sslrootcert=/a%20b.pem";
        let roots = |mode: &str| format!("postgres://h?{roots}{mode}");
        let file = Some("/a b.pem");
        check(&roots(""), "postgres://h", Prefer, [true, false], file);
        check(&roots("&sslmode=require"), "postgres://h", Require, [true, false], file);
        check(&roots("&sslmode=verify-ca"), "postgres://h", Require, [true, false], file);
        check(&roots("&sslmode=verify-full"), "postgres://h", Require, [true, true], file);
        check("postgres://h?sslmode=verify-full", "postgres://h", Require, [true, true], None);
        check("postgres://h?sslrootcert=system", "postgres://h", Require, [true, true], Some("system"));
        for (url, problem) in [
            ("postgres://h?sslmode=full", "`full` is no sslmode"),
            ("postgres://h?sslmode=require&sslrootcert=system", "sslmode=require is too weak for"),
        ] {
            let error = Security::take(url).unwrap_err();
            assert!(error.to_string().starts_with(problem) && error.hint().is_some(), "{error}");
        }
    }
}
