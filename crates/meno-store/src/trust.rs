//! Whom a client with TLS trusts: nobody in particular, those whom the system trusts, or the certificates of a file.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::Result;

/// Who may have signed the certificate of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authorities<'a> {
    /// Whoever it is.
    Any,
    /// Those whom the system trusts.
    System,
    /// Those of a PEM file. A certificate that is in the file itself is trusted as it is.
    File(&'a str),
}

/// How a client makes its connections; `option` is what names a file of authorities, for messages.
pub fn client(authorities: Authorities<'_>, verifies_name: bool, option: &str) -> Result<ClientConfig> {
    let (trusted, roots) = match authorities {
        Authorities::Any => (Vec::new(), None),
        Authorities::System => (Vec::new(), Some(system_roots(option)?)),
        Authorities::File(path) => {
            let (trusted, roots) = file_roots(path, option)?;
            (trusted, Some(roots))
        }
    };
    let provider = Arc::new(ring::default_provider());
    let algorithms = provider.signature_verification_algorithms;
    let verifier = Verifier { roots, trusted, verifies_name, algorithms };
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| refused(error.to_string(), String::new()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth())
}

fn system_roots(option: &str) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        let problem = "this system trusts no authorities that a server could be verified by".to_owned();
        let hint = format!("{option}=FILE names a file of them; or install ca-certificates");
        return Err(refused(problem, hint));
    }
    Ok(roots)
}

/// The certificates of a file, and what they are as authorities.
fn file_roots(path: &str, option: &str) -> Result<(Vec<CertificateDer<'static>>, RootCertStore)> {
    let refuse = |problem: String| {
        let hint = "it is a file of certificates of authorities, as PEM".to_owned();
        refused(format!("{option} {path}: {problem}"), hint)
    };
    let bytes = std::fs::read(path).map_err(|error| refuse(error.to_string()))?;
    let certificates = CertificateDer::pem_slice_iter(&bytes).collect::<Result<Vec<_>, _>>();
    let certificates = certificates.map_err(|error| refuse(error.to_string()))?;
    if certificates.is_empty() {
        return Err(refuse("there is no certificate in it".to_owned()));
    }
    let mut roots = RootCertStore::empty();
    for certificate in &certificates {
        roots.add(certificate.clone()).map_err(|error| refuse(error.to_string()))?;
    }
    Ok((certificates, roots))
}

fn refused(problem: String, hint: String) -> crate::Error {
    meno::Error::Setting { problem, hint }.into()
}

/// Verifies what is asked for, and always that the server has the key of its certificate.
#[derive(Debug)]
struct Verifier {
    /// Who may have signed; nobody has to if there are none.
    roots: Option<RootCertStore>,
    /// Certificates that are trusted by themselves: a server's own, signed by itself, is no authority to rustls.
    trusted: Vec<CertificateDer<'static>>,
    verifies_name: bool,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if let Some(roots) = &self.roots {
            let certificate = ParsedCertificate::try_from(end_entity)?;
            if !self.trusted.contains(end_entity) {
                let algorithms = self.algorithms.all;
                verify_server_cert_signed_by_trust_anchor(
                    &certificate,
                    roots,
                    intermediates,
                    now,
                    algorithms,
                )?;
            }
            if self.verifies_name {
                verify_server_name(&certificate, server_name)?;
            }
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
