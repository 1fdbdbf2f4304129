//! What the tests of `meno serve` share: a server, and what is said to it.

#![allow(dead_code)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use tempfile::TempDir;

use crate::support::meno;

/// A folder with a small model `m`.
pub fn with_model() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::copy(kept("span_tagger-1.meno"), dir.path().join("m")).unwrap();
    dir
}

pub fn kept(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../meno/tests/models").join(name)
}

/// A server that was started by its command.
pub struct Serving {
    pub child: Child,
    pub address: String,
    pub log: BufReader<std::process::ChildStderr>,
}

impl Serving {
    pub fn start(dir: &Path, args: &str) -> Serving {
        Serving::run(meno(dir, &format!("serve m --listen 127.0.0.1:0 {args}")))
    }

    pub fn run(mut command: Command) -> Serving {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        log.read_line(&mut line).unwrap();
        let address = line.split("://").nth(1).and_then(|rest| rest.split('/').next());
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        Serving { child, address, log }
    }

    pub fn send(&self, request: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let (host, length) = (&self.address, body.len());
        let head = format!("{request}\r\nhost: {host}\r\ncontent-length: {length}\r\nconnection: close");
        write!(stream, "{head}\r\ncontent-type: application/json\r\n\r\n{body}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    pub fn annotate(&self, text: &str) -> String {
        self.send("POST /v1/annotate HTTP/1.1", &format!(r#"{{"text": "{text}"}}"#))
    }

    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.log.read_line(&mut line).unwrap();
        line
    }

    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &id]).status().unwrap().success());
    }

    /// Waits for the end; the rest of the log.
    pub fn end(mut self) -> (ExitStatus, String) {
        let mut rest = String::new();
        self.log.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap(), rest)
    }
}
