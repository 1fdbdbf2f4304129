//! Memory against a naive search, and the rule case by case.

use proptest::prelude::*;

use super::normal::{LoneS, Words};
use super::*;

/// A phrase, a slot, and the user whose it is, or `-`; ids count from 1.
fn index(lines: &[&str]) -> Index {
    let mut index = Index::default();
    for (line, id) in lines.iter().zip(1..) {
        let parts: Vec<&str> = line.split('|').map(str::trim).collect();
        let user = (parts[2] != "-").then_some(parts[2]);
        index.insert(Entry { id, phrase: parts[0], slot: parts[1], value: parts.get(3).copied(), user });
    }
    index
}

fn check(concepts: &[&str], user: Option<&str>, text: &str, expected: &[&str]) {
    let index = index(concepts);
    let shown: Vec<String> = index
        .find(text, user)
        .iter()
        .map(|f| format!("{} {}{}", &text[f.start..f.end], f.slot, if f.exact { "" } else { " ~" }))
        .collect();
    assert_eq!(shown, expected, "{text}");
}

#[test]
fn phrases_are_found_in_any_sentence() {
    let concepts = [
        "burpees and regrets|playlist|-",
        "regrets|song|-",
        "the drivers mix|playlist|-",
        "s club 7|artist|-",
    ];
    check(&concepts, None, "Wake me with 'Burpees & Regrets'.", &["Regrets song"]);
    check(&concepts, None, "BURPEES and… regrets?", &["BURPEES and… regrets playlist", "regrets song"]);
    check(&concepts, None, "play the driver’s mix", &["the driver’s mix playlist"]);
    check(&concepts, None, "play the driver s mix", &["the driver s mix playlist"]);
    check(&["st john s|city|-"], None, "to st john s", &["st john s city", "st john city ~"]);
    check(&["blotto|artist|-"], None, "play blotto s hits", &["blotto artist", "blotto s artist ~"]);
    check(&concepts, None, "play the driver mixes", &["the driver mixes playlist ~"]);
    check(&concepts, None, "a burpee and a regret", &["regret song ~"]);
    check(&concepts, None, "play s club 7", &["s club 7 artist"]);
    check(&concepts, None, "", &[]);
    check(&[], None, "play s club 7", &[]);
}

#[test]
fn misspellings_are_forgiven_where_that_is_wanted() {
    let index =
        index(&["burpees and regrets|playlist|-", "Zorblax|song|anna", "toffee|song|-", "moon|song|-"]);
    let find = |text: &str, user: Option<&str>| -> Vec<String> {
        assert_eq!(index.find_spelt(text, user, Spelling::Strict), index.find(text, user));
        let found = index.find_spelt(text, user, Spelling::Forgiving);
        let shown = |f: &Found<'_>| format!("{}{}", &text[f.start..f.end], if f.exact { "" } else { " ~" });
        found.iter().map(shown).collect()
    };
    for slip in ["zorblx", "zorblaxx", "zorbkax", "zobrlax", "Zorblay's"] {
        assert_eq!(find(slip, Some("anna")), [format!("{slip} ~")]);
        assert_eq!(find(slip, None), [""; 0], "{slip} is another user's");
    }
    assert_eq!(find("wake me with burpes and regrets now", None), ["burpes and regrets ~"]);
    assert_eq!(find("wake me with burpees and regerts", None), ["burpees and regerts ~"]);
    // One slip a phrase; short words, numbers and words that memory has are taken as they stand.
    assert_eq!(find("wake me with burpes and regerts", None), [""; 0]);
    assert_eq!(find("mooon", None), [""; 0]);
    assert_eq!(find("burpees nad regrets", None), [""; 0]);
    assert_eq!(find(&"x".repeat(100_000), None), [""; 0]);
    assert_eq!(find("coffee", None), ["coffee ~"], "whether that is meant is for the rule to say");
    assert_eq!(find("toffees toffee", None), ["toffees ~", "toffee"]);
}

#[test]
fn what_others_taught_makes_no_difference_to_misspellings() {
    let alone = ["burpees and regrets|playlist|-", "zorblax|song|anna"];
    let among = [&alone[..], &["burpes|artist|ben", "zorblay tower|place|ben", "regerts|song|ben"]].concat();
    let texts = ["wake me with burpes and regrets", "play zorblay", "burpees and regerts", "zorblay tower"];
    // Each index hashes in another way.
    for _ in 0..50 {
        let [alone, among] = [&alone[..], &among].map(index);
        for (text, user) in texts.iter().flat_map(|text| [(text, None), (text, Some("anna"))]) {
            let find = |index: &Index| -> Vec<_> {
                let found = index.find_spelt(text, user, Spelling::Forgiving);
                found.iter().map(|found| (found.id, found.start, found.end)).collect()
            };
            assert_eq!(find(&among), find(&alone), "{text} {user:?}");
        }
    }
    let among = index(&among);
    assert_eq!(among.find_spelt("play zorblay", Some("anna"), Spelling::Forgiving).len(), 1);
    // What one has oneself is taken as it stands.
    assert!(among.find_spelt("zorblay", Some("ben"), Spelling::Forgiving).is_empty());
}

#[test]
fn texts_of_what_is_gone_are_given_back() {
    let mut index = index(&["home|place|anna"]);
    let mut sizes = Vec::new();
    for i in 0..3000 {
        let (phrase, value) = (format!("word{i} other{i}"), "v".repeat(100) + &i.to_string());
        index.insert(Entry { id: 2, phrase: &phrase, slot: "song", value: Some(&value), user: Some("ben") });
        index = index.anew().unwrap_or(index);
        sizes.push(index.texts_size());
    }
    assert!(sizes.iter().all(|&size| size < 64 << 10), "{:?}", sizes.iter().max());
    assert_eq!(index.find("word2999 other2999", Some("ben")).len(), 1);
    assert!(index.find("word2998 other2998", Some("ben")).is_empty());
    assert_eq!(index.find("home", Some("anna")).len(), 1);
}

#[test]
fn one_users_concepts_are_not_anothers() {
    let concepts = ["home|place|anna", "home|song|ben", "home|album|-", "office|place|ben"];
    check(&concepts, None, "home office", &["home album"]);
    check(&concepts, Some("anna"), "home office", &["home place", "home album"]);
    check(&concepts, Some("ben"), "home office", &["home song", "home album", "office place"]);
    check(&concepts, Some(""), "home office", &["home album"]);
    check(&concepts, Some("nobody"), "home office", &["home album"]);
}

#[test]
fn a_concept_is_replaced_by_its_id() {
    let mut index = index(&["red moon|song|-", "moon|place|-"]);
    index.insert(Entry { id: 1, phrase: "blue moon", slot: "album", value: Some("Blue"), user: None });
    assert_eq!(index.len(), 2);
    assert!(index.find("red sun", None).is_empty());
    let found = index.find("blue moon", None);
    assert_eq!((found[0].slot, found[0].value, found[1].slot), ("album", Some("Blue"), "place"));
    assert!(index.remove(1) && !index.remove(1));
    assert_eq!(index.find("blue moon", None).len(), 1);
}

#[test]
fn drafts_that_nobody_could_find_are_refused() {
    let draft =
        |phrase: &str, slot: &str| Draft { phrase: phrase.into(), slot: slot.into(), ..Draft::default() };
    assert_eq!(draft("The Driver's “Mix”", "playlist").check().unwrap(), "the drivers mix");
    let long = "x ".repeat(MAX_WORDS + 1);
    let huge = "x".repeat(MAX_BYTES + 1);
    for (phrase, slot, problem) in [
        ("", "song", "there is no word in the phrase ``"),
        ("?!", "song", "there is no word in the phrase `?!`"),
        (&long, "song", "the phrase has 33 words"),
        (&huge, "song", "the phrase has 4097 bytes"),
        ("x", "", "the slot has no name"),
        ("x", "a b", "there is white space in the slot `a b`"),
        ("x", "unknown", "a slot cannot be called `unknown`"),
        ("x\0", "song", "there is a hidden character, \\u{0}, in the phrase"),
        ("x\u{202e}y", "song", "there is a hidden character, \\u{202e}, in the phrase"),
        ("x\u{61c}y", "song", "there is a hidden character, \\u{61c}, in the phrase"),
        ("x\u{200b}", "song", "there is a hidden character, \\u{200b}, in the phrase"),
        ("x", "O", "a slot cannot be called `O`, which is no slot"),
        ("x", "B-place", "a slot cannot be called `B-place`, which is a label"),
    ] {
        assert_eq!(draft(phrase, slot).check().unwrap_err().to_string(), problem);
    }
}

#[test]
fn every_part_of_a_draft_is_bounded_and_seen() {
    let plain = || Draft { phrase: "x".into(), slot: "song".into(), ..Draft::default() };
    let huge = || "x".repeat(MAX_BYTES + 1);
    let source = |words: &[&str], labels: &[&str], intent: &str| {
        let [words, labels] =
            [words, labels].map(|texts| texts.iter().map(|&text| text.to_owned()).collect());
        Draft { source: Some(Source { words, labels, intent: intent.to_owned() }), ..plain() }
    };
    let owned = |name: &str| Draft { owner: Owner::User(name.to_owned()), ..plain() };
    for (draft, problem) in [
        (source(&["x"], &[], &huge()), "the intent of the source has 4097 bytes"),
        (source(&["x"], &[&format!("B-{}", huge())], ""), "the list of labels of the source has 4100 bytes"),
        (source(&[&huge()], &[], ""), "the source has 4098 bytes"),
        (source(&["x\u{2067}y"], &[], ""), "there is a hidden character, \\u{2067}, in the source"),
        (source(&["x"], &["B-a\u{200f}"], ""), "there is a hidden character, \\u{200f}, in the source"),
        (source(&["x"], &[], "a\nb"), "there is a hidden character, \\u{a}, in the source"),
        (source(&["x"], &[], "a\u{2060}b"), "there is a hidden character, \\u{2060}, in the source"),
        (owned("anna\u{200b}"), "`anna\\u{200b}` is no name of an owner"),
        (owned("an\u{200d}na"), "`an\\u{200d}na` is no name of an owner"),
        (owned("\u{feff}anna"), "`\\u{feff}anna` is no name of an owner"),
        (owned("everyone"), "`everyone` is no name of an owner"),
        (owned(""), "`` is no name of an owner"),
    ] {
        assert_eq!(draft.check().unwrap_err().to_string(), problem);
    }
    // What writing needs is not hidden: joiners of Persian and of emoji, the colour of a heart, a flag.
    for phrase in ["می\u{200c}خواهم", "👩\u{200d}🚀", "❤\u{fe0f}", "🏴\u{e0067}\u{e0062}\u{e007f}"]
    {
        assert!(Draft { phrase: phrase.into(), ..plain() }.check().is_ok(), "{phrase}");
    }
    assert_eq!(Owner::named("everyone").unwrap(), Owner::Everyone);
    // That of a variable which was never set is not everyone's.
    assert!(Owner::named("").is_err());
    assert_eq!(visible("a\u{202e}b\u{200b}c\n"), "abc");
}

/// Phrases of 1 to 32 times the same word, each in as many slots as an owner can give it, and more in an older store.
#[test]
fn what_is_found_is_bounded_whatever_was_taught() {
    let mut index = Index::default();
    let mut id = 0;
    for (n_words, slot) in (1..=MAX_WORDS).flat_map(|n| (0..120).map(move |slot| (n, slot))) {
        for user in [None, Some("anna")] {
            let (phrase, slot) = ("a ".repeat(n_words), format!("s{slot}"));
            index.insert(Entry { id, phrase: &phrase, slot: &slot, value: None, user });
            id += 1;
        }
    }
    for (text, spelling) in
        [("a ".repeat(2000), Spelling::Strict), ("aaaaa ".repeat(680), Spelling::Forgiving)]
    {
        let start = std::time::Instant::now();
        let found = index.find_spelt(&text, Some("anna"), spelling);
        assert!(found.len() <= 2000 * super::index::NESTED * 2 * MAX_SLOTS, "{}", found.len());
        assert!(start.elapsed() < std::time::Duration::from_secs(2), "{:?}", start.elapsed());
    }
    let found = index.find(&"a ".repeat(40), Some("anna"));
    assert_eq!((found[0].n_words, found[0].own, found[0].id), (MAX_WORDS, true, id - 1));
    // The newest of one place are found; when one goes, the next comes back.
    let slots = |index: &Index| index.find("a", None).iter().map(|f| f.slot.to_owned()).collect::<Vec<_>>();
    assert_eq!(slots(&index), (112..120).rev().map(|i| format!("s{i}")).collect::<Vec<_>>());
    for slot in 110..118 {
        assert!(index.remove(2 * slot));
    }
    let left = (118..120).rev().chain((104..110).rev());
    assert_eq!(slots(&index), left.map(|i| format!("s{i}")).collect::<Vec<_>>());
    assert_eq!(index.compacted().find("a a", Some("anna")), index.find("a a", Some("anna")));
}

/// Many words of which each may be the same misspelt one.
#[test]
fn what_misspellings_find_is_bounded() {
    let mut index = Index::default();
    let words: Vec<String> = ('a'..='z').map(|letter| format!("aaaaa{letter}")).collect();
    for (id, word) in (0..).zip(&words) {
        for n_words in 1..=MAX_WORDS as u64 {
            let phrase = format!("{word} ").repeat(n_words as usize);
            let id = 100 * id + n_words;
            index.insert(Entry { id, phrase: &phrase, slot: "song", value: None, user: None });
        }
    }
    let start = std::time::Instant::now();
    let found = index.find_spelt(&"aaaaa ".repeat(680), None, Spelling::Forgiving);
    assert!(!found.is_empty() && found.len() <= 680 * 64, "{}", found.len());
    assert!(start.elapsed() < std::time::Duration::from_secs(3), "{:?}", start.elapsed());
}

/// `word/label`, with `?` after the label of a word over the threshold, `!` after that of one never seen, `~` where a plural
/// was, and runners-up after more slashes; the result as `[words|slot]`.
fn evaluate(concepts: &[&str], tagged: &str) -> String {
    let parts: Vec<Vec<&str>> = tagged.split_whitespace().map(|word| word.split('/').collect()).collect();
    let text: Vec<&str> = parts.iter().map(|part| part[0]).collect();
    let text = text.join(" ");
    let mut at = 0;
    let words: Vec<TaggedWord<'_>> = parts
        .iter()
        .map(|part| {
            let start = at;
            at += part[0].len() + 1;
            let label = part[1].trim_end_matches(['?', '!', '~']);
            let seen = match part[1].trim_start_matches(label) {
                "!" => Seen::Never,
                "~" => Seen::Variant,
                _ => Seen::Itself,
            };
            let chances = [0.5, 0.3, 0.1];
            let choices = std::iter::once(label).chain(part[2..].iter().copied()).zip(chances).collect();
            TaggedWord {
                start,
                end: start + part[0].len(),
                label,
                unknown: part[1].ends_with('?'),
                seen,
                choices,
            }
        })
        .collect();
    let index = index(concepts);
    let recalled = reconcile(Rule::default(), &text, &index.find(&text, None), &words);
    let shown: Vec<String> = recalled.iter().map(|r| format!("[{}|{}]", r.text, r.slot)).collect();
    shown.join(" ")
}

#[test]
fn memory_wins_where_the_tagger_is_unsure() {
    let concepts =
        ["next|playlist|-", "burpees and regrets|playlist|-", "red moon|song|-", "red moon|album|-"];
    // Plainly something else.
    assert_eq!(evaluate(&concepts, "play/O next/O song/O"), "");
    assert_eq!(evaluate(&concepts, "play/O next/B-track song/I-track"), "");
    assert_eq!(evaluate(&concepts, "red/B-album moon/I-album by/I-album"), "");
    // Unknown.
    assert_eq!(evaluate(&concepts, "play/O next/B-unknown?"), "[next|playlist]");
    assert_eq!(evaluate(&concepts, "play/O next/B-artist? song/O?"), "[next|playlist]");
    assert_eq!(evaluate(&concepts, "play/O next/B-artist! song/O"), "[next|playlist]");
    assert_eq!(evaluate(&concepts, "play/O next/B-artist~ song/O"), "[next|playlist]");
    // Less is needed for the words as they were learnt than for their plural.
    assert_eq!(evaluate(&concepts, "play/O nexts/B-artist! song/O"), "[nexts|playlist]");
    assert_eq!(evaluate(&concepts, "play/O nexts/B-artist~ song/O"), "");
    // A part of what is unknown is not enough.
    assert_eq!(evaluate(&concepts, "play/O my/B-unknown? next/I-unknown? one/I-unknown?"), "");
    assert_eq!(evaluate(&concepts, "play/O next/B-unknown? one/I-unknown?"), "");
    assert_eq!(evaluate(&concepts, "play/O my/B-unknown? next/I-unknown!"), "[next|playlist]");
    // One word of a phrase is enough.
    assert_eq!(
        evaluate(&concepts, "burpees/B-media and/O regrets/B-unknown?"),
        "[burpees and regrets|playlist]"
    );
    assert_eq!(evaluate(&concepts, "red/B-city? moon/O"), "[red moon|album]");
    // Three words are hardly there by chance, unless two of them are others.
    assert_eq!(evaluate(&concepts, "burpees/O and/O regrets/O"), "[burpees and regrets|playlist]");
    assert_eq!(evaluate(&concepts, "burpee/O and/O regret/O"), "");
    assert_eq!(evaluate(&concepts, "burpee/O? and/O regret/O"), "[burpee and regret|playlist]");
}

#[test]
fn the_tagger_chooses_between_slots() {
    let concepts = ["red moon|song|-", "red moon|album|-", "oslo|fromloc.city_name|-", "paris|city.from|-"];
    assert_eq!(evaluate(&concepts, "red/B-song moon/I-song"), "[red moon|song]");
    assert_eq!(evaluate(&concepts, "red/B-album moon/I-album"), "[red moon|album]");
    assert_eq!(evaluate(&concepts, "red/B-unknown?/B-song moon/I-unknown?/I-song"), "[red moon|song]");
    assert_eq!(evaluate(&concepts, "red/O?/B-city/B-song moon/O?"), "[red moon|song]");
    // The role of a slot depends on the sentence.
    assert_eq!(evaluate(&concepts, "to/O oslo/B-unknown?/B-toloc.city_name"), "[oslo|toloc.city_name]");
    assert_eq!(evaluate(&concepts, "to/O oslo/B-unknown?/B-fromloc.airport"), "[oslo|fromloc.city_name]");
    let both = ["oslo|toloc.city_name|-", "oslo|fromloc.city_name|-"];
    assert_eq!(evaluate(&both, "to/O oslo/B-unknown?/B-toloc.airport"), "[oslo|toloc.city_name]");
    assert_eq!(evaluate(&concepts, "to/O oslo/B-toloc.city_name"), "[oslo|toloc.city_name]");
    assert_eq!(evaluate(&concepts, "to/O paris/B-unknown?/B-city.to"), "[paris|city.from]");
}

#[test]
fn words_that_reach_beyond_a_phrase_are_left_alone() {
    let index = index(&["7|size|-"]);
    let text = "at 7:30";
    let word = |start, end| TaggedWord {
        start,
        end,
        label: "B-unknown",
        unknown: true,
        seen: Seen::Itself,
        choices: Vec::new(),
    };
    let found = index.find(text, None);
    assert!(reconcile(Rule::default(), text, &found, &[word(0, 2), word(3, 7)]).is_empty());
    assert_eq!(reconcile(Rule::default(), text, &found, &[word(0, 2), word(3, 5)]).len(), 1);
}

#[test]
fn concepts_become_utterances() {
    let concept = |id, phrase: &str, slot: &str, source: Option<Source>| Concept {
        id,
        phrase: phrase.into(),
        normal: normal_form(phrase),
        slot: slot.into(),
        value: None,
        owner: Owner::Everyone,
        source,
        created: 0,
        updated: 0,
        uses: 0,
    };
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let labelled = Source {
        words: words("play red moon by anna tonight"),
        labels: words("O B-unknown I-unknown O B-unknown I-unknown"),
        intent: "play".into(),
    };
    let exported = to_corpus(&[
        concept(1, "Red Moon", "song", Some(labelled.clone())),
        concept(2, "anna", "artist", Some(labelled.clone())),
        concept(3, "gone", "song", Some(labelled)),
        concept(4, "lost", "song", None),
        concept(5, "oslo", "city", Some(Source::of_text("rain in oslo", ""))),
    ]);
    let utterances = &exported.corpus.utterances;
    assert_eq!(utterances.len(), 1);
    assert_eq!(utterances[0].labels, words("O B-song I-song O B-artist O"));
    assert_eq!((exported.without_source, exported.without_intent), (2, 1));
}

/// Concepts of a small world in which nearly everything collides.
fn any_entry() -> impl Strategy<Value = (u64, String, String, Option<String>)> {
    let word = prop::sample::select(vec!["a", "b", "mix", "mixes", "Mix's", "s", "'s", "é"]);
    let phrase = prop::collection::vec(word, 0..4).prop_map(|words| words.join(" "));
    let user = prop::option::of("[uv]");
    (0..MAX_SLOTS as u64, phrase, "[xy]", user)
}

fn stems(text: &str, lone_s: LoneS) -> Vec<(String, usize, usize)> {
    Words::read(text, lone_s).iter().map(|word| (word.stem.to_owned(), word.start, word.end)).collect()
}

type Spot = (u64, usize, usize);

/// Compares every run of words with every concept.
fn naive(entries: &[(u64, String, String, Option<String>)], text: &str, user: Option<&str>) -> Vec<Spot> {
    let mut seen = Vec::new();
    for words in [stems(text, LoneS::Apart), stems(text, LoneS::Joined)] {
        for (id, phrase, _, owner) in entries {
            let phrase = stems(phrase, LoneS::Joined);
            let visible = owner.is_none() || owner.as_deref() == user;
            for run in words.windows(phrase.len().max(1)) {
                let same = run.iter().map(|w| &w.0).eq(phrase.iter().map(|w| &w.0));
                if visible && same {
                    seen.push((*id, run[0].1, run[run.len() - 1].2));
                }
            }
        }
    }
    seen.sort_unstable();
    seen.dedup();
    seen
}

proptest! {
    #[test]
    fn finds_what_a_naive_search_finds(
        steps in prop::collection::vec((any_entry(), prop::bool::weighted(0.2)), 0..40),
        text in prop::collection::vec(prop::sample::select(
            vec!["a", "b", "mix", "mixes", "Mix's", "s", "'s", "é", "c", ",", "B"]), 0..12),
        user in prop::option::of("[uvw]"),
    ) {
        let text = text.join(" ");
        let mut index = Index::default();
        let mut entries: Vec<(u64, String, String, Option<String>)> = Vec::new();
        for (entry, removes) in steps {
            entries.retain(|other| other.0 != entry.0);
            if removes {
                index.remove(entry.0);
                continue;
            }
            let (id, phrase, slot, user) = &entry;
            index.insert(Entry { id: *id, phrase, slot, value: None, user: user.as_deref() });
            entries.push(entry);
        }
        let compacted = index.compacted();
        prop_assert_eq!(compacted.find(&text, user.as_deref()), index.find(&text, user.as_deref()));
        let found = index.find(&text, user.as_deref());
        prop_assert!(found.windows(2).all(|pair| pair[0].n_words >= pair[1].n_words));
        let mut seen: Vec<Spot> = found.iter().map(|found| (found.id, found.start, found.end)).collect();
        seen.sort_unstable();
        prop_assert_eq!(seen, naive(&entries, &text, user.as_deref()));
    }

    #[test]
    fn odd_text_is_no_error(phrase in "\\PC{0,20}", text in "\\PC{0,40}") {
        let mut index = Index::default();
        index.insert(Entry { id: 1, phrase: &phrase, slot: "x", value: None, user: None });
        for found in index.find(&text, None) {
            prop_assert!(text.get(found.start..found.end).is_some_and(|text| !text.is_empty()));
        }
        let whole = index.find(&phrase, None);
        let is_there = !Words::read(&phrase, LoneS::Joined).is_empty();
        prop_assert_eq!(whole.iter().any(|found| found.exact), is_there, "{}", phrase);
    }

    #[test]
    fn what_holds_does_not_overlap(
        tagged in prop::collection::vec(("[ab]", "(O|[BI]-[xy])", any::<bool>()), 0..10),
        entries in prop::collection::vec(("[ab]( [ab]){0,3}", "[xy]"), 0..6),
    ) {
        let mut index = Index::default();
        for ((phrase, slot), id) in entries.iter().zip(0..) {
            index.insert(Entry { id, phrase, slot, value: None, user: None });
        }
        let text: Vec<&str> = tagged.iter().map(|word| word.0.as_str()).collect();
        let text = text.join(" ");
        let words: Vec<TaggedWord<'_>> = tagged.iter().enumerate().map(|(i, (_, label, unknown))| {
            TaggedWord { start: 2 * i, end: 2 * i + 1, label, unknown: *unknown, seen: Seen::Itself, choices: vec![(label, 0.9)] }
        }).collect();
        let recalled = reconcile(Rule::default(), &text, &index.find(&text, None), &words);
        prop_assert!(recalled.windows(2).all(|pair| pair[0].end <= pair[1].start));
        prop_assert!(recalled.iter().all(|r| (r.start, r.end) == (2 * r.token_span.start, 2 * r.token_span.end - 1)));
    }
}
