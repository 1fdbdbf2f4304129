//! TLS to PostgreSQL: what each `sslmode` lets through.

mod support;

use std::net::TcpListener;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use meno_store::{Access, Error, open};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use support::Server;
use tempfile::TempDir;

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A database on a port, and a folder `ROOT` with certificates.
struct Setup {
    server: Server,
    port: u16,
    dir: TempDir,
}

impl Setup {
    fn new() -> Option<Setup> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Some(Setup { server: Server::start_on(port)?, port, dir: tempfile::tempdir().unwrap() })
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Makes the database show a certificate, and waits until it does.
    fn show(&self, certificate: &str, key: &KeyPair) {
        let certificate = self.write("server.crt", certificate);
        self.server.secure(&certificate, &self.write("server.key", &key.serialize_pem()));
        self.wait_for("SHOW ssl", "on");
        // The process that takes connections may be told after the one that answered.
        std::thread::sleep(Duration::from_millis(500));
    }

    fn ask(&self, sql: &str) -> String {
        let mut client = postgres::Client::connect(&self.server.address, postgres::NoTls).unwrap();
        client.query_one(sql, &[]).unwrap().get(0)
    }

    fn wait_for(&self, sql: &str, answer: &str) {
        let start = Instant::now();
        while self.ask(sql) != answer {
            assert!(start.elapsed() < Duration::from_secs(20), "{sql} is not {answer}");
        }
    }

    /// Whether the way to the store is encrypted; else why it is not opened.
    fn open(&self, host: &str, options: &str) -> Result<bool, Error> {
        let options = options.replace("ROOT", self.dir.path().to_str().unwrap());
        let port = self.port;
        let store = open(&format!("postgres://meno@{host}:{port}/postgres?{options}"), Access::Create)?;
        let ours = "FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'meno'";
        let is_secure = self.ask(&format!("SELECT bool_or(ssl)::text {ours}")) == "true";
        drop(store);
        // The database forgets a connection a little after it ends.
        self.wait_for(&format!("SELECT count(*)::text {ours}"), "0");
        Ok(is_secure)
    }

    fn check(&self, host: &str, options: &str, expected: Result<bool, &str>) {
        match (self.open(host, options), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{host} {options}"),
            (Err(error), Err(expected)) => {
                assert!(error.to_string().contains(expected), "{host} {options}: {error}");
                assert!(error.hint().is_some_and(|hint| !hint.is_empty()), "{host} {options}: {error}");
            }
            (found, expected) => panic!("{host} {options}: {found:?}, not {expected:?}"),
        }
    }
}

#[test]
fn each_mode_lets_through_what_libpq_does() {
    let Some(setup) = Setup::new() else { return };
    let (right, wrong) = (authority(), authority());
    setup.write("right.pem", &right.pem());
    setup.write("wrong.pem", &wrong.pem());
    setup.write("nonsense.pem", "nonsense");

    setup.check("localhost", "", Ok(false));
    let no_tls = Err("is not trusted: it has no TLS");
    for mode in ["require", "verify-ca&sslrootcert=ROOT/right.pem", "verify-full&sslrootcert=ROOT/right.pem"]
    {
        setup.check("localhost", &format!("sslmode={mode}"), no_tls);
    }
    setup.check("localhost", "sslmode=maybe", Err("`maybe` is no sslmode"));
    for (name, problem) in [("none.pem", "No such file"), ("nonsense.pem", "there is no certificate in it")] {
        let options = format!("sslmode=verify-ca&sslrootcert=ROOT/{name}");
        setup.check("localhost", &options, Err(&format!("{name}: {problem}")));
    }

    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    setup.show(&params.signed_by(&key, &right).unwrap().pem(), &key);
    setup.check("localhost", "", Ok(true));
    setup.check("localhost", "sslmode=disable", Ok(false));
    setup.check("127.0.0.1", "sslmode=require", Ok(true));
    for mode in ["require", "verify-ca", "verify-full"] {
        let with = |name: &str| format!("sslmode={mode}&sslrootcert=ROOT/{name}");
        setup.check("localhost", &with("right.pem"), Ok(true));
        setup.check("localhost", &with("wrong.pem"), Err("is not trusted: invalid peer certificate"));
    }
    setup.check("127.0.0.1", "sslmode=verify-ca&sslrootcert=ROOT/right.pem", Ok(true));
    let name =
        "certificate not valid for name \"127.0.0.1\"; certificate is only valid for DnsName(\"localhost\")";
    setup.check("127.0.0.1", "sslmode=verify-full&sslrootcert=ROOT/right.pem", Err(name));
    // A socket needs none of it.
    assert!(open(&format!("{}&sslmode=verify-full", setup.server.address), Access::Create).is_ok());
}

/// A server's own certificate, signed by itself, is trusted where it is named, and for its name only.
#[test]
fn a_certificate_without_an_authority_is_trusted_where_it_is_named() {
    let Some(setup) = Setup::new() else { return };
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let own = params.self_signed(&key).unwrap().pem();
    setup.write("own.pem", &own);
    setup.write("other.pem", &authority().pem());
    setup.show(&own, &key);
    setup.check("localhost", "sslmode=verify-full&sslrootcert=ROOT/own.pem", Ok(true));
    setup.check("127.0.0.1", "sslmode=verify-full&sslrootcert=ROOT/own.pem", Err("not valid for name"));
    setup.check(
        "localhost",
        "sslmode=verify-full&sslrootcert=ROOT/other.pem",
        Err("invalid peer certificate"),
    );
}

/// Those whom the system trusts did not sign it; where the system trusts nobody, that is said.
#[test]
fn the_system_does_not_trust_a_stranger() {
    let Some(setup) = Setup::new() else { return };
    let (issuer, key) = (authority(), KeyPair::generate().unwrap());
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    setup.show(&params.signed_by(&key, &issuer).unwrap().pem(), &key);
    for options in ["sslmode=verify-full", "sslrootcert=system", "sslmode=verify-ca"] {
        let error = setup.open("localhost", options).unwrap_err().to_string();
        assert!(error.contains("UnknownIssuer") || error.contains("trusts no authorities"), "{error}");
    }
}
