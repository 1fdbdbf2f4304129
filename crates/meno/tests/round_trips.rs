//! Files as other tools write them: what is read comes back from the formats that are written.

use std::path::Path;

use meno::corpus::{self, Corpus, Format};
use meno::label;

/// Files of a format in their real shape, below a folder; with the utterances and known values that stand in them.
struct Sample {
    format: Format,
    /// What is read: one of the files, or `.` for the folder.
    path: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// `intent: words [value|slot]`
    utterances: &'static [&'static str],
    /// `slot: phrase = what it stands for`
    known: &'static [&'static str],
}

const SAMPLES: &[Sample] = &[
    Sample {
        format: Format::Slurp,
        path: "train.jsonl",
        files: &[(
            "train.jsonl",
            r#"{"slurp_id": 12818, "sentence": "Remind me about the meeting on Friday.", "sentence_annotation": "Remind me about the [event_name : meeting] on [date : Friday].", "intent": "calendar_set", "action": "set", "tokens": [{"surface": "remind", "id": 0, "lemma": "remind", "pos": "VB"}], "scenario": "calendar", "recordings": [{"file": "audio-1501406998.flac", "wer": 0.0}], "entities": [{"span": [4], "type": "event_name"}]}
{"slurp_id": 1, "sentence": "wake me at nine am", "scenario": "alarm", "action": "set", "tokens": [{"surface": "wake"}, {"surface": "me"}, {"surface": "at"}, {"surface": "nine"}, {"surface": "am"}], "entities": [{"span": [3, 4], "type": "time"}]}
"#,
        )],
        utterances: &[
            "calendar_set: remind me about the [meeting|event_name] on [friday|date]",
            "alarm_set: wake me at [nine am|time]",
        ],
        known: &[],
    },
    Sample {
        format: Format::WordTag,
        path: "train",
        files: &[("train", "BOS:O leave:O at:O 8:30:B-time am:I-time <=> atis_flight\nstop:O <=> Stop\n")],
        utterances: &["atis_flight: leave at [8:30 am|time]", "Stop: stop"],
        known: &[],
    },
    Sample {
        format: Format::RasaMarkdown,
        path: "nlu.md",
        files: &[
            (
                "nlu.md",
                "## intent:check_balance\n- what is my balance <!-- no entity -->\n- how much on my [savings](source_account)?\n\
                 - on the [savings account](source_account:savings)\n\n## synonym:savings\n- pink pig\n\n\
                 ## lookup:source_account\n- Checking\n\n## regex:zipcode\n- [0-9]{5}\n\n## lookup:city\ncities.txt\n",
            ),
            ("cities.txt", "Oslo\nNew York\n"),
        ],
        utterances: &[
            "check_balance: what is my balance",
            "check_balance: how much on my [savings|source_account]",
            "check_balance: on the [savings account|source_account]",
        ],
        known: &[
            "city: New York",
            "city: Oslo",
            "source_account: Checking",
            "source_account: pink pig = savings",
            "source_account: savings account = savings",
        ],
    },
    Sample {
        format: Format::SnipsYaml,
        path: "dataset.yaml",
        files: &[(
            "dataset.yaml",
            "---\ntype: intent\nname: turnLightOn\nslots:\n  - name: room\n    entity: rooms\nutterances:\n\
             \x20 - Turn on the lights in the [room](kitchen)\n  - some light in the [room:rooms](living room), please\n\n\
             ---\ntype: entity\nname: rooms\nautomatically_extensible: no\nvalues:\n- bedroom\n- [living room, main room]\n",
        )],
        utterances: &[
            "turnLightOn: turn on the lights in the [kitchen|room]",
            "turnLightOn: some light in the [living room|room] please",
        ],
        known: &["room: bedroom", "room: living room", "room: main room = living room"],
    },
    Sample {
        format: Format::Dialogflow,
        path: ".",
        files: &[
            ("package.json", r#"{"version": "1.0.0"}"#),
            ("intents/book.json", r#"{"id": "x", "name": "room.book", "auto": true}"#),
            (
                "intents/book_usersays_en.json",
                r#"[{"id": "a", "data": [{"text": "Room in ", "userDefined": false}, {"text": "Mountain View", "meta": "@sys.geo-city", "alias": "geo-city", "userDefined": true}, {"text": "?", "userDefined": false}], "isTemplate": false, "count": 0, "updated": 0},
 {"id": "b", "data": [{"text": "a "}, {"text": "big one", "meta": "@size", "alias": "room-size"}]}]"#,
            ),
            ("entities/size.json", r#"{"name": "size"}"#),
            ("entities/size_entries_en.json", r#"[{"value": "large", "synonyms": ["large", "big one"]}]"#),
        ],
        utterances: &["room.book: room in [mountain view|geo-city]", "room.book: a [big one|room-size]"],
        known: &["room-size: big one = large", "room-size: large"],
    },
    Sample {
        format: Format::Luis,
        path: "app.json",
        files: &[(
            "app.json",
            r#"{"luis_schema_version": "7.0.0", "intents": [{"name": "Book", "features": []}], "entities": [{"name": "Flight"}],
 "closedLists": [{"name": "Class", "subLists": [{"canonicalForm": "economy", "list": ["coach"]}], "roles": []}],
 "utterances": [
  {"text": "Book a flight to Paris!", "intent": "Book", "entities": [{"entity": "City", "startPos": 17, "endPos": 21, "role": "to", "children": []}]},
  {"text": "fly to new york", "intent": "Book", "entities": [{"entity": "City", "startPos": 7, "endPos": 14}]}],
 "versionId": "0.1", "name": "example"}"#,
        )],
        utterances: &["Book: book a flight to [paris|City.to]", "Book: fly to [new york|City]"],
        known: &["Class: coach = economy", "Class: economy"],
    },
    Sample {
        format: Format::Clu,
        path: "project.json",
        files: &[(
            "project.json",
            r#"{"projectFileVersion": "2022-10-01-preview", "stringIndexType": "Utf16CodeUnit",
 "metadata": {"projectKind": "Conversation", "language": "en"},
 "assets": {"projectKind": "Conversation", "intents": [{"category": "Read"}],
  "entities": [{"category": "Sender", "compositionSetting": "combineComponents", "list": {"sublists": [{"listKey": "Matt", "synonyms": [{"language": "en", "values": ["Matthew"]}]}]}}],
  "utterances": [{"text": "Open mail of Matt.", "language": "en-us", "intent": "Read", "dataset": "Train", "entities": [{"category": "Sender", "offset": 13, "length": 4}]}]}}"#,
        )],
        utterances: &["Read: open mail of [matt|Sender]"],
        known: &["Sender: Matt", "Sender: Matthew = Matt"],
    },
    Sample {
        format: Format::Wit,
        path: ".",
        files: &[
            ("app.json", "{}"),
            (
                "utterances/utterances-1.json",
                r#"{"utterances": [{"text": "Fly to SFO!", "intent": "fly", "entities": [{"entity": "wit$location:to", "start": 7, "end": 10, "body": "SFO", "entities": []}], "traits": []},
 {"text": "in pink", "intent": "paint", "entities": [{"entity": "color:color", "start": 3, "end": 7, "body": "pink", "entities": []}], "traits": []}]}"#,
            ),
            (
                "entities/color.json",
                r#"{"name": "color", "lookups": ["keywords"], "keywords": [{"keyword": "pink", "synonyms": ["rose"]}]}"#,
            ),
        ],
        utterances: &["fly: fly to [sfo|wit$location.to]", "paint: in [pink|color]"],
        known: &["color: pink", "color: rose = pink"],
    },
    Sample {
        format: Format::LabelStudio,
        path: "project-1.json",
        files: &[(
            "project-1.json",
            r#"[{"id": 1, "data": {"text": "Fly to Paris, please."}, "annotations": [{"id": 4, "was_cancelled": false, "result": [
   {"value": {"start": 7, "end": 12, "text": "Paris", "labels": ["city"]}, "id": "a", "from_name": "label", "to_name": "text", "type": "labels"},
   {"value": {"choices": ["fly"]}, "from_name": "intent", "to_name": "text", "type": "choices"}]}], "predictions": []}]"#,
        )],
        utterances: &["fly: fly to [paris|city] please"],
        known: &[],
    },
];

fn utterances(corpus: &Corpus) -> Vec<String> {
    let shown = |utterance: &corpus::Utterance| {
        let mut words = utterance.words.clone();
        for span in label::spans(&utterance.labels) {
            words[span.start].insert(0, '[');
            words[span.end - 1] += &format!("|{}]", span.slot);
        }
        format!("{}: {}", utterance.intent, words.join(" "))
    };
    corpus.utterances.iter().map(shown).collect()
}

fn known(corpus: &Corpus) -> Vec<String> {
    let shown = |value: &meno::KnownValue| {
        let stands_for = value.stands_for.as_ref().map(|name| format!(" = {name}"));
        let slot = value.slot.as_deref().unwrap_or("-");
        format!("{slot}: {}{}", value.phrase, stands_for.unwrap_or_default())
    };
    corpus.known_values.iter().map(shown).collect()
}

fn read(folder: &Path, Sample { format, path, files, .. }: &Sample) -> Corpus {
    for (name, text) in *files {
        let file = folder.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    let path = if *path == "." { folder.to_owned() } else { folder.join(path) };
    assert_eq!(Format::detect(&path).unwrap(), *format, "{}", path.display());
    corpus::read(&path, None).unwrap()
}

#[test]
fn what_other_tools_wrote_comes_back_from_what_is_written() {
    for sample in SAMPLES {
        let dir = tempfile::tempdir().unwrap();
        let corpus = read(dir.path(), sample);
        assert_eq!(utterances(&corpus), sample.utterances, "{}", sample.format);
        assert_eq!(known(&corpus), sample.known, "{}", sample.format);
        for format in [Format::Jsonl, Format::Conll, Format::Rasa, Format::RasaMarkdown] {
            // Raw text is read as users' text is; these words were not, and `8:30` would be two.
            if !corpus.raw && !format.has_tags() {
                continue;
            }
            let path = dir.path().join("again").with_extension(format.extension().unwrap());
            corpus::write(&corpus, &path, format).unwrap();
            let again = corpus::read(&path, None).unwrap();
            assert_eq!(utterances(&again), sample.utterances, "{} by {format}", sample.format);
            if format.holds_values() {
                assert_eq!(known(&again), sample.known, "{} by {format}", sample.format);
            }
        }
    }
}

/// The slot of a synonym that nothing else tells is not lost.
#[test]
fn synonyms_keep_their_slots() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("nlu.yml");
    std::fs::write(&path, "nlu:\n- intent: a\n  examples: |\n    - to [x](city)\n").unwrap();
    let mut corpus = corpus::read(&path, None).unwrap();
    let value = |slot, phrase, stands_for| meno::KnownValue::new(slot, phrase, Some(stands_for));
    corpus.known_values = vec![value(None, "a: b", "yes"), value(Some("town"), "NYC", "New: York #1")];
    corpus::write(&corpus, &path, Format::Rasa).unwrap();
    let again = corpus::read(&path, None).unwrap();
    assert_eq!(known(&again), ["-: a: b = yes", "town: NYC", "town: NYC = New: York #1"]);

    corpus.known_values = vec![value(Some("town"), "two\nlines", "one")];
    let error = corpus::write(&corpus, &path, Format::Rasa).unwrap_err();
    assert!(error.to_string().contains(r"the value `two\nlines` does not fit"), "{error}");
}
