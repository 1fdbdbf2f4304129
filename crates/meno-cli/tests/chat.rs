//! `meno chat` as it is typed, from a pipe.

mod support;

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use expect_test::{Expect, expect};
use support::{meno, pipe, run, shown, tiny_dataset};
use tempfile::TempDir;

/// A folder with a model `m` that scores whole spans.
fn trained() -> &'static Path {
    static DIR: OnceLock<TempDir> = OnceLock::new();
    let dir = DIR.get_or_init(|| {
        let dir = tiny_dataset();
        let output = meno(
            dir.path(),
            "train data -o m --epochs 60 --rate 0.01 --dropout 0.1 --hidden 16 --embedding 16 --batch 8",
        )
        .output()
        .unwrap();
        assert!(output.status.success(), "{}", shown(&output));
        dir
    });
    dir.path()
}

/// Under such a threshold every concept is unknown, whatever the training gave.
const UNSURE: &str = "--threshold=-1e9";

fn check(args: &str, lines: &str, expected: Expect) {
    let output = pipe(trained(), &format!("chat m {args}"), lines.as_bytes());
    // How likely an intent is depends on the training.
    let is_no_share = |word: &&str| word.strip_suffix('%').is_none_or(|share| share.parse::<u8>().is_err());
    let line = |line: &str| {
        let indent = line.len() - line.trim_start().len();
        let words: Vec<&str> = line.split_whitespace().filter(is_no_share).collect();
        " ".repeat(indent) + &words.join(" ")
    };
    let lines: Vec<String> = shown(&output).lines().map(line).collect();
    expected.assert_eq(&(lines.join("\n") + "\n"));
}

#[test]
fn asks_learns_and_knows_it_the_next_time() {
    check(
        UNSURE,
        "play red moon\nit's an album\nyes\nput on red moon\n:concepts\n:undo\n:concepts\n:undo\n",
        expect![[r#"
            exit 0
            > play red moon
              play play [red moon|unknown]
              What is *red moon*: a song, a city or an artist?
            > it's an album
              Shall I remember *red moon* as an album, a new kind of thing?
            > yes
              I will remember that *red moon* is an album. play: album = red moon.
              learnt 1: red moon | album
            > put on red moon
              play put on [red moon|album]
              play: album = red moon.
            > :concepts
            id phrase slot value owner uses
            1 red moon album 1
            > :undo
            forgot 1: red moon | album
            > :concepts
            > :undo
            ---
            1 concept
            0 concepts
            there is nothing to undo
        "#]],
    );
}

#[test]
fn commands_and_odd_lines() {
    check(
        "",
        "\n:help\n:what\n\u{7}\n:quit\nplay red moon\n",
        expect![[r#"
            exit 0
            >
              I am listening.
            > :help
            :concepts [TEXT] list what was taught
            :undo take the last change back
            :why what it thinks of each word of the last request
            :help this
            :quit end, as Ctrl-D, `quit` and `exit` do

            Words do it too: `help`, `why do you ask`, `undo that`, `forget Moomin`, `never mind`.
            > :what
            > �
              I am listening.
            > :quit
            ---
            there is no command `:what`; :help lists them
        "#]],
    );
}

#[test]
fn what_is_learnt_is_kept_in_a_store_for_its_owner() {
    let store = trained().join("kept.db");
    let args = format!("{UNSURE} --store {} --owner", store.display());
    let turn = |owner: &str, lines: &str| {
        shown(&pipe(trained(), &format!("chat m {args} {owner}"), lines.as_bytes()))
    };
    let taught = turn("anna", "play red moon\na podcast\nyes\n");
    assert!(taught.contains("learnt 2593940045825: red moon | podcast, for anna"), "{taught}");
    let known = turn("anna", "play red moon\n");
    assert!(known.contains("[red moon|podcast]") && !known.contains("What is"), "{known}");
    let other = turn("ben", "play red moon\n");
    assert!(other.contains("What is *red moon*"), "{other}");
}

#[test]
fn misspellings_are_forgiven_if_that_is_wanted() {
    let dir = trained();
    let taught = run(dir, "memory add zorblax song --store spelt.db");
    assert!(taught.contains("learnt 1: zorblax | song"), "{taught}");
    let turn = |args: &str| {
        shown(&pipe(dir, &format!("chat m {UNSURE} --store spelt.db {args}"), b"put on zorbalx\n"))
    };
    let (strict, forgiving) = (turn(""), turn("--misspellings"));
    assert!(!strict.contains("[zorbalx|song]"), "{strict}");
    assert!(forgiving.contains("put on [zorbalx|song]"), "{forgiving}");
}

#[test]
fn other_phrases() {
    let dir = trained();
    fs::write(dir.join("rude.toml"), "[say]\nask_open = \"*{phrase}*?\"\nask_one = \"*{phrase}*? {a}?\"\nask_two = \"*{phrase}*? {a}? {b}?\"\n[hear]\nyes = [\"aye\"]\n").unwrap();
    let output =
        shown(&pipe(dir, &format!("chat m {UNSURE} --phrases rude.toml"), b"play red moon\naye\naye\n"));
    assert!(
        output.contains("  *red moon*? a song, a city? an artist?")
            && output.contains("learnt 1: red moon | song"),
        "{output}"
    );

    fs::write(dir.join("bad.toml"), "[say]\nask = \"What?\"\n").unwrap();
    expect![[r#"
        exit 2
        ---
        error: bad.toml:2: nothing that is said is called `ask`
        hint: docs/dialogue.md says what such a file has
    "#]]
    .assert_eq(&run(dir, "chat m --phrases bad.toml"));
    assert!(run(dir, "chat m --phrases nothing.toml").starts_with("exit 2\n---\nerror: "));
}

/// What a terminal would obey is shown as what it is.
#[test]
fn a_terminal_is_not_moved_by_what_was_said() {
    let said = "play \u{1b}[31mred\u{202e} moon\u{9b}1m\n:why\n";
    let output = pipe(trained(), "chat m", said.as_bytes());
    let shown = shown(&output);
    assert!(shown.starts_with("exit 0") && shown.contains('\u{fffd}'), "{shown}");
    assert!(!shown.contains(['\u{1b}', '\u{202e}', '\u{9b}']), "{shown:?}");
}
