//! Datasets as people have them: one file, a Rasa project, no valid split.

mod support;

use support::{folder, meno, pipe, run};

/// A bot with 60 examples.
fn bot() -> String {
    let rooms = ["kitchen", "hall", "bath", "den", "attic"];
    let line = |verb: &str, room: &str| format!("    - {verb} the light in the [{room}](room)\n");
    let (mut on, mut off) = (String::new(), String::new());
    for room in rooms {
        for verb in ["turn on", "switch on", "please put on"] {
            on += &line(verb, room);
        }
        for verb in ["turn off", "switch off", "please put out"] {
            off += &line(verb, room);
        }
    }
    let greet =
        ["hello", "hi there", "good morning", "hey", "good evening"].map(|text| format!("    - {text}\n"));
    format!(
        "version: \"3.1\"\nnlu:\n- intent: on\n  examples: |\n{on}- intent: off\n  examples: |\n{off}- intent: greet\n  examples: |\n{}",
        greet.concat()
    )
}

const QUICK: &str = "--epochs 12 --hidden 16 --embedding 16 --threads 2";

#[test]
fn one_file_is_a_dataset_and_small_ones_are_cross_validated() {
    let bot = bot();
    let dir = folder(&[("nlu.yml", bot.as_bytes())]);
    let said = run(dir.path(), &format!("train nlu.yml {QUICK}"));
    assert!(said.starts_with("exit 0\n"), "{said}");
    assert!(said.contains("note: there is no valid split, and 35 utterances are too few"), "{said}");
    assert!(said.contains("\nfolds  slot F1"), "{said}");
    assert!(said.contains("epoch 12 of 84  loss"), "{said}");
    assert!(dir.path().join("nlu.meno").is_file());
    // The same seed gives the same bytes, for any number of threads.
    let again =
        run(dir.path(), &format!("train nlu.yml -o again.meno {}", QUICK.replace("threads 2", "threads 1")));
    assert!(again.starts_with("exit 0\n"), "{again}");
    let bytes = ["nlu.meno", "again.meno"].map(|name| std::fs::read(dir.path().join(name)).unwrap());
    assert!(bytes[0] == bytes[1]);
}

#[test]
fn a_rasa_project_is_a_dataset() {
    let bot = bot();
    let dir = folder(&[
        ("bot/domain.yml", b"version: \"3.1\"\nintents:\n- on\n- off\n"),
        ("bot/config.yml", b"language: en\npipeline:\n- name: WhitespaceTokenizer\n"),
        ("bot/data/stories.yml", b"stories:\n- story: hello\n  steps:\n  - intent: greet\n"),
        ("bot/data/nlu/lights.yml", bot.as_bytes()),
        (
            "bot/data/nlu/thanks.yml",
            b"nlu:\n- intent: thanks\n  examples: |\n    - thanks\n    - thank you\n",
        ),
        ("bot/tests/nlu.yml", b"nlu:\n- intent: greet\n  examples: |\n    - good day\n"),
    ]);
    let output = meno(dir.path(), "data stats bot --json").output().unwrap();
    let stats: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let counts: Vec<_> = stats[0]["splits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|split| (split["name"].as_str().unwrap().to_owned(), split["utterances"].as_u64().unwrap()))
        .collect();
    assert_eq!(counts, [("train".to_owned(), 37), ("test".to_owned(), 1)]);
}

#[test]
fn a_corpus_is_split_and_a_valid_split_inside_train_is_refused() {
    let bot = bot();
    let dir = folder(&[("nlu.yml", bot.as_bytes())]);
    let said = run(dir.path(), "data split nlu.yml parts --valid 0.2 --test 0.2 --to conll");
    assert!(said.starts_with("exit 0\n") && said.contains("parts/valid.conll: 7 utterances"), "{said}");
    std::fs::copy(dir.path().join("parts/train.conll"), dir.path().join("parts/valid.conll")).unwrap();
    let said = run(dir.path(), &format!("train parts {QUICK}"));
    assert!(said.starts_with("exit 2\n"), "{said}");
    assert!(said.contains("every utterance of parts/valid.conll stands in parts/train.conll too"), "{said}");
    let said = run(dir.path(), "data split nlu.yml other --valid 0.6 --test 0.4");
    assert!(said.starts_with("exit 2\n") && !dir.path().join("other").exists(), "{said}");
}

/// A pizza bot with synonyms and lookup tables; no example has a topping or city of the latter.
fn pizza() -> String {
    let toppings = ["ham", "salami", "tuna", "olives", "cheese", "bacon"];
    let order = toppings.map(|topping| {
        format!(
            "    - a [large](size) pizza with [{topping}](topping)\n    - [two](number) [{topping}](topping) pizzas please\n\
             \x20   - i want a [small](size) pizza with [{topping}](topping) and [onions](topping)\n"
        )
    });
    let cities = ["berlin", "munich", "hamburg", "cologne", "dresden", "leipzig"];
    let deliver = cities
        .map(|city| format!("    - deliver it to [{city}](city)\n    - do you deliver to [{city}](city)\n"));
    let list = |kind: &str, name: &str, values: &[&str]| {
        let values: String = values.iter().map(|value| format!("    - {value}\n")).collect();
        format!("- {kind}: {name}\n  examples: |\n{values}")
    };
    [
        "nlu:\n- intent: order\n  examples: |\n".to_owned() + &order.concat() + "    - [three](number) pizzas\n",
        "- intent: deliver\n  examples: |\n".to_owned() + &deliver.concat(),
        "- intent: greet\n  examples: |\n    - hello\n    - hi there\n    - have a nice day\n    - may i ask\n".to_owned(),
        list("synonym", "salami", &["pepperoni"]),
        list("synonym", "two", &["2", "a couple of"]),
        list("lookup", "topping", &["gorgonzola", "sun dried tomatoes", "may", "hello"]),
        list("lookup", "city", &["Bremen", "Bad Homburg", "there"]),
    ]
    .concat()
}

#[test]
fn synonyms_and_lookup_tables_go_into_the_model() {
    let pizza = pizza();
    let dir = folder(&[("nlu.yml", pizza.as_bytes())]);
    let quick = "--epochs 60 --rate 0.01 --dropout 0.1 --hidden 16 --embedding 16 --batch 8 --threads 2";
    let said = run(dir.path(), &format!("train nlu.yml -o m {quick}"));
    assert!(said.starts_with("exit 0\n"), "{said}");
    let tagged = |line: &str| {
        let output = pipe(dir.path(), "tag m --json", line.as_bytes());
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let text = |value: &serde_json::Value| value.as_str().unwrap_or("-").to_owned();
        let spans = answer["spans"].as_array().unwrap().iter();
        let shown = spans
            .map(|span| format!("{}:{}={}", text(&span["slot"]), text(&span["text"]), text(&span["value"])));
        shown.collect::<Vec<_>>().join(" ")
    };
    for (line, expected) in [
        ("2 Pepperoni pizzas please", "number:2=two topping:Pepperoni=salami"),
        ("a couple of tuna pizzas please", "number:a couple of=two topping:tuna=-"),
        ("a large pizza with gorgonzola", "size:large=- topping:gorgonzola=-"),
        ("i want a small pizza with sun dried tomatoes", "size:small=- topping:sun dried tomatoes=-"),
        ("deliver it to Bad Homburg!", "city:Bad Homburg=-"),
        // Ordinary words that a list has too.
        ("may i ask", ""),
        ("hello", ""),
        ("hi there", ""),
    ] {
        assert_eq!(tagged(line), expected, "{line}");
    }
    // The readable form and another format.
    let output = pipe(dir.path(), "--color always tag m", b"2 tuna pizzas please");
    assert!(String::from_utf8_lossy(&output.stdout).contains("|number=two]"));
    let said = run(dir.path(), "data convert nlu.yml x.jsonl");
    assert!(said.contains("note: 10 known values left out, for which jsonl has no place"), "{said}");
    let said = run(dir.path(), "data convert nlu.yml again.yml");
    assert!(said.starts_with("exit 0\n") && !said.contains("left out"), "{said}");
    // What was written trains the same model.
    run(dir.path(), &format!("train again.yml -o again {quick}"));
    let bytes = ["m", "again"].map(|name| std::fs::read(dir.path().join(name)).unwrap());
    assert!(bytes[0] == bytes[1]);
}

#[test]
fn json_of_no_known_shape_is_told_by_its_fields() {
    let dir = folder(&[("x.json", br#"{"a": 1}"#)]);
    for command in ["train x.json", "data stats x.json", "data check x.json", "data convert x.json y.conll"] {
        let said = run(dir.path(), command);
        assert!(said.starts_with("exit 2\n"), "{said}");
        assert!(said.contains("x.json:1: JSON of no known format: its fields are `a`\n"), "{said}");
        assert!(said.contains("hint: the nearest format is jsonl, with `tokens` and `ner_tags`"), "{said}");
    }
}

#[test]
fn columns_can_be_stated_wherever_data_is_read() {
    let line = |word: &str, tag: &str| format!("B-wrong {word} x {tag}\n");
    let utterance = |city: &str| {
        ["# intent: go\n".to_owned(), line("to", "O"), line(city, "B-city"), "\n".to_owned()].concat()
    };
    let corpus: String = ["oslo", "rome", "paris", "bonn", "york", "lima"].map(utterance).concat();
    let dir = folder(&[("x.conll", corpus.as_bytes())]);
    let said = run(dir.path(), "data stats x.conll --columns 2,4 --json");
    assert!(said.contains("\"vocabulary\": 7"), "{said}");
    let said = run(dir.path(), "data check x.conll --columns 2,4");
    assert!(said.starts_with("exit 0\n"), "{said}");
    let said = run(dir.path(), "data split x.conll parts --columns 2,4 --valid 0.3 --test 0");
    assert!(said.starts_with("exit 0\n"), "{said}");
    assert!(
        std::fs::read_to_string(dir.path().join("parts/train/seq.out")).unwrap().starts_with("O B-city\n")
    );
    let said = run(dir.path(), &format!("train x.conll -o m --columns 2,4 {}", QUICK.replace("12", "1")));
    assert!(said.starts_with("exit 0\n"), "{said}");
    let said = run(dir.path(), "data check parts --columns 2,4");
    assert!(said.contains("parts/train is a folder, and columns are those of a file"), "{said}");
    let said = run(dir.path(), "train x.conll --columns 2");
    assert!(said.contains("error: `2` does not name two columns\nhint: "), "{said}");
}
