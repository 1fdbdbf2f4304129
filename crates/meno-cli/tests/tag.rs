//! `meno tag` as it is typed and piped.

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use expect_test::expect;
use support::{meno, pipe, refuses_a_full_disk, run, shown, trained};

/// The tagged lines, without probabilities, which depend on the processor.
fn lines(args: &str, input: &[u8]) -> Vec<serde_json::Value> {
    let output = pipe(trained(), args, input);
    assert!(output.status.success(), "{}", shown(&output));
    let stdout = String::from_utf8(output.stdout).unwrap();
    stdout
        .lines()
        .map(|line| {
            let mut json: serde_json::Value = serde_json::from_str(line).unwrap();
            for token in json["tokens"].as_array_mut().unwrap() {
                strip(token);
            }
            strip(&mut json["intent"]);
            json
        })
        .collect()
}

fn strip(json: &mut serde_json::Value) {
    if let Some(object) = json.as_object_mut() {
        let probability = object.remove("probability").unwrap().as_f64().unwrap();
        assert!(probability > 0.0 && probability <= 1.0, "{probability}");
        if let Some(uncertainty) = object.remove("uncertainty") {
            let reason = object.remove("reason").unwrap();
            let is_over = uncertainty.as_f64().unwrap() > reason["threshold"].as_f64().unwrap();
            assert_eq!(object["unknown"], is_over);
            assert_eq!(
                (&reason["score"], reason["runners_up"].as_array().unwrap().len()),
                (&"entropy".into(), 2)
            );
        }
    }
}

#[test]
fn a_line_gives_a_json_object() {
    let now = "2026-11-17T08:00:00+01:00";
    let tagged =
        lines(&format!("tag m --now {now}"), "Play “Red  Moon”, please!\r\n\nwake me at six".as_bytes());
    assert_eq!(tagged.len(), 3);
    expect![[r#"
        {
          "decision": "act",
          "intent": {
            "name": "play"
          },
          "spans": [
            {
              "end": 17,
              "slot": "song",
              "start": 8,
              "text": "Red  Moon"
            }
          ],
          "text": "Play “Red  Moon”, please!",
          "tokens": [
            {
              "end": 4,
              "first_choice": "O",
              "label": "O",
              "start": 0,
              "text": "Play",
              "unknown": false
            },
            {
              "end": 11,
              "first_choice": "B-song",
              "label": "B-song",
              "start": 8,
              "text": "Red",
              "unknown": false
            },
            {
              "end": 17,
              "first_choice": "I-song",
              "label": "I-song",
              "start": 13,
              "text": "Moon",
              "unknown": false
            },
            {
              "end": 28,
              "first_choice": "O",
              "label": "O",
              "start": 22,
              "text": "please",
              "unknown": false
            }
          ]
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&tagged[0]).unwrap());
    expect![[r#"{"decision":"act","intent":null,"spans":[],"text":"","tokens":[]}"#]]
        .assert_eq(&tagged[1].to_string());
    expect![[r#"[{"end":14,"resolved":{"dim":"time","grain":"hour","type":"value","value":"2026-11-17T18:00:00.000+01:00"},"slot":"time","start":11,"text":"six"}]"#]]
        .assert_eq(&tagged[2]["spans"].to_string());
    let elsewhere = lines(&format!("tag m --now {now} --zone UTC --values snips"), b"wake me at six");
    assert_eq!(elsewhere[0]["spans"][0]["resolved"]["value"], "2026-11-17 18:00:00 +00:00");
}

#[test]
fn keys_come_in_a_fixed_order() {
    let output = pipe(trained(), "tag m --json", b"wake me");
    let text = String::from_utf8(output.stdout).unwrap();
    let place = |key: &str| text.find(&format!("\"{key}\":")).unwrap_or_else(|| panic!("{key} in {text}"));
    let places = ["text", "intent", "name", "probability", "decision", "tokens", "label", "spans"].map(place);
    assert!(places.is_sorted(), "{text}");
}

#[test]
fn words_are_taken_as_they_are() {
    let [read, words] = ["tag m", "tag m --words"].map(|args| {
        let tagged = lines(args, b"Play, please!");
        let tokens = tagged[0]["tokens"].as_array().unwrap().iter();
        tokens.map(|token| token["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    });
    assert_eq!(read, ["Play", "please"]);
    assert_eq!(words, ["Play,", "please!"]);
}

#[test]
fn files_pipes_and_threads_give_the_same() {
    let text = fs::read_to_string(trained().join("data/train/seq.in")).unwrap().repeat(500);
    let file = trained().join("many.txt");
    fs::write(&file, &text).unwrap();
    let alone = pipe(trained(), "tag m many.txt", b"").stdout;
    assert_eq!(alone.iter().filter(|&&byte| byte == b'\n').count(), 10_000);
    for args in ["tag m", "tag m -", "tag m --threads 3"] {
        assert!(pipe(trained(), args, text.as_bytes()).stdout == alone, "{args}");
    }
}

#[test]
fn a_line_is_answered_before_the_next_is_written() {
    let mut child = meno(trained(), "tag m").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    for request in ["wake me", "play blue"] {
        writeln!(stdin, "{request}").unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert!(line.starts_with(&format!("{{\"text\":\"{request}\"")), "{line}");
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn lines_before_a_bad_one_are_not_lost() {
    for args in ["tag m", "tag m --threads 2"] {
        let output = pipe(trained(), args, b"wake me\nplay\ncaf\xe9\nstop\n");
        assert_eq!(output.stdout.iter().filter(|&&byte| byte == b'\n').count(), 2);
        expect![[r#"
            error: standard input:3: not UTF-8: byte 0xE9 at byte 4 of the line
            hint: text must be UTF-8, for example by `iconv -f latin1 -t utf-8`
        "#]]
        .assert_eq(&String::from_utf8(output.stderr).unwrap());
        assert_eq!(output.status.code(), Some(2));
    }
}

#[test]
fn a_line_of_a_megabyte_is_a_line() {
    for (line, n_tokens) in [("x".repeat(1 << 20), 1), ("play red ".repeat(1 << 17), 1 << 18)] {
        let tagged = lines("tag m", format!("{line}\nwake me at six\n").as_bytes());
        assert_eq!(tagged.len(), 2);
        assert_eq!(tagged[0]["tokens"].as_array().unwrap().len(), n_tokens);
        assert_eq!(tagged[1]["spans"][0]["text"], "six");
    }
}

#[test]
fn a_line_without_end_is_refused() {
    let mut input = b"wake me at six\n".to_vec();
    input.extend(b"x".repeat(5 << 20));
    let output = pipe(trained(), "tag m", &input);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 1);
    expect![[r#"
        error: standard input:2: the line is longer than 2097152 bytes
        hint: an utterance is a line; break the text into lines
    "#]]
    .assert_eq(&String::from_utf8(output.stderr).unwrap());
}

#[test]
fn people_get_a_readable_form() {
    let show = |args: &str| {
        let output = pipe(trained(), args, b"Wake me at six!\n\nplay blue by anna");
        let shown = String::from_utf8(output.stdout).unwrap().replace('\x1b', "~");
        // The probability of an intent depends on the processor, and so does the heat.
        shown
            .lines()
            .filter(|line| !line.starts_with(' '))
            .map(|line| line.replacen(" 99%", "100%", 1).replacen(" 98%", "100%", 1) + "\n")
            .collect::<String>()
    };
    expect![[r#"
        ~[1malarm  ~[0m  ~[2m100%~[0m  Wake me at ~[2m[~[0m~[1;32msix~[0m~[2m|time=2026-11-17 18:00]~[0m!

        ~[1mplay   ~[0m  ~[2m100%~[0m  play ~[2m[~[0m~[1;33mblue~[0m~[2m|song]~[0m by ~[2m[~[0m~[1;36manna~[0m~[2m|artist]~[0m
    "#]].assert_eq(&show("tag m --color always --now 2026-11-17T08:00:00Z"));
    assert!(show("tag m --color always --json").starts_with('{'));
    assert!(show("tag m --color never").starts_with('{'));
}

#[test]
fn a_new_word_is_hot() {
    let heat = |args: &str| {
        let output = pipe(trained(), args, b"wake me at zorblax");
        let shown = String::from_utf8(output.stdout).unwrap();
        shown.lines().nth(1).unwrap().replace('\x1b', "~")
    };
    let shown = heat("tag m --color always --threshold -1e9");
    assert_eq!(shown.matches("~[97;48;5;160m").count(), 4, "everything is over such a threshold: {shown}");
    let shown = heat("tag m --color always --threshold 1e9");
    assert_eq!(shown.matches("~[30;48;5;254m").count(), 4, "nothing is near such a threshold: {shown}");
}

#[test]
fn thresholds_and_budgets_can_be_overridden() {
    let labels = |args: &str| -> Vec<String> {
        let output = pipe(trained(), &format!("tag m {args}"), b"wake me at six");
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        json["tokens"]
            .as_array()
            .unwrap()
            .iter()
            .map(|token| token["label"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(labels("--threshold 1e9"), ["O", "O", "O", "B-time"]);
    assert_eq!(labels("--threshold=-1e9"), ["B-unknown", "I-unknown", "I-unknown", "I-unknown"]);
    assert_eq!(labels("--budget 0"), ["O", "O", "O", "B-time"]);
    for (args, problem) in [
        ("--threshold nan", "error: the threshold is NaN"),
        ("--budget -50", "error: no threshold meets the budget -50"),
        ("--budget nan", "error: a budget of NaN"),
        ("--budget 1 --threshold 1", "error: the argument '--budget <POINTS>' cannot be used with"),
    ] {
        let output = run(trained(), &format!("tag m data/test/seq.in {args}"));
        assert!(output.starts_with(&format!("exit 2\n---\n{problem}")), "{args}: {output}");
    }
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let text = "wake me at six\n".repeat(20_000);
    let mut child = meno(trained(), "tag m")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || drop(stdin.write_all(text.as_bytes())));
    let mut first = [0; 1];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert_eq!(shown(&output), "exit 0\n---\n");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    refuses_a_full_disk("tag m data/test/seq.in");
}

#[test]
fn refuses_what_is_not_there() {
    let missing = run(trained(), "tag m nowhere");
    assert!(missing.starts_with("exit 2\n---\nerror: cannot read nowhere: "), "{missing}");
    let dir = run(trained(), "tag m data");
    assert!(dir.starts_with("exit 2\n---\nerror: cannot read data: "), "{dir}");
}
