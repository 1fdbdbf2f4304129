//! TLS: the certificate that the server shows, read again when it is told to, and connections that begin with a handshake.

use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::task::{Context, Poll, ready};

use meno::{Error, Result};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::server::TlsStream;
use tokio_rustls::{Accept, TlsAcceptor};

/// Where the certificate of a server is, both as PEM.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate, and after it those that lead to an authority.
    pub certificate: PathBuf,
    /// Its private key: PKCS#8, SEC1 or PKCS#1.
    pub key: PathBuf,
}

impl TlsFiles {
    /// The files as a configuration, and how many certificates there are.
    fn read(&self) -> Result<(ServerConfig, usize)> {
        let (certificate, key) = (&self.certificate, &self.key);
        let chain = CertificateDer::pem_slice_iter(&bytes(certificate)?).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|error| refused(certificate, &error.to_string(), CERTIFICATE))?;
        if chain.is_empty() {
            return Err(refused(certificate, "there is no certificate in it", CERTIFICATE));
        }
        let n_certificates = chain.len();
        let der = PrivateKeyDer::from_pem_slice(&bytes(key)?)
            .map_err(|_| refused(key, "there is no private key in it", KEY))?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, der));
        let mut config = config.map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => {
                let problem = format!("it is not the key of {}", certificate.display());
                refused(key, &problem, "the first certificate in its file must be the one of the key")
            }
            rustls::Error::InvalidCertificate(_) => refused(certificate, &error.to_string(), CERTIFICATE),
            error => refused(key, &error.to_string(), KEY),
        })?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok((config, n_certificates))
    }
}

const CERTIFICATE: &str = "a certificate is PEM: it begins with -----BEGIN CERTIFICATE-----";
const KEY: &str = "a key is PEM: PRIVATE KEY, EC PRIVATE KEY or RSA PRIVATE KEY, without a passphrase";

fn bytes(path: &Path) -> Result<Vec<u8>> {
    let hint = "the certificate and its key are files that the server may read";
    std::fs::read(path).map_err(|error| refused(path, &error.to_string(), hint))
}

fn refused(path: &Path, problem: &str, hint: &str) -> Error {
    Error::Setting { problem: format!("{}: {problem}", path.display()), hint: hint.to_owned() }
}

/// What a server shows to whoever connects.
pub(crate) struct Tls {
    files: TlsFiles,
    config: RwLock<Arc<ServerConfig>>,
}

impl Tls {
    pub fn new(files: TlsFiles) -> Result<Self> {
        let (config, _) = files.read()?;
        Ok(Tls { files, config: RwLock::new(Arc::new(config)) })
    }

    /// Reads the files again; what was shown stays if that fails. How many certificates there are.
    pub fn reload(&self) -> Result<usize> {
        let (config, n_certificates) = self.files.read()?;
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
        Ok(n_certificates)
    }

    pub fn accept<S: Duplex>(&self, stream: S) -> Stream<S> {
        let config = self.config.read().unwrap_or_else(PoisonError::into_inner).clone();
        Stream::Handshake(Box::new(TlsAcceptor::from(config).accept(stream)))
    }
}

/// What can be read and written.
pub(crate) trait Duplex: AsyncRead + AsyncWrite + Unpin {}

impl<S: AsyncRead + AsyncWrite + Unpin> Duplex for S {}

/// A connection with TLS or without.
pub(crate) enum Stream<S> {
    Plain(S),
    /// It is a part of the first read, so that the time for a header is the time for both.
    Handshake(Box<Accept<S>>),
    Secure(Box<TlsStream<S>>),
    /// The handshake failed.
    Closed,
}

impl<S: Duplex> Stream<S> {
    /// What is read and written, after the handshake.
    fn open(&mut self, context: &mut Context<'_>) -> Poll<io::Result<&mut dyn Duplex>> {
        if let Stream::Handshake(handshake) = self {
            let done = ready!(Pin::new(handshake).poll(context));
            *self = Stream::Closed;
            *self = Stream::Secure(Box::new(done?));
        }
        Poll::Ready(match self {
            Stream::Plain(stream) => Ok(stream),
            Stream::Secure(stream) => Ok(stream),
            Stream::Handshake(_) | Stream::Closed => Err(io::ErrorKind::NotConnected.into()),
        })
    }

    fn has_begun(&self) -> bool {
        matches!(self, Stream::Plain(_) | Stream::Secure(_))
    }
}

impl<S: Duplex> AsyncRead for Stream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(ready!(self.open(context))?).poll_read(context, buffer)
    }
}

impl<S: Duplex> AsyncWrite for Stream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(ready!(self.open(context))?).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(ready!(self.open(context))?).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.has_begun() {
            return Poll::Ready(Ok(()));
        }
        Pin::new(ready!(self.open(context))?).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Nobody waits for a handshake to end a connection.
        if !self.has_begun() {
            return Poll::Ready(Ok(()));
        }
        Pin::new(ready!(self.open(context))?).poll_shutdown(context)
    }
}
