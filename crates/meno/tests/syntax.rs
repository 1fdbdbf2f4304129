//! The syntax stage from outside: files, scores, the shipped model, odd input.

#[path = "../../../tests/left_out.rs"]
mod left_out;

use std::path::{Path, PathBuf};

use left_out::left_out;
use meno::Error;
use meno::random::Random;
use meno::syntax::{Parse, Scores, Syntax, SyntaxSettings, Tree, conllu, tree};
use proptest::prelude::*;

fn goldens() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens/conllu")
}

fn trees(path: &Path) -> Vec<Tree> {
    conllu::read(path).unwrap().iter().map(|sentence| Tree::new(sentence).unwrap()).collect()
}

#[test]
fn files_come_back_as_they_were() {
    let path = goldens().join("gold.conllu");
    let sentences = conllu::read(&path).unwrap();
    assert_eq!(conllu::render(&sentences), std::fs::read_to_string(&path).unwrap());
    let first = &sentences[0];
    assert_eq!((first.comments.len(), first.words.len(), first.multiword.len()), (2, 7, 1));
    assert_eq!((sentences[2].empty.len(), sentences[2].empty[0].after), (1, 5));
}

#[test]
fn scores_are_those_of_the_official_script() {
    let expected = std::fs::read_to_string(goldens().join("scores.json")).unwrap();
    let expected: serde_json::Value = serde_json::from_str(&expected).unwrap();
    let gold = trees(&goldens().join("gold.conllu"));
    for (name, numbers) in expected.as_object().unwrap() {
        let system = trees(&goldens().join(name));
        let mut scores = Scores::default();
        for (number, (gold, system)) in (1..).zip(gold.iter().zip(&system)) {
            scores.compare(number, gold, system).unwrap();
        }
        for (metric, found) in [("UPOS", scores.upos_percent()), ("UAS", scores.uas()), ("LAS", scores.las())]
        {
            let expected = numbers[metric].as_f64().unwrap();
            assert!((found - expected).abs() < 1e-9, "{name} {metric}: {found} {expected}");
        }
    }
}

#[test]
fn trees_of_different_words_are_not_compared() {
    let gold = &trees(&goldens().join("gold.conllu"))[0];
    let other = Tree { words: gold.words[1..].to_vec(), ..gold.clone() };
    let error = Scores::default().compare(7, gold, &other).unwrap_err();
    assert!(error.to_string().contains("sentence 7"), "{error}");
}

/// Reads lines in which a space stands for a tab.
fn check_refused(text: &str, line: usize, problem: &str) {
    let text = text.replace(' ', "\t").replace('~', " ");
    match conllu::parse(Path::new("bad.conllu"), text.as_bytes()).unwrap_err() {
        Error::Corpus { line: found, problem: message, hint, path } => {
            assert_eq!((found, message.as_str()), (line, problem));
            assert!(!hint.is_empty() && path == Path::new("bad.conllu"));
        }
        error => panic!("{error}"),
    }
}

#[test]
fn malformed_files_are_refused_with_their_line() {
    let rest = "_ _ _ _";
    check_refused("1 a a NOUN", 1, "4 columns where CoNLL-U has ten");
    check_refused(&format!("1 a a NOUN {rest} _ _ _"), 1, "11 columns where CoNLL-U has ten");
    check_refused("1  a NOUN _ _ 0 root _ _", 1, "column 2 is empty");
    check_refused("2 a a NOUN _ _ 0 root _ _", 1, "word number `2` where 1 is expected");
    check_refused("1 a a Noun _ _ 0 root _ _", 1, "unknown part of speech `Noun`");
    check_refused("1 a a NOUN _ _ -1 root _ _", 1, "the head `-1` is not a number");
    check_refused(
        "1 a a X _ _ 99999999999999999999 root _ _",
        1,
        "the head `99999999999999999999` is not a number",
    );
    check_refused(
        "# c\n1 a a NOUN _ _ 2 dep _ _\n2 b b NOUN _ _ 1 dep _ _\n",
        2,
        "word 1 is its own ancestor",
    );
    check_refused("1 a a NOUN _ _ 0 root _ _\n2 b b NOUN _ _ 0 root _ _", 2, "word 2 is a second root");
    check_refused("1 a a NOUN _ _ 3 dep _ _", 1, "the head 3 is outside the sentence of 1 words");
    check_refused("1 a a NOUN _ _ 0 root _ _\n2 b b NOUN _ _ _ _ _ _", 2, "word 2 has no head");
    check_refused("1 a a NOUN _ _ 0 root _ _\n#~no", 2, "a comment inside a sentence");
    check_refused("2-3 ab _ _ _ _ _ _ _ _", 1, "the range `2-3` does not begin with word 1");
    check_refused(
        "1-2 ab _ _ _ _ _ _ _ _\n1 a a X _ _ 0 root _ _\n\n",
        3,
        "the token 1-2 reaches beyond word 1",
    );
    check_refused("1-2 ab _ _ _ _ _ _ _ _\n\n", 2, "a sentence without words");
    check_refused("1.1 ab _ _ _ _ _ _ _ _", 1, "empty node `1.1` where 0.1 is expected");
    let error = conllu::parse(Path::new("x"), b"# fine\n\xff\n").unwrap_err();
    assert_eq!(error.to_string(), "x:2: not UTF-8");
}

#[test]
fn line_ends_marks_and_missing_blank_lines_are_forgiven() {
    let text = "\u{feff}# c\r\n1\ta\t_\tX\t_\t_\t0\troot\t_\t_\r\n\r\n\r\n1\tb\t_\t_\t_\t_\t_\t_\t_\t_";
    let sentences = conllu::parse(Path::new("x"), text.as_bytes()).unwrap();
    assert_eq!(sentences.len(), 2);
    assert!(Tree::new(&sentences[0]).is_some() && Tree::new(&sentences[1]).is_none());
    assert!(conllu::parse(Path::new("x"), b"").unwrap().is_empty());
}

#[test]
fn speech_has_no_case_and_no_punctuation() {
    let spoken = trees(&goldens().join("gold.conllu"))[0].spoken(true).unwrap();
    assert_eq!(spoken.words, ["what", "s", "the", "weather", "in", "rome"]);
    assert_eq!(spoken.heads, [0, 1, 4, 1, 6, 4]);
    assert_eq!(tree::check(&spoken.heads), Ok(()));
}

#[test]
fn speech_keeps_one_root_where_punctuation_was_the_root() {
    let text = "1 ... ... PUNCT _ _ 0 root _ _\n2 a a NOUN _ _ 1 dep _ _\n3 b b NOUN _ _ 1 dep _ _\n";
    let sentence = &conllu::parse(Path::new("x"), text.replace(' ', "\t").as_bytes()).unwrap()[0];
    let spoken = Tree::new(sentence).unwrap().spoken(false).unwrap();
    assert_eq!((spoken.words.len(), tree::check(&spoken.heads)), (2, Ok(())));
}

fn check_valid(parse: &Parse, n_words: usize) {
    assert_eq!((parse.upos.len(), parse.heads.len(), parse.relations.len()), (n_words, n_words, n_words));
    assert_eq!(tree::check(&parse.heads), Ok(()), "{parse:?}");
    for (head, relation) in parse.heads.iter().zip(&parse.relations) {
        assert_eq!(*head == 0, &**relation == "root");
    }
}

#[test]
fn odd_input_gives_a_tree() {
    let syntax = Syntax::english();
    let mut worker = syntax.worker();
    let long = "x".repeat(100_000);
    for words in [
        &[][..],
        &[""],
        &["", "", ""],
        &["🎵", "👩‍👩‍👧", "日本語", "עברית", "\u{0}", "\u{feff}"],
        &["'", "''", "n't", "'s", "’"],
        &["t", "don", "t", "t"],
        &[long.as_str(), "İ"],
    ] {
        check_valid(&worker.parse(words), words.len());
    }
    check_valid(&worker.parse(&vec!["word"; 2000]), 2000);
    let sentence = worker.annotate("");
    assert!(sentence.words.is_empty());
}

#[test]
fn a_sentence_survives_its_file() {
    let syntax = Syntax::english();
    let mut worker = syntax.worker();
    for text in ["What's new?", "I don t know, don't you?", "🎵\t日本語\u{2028}x\ny", "a  b ..."] {
        let sentence = worker.annotate(text);
        let written = conllu::render(std::slice::from_ref(&sentence));
        assert_eq!(conllu::parse(Path::new("x"), written.as_bytes()).unwrap(), [sentence], "{written}");
    }
    let sentence = worker.annotate("What's new?");
    let forms: Vec<&str> = sentence.words.iter().map(|word| word.form.as_str()).collect();
    assert_eq!(forms, ["What", "'s", "new", "?"]);
    assert_eq!((sentence.multiword[0].first, sentence.multiword[0].last), (1, 2));
    assert_eq!(sentence.words[2].misc, "SpaceAfter=No");
}

#[test]
fn the_shipped_model_knows_plain_english() {
    let syntax = Syntax::english();
    let parse = syntax.worker().parse(&["show", "me", "flights", "from", "boston", "to", "denver"]);
    assert_eq!(parse.heads, [0, 1, 1, 5, 3, 7, 3]);
    let tags: Vec<&str> = parse.upos.iter().map(|upos| upos.name()).collect();
    assert_eq!(tags, ["VERB", "PRON", "NOUN", "ADP", "PROPN", "ADP", "PROPN"]);
}

#[test]
fn what_was_parsed_before_changes_nothing() {
    let syntax = Syntax::english();
    let mut worker = syntax.worker();
    let sentence = ["the", "Old", "mill", "'s", "xyzzy"];
    let fresh = worker.parse(&sentence);
    let names: Vec<String> = (0..10_000).map(|n| format!("word{n}")).collect();
    for name in &names {
        worker.parse(&[name, "Mill"]);
    }
    assert_eq!(worker.parse(&sentence), fresh);
    assert_eq!(syntax.worker().parse(&sentence), fresh);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_words_give_a_tree_with_one_root(words in prop::collection::vec("\\PC{0,8}|[a-z]{1,6}|[a-z]+'[a-z]{0,2}", 0..40)) {
        let syntax = Syntax::english();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        check_valid(&syntax.worker().parse(&words), words.len());
    }

    #[test]
    fn any_text_gives_conllu_that_can_be_read(text in "[\\PC\\t\\n\\r ]{0,60}") {
        let syntax = Syntax::english();
        let sentence = syntax.worker().annotate(&text);
        let written = conllu::render(std::slice::from_ref(&sentence));
        let read = conllu::parse(Path::new("x"), written.as_bytes()).unwrap();
        prop_assert_eq!(read.len(), usize::from(!sentence.words.is_empty()));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = conllu::parse(Path::new("x"), &bytes);
        let _ = Syntax::load(&bytes);
    }
}

#[test]
fn a_damaged_model_is_refused_or_harmless() {
    let bytes = Syntax::english().to_bytes();
    let mut random = Random::new(9);
    for _ in 0..30 {
        let mut damaged = bytes.clone();
        // Most of them in the header, where the shapes stand.
        for end in [1200, damaged.len()] {
            let at = random.below(end);
            damaged[at] ^= 1 << random.below(8);
        }
        if let Ok(syntax) = Syntax::load(&damaged) {
            check_valid(&syntax.worker().parse(&["show", "me", "flights"]), 3);
        }
    }
    for length in [0, 7, 8, 100, bytes.len() / 2, bytes.len() - 1] {
        assert!(matches!(Syntax::load(&bytes[..length]), Err(Error::Model { .. })), "{length}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_for_any_number_of_threads() {
    let trees = vec![trees(&goldens().join("gold.conllu")); 8].concat();
    let train = |threads: usize, seed: u64| {
        let settings = SyntaxSettings { threads, seed, epochs: 2, batch: 16, ..SyntaxSettings::default() };
        let watch = |_, _, _| std::ops::ControlFlow::Continue(());
        Syntax::train(&trees, &settings, watch).unwrap().unwrap().to_bytes()
    };
    let one = train(1, 1);
    assert!(one == train(2, 1) && one == train(3, 1));
    assert!(one != train(1, 2));
}

#[test]
fn a_few_sentences_are_learnt_by_heart() {
    let trees = trees(&goldens().join("gold.conllu"));
    let settings = SyntaxSettings {
        epochs: 150,
        least: 1,
        least_relation: 1,
        dropout: 0.0,
        unknown: 0.0,
        ..SyntaxSettings::default()
    };
    let mut losses = Vec::new();
    let watch = |_, _, loss| {
        losses.push(loss);
        std::ops::ControlFlow::Continue(())
    };
    let syntax = Syntax::train(&trees, &settings, watch).unwrap().unwrap();
    let scores = syntax.worker().evaluate(&trees);
    assert_eq!(
        (scores.upos, scores.heads, scores.labelled),
        (scores.words, scores.words, scores.words),
        "{losses:?}"
    );
    let again = Syntax::load(&syntax.to_bytes()).unwrap();
    assert_eq!(again.to_bytes(), syntax.to_bytes());
}

#[test]
fn training_can_be_stopped_and_needs_sentences() {
    let trees = trees(&goldens().join("gold.conllu"));
    let stop = |_, _, _| std::ops::ControlFlow::Break(());
    assert!(Syntax::train(&trees, &SyntaxSettings::default(), stop).unwrap().is_none());
    assert!(matches!(Syntax::train(&[], &SyntaxSettings::default(), stop), Err(Error::Setting { .. })));
}

/// The targets that the model was made for, on the test files of the treebanks.
#[test]
fn the_shipped_model_is_as_good_as_documented() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let dir = std::env::var_os("MENO_DATA").map_or(beside, PathBuf::from).join("ud");
    if !dir.is_dir() {
        return left_out(
            "the accuracy of the syntax model",
            "neither $MENO_DATA nor ../shared/data is there",
        );
    }
    let syntax = Syntax::english();
    let mut worker = syntax.worker();
    let [ewt, atis] = ["ewt", "atis"].map(|name| trees(&dir.join(format!("en_{name}-ud-test.conllu"))));
    let spoken: Vec<Tree> = ewt.iter().filter_map(|tree| tree.spoken(false)).collect();
    for (name, trees, upos, uas, las) in [
        ("EWT", &ewt, 94.5, 84.5, 81.0),
        ("EWT spoken", &spoken, 93.0, 82.5, 78.5),
        ("ATIS", &atis, 98.0, 94.5, 92.0),
    ] {
        let scores = worker.evaluate(trees);
        assert!(
            scores.upos_percent() > upos && scores.uas() > uas && scores.las() > las,
            "{name} {scores:?}"
        );
    }
}
