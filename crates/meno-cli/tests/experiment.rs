//! `meno experiment paper` and `meno experiment sweep` as they are typed.

mod support;

use std::fs;
use std::path::Path;

use expect_test::expect;
use support::{meno, names, run, shown, tiny_dataset};
use tempfile::TempDir;

const SMALL: &str = "--epochs 4 --hidden 16 --embedding 16";

/// The tiny dataset with utterances that have new concepts, in `data/NAME`.
fn dataset(name: &str) -> TempDir {
    let dir = tiny_dataset();
    let new = dir.path().join("data").join(name);
    fs::create_dir(&new).unwrap();
    for (name, text) in [
        ("seq.in", "play golden river\nwake me at dusk\nweather in monte verde\n"),
        ("seq.out", "O B-unknown I-unknown\nO O O B-unknown\nO O B-unknown I-unknown\n"),
        ("seq.true", "O B-song I-song\nO O O B-time\nO O B-city I-city\n"),
        ("label", "play\nalarm\nweather\n"),
    ] {
        fs::write(new.join(name), text).unwrap();
    }
    dir
}

fn paper(dir: &Path, more: &str) -> String {
    run(dir, &format!("experiment paper --data data {SMALL} {more}"))
}

/// The files of the results, with what they hold.
fn results(out: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = ["results.json", "results.csv"].map(|name| out.join(name)).to_vec();
    files.extend(names(&out.join("pictures")).iter().map(|name| out.join("pictures").join(name)));
    let name = |path: &Path| path.strip_prefix(out).unwrap().display().to_string();
    files.iter().map(|path| (name(path), fs::read(path).unwrap())).collect()
}

#[test]
fn writes_tables_numbers_and_pictures() {
    let dir = dataset("new");
    let output = paper(dir.path(), "--seeds 2 --out out --paper atis");
    let (stdout, stderr) = output.strip_prefix("exit 0\n").expect(&output).rsplit_once("---\n").unwrap();
    assert!(stderr.ends_with("out/README.md: tables, numbers and pictures\n"), "{stderr}");

    let out = dir.path().join("out");
    assert_eq!(names(&out), ["README.md", "models", "pictures", "results.csv", "results.json", "runs"]);
    let runs = ["1-calibrated", "1-plain", "2-calibrated", "2-plain"];
    assert_eq!(names(&out.join("models")), runs.map(|name| format!("{name}.meno")));
    assert_eq!(names(&out.join("runs")), runs.map(|name| format!("{name}.json")));

    let readme = fs::read_to_string(out.join("README.md")).unwrap();
    assert!(readme.contains(stdout.trim_end()), "{readme}");
    for heading in ["Strict", "Words", "Unknown", "All slots", "Any", "Spread over the seeds"] {
        assert!(readme.contains(&format!("## {heading}\n")), "{heading}");
    }
    let lines: Vec<String> =
        readme.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let rows = |start: &str| lines.iter().filter(|line| line.starts_with(start)).collect::<Vec<_>>();
    // Four ways of counting; what the paper has stands beside ours.
    let syntax = rows("| Dirichlet entropy + Syntax | ");
    assert_eq!(syntax.len(), 4);
    for number in ["(38.31) |", "(70.32) |", "(49.60) |"] {
        assert!(syntax[0].contains(number) && !syntax[0].contains("| - "), "{number}: {syntax:?}");
    }
    assert!(rows("| Dropout perturbation | ")[0].ends_with(" (42.77) |"), "{:?}", rows("| Dropout"));
    assert!(readme.ends_with(&format!(
        "meno experiment paper --data data {SMALL} --seeds 2 --out out --paper atis\n```\n"
    )));

    // Every picture of the report is there, in both formats.
    let pictures = names(&out.join("pictures"));
    let shown: Vec<&str> =
        readme.split("](pictures/").skip(1).map(|rest| rest.split_once(".svg)").unwrap().0).collect();
    assert_eq!(pictures.len(), 2 * shown.len());
    for name in shown {
        for ending in ["png", "svg"] {
            assert!(pictures.contains(&format!("{name}.{ending}")), "{name}");
        }
    }

    let json: serde_json::Value =
        serde_json::from_slice(&fs::read(out.join("results.json")).unwrap()).unwrap();
    let cells = json["results"].as_array().unwrap();
    let find = |model: &str, method: &str, measure: &str| {
        let is_it = |cell: &&serde_json::Value| {
            cell["model"] == model && cell["method"] == method && cell["measure"] == measure
        };
        cells.iter().find(is_it).unwrap_or_else(|| panic!("{model} {method} {measure}"))
    };
    for model in ["calibrated", "plain"] {
        for method in
            ["dropout", "noise", "top-variance", "oov", "confidence+oov", "entropy", "never", "neighbours"]
        {
            for scoring in ["unknown", "all_slots", "strict", "any"] {
                let cell = find(model, method, &format!("{scoring}_f1"));
                let values: Vec<f64> =
                    cell["values"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
                assert_eq!(values.len(), 2);
                assert_eq!(cell["mean"], (values[0] + values[1]) / 2.0);
            }
        }
        for measure in ["auroc", "aupr", "fpr_at_95_recall", "aurc"] {
            find(model, "entropy", measure);
        }
        for measure in ["slot_f1", "ece", "brier", "intent_accuracy"] {
            find(model, "", measure);
        }
    }
    assert_eq!(find("calibrated", "entropy", "strict_f1")["paper"], 49.5);
    let csv = fs::read_to_string(out.join("results.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + cells.len());
    // The best against all others.
    let n_cells = cells.iter().filter(|cell| cell["measure"] == "strict_f1").count();
    assert!(json["t_tests"].as_array().unwrap().len() >= n_cells - 1);
}

#[test]
fn takes_up_what_was_done_and_gives_the_same_bytes() {
    let dir = dataset("ood-test");
    let first = paper(dir.path(), "--seeds 1 --quick --out out --jobs 2");
    assert!(first.contains("---\n2 runs in "), "{first}");
    let before = results(&dir.path().join("out"));

    // Nothing is left to do.
    let again = paper(dir.path(), "--seeds 1 --quick --out out");
    assert!(again.contains("---\nout: 2 of 2 runs are there from before\nout/README.md"), "{again}");
    assert_eq!(results(&dir.path().join("out")), before);

    // Evaluated anew, by the models that are there.
    let modified =
        |name: &str| fs::metadata(dir.path().join("out/models").join(name)).unwrap().modified().unwrap();
    let trained = modified("1-plain.meno");
    fs::write(dir.path().join("out/runs/1-plain.json"), "{").unwrap();
    let evaluated = paper(dir.path(), "--seeds 1 --quick --out out");
    let note =
        "---\nout/runs/1-plain.json: of other settings or data; it is done again\nout: 1 of 2 runs are there";
    assert!(evaluated.contains(note), "{evaluated}");
    assert_eq!(modified("1-plain.meno"), trained);
    assert_eq!(results(&dir.path().join("out")), before);

    // Begun anew, one after the other.
    let fresh = paper(dir.path(), "--seeds 1 --quick --out fresh --jobs 1");
    assert!(fresh.contains("---\n2 runs in "), "{fresh}");
    assert_eq!(results(&dir.path().join("fresh")), before);

    // One more seed.
    let more = paper(dir.path(), "--seeds 2 --quick --out out");
    assert!(more.contains("---\nout: 2 of 4 runs are there from before\n2 runs in "), "{more}");

    // Other settings, then other data: nothing of it can be taken.
    let other = paper(dir.path(), "--seeds 1 --quick --out out --rate 0.01");
    assert!(
        other.contains("out/runs/1-calibrated.json: of other settings or data; it is done again\n"),
        "{other}"
    );
    assert!(!other.contains("from before"), "{other}");
    assert_ne!(modified("1-plain.meno"), trained);
    let budget = paper(dir.path(), "--seeds 1 --quick --out out --rate 0.01 --budget 50");
    assert!(!budget.contains("from before"), "{budget}");
    fs::write(dir.path().join("data/ood-test/label"), "play\nalarm\nplay\n").unwrap();
    let data = paper(dir.path(), "--seeds 1 --quick --out out --rate 0.01 --budget 50");
    assert!(!data.contains("from before"), "{data}");
}

#[test]
fn another_valid_set_makes_another_model() {
    let dir = dataset("new");
    paper(dir.path(), "--seeds 1 --quick --out out");
    for name in ["seq.in", "seq.out", "label"] {
        let path = dir.path().join("data/valid").join(name);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.lines().skip(7).map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    }
    paper(dir.path(), "--seeds 1 --quick --out out");
    paper(dir.path(), "--seeds 1 --quick --out fresh");
    for name in ["1-plain.meno", "1-calibrated.meno"] {
        let bytes = |out: &str| fs::read(dir.path().join(out).join("models").join(name)).unwrap();
        assert!(bytes("out") == bytes("fresh"), "{name}");
    }
}

#[test]
fn sweeps_a_setting() {
    let dir = dataset("new");
    let args = "experiment sweep --data data --over lambda --epochs 2 --hidden 16 --embedding 16 --seeds 2";
    let output = run(dir.path(), &format!("{args} --out out"));
    assert!(output.starts_with("exit 0\n| lambda "), "{output}");
    let out = dir.path().join("out");
    assert_eq!(names(&out), ["README.md", "models", "pictures", "results.csv", "results.json", "runs"]);
    assert_eq!(names(&out.join("pictures")), ["f1.png", "f1.svg"]);
    let csv = fs::read_to_string(out.join("results.csv")).unwrap();
    assert!(csv.starts_with("lambda,measure,mean,deviation,n\n0,slot_f1,"), "{csv}");
    let values: Vec<&str> = csv
        .lines()
        .filter(|line| line.contains(",strict_f1,"))
        .map(|line| line.split(',').next().unwrap())
        .collect();
    assert_eq!(values, ["0", "0.00001", "0.0001", "0.001", "0.01", "0.1", "1"]);
    let svg = fs::read_to_string(out.join("pictures/f1.svg")).unwrap();
    assert!(values.iter().all(|value| svg.contains(&format!(">{value}<"))), "{svg}");
    let before = results(&out);
    let again = run(dir.path(), &format!("{args} --out out"));
    assert!(again.contains("out: 14 of 14 runs are there from before\n"), "{again}");
    assert_eq!(results(&out), before);
}

#[test]
fn refuses_what_cannot_be_judged() {
    let dir = tiny_dataset();
    expect![[r#"
        exit 2
        ---
        error: data has no set of new concepts
        hint: there is train, valid, test; name one with --ood, or make one with `meno data new-concepts`
    "#]]
    .assert_eq(&paper(dir.path(), "--out out"));
    expect![[r#"
        exit 2
        ---
        error: data has no set `nowhere`
        hint: there is train, valid, test; name one with --ood, or make one with `meno data new-concepts`
    "#]]
    .assert_eq(&paper(dir.path(), "--out out --ood nowhere"));
    expect![[r#"
        exit 2
        ---
        error: data/test:1: no new concept in it: no word is labelled `B-unknown`
        hint: `meno data new-concepts` makes such a set from a test set
    "#]]
    .assert_eq(&paper(dir.path(), "--out out --ood test"));
    let empty = dir.path().join("data/ood-test");
    fs::create_dir(&empty).unwrap();
    for name in ["seq.in", "seq.out", "seq.true", "label"] {
        fs::write(empty.join(name), "").unwrap();
    }
    expect![[r#"
        exit 2
        ---
        error: data/ood-test:1: there is no utterance in it
        hint: check the path; the file holds nothing to read
    "#]]
    .assert_eq(&paper(dir.path(), "--out out"));
    expect![[r#"
        exit 2
        ---
        error: the budget is -1
        hint: it is a number of points of F1, from 0 to 100
    "#]]
    .assert_eq(&paper(dir.path(), "--out out --budget=-1"));
    expect![[r#"
        exit 2
        ---
        error: hidden is 7
        hint: widths are multiples of 16 up to 4096
    "#]]
    .assert_eq(&run(dir.path(), "experiment paper --data data --out out --hidden 7"));
    for args in ["--out out --paper mars", "--out out --seeds 0"] {
        let output = paper(dir.path(), args);
        assert!(output.starts_with("exit 2\n---\nerror: invalid value "), "{output}");
    }
    let output = run(dir.path(), "experiment sweep --data data --over weather --out out");
    assert!(output.contains("possible values: delta, lambda, unknown-words, hidden]"), "{output}");
    let nowhere = run(dir.path(), "experiment paper --data nowhere --out out");
    assert!(nowhere.contains("error: cannot read nowhere: "), "{nowhere}");
    assert_eq!(names(dir.path()), ["data"], "nothing is written before the data is found to be sound");
    fs::write(dir.path().join("out"), "").unwrap();
    let dir = dataset("new");
    fs::write(dir.path().join("out"), "").unwrap();
    let output = paper(dir.path(), "--out out");
    assert!(output.starts_with("exit 2\n---\nerror: cannot write out/models: "), "{output}");
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_it_and_the_same_command_goes_on() {
    use std::process::{Command, Stdio};
    use std::time::Duration;

    let dir = dataset("new");
    let args = "experiment paper --data data --hidden 16 --embedding 16 --seeds 2 --quick --out out --epochs";
    // Until the work has begun Ctrl-C ends the program like any other, so it is tried later and later.
    let stopped = (0..8).find_map(|attempt| {
        let mut command = meno(dir.path(), &format!("{args} 10000000"));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(200 << attempt));
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        output.status.code().is_some().then(|| shown(&output))
    });
    expect![[r#"
        exit 130
        ---
        stopped: 0 of 4 runs are in out
        hint: to go on, type the same command again
    "#]]
    .assert_eq(&stopped.unwrap());
    assert_eq!(names(&dir.path().join("out")), ["models", "pictures", "runs"]);
    let resumed = run(dir.path(), &format!("{args} 2"));
    assert!(resumed.starts_with("exit 0\n"), "{resumed}");
}
