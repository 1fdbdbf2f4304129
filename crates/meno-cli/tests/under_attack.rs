//! `meno serve` and whoever wants to harm it or to have it for itself: large requests, files that do harm, a disk that is full, reloads that never
//! end.
#![cfg(target_os = "linux")]

mod serving;
mod support;
#[path = "../../../tests/times.rs"]
mod times;

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use meno::random::Random;
use serving::{Serving, with_model};
use support::{meno, names, run, shown};
use times::times;

/// A number of `/proc/PID/status`, in MB.
fn megabytes(server: &Serving, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

/// The time that a server had of the processors, in hundredths of a second.
fn processor_time(server: &Serving) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{}/stat", server.child.id())).unwrap();
    let times = stat.rsplit_once(')').unwrap().1.split_whitespace().skip(11).take(2);
    times.map(|time| time.parse::<u64>().unwrap()).sum()
}

fn within(limit: Duration, mut holds: impl FnMut() -> bool) -> Duration {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < limit, "not within {limit:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    start.elapsed()
}

/// Reads an answer for some time, or to its end; how many bytes came.
fn take(stream: &mut TcpStream, limit: Duration) -> usize {
    let (start, mut piece, mut n) = (Instant::now(), vec![0; 1 << 16], 0);
    stream.set_read_timeout(Some(limit)).unwrap();
    while start.elapsed() < limit {
        match stream.read(&mut piece) {
            Ok(read @ 1..) => n += read,
            _ => break,
        }
    }
    n
}

/// 255 texts of 2,040 words of one letter, which is just below all limits.
fn large_batch() -> (String, String) {
    let texts = vec![format!("\"{}\"", "a ".repeat(2040)); 255].join(",");
    let body = format!("{{\"texts\":[{texts}]}}");
    let head =
        "POST /v1/annotate HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length:";
    (format!("{head} {}\r\n\r\n", body.len()), body)
}

#[test]
fn four_large_batches_take_little_memory_and_end_with_their_clients() {
    let dir = with_model();
    let server = Serving::start(dir.path(), "--threads 2");
    let (head, body) = large_batch();
    let taken: Vec<usize> = std::thread::scope(|scope| {
        let send = || {
            let mut stream = TcpStream::connect(&server.address).unwrap();
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(body.as_bytes()).unwrap();
            take(&mut stream, Duration::from_secs(4))
        };
        let clients: Vec<_> = (0..4).map(|_| scope.spawn(send)).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    assert!(taken.iter().all(|&n| n > 1_000_000), "{taken:?}");
    let peak = megabytes(&server, "VmHWM");
    println!("{peak} MB at most");
    assert!(peak < 256, "{peak} MB");
    // Nobody waits any more, so nothing is done any more.
    let is_at_rest = || {
        let before = processor_time(&server);
        std::thread::sleep(Duration::from_millis(300));
        processor_time(&server) - before <= 2
    };
    println!("at rest after {:?}", within(Duration::from_secs(5), is_at_rest));
    server.signal("TERM");
    assert_eq!(server.end().0.code(), Some(0));
}

/// As many as there may be connections of one address: most are refused, and the memory is that of a few.
#[test]
fn hundreds_of_large_batches_do_not_take_all_memory() {
    let dir = with_model();
    let server = Serving::start(dir.path(), "--threads 2 --timeout 60");
    let (head, body) = large_batch();
    let mut streams: Vec<TcpStream> = (0..200)
        .map(|_| {
            let mut stream = TcpStream::connect(&server.address).unwrap();
            stream.write_all(head.as_bytes()).unwrap();
            // What is refused before it is read is not taken.
            let _ = stream.write_all(body.as_bytes());
            stream
        })
        .collect();
    let refused = |stream: &mut TcpStream| {
        let mut status = [0; 12];
        stream.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        stream.read_exact(&mut status).is_ok() && status.ends_with(b"429")
    };
    let n_refused =
        streams.iter_mut().rev().take(50).filter_map(|stream| refused(stream).then_some(())).count();
    let peak = megabytes(&server, "VmHWM");
    println!("{peak} MB at most, {n_refused} of the last 50 refused");
    // Where one is refused because another is being read just then, a later one may find room.
    assert!(peak < 256 && n_refused >= 40, "{peak} MB, {n_refused}");
    assert!(server.annotate("weather in new york").starts_with("HTTP/1.1 200"));
    server.signal("KILL");
    server.end();
}

#[test]
fn exports_are_streamed() {
    let dir = with_model();
    let concept = |i: usize| {
        let words = [
            "play",
            "the",
            "moon",
            &format!("{i}"),
            "in",
            "the",
            "kitchen",
            "at",
            "seven",
            "tomorrow",
            "evening",
        ]
        .map(|word| format!("\"{word}\""));
        format!(
            r#"{{"phrase": "moon {i}", "slot": "album", "source": {{"words": [{}], "intent": "play"}}}}"#,
            words.join(",")
        )
    };
    fs::write(dir.path().join("concepts"), (0..20_000).map(concept).collect::<Vec<_>>().join("\n")).unwrap();
    let imported = run(dir.path(), "memory import concepts --store c.db");
    assert!(imported.starts_with("exit 0\n"), "{imported}");
    let server = Serving::start(dir.path(), "--store c.db --timeout 60");
    let before = megabytes(&server, "VmHWM");
    for form in ["jsonl", "corpus"] {
        std::thread::scope(|scope| {
            let export = || {
                let mut stream = TcpStream::connect(&server.address).unwrap();
                let request = format!(
                    "GET /v1/concepts/export?as={form} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
                );
                stream.write_all(request.as_bytes()).unwrap();
                let n = take(&mut stream, Duration::from_secs(60));
                assert!(n > 20_000 * 100, "{n}");
            };
            let exports: Vec<_> = (0..8).map(|_| scope.spawn(export)).collect();
            // Whoever asks something small is answered.
            let start = Instant::now();
            while !exports.iter().all(|export| export.is_finished()) {
                let asked = Instant::now();
                assert!(server.annotate("weather in new york").starts_with("HTTP/1.1 200"));
                assert!(
                    asked.elapsed() < Duration::from_secs(1),
                    "{:?} after {:?}",
                    asked.elapsed(),
                    start.elapsed()
                );
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let more = megabytes(&server, "VmHWM") - before;
        println!("8 exports as {form}: {more} MB more than before");
        assert!(more < 64, "{more} MB");
    }
    server.signal("TERM");
    server.end();
}

/// A model that never comes keeps no token in and no signal out.
#[test]
fn a_reload_that_never_ends_holds_nothing_up() {
    let dir = with_model();
    let make = |args: &str| String::from_utf8(meno(dir.path(), args).output().unwrap().stdout).unwrap();
    let anna = make("token anna read --tokens t").trim().to_owned();
    let mut server = Serving::start(dir.path(), "--tokens t --store c.db");
    let status = |server: &Serving| {
        let request = format!("GET /v1/model HTTP/1.1\r\nauthorization: Bearer {anna}");
        server.send(&request, "").split(' ').nth(1).unwrap().to_owned()
    };
    fs::remove_file(dir.path().join("m")).unwrap();
    assert!(Command::new("mkfifo").arg(dir.path().join("m")).status().unwrap().success());
    server.signal("HUP");
    assert_eq!(server.line(), "1 tokens are known now\n");
    assert_eq!(status(&server), "200");
    fs::write(dir.path().join("t"), "# nobody\n").unwrap();
    server.signal("HUP");
    assert_eq!(server.line(), "0 tokens are known now\n");
    assert_eq!(status(&server), "401");
    let start = Instant::now();
    server.signal("TERM");
    assert_eq!(server.end().0.code(), Some(0));
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

/// The system tells a program of a file that may not grow by a signal, which ends it unless it is handled.
#[test]
fn a_disk_that_is_full_ends_nothing() {
    let dir = with_model();
    let mut command = Command::new("sh");
    // Blocks of 512 or of 1,024 bytes.
    command.args([
        "-c",
        "ulimit -f 2048; exec \"$0\" serve m --listen 127.0.0.1:0 --store c.db",
        env!("CARGO_BIN_EXE_meno"),
    ]);
    let server = Serving::run({
        command.current_dir(dir.path());
        command
    });
    let teach = |i: usize| {
        let body = format!(r#"{{"phrase": "moon {i}", "slot": "album", "value": "{}"}}"#, "x".repeat(3000));
        server.send("POST /v1/concepts HTTP/1.1", &body).split(' ').nth(1).unwrap().to_owned()
    };
    let taught = (0..1000).take_while(|&i| teach(i) == "201").count();
    assert!(taught > 5 && taught < 1000, "{taught}");
    assert_eq!(teach(5000), "503");
    within(Duration::from_secs(3), || server.send("GET /readyz HTTP/1.1", "").contains("\"learning\":false"));
    assert!(server.annotate("play moon 3 now").contains("\"concept\""));
    server.signal("KILL");
    server.end();
    // All that was acknowledged is there, and nothing that was refused.
    let listed = run(dir.path(), "memory list --store c.db");
    assert!(listed.contains(&format!("\n{taught} concepts")), "{taught}: {}", &listed[listed.len() - 200..]);
}

/// A line of a token is in the file whole or not at all: half of one would be refused, and every token with it.
#[test]
fn a_file_that_is_full_loses_no_token() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t");
    run(dir.path(), "token anna read --tokens t");
    let token = |limit: &str| {
        let command = format!("ulimit -f {limit}; exec \"$0\" token ben read --tokens t");
        let mut sh = Command::new("sh");
        shown(
            &sh.args(["-c", &command, env!("CARGO_BIN_EXE_meno")]).current_dir(dir.path()).output().unwrap(),
        )
    };
    // Blocks of 512 or of 1,024 bytes: there is room for a part of a line.
    let mut text = fs::read_to_string(&path).unwrap();
    text += &format!("# {}\n", "x".repeat(1000 - text.len() % 512));
    for length in [490, 1000] {
        fs::write(&path, &text[..length]).unwrap();
        let before = fs::read(&path).unwrap();
        let refused = token("1");
        if refused.starts_with("exit 0") {
            continue;
        }
        assert!(refused.starts_with("exit 2\n---\nerror: cannot write t: "), "{refused}");
        assert_eq!(fs::read(&path).unwrap(), before);
    }
    assert!(token("1").starts_with("exit 2"));
    assert!(token("8").starts_with("exit 0"));
}

/// How some kinds of files begin.
const BEGINNINGS: [&[u8]; 9] = [
    b"",
    b"SQLite format 3\0",
    b"PK\x03\x04",
    b"\x1f\x8b\x08",
    b"\x93NUMPY\x01\x00",
    b"{\"",
    b"-----BEGIN CERTIFICATE-----\n",
    b"version: \"3.1\"\nnlu:\n- intent: ",
    b"\x08\x07\x12\x07pytorch",
];

const ENDINGS: [&str; 8] = ["", ".json", ".jsonl", ".yml", ".md", ".csv", ".conll", ".zip"];

/// What text formats are made of.
const MARKS: &[u8] = b"{}[]:,\"\\ \n-#|\tab01";

fn garbage(random: &mut Random, round: usize) -> Vec<u8> {
    let mut bytes = BEGINNINGS[round % BEGINNINGS.len()].to_vec();
    if round.is_multiple_of(4) {
        // As a model begins: how long its header is.
        bytes = (random.below(1 << 20) as u64).to_le_bytes().to_vec();
    }
    let most = 1 << random.below(16);
    let n = random.below(most);
    match random.below(4) {
        0 => bytes.resize(bytes.len() + n, 0),
        1 => bytes.extend((0..n).map(|_| MARKS[random.below(MARKS.len())])),
        _ => bytes.extend((0..n).map(|_| (random.next_u64() & 0xff) as u8)),
    }
    bytes
}

/// Every command that reads a file, with one that is none.
#[test]
fn garbage_is_refused_by_everything_that_reads() {
    let dir = with_model();
    // Whatever is read by then, this address is taken.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let serve = format!("serve m --listen {}", taken.local_addr().unwrap());
    let commands = [
        "tag GARBAGE".to_owned(),
        "eval GARBAGE GARBAGE".to_owned(),
        "quantize GARBAGE -o x".to_owned(),
        "data check GARBAGE".to_owned(),
        "data stats GARBAGE".to_owned(),
        "memory list --store GARBAGE".to_owned(),
        "memory import GARBAGE --store c.db".to_owned(),
        "restore GARBAGE --store c.db".to_owned(),
        "token --list --tokens GARBAGE".to_owned(),
        format!("{serve} --tokens GARBAGE"),
        format!("{serve} --phrases GARBAGE"),
        format!("{serve} --tls-cert GARBAGE --tls-key GARBAGE"),
        format!("{serve} --store GARBAGE"),
    ];
    let mut random = Random::new(5);
    let (n, mut n_refused, mut n_run) = (times(30, 120), 0, 0);
    for round in 0..n {
        let name = format!("garbage{}", ENDINGS[round % ENDINGS.len()]);
        let bytes = garbage(&mut random, round);
        for command in &commands {
            fs::write(dir.path().join(&name), &bytes).unwrap();
            let before = names(dir.path());
            let output = meno(dir.path(), &command.replace("GARBAGE", &name)).output().unwrap();
            let said = shown(&output);
            assert!(matches!(output.status.code(), Some(0..=2)), "{round} {command}: {said}");
            assert!(
                !said.contains("panicked") && !said.contains("a mistake in meno"),
                "{round} {command}: {said}"
            );
            n_run += 1;
            if output.status.code() == Some(2) {
                n_refused += 1;
                assert!(said.contains("error: "), "{round} {command}: {said}");
                assert_eq!(names(dir.path()), before, "{round} {command}: {said}");
            }
            restored(dir.path());
        }
        fs::remove_file(dir.path().join(&name)).unwrap();
    }
    println!("{n} files of garbage, read {n_run} times: {n_refused} times refused, nothing panicked");
}

/// A server that ends before it began leaves its store as one file.
#[test]
fn a_server_without_an_address_closes_its_store() {
    let dir = with_model();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let args = format!("serve m --store c.db --listen {}", taken.local_addr().unwrap());
    for _ in 0..10 {
        let said = shown(&meno(dir.path(), &args).output().unwrap());
        assert!(said.starts_with("exit 2") && said.contains("cannot listen"), "{said}");
        assert_eq!(names(dir.path()), ["c.db", "m"]);
    }
}

/// Takes away what a command made of an empty file, for example.
fn restored(dir: &Path) {
    for name in names(dir).iter().filter(|name| !name.starts_with("garbage") && *name != "m") {
        let _ = fs::remove_file(dir.join(name));
    }
}
