//! Tokens: who gets in, what each may do, and that users are apart.

mod support;

use jiff::{SignedDuration, Timestamp};
use meno::memory::Owner;
use meno_server::{Config, Server, TokenSource, new_token};
use meno_store::Quota;
use serde_json::{Value, json};
use support::schema::access::{TokenList, TokensInfo};
use support::schema::{Annotation, Concept, Erased, Failure, ModelInfo, Page, Turn, Undone};
use support::{Answer, Running, config, within};

/// A server with tokens, and one for each of these: name and rights.
fn with_tokens<const N: usize>(users: [(&str, &str); N]) -> (Running, [String; N]) {
    let made = users.map(|(name, rights)| new_token(name, rights).unwrap());
    let lines: Vec<String> = made.iter().map(|(_, line)| line.clone()).collect();
    let server = Running::start(Config { tokens: Some(TokenSource::Lines(lines.join("\n"))), ..config() });
    (server, made.map(|(token, _)| token))
}

fn by(server: &Running, token: &str, method: &str, path: &str, body: &Value) -> Answer {
    server.client().with_token(token).json(method, path, body)
}

#[test]
fn nobody_gets_in_without_a_token() {
    let (server, _) = with_tokens([("anna", "read")]);
    for (method, path) in [
        ("POST", "/v1/annotate"),
        ("POST", "/v1/dialogue"),
        ("DELETE", "/v1/dialogue/s"),
        ("GET", "/v1/concepts"),
        ("POST", "/v1/concepts"),
        ("GET", "/v1/concepts/1"),
        ("PATCH", "/v1/concepts/1"),
        ("DELETE", "/v1/concepts/1"),
        ("POST", "/v1/concepts/undo"),
        ("GET", "/v1/concepts/export"),
        ("GET", "/v1/owners/anna"),
        ("DELETE", "/v1/owners/anna"),
        ("GET", "/v1/model"),
        ("POST", "/v1/model/reload"),
        ("GET", "/v1/tokens"),
        ("POST", "/v1/tokens/reload"),
        ("POST", "/v1/certificate/reload"),
        ("POST", "/model/parse"),
        ("GET", "/metrics"),
    ] {
        let answer = server.send(method, path, &json!({}));
        assert_eq!(answer.refusal(), (401, "no_token".to_owned()), "{method} {path}");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }
    for path in ["/", "/page/app.js", "/healthz", "/readyz", "/openapi.json"] {
        assert_eq!(server.get(path).status, 200, "{path}");
    }
}

#[test]
fn nothing_gets_in_that_is_only_like_a_token() {
    let (server, [anna]) = with_tokens([("anna", "read")]);
    let show = |headers: &[(&str, &str)]| server.client().send("GET", "/v1/model", headers, None);
    for value in [
        "",
        "Bearer",
        "Bearer ",
        "Bearer x",
        "Bearer null",
        "Bearer meno_",
        "Bearer *",
        "Bearer \u{e9}",
        &anna,
        &format!("Basic {anna}"),
        &format!("Token {anna}"),
        &format!("Bearer{anna}"),
        &format!("Bearer\t{anna}"),
        &format!("Bearer: {anna}"),
        &format!("Bearer \"{anna}\""),
        &format!("Bearer {anna}x"),
        &format!("Bearer {anna} {anna}"),
        &format!("Bearer {}", &anna[..anna.len() - 1]),
        &format!("Bearer {}", anna.to_uppercase()),
        &format!("Bearer {}", anna.trim_start_matches("meno_")),
        &format!("Bearer {}", "x".repeat(10_000)),
        &format!("Basic bWVubzo=, Bearer {anna}"),
    ] {
        assert_eq!(show(&[("authorization", value)]).refusal().0, 401, "{value}");
    }
    // Of several the first counts, and no other place has tokens.
    let value = format!("bearer  {anna}");
    for headers in [&[("authorization", "Bearer x"), ("authorization", &value)][..], &[("cookie", &value)]] {
        assert_eq!(show(headers).refusal().0, 401, "{headers:?}");
    }
    assert_eq!(server.get(&format!("/v1/model?access_token={anna}")).refusal().0, 401);
    assert_eq!(show(&[("authorization", &value)]).status, 200);
    // With tokens the server may have any name.
    let headers = [("authorization", value.as_str()), ("host", "meno.example")];
    assert_eq!(server.client().send("GET", "/v1/model", &headers, None).status, 200);
}

#[test]
fn rights_are_what_they_say() {
    let (server, [reader, teacher, admin]) =
        with_tokens([("anna", "read"), ("anna", "teach"), ("root", "admin")]);
    let text = json!({ "text": "play" });
    let turn = json!({ "text": "play", "session": "s" });
    let concept = json!({ "phrase": "red moon", "slot": "album" });
    let for_ben = json!({ "phrase": "red moon", "slot": "album", "owner": "ben" });
    let none = Value::Null;
    for (method, path, body, allowed) in [
        ("POST", "/v1/annotate", &text, [true, false, true]),
        ("POST", "/model/parse", &text, [true, false, true]),
        ("GET", "/v1/concepts", &none, [true, false, true]),
        ("GET", "/v1/concepts/export", &none, [true, false, true]),
        ("GET", "/v1/model", &none, [true, false, true]),
        ("GET", "/metrics", &none, [false, false, true]),
        ("POST", "/v1/dialogue", &turn, [false, true, true]),
        ("DELETE", "/v1/dialogue/s", &none, [false, true, true]),
        ("POST", "/v1/concepts", &concept, [false, true, true]),
        ("POST", "/v1/concepts/undo", &none, [false, true, true]),
        ("POST", "/v1/concepts", &for_ben, [false, false, true]),
        ("GET", "/v1/concepts?owner=ben", &none, [false, false, true]),
        ("GET", "/v1/concepts?owner=*", &none, [false, false, true]),
        ("GET", "/v1/concepts/export?owner=*", &none, [false, false, true]),
        ("POST", "/v1/concepts/undo?owner=ben", &none, [false, false, true]),
        ("POST", "/v1/model/reload", &none, [false, false, true]),
        ("GET", "/v1/tokens", &none, [false, false, true]),
        ("POST", "/v1/tokens/reload", &none, [false, false, true]),
    ] {
        for (token, allowed) in [&reader, &teacher, &admin].into_iter().zip(allowed) {
            let answer = by(&server, token, method, path, body);
            match allowed {
                true => assert!(answer.status < 300, "{method} {path}: {}", answer.text()),
                false => assert_eq!(answer.refusal(), (403, "forbidden".to_owned()), "{method} {path}"),
            }
        }
    }
}

#[test]
fn users_are_apart() {
    let (server, [anna, ben, all, admin]) = with_tokens([
        ("anna", "read,teach"),
        ("ben", "read,teach"),
        ("everyone", "read,teach"),
        ("root", "admin"),
    ]);
    let teach = |token: &str, phrase: &str| -> u64 {
        let body = json!({ "phrase": phrase, "slot": "album" });
        by(&server, token, "POST", "/v1/concepts", &body).ok::<Concept>(201).id
    };
    let (annas, shared) = (teach(&anna, "zorblax road"), teach(&all, "quux avenue"));
    let listed = |token: &str, query: &str| -> Vec<u64> {
        let page: Page = by(&server, token, "GET", &format!("/v1/concepts{query}"), &Value::Null).ok(200);
        page.concepts.iter().map(|concept| concept.id).collect()
    };
    assert_eq!(listed(&anna, ""), [shared, annas]);
    assert_eq!(listed(&ben, ""), [shared]);
    assert_eq!(listed(&ben, "?query=zorblax"), [] as [u64; 0]);
    assert_eq!(listed(&admin, ""), [shared]);
    assert_eq!(listed(&admin, "?owner=anna"), [shared, annas]);
    assert_eq!(listed(&admin, "?owner=*"), [shared, annas]);

    let recalls = |token: &str, text: &str| -> Vec<u64> {
        let annotation: Annotation =
            by(&server, token, "POST", "/v1/annotate", &json!({ "text": text })).ok(200);
        annotation.memory.iter().map(|recalled| recalled.concept).collect()
    };
    assert_eq!(recalls(&anna, "play zorblax road now"), [annas]);
    assert_eq!(recalls(&ben, "play zorblax road now"), [] as [u64; 0]);
    assert_eq!(recalls(&admin, "play zorblax road now"), [] as [u64; 0]);
    assert_eq!(recalls(&ben, "play quux avenue now"), [shared]);
    for (token, path) in [(&ben, "/v1/concepts/export"), (&admin, "/metrics")] {
        let answer = by(&server, token, "GET", path, &Value::Null);
        assert!(answer.status == 200 && !answer.text().contains("zorblax"), "{path}");
    }

    let path = format!("/v1/concepts/{annas}");
    for method in ["GET", "PATCH", "DELETE"] {
        assert_eq!(by(&server, &ben, method, &path, &json!({})).refusal().0, 404, "{method}");
    }
    let shared_path = format!("/v1/concepts/{shared}");
    assert_eq!(by(&server, &ben, "DELETE", &shared_path, &Value::Null).refusal().0, 403);
    let undone: Undone = by(&server, &ben, "POST", "/v1/concepts/undo", &Value::Null).ok(200);
    assert!(undone.changes.is_empty());
    assert_eq!(recalls(&anna, "play zorblax road now"), [annas]);

    // A session of the same name is another one, and what it teaches is its owner's.
    let say = |token: &str, text: &str| -> Turn {
        by(&server, token, "POST", "/v1/dialogue", &json!({ "session": "s", "text": text })).ok(200)
    };
    assert!(say(&ben, "play zorblax road now").reply.options.is_some());
    assert!(say(&anna, "an album").concepts.is_empty());
    let taught = say(&ben, "an album").concepts;
    assert_eq!(recalls(&ben, "play zorblax road now"), taught);
    assert_eq!(recalls(&anna, "play zorblax road now"), [annas]);
    assert_eq!(by(&server, &admin, "DELETE", &format!("{path}?owner=*"), &Value::Null).status, 204);
    assert_eq!(recalls(&anna, "play zorblax road now"), [] as [u64; 0]);
}

/// A token of everyone's takes back neither an admin's change nor an import, and sees nothing of them.
#[test]
fn undo_does_not_cross_owners() {
    let (server, [everyone, admin, anna]) =
        with_tokens([("everyone", "read,teach"), ("root", "admin"), ("anna", "read,teach")]);
    let undo =
        |token: &str, path: &str| by(&server, token, "POST", path, &Value::Null).read::<Undone>().changes;
    let secret = json!({ "phrase": "salary", "slot": "album", "owner": "anna" });
    assert_eq!(by(&server, &admin, "POST", "/v1/concepts", &secret).status, 201);
    let lines = "{\"phrase\": \"bonus\", \"slot\": \"album\", \"owner\": \"anna\"}\n";
    let headers = [("content-type", "application/x-ndjson")];
    let mut import = server.client().with_token(&admin);
    let imported = import.send("POST", "/v1/concepts/import?owner=*", &headers, Some(lines.as_bytes()));
    assert_eq!(imported.status, 200);
    for token in [&everyone, &anna] {
        assert!(undo(token, "/v1/concepts/undo").is_empty());
        assert_eq!(by(&server, token, "POST", "/v1/concepts/undo?owner=*", &Value::Null).status, 403);
    }
    // The admin's own, in the scope that it names.
    assert!(undo(&admin, "/v1/concepts/undo?owner=ben").is_empty());
    assert_eq!(undo(&admin, "/v1/concepts/undo?owner=anna").len(), 1);
    assert_eq!(undo(&admin, "/v1/concepts/undo?owner=*").len(), 1);
    let page: Page = by(&server, &admin, "GET", "/v1/concepts?owner=*", &Value::Null).read();
    assert!(page.concepts.is_empty());
}

/// An admin is an admin whatever its token is called, also where another token has that name.
#[test]
fn undo_does_not_cross_from_an_owner_to_an_admin_of_the_same_name() {
    for name in ["everyone", "anna"] {
        let (server, [admin, owner]) = with_tokens([(name, "admin"), (name, "read,teach")]);
        let undo = |token: &str| {
            let answer = by(&server, token, "POST", "/v1/concepts/undo", &Value::Null);
            answer.read::<Undone>().changes.len()
        };
        let teach = json!({ "phrase": "salary", "slot": "album" });
        let concept: Concept = by(&server, &admin, "POST", "/v1/concepts", &teach).ok(201);
        assert_eq!(concept.owner.as_deref(), Some(name).filter(|name| *name != "everyone"));
        let lines = "{\"phrase\": \"bonus\", \"slot\": \"album\"}\n";
        let headers = [("content-type", "application/x-ndjson")];
        let mut import = server.client().with_token(&admin);
        assert_eq!(import.send("POST", "/v1/concepts/import", &headers, Some(lines.as_bytes())).status, 200);
        let turns = ["play zorblax road", "an album"].map(|text| json!({ "session": "s", "text": text }));
        let learnt: Vec<Turn> =
            turns.iter().map(|turn| by(&server, &admin, "POST", "/v1/dialogue", turn).ok(200)).collect();
        assert_eq!(learnt[1].concepts.len(), 1);
        assert_eq!(undo(&owner), 0);
        by(&server, &owner, "POST", "/v1/concepts", &json!({ "phrase": "tea", "slot": "album" }))
            .ok::<Concept>(201);
        assert_eq!([undo(&admin), undo(&admin), undo(&admin), undo(&admin)], [1, 1, 1, 0]);
        assert_eq!([undo(&owner), undo(&owner)], [1, 0]);
    }
}

/// Each page of it is bounded in bytes, and all of it comes.
#[test]
fn an_owner_with_large_concepts_is_taken_out_whole() {
    let (server, [anna]) = with_tokens([("anna", "read,teach")]);
    let line = |i: usize| {
        let value = format!("{i}{}", "v".repeat(4000));
        json!({ "phrase": format!("w{i}"), "slot": "album", "value": value }).to_string() + "\n"
    };
    let headers = [("content-type", "application/x-ndjson")];
    for part in 0..4 {
        let lines: String = (200 * part..200 * (part + 1)).map(line).collect();
        let mut import = server.client().with_token(&anna);
        assert_eq!(import.send("POST", "/v1/concepts/import", &headers, Some(lines.as_bytes())).status, 200);
    }
    let all = by(&server, &anna, "GET", "/v1/owners/anna", &Value::Null);
    let n = |what: &str| all.text().lines().filter(|line| line.starts_with(&format!("{{\"{what}\""))).count();
    assert_eq!((n("concept"), n("change")), (800, 800));
}

#[test]
fn an_owner_is_taken_out_and_erased() {
    let (server, [anna, ben, reader, admin]) =
        with_tokens([("anna", "read,teach"), ("ben", "read,teach"), ("anna", "read"), ("root", "admin")]);
    for (token, phrase) in [(&anna, "red moon"), (&anna, "blue moon"), (&ben, "green moon")] {
        let concept = json!({ "phrase": phrase, "slot": "album" });
        assert_eq!(by(&server, token, "POST", "/v1/concepts", &concept).status, 201);
    }
    let turn = json!({ "text": "play", "session": "s" });
    assert_eq!(by(&server, &anna, "POST", "/v1/dialogue", &turn).status, 200);
    let ask = |token: &str, method: &str, owner: &str| {
        by(&server, token, method, &format!("/v1/owners/{owner}"), &Value::Null)
    };
    let lines = |answer: Answer| -> Vec<Value> {
        answer.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    for token in [&reader, &admin] {
        let lines = lines(ask(token, "GET", "anna"));
        let phrases: Vec<&Value> = lines.iter().map(|line| &line["concept"]["phrase"]).collect();
        assert_eq!(phrases, [&json!("red moon"), &json!("blue moon"), &Value::Null, &Value::Null]);
        assert_eq!(lines[3]["change"]["change"]["after"]["phrase"], "blue moon");
        assert_eq!(
            (&lines[3]["change"]["actor"], &lines[3]["change"]["role"]),
            (&json!("anna"), &json!("user"))
        );
    }
    for (token, method, owner) in [
        (&ben, "GET", "anna"),
        (&ben, "DELETE", "anna"),
        (&reader, "DELETE", "anna"),
        (&anna, "DELETE", "everyone"),
    ] {
        assert_eq!(ask(token, method, owner).refusal().0, 403, "{method} {owner}");
    }
    let erased: Erased = ask(&anna, "DELETE", "anna").read();
    assert_eq!(erased, Erased { concepts: 2, changes: 2, sessions: 1 });
    assert!(lines(ask(&anna, "GET", "anna")).is_empty());
    assert!(
        by(&server, &anna, "POST", "/v1/concepts/undo", &Value::Null).read::<Undone>().changes.is_empty()
    );
    let erased: Erased = ask(&admin, "DELETE", "ben").read();
    assert_eq!(erased, Erased { concepts: 1, changes: 1, sessions: 0 });
    let annotated: Annotation =
        by(&server, &ben, "POST", "/v1/annotate", &json!({ "text": "play green moon" })).read();
    assert!(annotated.memory.is_empty());
}

#[test]
fn an_owner_has_no_more_than_its_quota() {
    let made =
        [("anna", "read,teach"), ("root", "admin")].map(|(name, rights)| new_token(name, rights).unwrap());
    let lines: Vec<String> = made.iter().map(|(_, line)| line.clone()).collect();
    let [anna, admin] = made.map(|(token, _)| token);
    let quota = Quota { concepts: 2, bytes: 1000 };
    let tokens = Some(TokenSource::Lines(lines.join("\n")));
    let server = Running::start(Config { tokens, quota, ..config() });
    let teach = |token: &str, phrase: &str, owner: Option<&str>| {
        let concept = json!({ "phrase": phrase, "slot": "album", "owner": owner });
        by(&server, token, "POST", "/v1/concepts", &concept)
    };
    assert_eq!([teach(&anna, "one", None).status, teach(&anna, "two", None).status], [201, 201]);
    assert_eq!(teach(&anna, "three", None).refusal(), (403, "over_quota".to_owned()));
    assert_eq!(teach(&admin, "three", Some("anna")).status, 201);
    assert_eq!(teach(&admin, "four", Some("*")).refusal(), (422, "wrong_shape".to_owned()));
}

#[test]
fn without_tokens_there_is_one_owner() {
    let server = Running::start(Config { owner: Owner::User("anna".to_owned()), ..config() });
    let concept: Concept =
        server.post("/v1/concepts", &json!({ "phrase": "red moon", "slot": "album" })).ok(201);
    assert_eq!(concept.owner.as_deref(), Some("anna"));
}

#[test]
fn tokens_are_read_again_whatever_the_model_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tokens");
    let [(root, root_line), (anna, anna_line)] =
        [("root", "admin"), ("anna", "read")].map(|(name, rights)| new_token(name, rights).unwrap());
    std::fs::write(&path, format!("{root_line}\n{anna_line}\n")).unwrap();
    let model = dir.path().join("model");
    std::fs::copy(config().model, &model).unwrap();
    let tokens = Some(TokenSource::File(path.clone()));
    let server = Running::start(Config { tokens, model: model.clone(), ..config() });
    let status = |token: &str| by(&server, token, "GET", "/v1/model", &Value::Null).status;
    let reload = |what: &str| by(&server, &root, "POST", &format!("/v1/{what}/reload"), &Value::Null);
    assert_eq!(status(&anna), 200);
    std::fs::write(&path, "nonsense").unwrap();
    assert_eq!(reload("tokens").refusal(), (422, "bad_tokens".to_owned()));
    assert_eq!(reload("model").ok::<ModelInfo>(200).generation, 2);
    assert_eq!(status(&anna), 200);
    // A bad model keeps nobody in.
    std::fs::write(&model, "nonsense").unwrap();
    std::fs::write(&path, root_line).unwrap();
    assert_eq!(reload("model").refusal(), (422, "bad_model".to_owned()));
    assert_eq!(reload("tokens").ok::<TokensInfo>(200), TokensInfo { tokens: Some(1) });
    assert_eq!((status(&anna), status(&root)), (401, 200));
    // Not even the last one stays.
    std::fs::write(&path, "# nobody").unwrap();
    assert_eq!(reload("tokens").ok::<TokensInfo>(200).tokens, Some(0));
    assert_eq!(status(&root), 401);
}

/// A line with terms, and its token.
fn token(name: &str, rights: &str, terms: &str) -> (String, String) {
    let (token, line) = new_token(name, rights).unwrap();
    (token, format!("{line} {terms}"))
}

#[test]
fn a_token_has_its_rate_and_no_other() {
    let [(slow, slow_line), (fast, fast_line), (own, own_line)] =
        [token("anna", "read,metrics", ""), token("ben", "read", "rate=1000000"), token("anna", "read", "")];
    let tokens = Some(TokenSource::Lines([slow_line, fast_line, own_line].join("\n")));
    let server = Running::start(Config { tokens, rate: Some(0.5), burst: Some(3), ..config() });
    let get = |token: &str, path: &str| by(&server, token, "GET", path, &Value::Null);
    let statuses = |token: &str| [(); 5].map(|()| get(token, "/v1/model").status);
    assert_eq!(statuses(&slow), [200, 200, 200, 429, 429]);
    let refused = get(&slow, "/v1/model");
    assert_eq!(refused.refusal(), (429, "too_many_requests".to_owned()));
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=2).contains(&wait), "{wait}");
    // Neither those of others nor another one of the same owner.
    assert_eq!(statuses(&fast), [200; 5]);
    assert_eq!(statuses(&own), [200, 200, 200, 429, 429]);
    for path in ["/healthz", "/readyz", "/metrics", "/", "/openapi.json"] {
        assert_eq!(get(&slow, path).status, 200, "{path}");
    }
    // What `Retry-After` says is true.
    std::thread::sleep(std::time::Duration::from_secs(wait));
    assert_eq!(get(&slow, "/v1/model").status, 200);
}

#[test]
fn a_token_has_its_requests_of_a_day() {
    let [(anna, anna_line), (ben, ben_line)] =
        [token("anna", "read", "quota=3 rate=1000"), token("ben", "read", "")];
    let tokens = Some(TokenSource::Lines([anna_line, ben_line].join("\n")));
    let server = Running::start(Config { tokens, ..config() });
    let get = |token: &str| by(&server, token, "GET", "/v1/model", &Value::Null);
    assert_eq!([(); 5].map(|()| get(&anna).status), [200, 200, 200, 429, 429]);
    let refused = get(&anna);
    assert_eq!(refused.refusal(), (429, "too_many_requests".to_owned()));
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((28_000..=28_800).contains(&wait), "{wait}");
    assert_eq!([(); 5].map(|()| get(&ben).status), [200; 5]);
}

#[test]
fn many_words_count_for_several_requests() {
    let (anna, line) = token("anna", "read", "");
    let tokens = Some(TokenSource::Lines(line));
    let server = Running::start(Config { tokens, rate: Some(1.0), burst: Some(2), ..config() });
    let annotate = |texts: &[&str]| by(&server, &anna, "POST", "/v1/annotate", &json!({ "texts": texts }));
    assert_eq!(annotate(&["play the wall now"; 200]).status, 200);
    let refused = annotate(&["play"]);
    assert_eq!(refused.refusal(), (429, "too_many_requests".to_owned()));
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((20..=40).contains(&wait), "{wait}");
}

/// What costs a lot of time does not cost little because it has no spaces.
#[test]
fn marks_count_as_words() {
    let (anna, line) = token("anna", "read", "");
    let tokens = Some(TokenSource::Lines(line));
    let server = Running::start(Config { tokens, rate: Some(1.0), burst: Some(2), ..config() });
    let annotate = |text: &str| by(&server, &anna, "POST", "/v1/annotate", &json!({ "text": text }));
    assert_eq!(annotate(&"a😀".repeat(2048)).status, 200);
    let refused = annotate("play");
    assert_eq!(refused.refusal(), (429, "too_many_requests".to_owned()));
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((60..=70).contains(&wait), "{wait}");
}

/// Only an admin imports so much that nobody else teaches for a while.
#[test]
fn an_import_has_a_number_of_lines() {
    let (server, [anna, root]) = with_tokens([("anna", "read,teach"), ("root", "admin")]);
    let lines = "{\"phrase\": \"red moon\", \"slot\": \"album\"}\n".repeat(2001);
    let kind = [("content-type", "application/x-ndjson")];
    let import = |token: &str, lines: &str| {
        server.client().with_token(token).send("POST", "/v1/concepts/import", &kind, Some(lines.as_bytes()))
    };
    assert_eq!(import(&anna, &lines).refusal(), (422, "too_many".to_owned()));
    assert_eq!(import(&anna, &lines[..lines.len() / 2001 * 2000]).status, 200);
    assert_eq!(import(&root, &lines).status, 200);
}

#[test]
fn a_token_expires_and_only_its_holder_is_told() {
    let config = config();
    let soon = Timestamp::now() + SignedDuration::from_secs(3);
    let [(old, old_line), (young, young_line), (root, root_line)] = [
        token("anna", "read", "expires=2020-01-31T00:00:00Z"),
        token("anna", "read", &format!("expires={soon}")),
        token("root", "admin", "expires=2999-01-31"),
    ];
    let tokens = Some(TokenSource::Lines([old_line, young_line, root_line].join("\n")));
    let server = Running::start(Config { tokens, ..config });
    let message = |token: &str| {
        let answer = by(&server, token, "GET", "/v1/model", &Value::Null);
        assert_eq!(answer.refusal(), (401, "no_token".to_owned()));
        answer.read::<Failure>().error.message
    };
    assert_eq!(message(&old), "this token expired at 2020-01-31T00:00:00Z");
    assert_eq!(message("meno_1"), "this token is not known");
    assert_eq!(by(&server, &root, "GET", "/v1/model", &Value::Null).status, 200);
    let status = |token: &str| by(&server, token, "GET", "/v1/model", &Value::Null).status;
    assert_eq!(status(&young), 200);
    within(std::time::Duration::from_secs(10), || status(&young) == 401);
}

#[test]
fn an_admin_sees_what_tokens_were_used_for() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tokens");
    let [(anna, anna_line), (root, root_line)] =
        [token("anna", "read,teach", "rate=100 expires=2999-01-31"), token("everyone", "admin", "")];
    std::fs::write(&path, format!("{anna_line}\n{root_line}\n")).unwrap();
    let server = Running::start(Config { tokens: Some(TokenSource::File(path)), ..config() });
    let answer = || by(&server, &root, "GET", "/v1/tokens", &Value::Null);
    let list = || answer().ok::<TokenList>(200).tokens;
    let [first, second] = &list()[..] else { panic!() };
    assert_eq!(
        (first.id.as_str(), first.owner.as_str()),
        (&anna_line.split(' ').nth(2).unwrap()[..8], "anna")
    );
    assert_eq!(first.rights, ["read", "teach"]);
    assert_eq!((first.expires.as_deref(), first.rate), (Some("2999-01-31T00:00:00Z"), Some(100.0)));
    assert_eq!((&first.last_used, first.requests), (&None, 0));
    assert_eq!((second.owner.as_str(), second.requests), ("everyone", 1));
    for _ in 0..3 {
        by(&server, &anna, "GET", "/v1/model", &Value::Null);
    }
    // What was counted outlives a reload.
    assert_eq!(by(&server, &root, "POST", "/v1/tokens/reload", &Value::Null).status, 200);
    let first = &list()[0];
    assert!(first.last_used.as_ref().is_some_and(|time| time.starts_with("20") && time.ends_with('Z')));
    assert_eq!(first.requests, 3);
    assert!(
        !answer().text().contains(&anna) && !answer().text().contains(anna_line.split(' ').nth(2).unwrap())
    );
}

#[test]
fn other_addresses_need_tokens() {
    for listen in ["0.0.0.0:0", "[::]:0"] {
        let error = Server::bind(Config { listen: listen.to_owned(), ..config() }).err().unwrap();
        let problem = format!("{listen} can be reached by others, and there are no tokens");
        assert_eq!(error.to_string(), problem);
        assert!(error.hint().unwrap().contains("token"), "{error:?}");
    }
    let (_, line) = new_token("anna", "read").unwrap();
    let tokens = Some(TokenSource::Lines(line));
    Server::bind(Config { listen: "0.0.0.0:0".to_owned(), tokens, ..config() }).unwrap();
    for (listen, problem) in
        [("localhost", "`localhost` is no address"), ("127.0.0.1:99999", "is no address")]
    {
        let error = Server::bind(Config { listen: listen.to_owned(), ..config() }).err().unwrap();
        assert!(error.to_string().contains(problem), "{error}");
    }
    let taken = Running::start(config());
    let error = Server::bind(Config { listen: taken.address.to_string(), ..config() }).err().unwrap();
    assert!(error.to_string().starts_with("cannot listen on 127.0.0.1:"), "{error}");
}
