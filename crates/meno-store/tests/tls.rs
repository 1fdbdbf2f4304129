//! TLS to PostgreSQL: what each `sslmode` lets through.

mod support;

use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use meno_store::{Access, Error, open};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use support::Server;

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Makes the server show a certificate, and waits until it does.
fn show(server: &Server, dir: &Path, certificate: &str, key: &KeyPair) {
    let [certificate_path, key_path] = ["server.crt", "server.key"].map(|name| dir.join(name));
    std::fs::write(&certificate_path, certificate).unwrap();
    std::fs::write(&key_path, key.serialize_pem()).unwrap();
    server.secure(&certificate_path, &key_path);
    let start = Instant::now();
    while ask(server, "SHOW ssl") != "on" {
        assert!(start.elapsed() < Duration::from_secs(20), "TLS is not on");
    }
    // Its children are told one after the other; the one that listens is the first.
    std::thread::sleep(Duration::from_millis(200));
}

fn ask(server: &Server, sql: &str) -> String {
    let mut client = postgres::Client::connect(&server.address, postgres::NoTls).unwrap();
    client.query_one(sql, &[]).unwrap().get(0)
}

#[test]
fn each_mode_lets_through_what_libpq_does() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let Some(server) = Server::start_on(port) else { return };
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    let (right, wrong) = (authority(), authority());
    write("right.pem", &right.pem());
    write("wrong.pem", &wrong.pem());
    write("nonsense.pem", "nonsense");

    // Whether the store is opened through TLS; else why not.
    let address = |host: &str, options: &str| {
        let options = options.replace("ROOT/", &format!("{}/", dir.path().display()));
        format!("postgres://meno@{host}:{port}/postgres?{options}")
    };
    let opened = |host: &str, options: &str| {
        let store = open(&address(host, options), Access::Create)?;
        let sql = "SELECT bool_or(ssl)::text FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'meno'";
        let is_secure = ask(&server, sql) == "true";
        drop(store);
        // The database forgets a connection a little after it ends.
        let start = Instant::now();
        while ask(&server, "SELECT count(*)::text FROM pg_stat_activity WHERE application_name = 'meno'")
            != "0"
        {
            assert!(start.elapsed() < Duration::from_secs(20));
        }
        Ok::<bool, Error>(is_secure)
    };
    let check =
        |host: &str, options: &str, expected: Result<bool, &str>| match (opened(host, options), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{host} {options}"),
            (Err(error), Err(expected)) => {
                assert!(error.to_string().contains(expected), "{host} {options}: {error}");
                assert!(error.hint().is_some_and(|hint| !hint.is_empty()), "{host} {options}: {error}");
            }
            (found, expected) => panic!("{host} {options}: {found:?}, not {expected:?}"),
        };

    check("localhost", "", Ok(false));
    check("localhost", "sslmode=disable", Ok(false));
    for mode in ["require", "verify-ca&sslrootcert=ROOT/right.pem", "verify-full&sslrootcert=ROOT/right.pem"]
    {
        check("localhost", &format!("sslmode={mode}"), Err("is not trusted: it has no TLS"));
    }
    check("localhost", "sslmode=maybe", Err("`maybe` is no sslmode"));
    check("localhost", "sslmode=verify-ca&sslrootcert=ROOT/none.pem", Err("none.pem: No such file"));
    check(
        "localhost",
        "sslmode=verify-ca&sslrootcert=ROOT/nonsense.pem",
        Err("there is no certificate in it"),
    );

    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    show(&server, dir.path(), &params.signed_by(&key, &right).unwrap().pem(), &key);
    check("localhost", "", Ok(true));
    check("localhost", "sslmode=disable", Ok(false));
    check("127.0.0.1", "sslmode=require", Ok(true));
    for mode in ["require", "verify-ca", "verify-full"] {
        check("localhost", &format!("sslmode={mode}&sslrootcert=ROOT/right.pem"), Ok(true));
        check(
            "localhost",
            &format!("sslmode={mode}&sslrootcert=ROOT/wrong.pem"),
            Err("is not trusted: invalid peer certificate"),
        );
    }
    check("127.0.0.1", "sslmode=verify-ca&sslrootcert=ROOT/right.pem", Ok(true));
    let name =
        "certificate not valid for name \"127.0.0.1\"; certificate is only valid for DnsName(\"localhost\")";
    check("127.0.0.1", "sslmode=verify-full&sslrootcert=ROOT/right.pem", Err(name));
    // No authority of the system signed it.
    let unknown = "invalid peer certificate: UnknownIssuer";
    check("localhost", "sslmode=verify-full&sslrootcert=system", Err(unknown));

    // A server's own certificate, signed by itself, is trusted where it is named.
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let own = params.self_signed(&key).unwrap().pem();
    write("own.pem", &own);
    show(&server, dir.path(), &own, &key);
    check("localhost", "sslmode=verify-full&sslrootcert=ROOT/own.pem", Ok(true));
    check("localhost", "sslmode=verify-full&sslrootcert=ROOT/right.pem", Err("invalid peer certificate"));
    check("127.0.0.1", "sslmode=verify-full&sslrootcert=ROOT/own.pem", Err("not valid for name"));
    // A socket needs none of it.
    let socket = server.address.clone() + "&sslmode=verify-full";
    assert!(open(&socket, Access::Create).is_ok());
}
