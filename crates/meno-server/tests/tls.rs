//! TLS as clients see it: who is trusted, who is not, and who does not speak it.

mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use meno_server::{Config, Server, TlsFiles};
use rcgen::{CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion};
use support::{Running, config, within};
use tempfile::TempDir;

/// An authority that others trust or not.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Writes a certificate of `localhost` and its key.
    fn issue(&self, files: &TlsFiles) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        std::fs::write(&files.certificate, certificate.pem()).unwrap();
        std::fs::write(&files.key, key.serialize_pem()).unwrap();
    }

    /// What a client that trusts this authority is answered.
    fn get(
        &self,
        server: &Running,
        version: &'static SupportedProtocolVersion,
        path: &str,
    ) -> Result<String, String> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(self.0.der().to_vec())).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[version])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let session = ClientConnection::new(Arc::new(config), "localhost".try_into().unwrap()).unwrap();
        let mut stream = StreamOwned::new(session, connect(server));
        let request = format!("{path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).map_err(|error| error.to_string())?;
        let mut answer = String::new();
        // It fails if the server ends without saying so.
        stream.read_to_string(&mut answer).map_err(|error| error.to_string())?;
        assert_eq!(stream.conn.protocol_version(), Some(version.version));
        Ok(answer)
    }
}

fn connect(server: &Running) -> TcpStream {
    let stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

/// What comes until the server closes the connection.
fn rest(mut stream: TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Err(error) = stream.read_to_end(&mut bytes) {
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    }
    bytes
}

fn files(dir: &TempDir) -> TlsFiles {
    TlsFiles { certificate: dir.path().join("cert.pem"), key: dir.path().join("key.pem") }
}

fn start(files: &TlsFiles, timeout: Duration) -> Running {
    Running::start(Config { tls: Some(files.clone()), timeout, ..config() })
}

#[test]
fn whoever_trusts_the_authority_is_answered() {
    let (dir, authority) = (tempfile::tempdir().unwrap(), Authority::new());
    let files = files(&dir);
    authority.issue(&files);
    let server = start(&files, Duration::from_secs(10));
    for version in [&TLS12, &TLS13] {
        let answer = authority.get(&server, version, "GET /healthz").unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    }
    let error = Authority::new().get(&server, &TLS13, "GET /healthz").unwrap_err();
    assert!(error.contains("UnknownIssuer") || error.contains("BadSignature"), "{error}");
}

/// Longer than a record of TLS.
#[test]
fn a_long_answer_is_whole() {
    let (dir, authority) = (tempfile::tempdir().unwrap(), Authority::new());
    let files = files(&dir);
    authority.issue(&files);
    let server = start(&files, Duration::from_secs(10));
    let answer = authority.get(&server, &TLS13, "GET /openapi.json").unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(&format!("content-length: {}", body.len())), "{head}");
    assert!(body.len() > 20_000 && serde_json::from_str::<serde_json::Value>(body).is_ok());
}

#[test]
fn a_new_certificate_is_shown_and_a_bad_one_is_not() {
    let (dir, old, new) = (tempfile::tempdir().unwrap(), Authority::new(), Authority::new());
    let files = files(&dir);
    old.issue(&files);
    let server = start(&files, Duration::from_secs(10));
    new.issue(&files);
    let answer = old.get(&server, &TLS13, "POST /v1/certificate/reload").unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with(r#"{"certificates":1}"#), "{answer}");
    assert!(old.get(&server, &TLS13, "GET /healthz").is_err());
    std::fs::write(&files.certificate, "nonsense").unwrap();
    let answer = new.get(&server, &TLS13, "POST /v1/certificate/reload").unwrap();
    assert!(answer.starts_with("HTTP/1.1 422 ") && answer.contains("bad_certificate"), "{answer}");
    assert!(new.get(&server, &TLS13, "GET /healthz").is_ok());
}

#[test]
fn who_does_not_speak_tls_is_refused_at_once() {
    let (dir, authority) = (tempfile::tempdir().unwrap(), Authority::new());
    let files = files(&dir);
    authority.issue(&files);
    let server = start(&files, Duration::from_secs(60));
    let start = Instant::now();
    let mut plain = connect(&server);
    plain.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let answer = rest(plain);
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

/// Neither silence nor a byte now and then keeps a place.
#[test]
fn a_handshake_has_the_time_of_a_header() {
    let (dir, authority) = (tempfile::tempdir().unwrap(), Authority::new());
    let files = files(&dir);
    authority.issue(&files);
    let server = start(&files, Duration::from_millis(500));
    let start = Instant::now();
    let silent = connect(&server);
    let mut slow = connect(&server);
    let answer = authority.get(&server, &TLS13, "GET /metrics").unwrap();
    assert!(answer.contains("meno_connections 3"), "{answer}");
    // The head of a record with 256 bytes, which come one by one.
    let mut bytes = [0x16, 3, 1, 1, 0, 1, 0, 0, 252].into_iter().chain(std::iter::repeat(0));
    within(Duration::from_secs(20), || {
        std::thread::sleep(Duration::from_millis(50));
        slow.write_all(&[bytes.next().unwrap()]).is_err()
    });
    assert_eq!(rest(silent), b"");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn a_silent_handshake_does_not_delay_the_end() {
    let (dir, authority) = (tempfile::tempdir().unwrap(), Authority::new());
    let files = files(&dir);
    authority.issue(&files);
    let mut server = start(&files, Duration::from_secs(60));
    let _silent = connect(&server);
    let answer = authority.get(&server, &TLS13, "GET /metrics").unwrap();
    assert!(answer.contains("meno_connections 2"), "{answer}");
    let start = Instant::now();
    server.stop();
    server.join();
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn bad_files_are_named() {
    let (dir, authority) = (tempfile::tempdir().unwrap(), Authority::new());
    let other_dir = tempfile::tempdir().unwrap();
    let (files, others) = (files(&dir), files(&other_dir));
    authority.issue(&files);
    authority.issue(&others);
    let refused = |certificate: &Path, key: &Path| {
        let tls = Some(TlsFiles { certificate: certificate.to_owned(), key: key.to_owned() });
        let error = Server::bind(Config { tls, ..config() }).err().unwrap();
        assert!(error.hint().is_some_and(|hint| !hint.is_empty()), "{error}");
        error.to_string()
    };
    let (certificate, key) = (&files.certificate, &files.key);
    let nonsense = dir.path().join("nonsense");
    std::fs::write(&nonsense, "nonsense").unwrap();
    let broken = dir.path().join("broken");
    std::fs::write(&broken, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").unwrap();
    for (certificate, key, named, problem) in [
        (&dir.path().join("none"), key, "none", "No such file"),
        (certificate, &dir.path().join("none"), "none", "No such file"),
        (&nonsense, key, "nonsense", "there is no certificate in it"),
        (certificate, &nonsense, "nonsense", "there is no private key in it"),
        (&broken, key, "broken", "invalid peer certificate: BadEncoding"),
        (certificate, &others.key, "key.pem", "it is not the key of "),
    ] {
        let shown = refused(certificate, key);
        assert!(shown.contains(&format!("{named}: {problem}")), "{shown}");
    }
}
