use super::*;

const REQUEST: &str = "add gimme shelter to my burpees and regrets playlist";

fn check(answer: &str, expected: Answer) {
    check_with(None, answer, expected);
}

fn check_with(answers: Option<&Answers>, answer: &str, expected: Answer) {
    assert_eq!(understood(answers, answer), expected, "{answer}");
}

fn understood(answers: Option<&Answers>, answer: &str) -> Answer {
    let book = Phrasebook::english();
    let name = |name: &str| name.to_owned();
    let slot_of = |value: &str| (value == "Workout Mix").then(|| "playlist".to_owned());
    let asked = Asked {
        request: REQUEST,
        phrase: 24..43,
        slots: vec![4..9, 10..17],
        filled: Vec::new(),
        options: &["playlist", "album"].map(name),
        types: &["album", "artist", "playlist", "toloc.city_name", "music_item", "person"].map(name),
        book: &book,
        names: OnceCell::new(),
        answers,
        slot_of: Box::new(slot_of),
        is_open: true,
        is_request: false,
        has_slots: false,
        is_command: false,
    };
    assert_eq!(&REQUEST[asked.phrase.clone()], "burpees and regrets");
    asked.understand(answer).answer
}

fn check_type(answer: &str, slot: &str) {
    check(answer, Answer::Type(slot.to_owned()));
}

#[test]
fn types_are_named_in_many_ways() {
    for answer in
        ["playlist", "a playlist", "It's a playlist!", "playlists", "it is my playlist, please", "1", "one"]
    {
        check_type(answer, "playlist");
    }
    for answer in ["first", "the first one", "um, the first"] {
        check_type(answer, "playlist");
    }
    for answer in ["2", "the second", "the latter", "no, an album", "yes, an album"] {
        check_type(answer, "album");
    }
    check_type("a city", "toloc.city_name");
    check_type("it's a music item", "music_item");
    check_type("a kind of Workout Mix", "playlist");
}

#[test]
fn yes_no_and_never_mind() {
    for (answer, expected) in [
        ("yes", Answer::Yes),
        ("sure thing", Answer::Yes),
        ("none of those two", Answer::No),
        ("Yeah, right!", Answer::Yes),
        ("no", Answer::No),
        ("none of that", Answer::No),
        ("something else", Answer::No),
        ("never mind", Answer::Cancel),
        ("oh, forget it please", Answer::Cancel),
        ("", Answer::Empty),
        (" ?! ", Answer::Empty),
    ] {
        check(answer, expected);
    }
}

#[test]
fn another_name_for_something() {
    let alias = |value: &str| Answer::Alias(value.to_owned());
    check("it's what I call my Workout Mix", alias("Workout Mix"));
    check("that's short for Burpees & Regrets 2019, please", alias("Burpees & Regrets 2019"));
    check("it means", Answer::Unclear);
}

#[test]
fn other_boundaries() {
    let regrets = || REQUEST.find("regrets").unwrap()..REQUEST.find(" playlist").unwrap();
    check("no, just regrets", Answer::Boundaries(regrets(), None));
    check("only Regrets", Answer::Boundaries(regrets(), None));
    check("just regrets, it's an album", Answer::Boundaries(regrets(), Some("album".to_owned())));
    let longer = || REQUEST.find("my").unwrap()..REQUEST.find(" playlist").unwrap();
    check("no, my burpees and regrets", Answer::Boundaries(longer(), None));
    // What the phrase is already, or what does not touch it, is no correction.
    check("no, gimme shelter", Answer::Unclear);
    // The whole request is one.
    check(REQUEST, Answer::Request);
}

#[test]
fn types_that_are_new() {
    check("it's a podcast", Answer::NewType("podcast".to_owned()));
    check("a fitness program", Answer::NewType("fitness_program".to_owned()));
    check("podcast", Answer::NewType("podcast".to_owned()));
    check("what is the weather in rome tomorrow", Answer::Unclear);
    check("it's a <script>alert(1)</script>", Answer::Unclear);
    check(&"a ".repeat(10_000), Answer::Unclear);
    check(&format!("a {}", "x".repeat(5000)), Answer::Unclear);
}

#[test]
#[cfg(feature = "english")]
fn answers_in_sentences_of_their_own() {
    let answers = Answers::english();
    let check = |answer: &str, expected: Answer| check_with(answers, answer, expected);
    let slot = |name: &str| Answer::Type(name.to_owned());
    check("it's a playlist, come on", slot("playlist"));
    check("a person, my boss", slot("person"));
    check("not an album, a person", slot("person"));
    check("not an album", Answer::NotType(vec!["album".to_owned()]));
    check("it's what I call my Workout Mix", Answer::Alias("Workout Mix".to_owned()));
    check("it's Workout Mix", Answer::Alias("Workout Mix".to_owned()));
    check("I have no idea", Answer::DontKnow);
    check("why do you want to know", Answer::Why);
    check("never mind, I'll do it myself", Answer::Cancel);
    check("it's a podcast", Answer::NewType("podcast".to_owned()));
    let regrets = REQUEST.find("regrets").unwrap()..REQUEST.find(" playlist").unwrap();
    check("only the last word", Answer::Boundaries(regrets, None));
    // Nothing that is long or odd becomes a type.
    let odd = understood(answers, "it's a; DROP TABLE concepts");
    assert!(matches!(odd, Answer::Request | Answer::Cancel | Answer::Unclear), "{odd:?}");
}

/// What is made of an answer to *What is Old Tuppenny?* by what it says of it, without a model.
fn with_kinds<T>(options: &[&str], check: impl Fn(&Asked<'_>) -> T) -> T {
    let book = Phrasebook::english();
    let types = ["artist", "device", "event", "item", "person", "place", "playlist", "room", "song"];
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
    check(&Asked {
        request: "call Old Tuppenny",
        phrase: 5..17,
        slots: Vec::new(),
        filled: Vec::new(),
        options: &owned(options),
        types: &owned(&types),
        book: &book,
        names: OnceCell::new(),
        answers: None,
        slot_of: Box::new(|_| None),
        is_open: true,
        is_request: false,
        has_slots: false,
        is_command: false,
    })
}

#[cfg(feature = "english")]
#[test]
fn the_head_of_a_noun_phrase_says_what_it_is() {
    for (answer, expected) in [
        ("a pub my aunt runs", Some("place")),
        ("my sister's flat", Some("place")),
        ("it's a lullaby my mother used to sing", Some("song")),
        ("an old friend of mine from the navy", Some("person")),
        ("the baker's on the corner", Some("place")),
        ("not a person it's a village", Some("place")),
        ("a band, no wait, a song", Some("song")),
        ("Old Tuppenny is the lamp in the hall", Some("device")),
        ("where my aunt lives", None),
        ("it came with the house", None),
        ("no idea mate", None),
    ] {
        let head = with_kinds(&["person", "place"], |asked| asked.head(&asked.delexicalize(&words(answer))));
        let expected = expected.map(|slot| Meaning::Type(slot.to_owned()));
        assert_eq!(head.map(|head| head.meaning), expected, "{answer}");
    }
}

#[test]
fn a_kind_is_known_by_what_is_told_of_it() {
    for (options, answer, expected) in [
        (&["song", "artist"][..], "they play punk", Some("artist")),
        (&["room", "place"], "I sleep there every night upstairs", Some("room")),
        (&["person", "place"], "she lives next door", Some("person")),
        (&["item", "device"], "we eat it on toast", Some("item")),
        (&["item", "device"], "the thing that blows hot air", Some("device")),
        (&["playlist", "song"], "i put it together for running", Some("playlist")),
        (&["person", "place"], "what a question", None),
    ] {
        let words = words(answer);
        let forms: Vec<&str> = words.iter().map(|word| word.form.as_str()).collect();
        let told = with_kinds(options, |asked| asked.described(&forms, asked.options));
        assert_eq!(told.as_deref(), expected, "{answer}");
    }
}
