//! `meno serve` and `meno token` as they are typed: the start, signals, refusals.

#[path = "../../../tests/left_out.rs"]
mod left_out;
mod serving;
mod support;

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use left_out::left_out;
use serde_json::Value;
use serving::{Serving, kept, with_model};
use support::{meno, run};

#[test]
fn it_serves_until_it_is_told_to_end() {
    let dir = with_model();
    for signal in ["TERM", "INT"] {
        let mut server = Serving::start(dir.path(), "");
        assert!(server.line().starts_with("concepts are forgotten"));
        let answer = server.annotate("weather in new york");
        assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains("\"city\""), "{answer}");
        server.signal(signal);
        let (status, rest) = server.end();
        assert_eq!((status.code(), rest.as_str()), (Some(0), ""));
    }
}

#[test]
fn hangup_loads_the_model_again() {
    let dir = with_model();
    let mut server = Serving::start(dir.path(), "--store c.db");
    fs::copy(kept("format-1.meno"), dir.path().join("m")).unwrap();
    server.signal("HUP");
    assert_eq!(server.line(), "m: loaded again\n");
    assert!(server.send("GET /v1/model HTTP/1.1", "").contains(r#""architecture":"slot-gated""#));
    fs::write(dir.path().join("m"), "nonsense").unwrap();
    server.signal("HUP");
    assert!(server.line().starts_with("the old model stays: m:"));
    assert!(server.annotate("play").starts_with("HTTP/1.1 200 OK"));
    server.signal("TERM");
    assert_eq!(server.end().0.code(), Some(0));
}

#[test]
fn the_log_has_no_text_unless_asked_for() {
    let dir = with_model();
    for (args, has_text) in [("--log", false), ("--log --log-text", true)] {
        let mut server = Serving::start(dir.path(), &format!("--store c.db {args}"));
        server.annotate("play secret song");
        server.send("GET /v1/concepts?query=secret HTTP/1.1", "");
        server.send("GET /secret HTTP/1.1", "");
        let line = server.line();
        assert!(line.starts_with("POST /v1/annotate 200 "), "{line}");
        assert_eq!(line.contains("\"play secret song\""), has_text, "{line}");
        server.signal("TERM");
        assert!(!server.end().1.contains("secret"));
    }
    assert!(run(dir.path(), "serve m --log-text").starts_with("exit 2"));
}

#[test]
fn it_refuses_what_is_not_safe_or_not_there() {
    let dir = with_model();
    for (args, problem, hint) in [
        (
            "serve m --listen 0.0.0.0:0",
            "0.0.0.0:0 can be reached by others, and there are no tokens",
            "meno token",
        ),
        ("serve none", "none: there is no such file", "meno train"),
        ("serve m --listen nowhere", "`nowhere` is no address", "127.0.0.1:8080"),
        ("serve m --tokens none", "cannot read none", ""),
        ("serve m --tokens m", "cannot read m", "UTF-8"),
        ("serve m --store m", "m is not a concept store", ""),
        ("token anna sing", "`sing` is no right", "read, teach, metrics and admin"),
        ("token * read", "`*` is no name of an owner", "anna"),
        ("token anna read --expires soon", "`soon` is no time", "2027-01-31"),
        ("token anna read --expires 2020-01-31", "expires at 2020-01-31T00:00:00Z", "to come"),
        ("token anna read --rate 0", "`0` is no number of requests a second", "20"),
        ("token anna read --quota 0", "`0` is no number of requests a day", "5000"),
        ("token --list --tokens none", "cannot read none", ""),
        ("serve m --audit none/audit", "none/audit", ""),
        ("health nowhere", "`nowhere` is no address", "127.0.0.1:8080"),
        ("health ftp://127.0.0.1:1", "ftp:// is not known", "https://"),
        ("health https://127.0.0.1:1 --tls-ca none", "--tls-ca none: No such file", "PEM"),
        ("health https://127.0.0.1:1 --tls-ca m", "--tls-ca m: there is no certificate in it", "PEM"),
        ("serve m --rate 0", "`0` is no number of requests a second", "hint: there may be 0.001"),
        ("serve m --rate x", "`x` is no number of requests a second", "hint: there may be 0.001"),
        ("serve m --timeout soon", "`soon` is no number of seconds", "hint: there may be 0.001"),
        ("health --timeout 0", "`0` is no number of seconds", "hint: there may be 0.001"),
        ("health 127.0.0.1", "`127.0.0.1` is no address", "127.0.0.1:8080"),
        ("serve m --owner *", "`*` is no name of an owner", "hint: "),
        ("serve m --store none/c.db", "its folder is not there", "hint: name a file"),
        ("memory erase --owner *", "`*` is no name of an owner", "hint: "),
        ("memory erase --owner=", "`` is no name of an owner", "hint: a name is not empty"),
        ("memory export --owner * --as everything", "`*` is no name of an owner", "hint: "),
    ] {
        let shown = run(dir.path(), args);
        assert!(shown.starts_with("exit 2\n---\nerror: "), "{args}: {shown}");
        assert!(shown.contains(problem) && shown.contains(hint), "{args}: {shown}");
    }
    let output = meno(dir.path(), "serve m").env("MENO_TOKENS", "nonsense").output().unwrap();
    assert_eq!(output.status.code(), Some(2), "a bad variable is not passed over");
}

#[test]
fn tokens_are_made_and_taken() {
    let dir = with_model();
    let make = |args: &str| {
        let output = meno(dir.path(), args).output().unwrap();
        assert!(output.status.success());
        [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap().trim().to_owned())
    };
    let [anna, note] = make("token anna read --tokens t");
    assert_eq!(note, "");
    let [ben, note] = make("token ben read,teach --tokens t");
    assert_eq!(note, "");
    let file = fs::read_to_string(dir.path().join("t")).unwrap();
    assert!(file.starts_with("anna read ") && file.lines().count() == 2, "{file}");
    assert!(!file.contains(&anna) && !file.contains(&ben));
    let [root, note] = make("token root admin");
    let line = note.rsplit_once(": ").unwrap().1.to_owned();

    let status = |server: &Serving, token: &str| {
        let request = format!("GET /v1/model HTTP/1.1\r\nauthorization: Bearer {token}");
        server.send(&request, "").split(' ').nth(1).unwrap().to_owned()
    };
    let server = Serving::start(dir.path(), "--tokens t --store c.db");
    assert_eq!([&anna, &ben, &root].map(|token| status(&server, token)), ["200", "200", "401"]);
    server.signal("TERM");
    server.end();

    let mut command = meno(dir.path(), "serve m --listen 127.0.0.1:0 --store c.db");
    command.env("MENO_TOKENS", line);
    let server = Serving::run(command);
    assert_eq!([&anna, &ben, &root].map(|token| status(&server, token)), ["401", "401", "200"]);
    server.signal("TERM");
    server.end();
}

#[test]
fn the_log_is_json_for_programs() {
    let dir = with_model();
    for (args, text) in [("--log json", Value::Null), ("--log json --log-text", "play secret song".into())] {
        let mut server = Serving::start(dir.path(), args);
        let mut line = || -> Value { serde_json::from_str(&server.line()).unwrap() };
        assert!(line()["message"].as_str().unwrap().starts_with("concepts are forgotten"));
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let names = format!("x-request-id: a.1\r\ntraceparent: {parent}");
        let request = format!("POST /v1/annotate HTTP/1.1\r\n{names}");
        let answer = server.send(&request, r#"{"text": "play secret song"}"#);
        assert!(answer.contains("\r\nx-request-id: a.1\r\n"), "{answer}");
        let mut line = || -> Value { serde_json::from_str(&server.line()).unwrap() };
        let line = line();
        assert_eq!((&line["level"], &line["request_id"]), (&"info".into(), &"a.1".into()), "{line}");
        assert_eq!(line["trace_id"], "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!((&line["method"], &line["route"]), (&"POST".into(), &"/v1/annotate".into()));
        assert_eq!((&line["status"], &line["text"]), (&200.into(), &text));
        assert!(line["milliseconds"].is_f64() && line["time"].as_str().unwrap().ends_with('Z'), "{line}");
        server.signal("TERM");
        assert_eq!(server.end().0.code(), Some(0));
    }
}

#[test]
fn hangup_opens_the_audit_log_again() {
    let dir = with_model();
    let mut server = Serving::start(dir.path(), "--store c.db --audit a");
    let teach = |server: &Serving, phrase: &str| {
        let body = format!(r#"{{"phrase": "{phrase}", "slot": "city"}}"#);
        assert!(server.send("POST /v1/concepts HTTP/1.1", &body).starts_with("HTTP/1.1 201"));
    };
    let actions = |name: &str| -> Vec<String> {
        let text = fs::read_to_string(dir.path().join(name)).unwrap();
        let action =
            |line| serde_json::from_str::<Value>(line).unwrap()["action"].as_str().unwrap().to_owned();
        text.lines().map(action).collect()
    };
    teach(&server, "one");
    fs::rename(dir.path().join("a"), dir.path().join("a.1")).unwrap();
    teach(&server, "two");
    server.signal("HUP");
    assert_eq!(server.line(), "m: loaded again\n");
    teach(&server, "three");
    assert_eq!(
        (actions("a.1").join(" "), actions("a").join(" ")),
        ("teach teach".into(), "reload teach".into())
    );
    server.signal("TERM");
    server.end();
}

#[test]
fn tokens_that_are_made_at_once_are_all_kept() {
    let dir = with_model();
    let path = dir.path().join("t");
    let make = |n: usize| {
        let args = format!("token u{n} read --tokens t --days 90 --rate 20 --quota 500");
        meno(dir.path(), &args).stdout(Stdio::null()).spawn()
    };
    let mut running: Vec<Child> = (0..8).map(|n| make(n).unwrap()).collect();
    assert!(running.iter_mut().all(|child| child.wait().unwrap().success()));
    let file = fs::read_to_string(&path).unwrap();
    assert_eq!(file.lines().count(), 8, "{file}");
    let listed = run(dir.path(), "token --list --tokens t");
    for n in 0..8 {
        let line = file.lines().find(|line| line.starts_with(&format!("u{n} "))).unwrap();
        let hash = line.split(' ').nth(2).unwrap();
        assert!(listed.contains(&line.replace(hash, &hash[..8])), "{listed}");
        assert!(line.contains(" expires=20") && line.ends_with("Z rate=20 quota=500"), "{line}");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        make(8).unwrap().wait().unwrap();
        assert_eq!(mode(), 0o640);
    }
    fs::write(&path, "anna read 00 colour=red").unwrap();
    assert!(run(dir.path(), "token --list --tokens t").contains("t:1: "));
}

#[test]
fn options_stand_in_the_environment_too() {
    let dir = with_model();
    let [_, token] = ["anna", "ben"].map(|name| {
        let output = meno(dir.path(), &format!("token {name} read,teach --tokens t")).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    });
    let mut command = meno(dir.path(), "serve --max-text 10");
    command.envs([
        ("MENO_MODEL", "m"),
        ("MENO_LISTEN", "127.0.0.1:0"),
        ("MENO_STORE", "c.db"),
        ("MENO_TOKENS_FILE", "t"),
        ("MENO_MAX_TEXT", "20"),
        ("MENO_MAX_BATCH", "1"),
        ("MENO_LOG", "json"),
        ("MENO_LOG_TEXT", "1"),
        ("MENO_MISSPELLINGS", "yes"),
    ]);
    let mut server = Serving::run(command);
    let annotate = |server: &Serving, body: &str| {
        server.send(&format!("POST /v1/annotate HTTP/1.1\r\nauthorization: Bearer {token}"), body)
    };
    assert!(annotate(&server, r#"{"text": "play"}"#).starts_with("HTTP/1.1 200"));
    assert!(server.line().contains(r#""text":"play""#));
    // What is typed wins.
    assert!(annotate(&server, r#"{"text": "play play play"}"#).contains("too_long"));
    assert!(annotate(&server, r#"{"texts": ["play", "play"]}"#).contains("too_many"));
    server.signal("TERM");
    server.end();

    for (name, value) in
        [("MENO_QUEUE", "many"), ("MENO_TIMEOUT", "never"), ("MENO_LOG_TEXT", "perhaps"), ("MENO_RATE", "0")]
    {
        let shown = support::shown(&meno(dir.path(), "serve m").env(name, value).output().unwrap());
        assert!(shown.starts_with("exit 2") && shown.contains(name) && shown.contains(value), "{shown}");
    }
    let shown =
        support::shown(&meno(dir.path(), "serve m --queue many").env("MENO_QUEUE", "1").output().unwrap());
    assert!(shown.contains("'--queue <N>'") && !shown.contains("MENO_QUEUE"), "{shown}");
    let help = meno(dir.path(), "serve --help")
        .env("MENO_STORE", "postgres://anna:secret@db/meno")
        .output()
        .unwrap();
    let help = support::shown(&help);
    assert!(!help.contains("secret"), "{help}");
    let (options, _) = help.split_once("\nExamples:").unwrap();
    let names = options.lines().filter_map(|line| line.trim().strip_prefix("--")?.split(' ').next());
    let names: Vec<&str> = names.filter(|name| !["color", "help"].contains(name)).collect();
    assert!(names.len() >= 29, "{names:?}");
    for name in names {
        let variable = match name {
            "tokens" => "TOKENS_FILE".to_owned(),
            name => name.replace('-', "_").to_uppercase(),
        };
        assert!(help.contains(&format!("[env: MENO_{variable}")), "{name}: {help}");
    }
}

#[test]
fn health_is_asked_for() {
    let dir = with_model();
    let server = Serving::start(dir.path(), "--store c.db");
    let address = server.address.clone();
    let shown = run(dir.path(), &format!("health {address}"));
    assert_eq!(shown, format!("exit 0\n{address}: it answers and can learn\n---\n"));
    let mut command = meno(dir.path(), "health --json");
    command.env("MENO_LISTEN", address.replace("127.0.0.1", "0.0.0.0"));
    let shown = support::shown(&command.output().unwrap());
    assert_eq!(shown, "exit 0\n{\"learning\":true,\"ready\":true}\n---\n");
    fs::remove_file(dir.path().join("c.db")).unwrap();
    let start = Instant::now();
    let shown = loop {
        let shown = run(dir.path(), &format!("health {address}"));
        if shown.starts_with("exit 1") || start.elapsed() > Duration::from_secs(20) {
            break shown;
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    let reason = "it answers but cannot learn: the store cannot be reached or written to";
    assert_eq!(shown, format!("exit 1\n{address}: {reason}\n---\n"));
    server.signal("TERM");
    server.end();
    let shown = run(dir.path(), &format!("health {address}"));
    assert!(shown.starts_with(&format!("exit 1\n{address}: it does not answer: ")), "{shown}");
    assert!(shown.contains("\n---\nhint: `meno serve` starts one"), "{shown}");

    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let start = Instant::now();
    let shown = run(dir.path(), &format!("health --timeout 0.2 --json {}", silent.local_addr().unwrap()));
    assert!(shown.starts_with("exit 1\n{") && shown.contains("timed out"), "{shown}");
    assert!(start.elapsed() < Duration::from_secs(5));
}

/// How `meno health` is called, with which code it ends and what it says.
const HEALTH: [(&str, u8, &str); 5] = [
    ("https://localhost:PORT --tls-ca cert.pem", 0, ": it answers and can learn"),
    ("https://localhost:PORT/ --tls-ca other.pem", 1, "its certificate is not trusted: "),
    ("https://localhost:PORT --tls-ca other.pem", 1, "hint: --tls-ca FILE names"),
    ("https://127.0.0.1:PORT --tls-ca cert.pem", 1, "hint: call it by a name"),
    ("http://127.0.0.1:PORT", 1, "it does not answer: "),
];

/// Keys as `openssl` writes them, and a client that is not ours.
#[test]
fn curl_trusts_whom_it_is_told_to() {
    let has = |program: &str| Command::new(program).arg("version").stdout(Stdio::null()).status().is_ok();
    if !has("openssl") || !has("curl") {
        return left_out("TLS with curl", "there is no openssl or no curl");
    }
    let dir = with_model();
    let sh = |script: &str| {
        let output = Command::new("sh").args(["-ec", script]).current_dir(dir.path()).output().unwrap();
        (output.status.success(), support::shown(&output))
    };
    let keys = [
        "openssl ecparam -name prime256v1 -genkey -noout -out key.pem",
        "openssl genrsa -traditional -out key.pem 2048",
        "openssl genpkey -algorithm ed25519 -out key.pem",
    ];
    let make =
        "openssl req -x509 -new -key key.pem -subj /CN=meno -addext subjectAltName=DNS:localhost -days 2";
    sh(&format!("{}; {make} -out other.pem", keys[0]));
    let mut server: Option<Serving> = None;
    for key in keys {
        let (is_made, shown) = sh(&format!("{key}; {make} -out cert.pem"));
        assert!(is_made, "{shown}");
        let server = match &mut server {
            None => server.insert(Serving::start(
                dir.path(),
                "--store c.db --tls-cert cert.pem --tls-key key.pem --admin-listen 127.0.0.1:0",
            )),
            Some(server) => {
                server.signal("HUP");
                assert_eq!(server.line(), "the certificate was read again\n");
                assert_eq!(server.line(), "m: loaded again\n");
                server
            }
        };
        let port = server.address.rsplit_once(':').unwrap().1;
        let get =
            |options: &str, url: &str| sh(&format!("curl -sS --fail -m 20 {options} {url}:{port}/readyz"));
        let (is_trusted, shown) = get("--cacert cert.pem", "https://localhost");
        assert!(is_trusted && shown.contains("\"learning\":true"), "{key}: {shown}");
        for (options, url) in [
            ("--cacert other.pem", "https://localhost"),
            ("--cacert cert.pem", "https://127.0.0.1"),
            ("", "http://localhost"),
        ] {
            let (is_trusted, shown) = get(options, url);
            assert!(!is_trusted, "{options} {url}: {shown}");
        }
        for (args, code, part) in HEALTH {
            let shown = run(dir.path(), &format!("health --timeout 10 {}", args.replace("PORT", port)));
            assert!(shown.starts_with(&format!("exit {code}\n")) && shown.contains(part), "{args}: {shown}");
        }
    }
    let mut server = server.unwrap();
    fs::write(dir.path().join("key.pem"), "nonsense").unwrap();
    server.signal("HUP");
    assert!(server.line().starts_with("the old certificate stays: key.pem: there is no private key in it"));
    server.signal("TERM");
    assert_eq!(server.end().0.code(), Some(0));
    for (args, problem) in [
        ("--tls-cert cert.pem --tls-key key.pem", "key.pem: there is no private key in it"),
        ("--tls-cert cert.pem", "--tls-key"),
    ] {
        let shown = run(dir.path(), &format!("serve m --listen 127.0.0.1:0 {args}"));
        assert!(shown.starts_with("exit 2") && shown.contains(problem), "{shown}");
    }
}

/// What systemd hears: that it listens, and that it ends.
#[cfg(unix)]
#[test]
fn systemd_is_told_of_the_start_and_the_end() {
    use std::os::unix::net::UnixDatagram;
    let dir = with_model();
    let socket = UnixDatagram::bind(dir.path().join("notify")).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let heard = || {
        let mut bytes = [0; 64];
        let n = socket.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..n].to_vec()).unwrap()
    };
    let mut command = meno(dir.path(), "serve m --listen 127.0.0.1:0");
    let mut child =
        command.env("NOTIFY_SOCKET", dir.path().join("notify")).stderr(Stdio::null()).spawn().unwrap();
    assert_eq!(heard(), "READY=1");
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    assert_eq!(heard(), "STOPPING=1");
    assert!(child.wait().unwrap().success());
}

/// The end comes at once where nothing is under way, though a connection is open.
#[test]
fn an_idle_connection_does_not_delay_the_end() {
    let dir = with_model();
    let server = Serving::start(dir.path(), "--store c.db");
    let _idle = TcpStream::connect(&server.address).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let start = Instant::now();
    server.signal("TERM");
    assert_eq!(server.end().0.code(), Some(0));
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn the_examples_of_the_documentation_work() {
    if Command::new("curl").arg("--version").stdout(Stdio::null()).status().is_err() {
        return left_out("the examples of docs/server.md", "there is no curl");
    }
    let dir = with_model();
    let server = Serving::start(dir.path(), "--store c.db");
    let text =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/server.md")).unwrap();
    let examples =
        text.split("```").find(|block| block.starts_with("sh\nurl=http://127.0.0.1:8080\n")).unwrap();
    let examples = examples.trim_start_matches("sh\n").replace("127.0.0.1:8080", &server.address);
    let script = examples.replace("curl -s ", "curl -sS --fail-with-body ");
    assert!(script.matches("--fail-with-body").count() >= 12, "{script}");
    let output = Command::new("sh").args(["-exc", &script]).current_dir(dir.path()).output().unwrap();
    assert!(output.status.success(), "{}", support::shown(&output));
    server.signal("TERM");
    server.end();
}
