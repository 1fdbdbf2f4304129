//! `meno memory` as it is typed, on both stores.

#[path = "../../../tests/left_out.rs"]
mod left_out;
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use expect_test::{Expect, expect};
use left_out::left_out;
use support::{meno, names, pipe, run, shown, tiny_dataset, trained};

/// What a command with quoted arguments does.
fn typed(dir: &Path, args: &[&str]) -> String {
    shown(&meno(dir, "memory").args(args).output().unwrap())
}

fn check(dir: &Path, args: &[&str], expected: Expect) {
    expected.assert_eq(&typed(dir, args));
}

/// The output without times, which are those of now.
fn timeless(output: String) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in output.lines() {
        let Ok(mut json) = serde_json::from_str::<serde_json::Value>(line) else {
            lines.push(line.to_owned());
            continue;
        };
        let concept = if json.get("concept").is_some() { &mut json["concept"] } else { &mut json };
        for key in ["created", "updated"] {
            if let Some(time) = concept.as_object_mut().and_then(|concept| concept.remove(key)) {
                assert!(time.as_u64().unwrap() > 1_700_000_000_000, "{time}");
            }
        }
        lines.push(json.to_string());
    }
    lines.join("\n") + "\n"
}

#[test]
fn concepts_are_taught_listed_changed_and_undone() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let add = ["add", "Burpees & Regrets", "playlist", "--value", "workout mix", "--owner", "anna"];
    check(
        dir,
        &add,
        expect![[r#"
        exit 0
        learnt 2593940045825: Burpees & Regrets | playlist, meaning workout mix, for anna
        ---
    "#]],
    );
    check(
        dir,
        &["add", "red moon", "song"],
        expect![[r#"
        exit 0
        learnt 1: red moon | song
        ---
    "#]],
    );
    check(
        dir,
        &["add", "Red Moon!", "song"],
        expect![[r#"
        exit 0
        changed 1: Red Moon! | song
        ---
    "#]],
    );
    check(
        dir,
        &["list"],
        expect![[r#"
        exit 0
        id             phrase             slot      value        owner  uses
        1              Red Moon!          song                          0
        2593940045825  Burpees & Regrets  playlist  workout mix  anna   0
        ---
        2 concepts
    "#]],
    );
    check(
        dir,
        &["list", "--owner", "ben"],
        expect![[r#"
        exit 0
        id  phrase     slot  value  owner  uses
        1   Red Moon!  song                0
        ---
        1 concept
    "#]],
    );
    check(
        dir,
        &["edit", "2593940045825", "--slot", "album", "--no-value"],
        expect![[r#"
        exit 0
        changed 2593940045825: Burpees & Regrets | album, for anna
        ---
    "#]],
    );
    check(
        dir,
        &["remove", "2593940045825", "1"],
        expect![[r#"
        exit 0
        forgot 2593940045825: Burpees & Regrets | album, for anna
        forgot 1: Red Moon! | song
        ---
    "#]],
    );
    check(
        dir,
        &["undo"],
        expect![[r#"
        exit 0
        learnt 1: Red Moon! | song
        learnt 2593940045825: Burpees & Regrets | album, for anna
        ---
    "#]],
    );
    check(
        dir,
        &["search", "REGRET"],
        expect![[r#"
        exit 0
        id             phrase             slot   value  owner  uses
        2593940045825  Burpees & Regrets  album         anna   0
        ---
        1 concept
    "#]],
    );
    check(
        dir,
        &["search", "nothing"],
        expect![[r#"
        exit 0
        ---
        0 concepts
    "#]],
    );
    for _ in 0..4 {
        assert!(run(dir, "memory undo").starts_with("exit 0\n"), "there is something to undo");
    }
    check(
        dir,
        &["undo"],
        expect![[r#"
        exit 0
        ---
        there is nothing to undo
    "#]],
    );
    assert!(names(dir).contains(&"concepts.db".to_owned()));
}

#[test]
fn json_is_a_line_for_each_concept() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let add = ["add", "Red \"Moon\"", "song", "--source", "play red moon", "--intent", "play", "--json"];
    expect![[r#"
        exit 0
        {"change":"learnt","concept":{"id":1,"normal":"red moon","owner":null,"phrase":"Red \"Moon\"","slot":"song","source":{"intent":"play","words":["play","red","moon"]},"uses":0}}
        ---
    "#]]
    .assert_eq(&timeless(typed(dir, &add)));
    typed(dir, &["add", "home", "place", "--owner", "anna"]);
    expect![[r#"
        exit 0
        {"id":2593940045825,"normal":"home","owner":"anna","phrase":"home","slot":"place","uses":0}
        ---
        1 concept
    "#]]
    .assert_eq(&timeless(typed(dir, &["list", "--json", "--slot", "place"])));
    let page = typed(dir, &["list", "--json", "--after", "1", "--limit", "1"]);
    assert!(page.contains("\"id\":2593940045825") && page.ends_with("---\n1 concept\n"), "{page}");
    expect![[r#"
        exit 0
        {"change":"forgot","concept":{"id":1,"normal":"red moon","owner":null,"phrase":"Red \"Moon\"","slot":"song","source":{"intent":"play","words":["play","red","moon"]},"uses":0}}
        ---
    "#]]
    .assert_eq(&timeless(typed(dir, &["undo", "--json"])));
}

#[test]
fn what_is_exported_is_imported_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    typed(dir, &["add", "red moon", "song", "--value", "Moon (red)"]);
    typed(dir, &["add", "home", "place", "--owner", "anna"]);
    check(
        dir,
        &["export", "all.jsonl"],
        expect![[r#"
        exit 0
        ---
        all.jsonl: 2 concepts
    "#]],
    );
    let exported = fs::read_to_string(dir.join("all.jsonl")).unwrap();
    assert_eq!(typed(dir, &["export"]), format!("exit 0\n{exported}---\n"));
    check(
        dir,
        &["import", "all.jsonl", "--store", "other.db"],
        expect![[r#"
        exit 0
        ---
        all.jsonl: 2 concepts, 2 of them new
    "#]],
    );
    check(
        dir,
        &["import", "all.jsonl", "--store", "other.db", "--json"],
        expect![[r#"
        exit 0
        {"concepts":2,"new":0}
        ---
    "#]],
    );
    assert_eq!(typed(dir, &["export", "--store", "other.db"]), format!("exit 0\n{exported}---\n"));
    let output = pipe(dir, "memory import - --owner ben", b"{\"phrase\": \"x\", \"slot\": \"song\"}\n");
    assert_eq!(shown(&output), "exit 0\n---\n-: 1 concept, 1 of them new\n");
    check(
        dir,
        &["list", "--owner", "ben", "--slot", "song"],
        expect![[r#"
        exit 0
        id             phrase    slot  value       owner  uses
        1              red moon  song  Moon (red)         0
        4737995898881  x         song              ben    0
        ---
        2 concepts
    "#]],
    );
}

#[test]
fn concepts_become_a_corpus() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    typed(dir, &["add", "Red Moon", "song", "--source", "play red moon by anna", "--intent", "play"]);
    typed(dir, &["add", "anna", "artist", "--source", "play red moon by anna", "--intent", "play"]);
    typed(dir, &["add", "oslo", "city", "--source", "rain in oslo"]);
    typed(dir, &["add", "lost", "song"]);
    check(
        dir,
        &["export", "learnt", "--as", "corpus"],
        expect![[r#"
        exit 0
        ---
        left out: 1 concept without utterance
        left out: 1 utterance without intent
        learnt: 1 utterance
    "#]],
    );
    let read = |name: &str| fs::read_to_string(dir.join("learnt").join(name)).unwrap();
    assert_eq!(read("seq.in"), "play red moon by anna\n");
    assert_eq!(read("seq.out"), "O B-song I-song O B-artist\n");
    assert_eq!(read("label"), "play\n");
    assert!(run(dir, "data check learnt").starts_with("exit 0"));
}

#[test]
fn a_refused_concept_makes_no_store() {
    let dir = tempfile::tempdir().unwrap();
    for args in [["add", "?!", "song"], ["add", "red moon", "two words"], ["add", "red moon", "unknown"]] {
        let output = typed(dir.path(), &args);
        assert!(output.starts_with("exit 2\n"), "{args:?}: {output}");
        assert_eq!(names(dir.path()), [""; 0], "{args:?}");
    }
    assert!(typed(dir.path(), &["add", "red moon", "song"]).starts_with("exit 0"));
    assert_eq!(names(dir.path()), ["concepts.db"]);
}

#[test]
fn what_goes_wrong_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    check(
        dir,
        &["list"],
        expect![[r#"
        exit 2
        ---
        error: there is no concept store at concepts.db
        hint: `meno memory add` makes one; `--store` names another
    "#]],
    );
    fs::write(dir.join("bad.jsonl"), "{\"phrase\": \"x\", \"slot\": \"s\"}\n{\"phrase\": \"x\"}\n").unwrap();
    check(
        dir,
        &["import", "bad.jsonl"],
        expect![[r#"
        exit 2
        ---
        error: bad.jsonl:2: missing field `slot`, column 15
        hint: a line is {"phrase": "red moon", "slot": "song"}, perhaps with value, owner and source
    "#]],
    );
    assert_eq!(names(dir), ["bad.jsonl"], "no store was made");
    check(
        dir,
        &["add", "?", "song"],
        expect![[r#"
        exit 2
        ---
        error: there is no word in the phrase `?`
        hint: a phrase has letters, digits or symbols
    "#]],
    );
    check(
        dir,
        &["add", "x", "a b"],
        expect![[r#"
        exit 2
        ---
        error: there is white space in the slot `a b`
        hint: a slot is named in one word, such as `playlist`
    "#]],
    );
    typed(dir, &["add", "home", "place"]);
    check(
        dir,
        &["remove", "7"],
        expect![[r#"
        exit 2
        ---
        error: there is no concept 7
        hint: `meno memory list` shows the numbers
    "#]],
    );
    check(
        dir,
        &["remove", "1", "--owner", "anna"],
        expect![[r#"
        exit 2
        ---
        error: concept 1 is everyone's
        hint: change concepts of your own
    "#]],
    );
    check(
        dir,
        &["export", "--as", "corpus"],
        expect![[r#"
        exit 2
        ---
        error: a corpus is a folder, and none is named
        hint: say for example `meno memory export learnt --as corpus`
    "#]],
    );
    check(
        dir,
        &["export", "learnt", "--as", "corpus"],
        expect![[r#"
        exit 2
        ---
        left out: 1 concept without utterance
        error: none of 1 concept was learnt from an utterance
        hint: `meno memory add --source TEXT` says from which
    "#]],
    );
    check(
        dir,
        &["list", "--store", "bad.jsonl"],
        expect![[r#"
        exit 2
        ---
        error: bad.jsonl is not a concept store: it is not an SQLite file
        hint: name a file that is not there yet, or one that meno made
    "#]],
    );
    let away = typed(dir, &["list", "--store", "postgres://anna:secret@127.0.0.1:1/x"]);
    assert!(
        away.starts_with("exit 2\n---\nerror: postgres://anna@127.0.0.1:1/x cannot be reached: "),
        "{away}"
    );
    assert!(run(dir, "memory edit 1").starts_with("exit 2\n---\nerror: "));
}

#[test]
fn a_terminal_is_not_moved_by_a_concept() {
    let dir = tempfile::tempdir().unwrap();
    typed(dir.path(), &["add", "\x1b[2Jx", "song", "--value", "a\tb"]);
    let listed = typed(dir.path(), &["list"]);
    assert!(!listed.contains(['\x1b', '\t']), "{listed:?}");
}

/// `everyone` is not a user but everyone, wherever it is typed.
#[test]
fn everyone_is_everyone() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let learnt = typed(dir, &["add", "red moon", "song", "--owner", "everyone"]);
    assert!(learnt.starts_with("exit 0\nlearnt 1: red moon | song\n"), "{learnt}");
    assert!(typed(dir, &["list", "--owner", "anna"]).contains("red moon"));
    fs::write(dir.join("x.jsonl"), r#"{"phrase": "x", "slot": "s", "owner": "everyone"}"#).unwrap();
    let refused = typed(dir, &["import", "x.jsonl"]);
    assert!(refused.contains("x.jsonl:1: `everyone` is no name of an owner\nhint: "), "{refused}");
    assert!(typed(dir, &["erase", "--owner", "everyone"]).contains("erased 1 concept and 1 row"));
}

#[test]
fn a_store_is_named_by_the_environment() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let in_store = |args: &str| shown(&meno(dir, args).env("MENO_STORE", "c.db").output().unwrap());
    assert!(in_store("memory add moon song").starts_with("exit 0"));
    assert!(in_store("backup saved").contains("1 concept"));
    assert!(in_store("restore saved").contains("c.db: 1 concept"));
    assert!(dir.join("c.db").exists() && !dir.join("concepts.db").exists());
    assert!(in_store("memory list --store concepts.db").starts_with("exit 2"), "what is typed wins");
    let secret =
        meno(dir, "memory --help").env("MENO_STORE", "postgres://anna:secret@db/x").output().unwrap();
    assert!(shown(&secret).contains("MENO_STORE") && !shown(&secret).contains("secret"));
    let token = |args: &str| shown(&meno(dir, args).env("MENO_TOKENS_FILE", "t").output().unwrap());
    assert!(token("token anna read").starts_with("exit 0"));
    assert!(token("token --list").contains("anna read "));
}

#[cfg(unix)]
#[test]
fn what_is_exported_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    typed(dir, &["add", "red moon", "song", "--source", "play red moon", "--intent", "play"]);
    let mode = |name: &str| fs::metadata(dir.join(name)).unwrap().permissions().mode() & 0o777;
    typed(dir, &["export", "taught.jsonl"]);
    assert!(typed(dir, &["export", "learnt", "--as", "corpus"]).starts_with("exit 0"));
    assert_eq!((mode("taught.jsonl"), mode("learnt")), (0o600, 0o700));
    // A file that is there keeps its mode.
    fs::set_permissions(dir.join("taught.jsonl"), fs::Permissions::from_mode(0o644)).unwrap();
    typed(dir, &["export", "taught.jsonl"]);
    assert_eq!(mode("taught.jsonl"), 0o644);
}

/// A backup on a medium that nobody can write to, restored by somebody who may not anyway.
#[cfg(unix)]
#[test]
fn a_backup_that_can_only_be_read_is_restored() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    typed(dir, &["add", "red moon", "song"]);
    let [safe, room] = ["safe", "room"].map(|name| dir.join(name));
    fs::create_dir(&safe).unwrap();
    fs::create_dir(&room).unwrap();
    assert!(shown(&meno(dir, "backup safe/saved").output().unwrap()).starts_with("exit 0"));
    for (path, mode) in [(dir, 0o755), (&safe.join("saved"), 0o444), (&safe, 0o555), (&room, 0o777)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let mut restore = meno(dir, "restore safe/saved --store room/c.db");
    if fs::metadata(dir).unwrap().uid() == 0 {
        restore.uid(65_534);
    }
    let restored = shown(&restore.output().unwrap());
    fs::set_permissions(&safe, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(restored.starts_with("exit 0"), "{restored}");
    assert_eq!(names(&safe), ["saved"]);
    assert!(typed(dir, &["list", "--store", "room/c.db"]).contains("red moon"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    typed(dir.path(), &["add", "x", "song"]);
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = meno(dir.path(), "memory list --json").stdout(full).output().unwrap();
    assert!(
        shown(&output).starts_with("exit 2\n---\nerror: cannot write standard output: "),
        "{}",
        shown(&output)
    );
}

#[test]
fn what_was_taught_is_known_when_tagging() {
    let spans = |args: &str, text: &str| -> String {
        let output = pipe(trained(), args, text.as_bytes());
        assert!(output.status.success(), "{}", shown(&output));
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let spans = json["spans"].as_array().unwrap().iter();
        let shown: Vec<String> = spans.map(|span| format!("[{}|{}]", span["text"], span["slot"])).collect();
        format!("{} {}", shown.join(" "), json["memory"]).replace('"', "")
    };
    let dir = trained();
    typed(dir, &["add", "Burpees and Regrets", "playlist", "--value", "workout mix", "--owner", "anna"]);
    typed(dir, &["add", "please", "song"]);
    let known =
        spans("tag m --store concepts.db --owner anna", "Wake me at six with BURPEES and regrets, please!");
    let memory =
        "[{concept:2593940045825,end:39,slot:playlist,start:20,text:BURPEES and regrets,value:workout mix}]";
    assert!(known.contains("[BURPEES and regrets|playlist]"), "{known}");
    assert!(known.ends_with(memory), "{known}");
    // What is one user's is not another's; what is plainly something else stays so.
    for args in ["tag m --store concepts.db --owner ben", "tag m --store concepts.db"] {
        let other = spans(args, "play blue please with burpees and regrets");
        assert!(other.ends_with(" []") && !other.contains("playlist"), "{other}");
    }
    assert!(spans("tag m", "play blue").ends_with(" null"), "no memory without a store");
    let missing = run(dir, "tag m data/test/seq.in --store nowhere.db");
    assert!(missing.starts_with("exit 2\n---\nerror: there is no concept store at nowhere.db"), "{missing}");
}

#[test]
fn what_memory_gives_is_measured() {
    let dir = tiny_dataset();
    let dir = dir.path();
    fs::copy(trained().join("m"), dir.join("m")).unwrap();
    for (name, text) in [
        ("seq.in", "play zorblax quux\nwake me with zorblax quux\n"),
        ("seq.out", "O B-unknown I-unknown\nO O O B-unknown I-unknown\n"),
        ("seq.true", "O B-song I-song\nO O O B-song I-song\n"),
        ("label", "play\nalarm\n"),
    ] {
        fs::create_dir_all(dir.join("data/new")).unwrap();
        fs::write(dir.join("data/new").join(name), text).unwrap();
    }
    let output = meno(dir, "experiment memory m data --new new --concepts 50").output().unwrap();
    assert!(output.status.success(), "{}", shown(&output));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let help = &json["help"];
    assert_eq!((help["concepts"].as_u64(), help["tested"].as_u64()), (Some(1), Some(1)));
    assert_eq!(help["recognised_after"], 100.0, "{help}");
    assert_eq!(json["harm"]["concepts"], 50);
    assert!(json["harm"]["slot_f1_after"].as_f64().unwrap() > 90.0, "{json}");
}

/// A server that ends with this process, if one can be had.
fn postgres() -> Option<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/postgres.sh");
    let pid = std::process::id().to_string();
    let dir: PathBuf = std::env::temp_dir().join(format!("meno-pg-cli-{pid}"));
    let output = Command::new(script).arg("start").arg(dir).arg(pid).output().unwrap();
    if output.status.success() {
        return Some(String::from_utf8(output.stdout).unwrap().trim().to_owned());
    }
    let reason = String::from_utf8_lossy(&output.stderr).into_owned();
    left_out("meno memory on PostgreSQL", &format!("there is {reason}"));
    None
}

#[test]
fn postgres_is_a_store_like_a_file() {
    let Some(store) = postgres() else { return };
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let missing = typed(dir, &["list", "--store", &store]);
    assert!(missing.starts_with("exit 2\n---\nerror: there is no concept store at postgres://"), "{missing}");
    typed(dir, &["add", "red moon", "song", "--store", &store]);
    typed(dir, &["add", "home", "place", "--owner", "anna", "--store", &store]);
    typed(dir, &["export", "all.jsonl", "--store", &store]);
    typed(dir, &["import", "all.jsonl", "--store", "file.db"]);
    let [there, here] = [store.as_str(), "file.db"].map(|store| typed(dir, &["list", "--store", store]));
    assert_eq!(there, here);
    assert!(there.contains("2 concepts"), "{there}");
}

#[test]
fn an_owner_is_taken_out_and_erased() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    typed(dir, &["add", "red moon", "song", "--owner", "anna"]);
    typed(dir, &["add", "blue moon", "song"]);
    let everything = typed(dir, &["export", "--as", "everything", "--owner", "anna"]);
    let lines: Vec<serde_json::Value> =
        everything.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert_eq!(lines.len(), 2, "{everything}");
    assert_eq!(lines[0]["concept"]["phrase"], "red moon");
    assert_eq!(lines[1]["change"]["actor"], "anna");
    for command in [&["erase"][..], &["export", "--as", "everything"]] {
        let refused = typed(dir, command);
        assert!(refused.starts_with("exit 2") && refused.contains("about whom"), "{refused}");
    }
    check(
        dir,
        &["erase", "--owner", "anna"],
        expect![[r#"
            exit 0
            ---
            erased 1 concept and 1 row of the journal
        "#]],
    );
    check(
        dir,
        &["list"],
        expect![[r#"
        exit 0
        id  phrase     slot  value  owner  uses
        1   blue moon  song                0
        ---
        1 concept
    "#]],
    );
    // What would move a cursor or turn the text, and what would be taken for a label.
    for (phrase, slot) in
        [("red \u{202e}moon", "song"), ("red \u{7}moon", "song"), ("red", "O"), ("red", "B-song")]
    {
        let refused = typed(dir, &["add", phrase, slot]);
        assert!(refused.starts_with("exit 2"), "{refused}");
    }
    for owner in ["*", "\u{feff}anna", "an\u{202e}na"] {
        for command in [&["add", "red", "song"][..], &["erase"]] {
            let refused = typed(dir, &[command, &["--owner", owner]].concat());
            assert!(refused.starts_with("exit 2") && refused.contains("no name of an owner"), "{refused}");
        }
    }
}

#[test]
fn a_store_is_backed_up_and_restored() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    typed(dir, &["add", "red moon", "song"]);
    let backup = |args: &[&str]| shown(&meno(dir, args[0]).args(&args[1..]).output().unwrap());
    expect![[r#"
        exit 0
        ---
        saved: 1 concept
    "#]]
    .assert_eq(&backup(&["backup", "saved"]));
    typed(dir, &["add", "blue moon", "song"]);
    assert!(backup(&["restore", "saved"]).starts_with("exit 0"));
    assert!(typed(dir, &["list"]).contains("1 concept"));
    assert!(backup(&["restore", "saved", "--store", "other.db"]).starts_with("exit 0"));
    assert!(typed(dir, &["list", "--store", "other.db"]).contains("red moon"));
    fs::write(dir.join("garbage"), "x".repeat(5000)).unwrap();
    for args in [
        &["restore", "garbage", "--store", "new.db"][..],
        &["restore", "nowhere"],
        &["restore", "."],
        &["backup", "x", "--store", "no.db"],
        &["backup", "x", "--store", "."],
        &["backup", "."],
        &["backup", "nowhere/x"],
    ] {
        let refused = backup(args);
        assert!(refused.starts_with("exit 2") && refused.contains("hint: "), "{refused}");
    }
    assert!(!dir.join("new.db").exists() && !dir.join("no.db").exists() && !dir.join("x").exists());
    assert!(typed(dir, &["list"]).contains("1 concept"));
}
