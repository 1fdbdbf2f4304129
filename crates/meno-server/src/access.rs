//! Who asks, and what they may do.
//!
//! A token is known by its SHA-256 only: a line of a token file is `owner rights sha256`, rights among `read`, `teach`,
//! `metrics` and `admin`, separated by commas, and perhaps [`Terms`]. Tokens are random and long, so a plain hash is enough; it is compared in
//! constant time.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use jiff::Timestamp;
use meno::memory::{EVERYONE, Owner};
use meno::{Error, Result};
use meno_store::Scope;
use sha2::{Digest, Sha256};
use subtle::{ConditionallySelectable, ConstantTimeEq};

use crate::App;
use crate::engine::CallerId;
use crate::limit::{Bucket, Limit};
use crate::problem::{Code, Problem};
use crate::terms::Terms;
use crate::trail::Trail;

/// What a caller may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Right {
    /// Annotate, and see concepts.
    Read,
    /// Hold dialogues, and change concepts of one's own.
    Teach,
    /// See the counts of all callers together.
    Metrics,
    /// All of that for every owner, and load another model.
    Admin,
}

impl Right {
    fn from_name(name: &str) -> Option<Right> {
        match name {
            "read" => Some(Right::Read),
            "teach" => Some(Right::Teach),
            "metrics" => Some(Right::Metrics),
            "admin" => Some(Right::Admin),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Right::Read => "read",
            Right::Teach => "teach",
            Right::Metrics => "metrics",
            Right::Admin => "admin",
        }
    }
}

/// Reads rights as they are typed, such as `read,teach`.
fn rights(names: &str) -> Result<Vec<Right>> {
    let right = |name: &str| {
        Right::from_name(name).ok_or_else(|| Error::Setting {
            problem: format!("`{}` is no right", name.escape_debug()),
            hint: "rights are read, teach, metrics and admin, separated by commas".to_owned(),
        })
    };
    names.split(',').map(right).collect()
}

/// The owner of a name that a request has; refuses one that is none.
pub(crate) fn known_owner(name: &str) -> Result<Owner, Problem> {
    Ok(Owner::named(name).map_err(meno_store::Error::from)?)
}

/// The name of an owner.
pub(crate) fn name(owner: &Owner) -> &str {
    owner.user().unwrap_or(EVERYONE)
}

/// Who asks.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// What tells its token from others.
    pub id: CallerId,
    /// Whose concepts are known and taught.
    pub owner: Owner,
    /// What may be done.
    pub rights: Vec<Right>,
    pub terms: Terms,
    pub usage: Arc<Usage>,
}

/// What a caller did since the server started.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    n_requests: AtomicU64,
    /// In milliseconds since 1970; 0 before the first.
    last: AtomicI64,
    bucket: Bucket,
    /// What it has left of its requests of a day.
    daily: Bucket,
    /// Its refusals that are recorded.
    pub refusals: Bucket,
}

impl Usage {
    fn count(&self) {
        self.n_requests.fetch_add(1, Ordering::Relaxed);
        self.last.store(Timestamp::now().as_millisecond(), Ordering::Relaxed);
    }

    pub fn n_requests(&self) -> u64 {
        self.n_requests.load(Ordering::Relaxed)
    }

    pub fn last(&self) -> Option<Timestamp> {
        let milliseconds = Some(self.last.load(Ordering::Relaxed)).filter(|&time| time != 0)?;
        Timestamp::from_millisecond(milliseconds).ok()
    }
}

impl Caller {
    /// Somebody who may do everything.
    fn trusted(owner: Owner) -> Self {
        let (terms, usage) = Default::default();
        Caller { id: 0, owner, rights: vec![Right::Admin], terms, usage }
    }

    /// The first digits of the hash of its token, by which people know it; `None` where there are no tokens.
    pub(crate) fn token(&self) -> Option<String> {
        (self.id != 0).then(|| to_hex(&self.id.to_le_bytes()[..4]))
    }

    pub(crate) fn is_admin(&self) -> bool {
        self.rights.contains(&Right::Admin)
    }

    /// Whether its token makes it an admin. Where there are no tokens, who asks is the owner itself.
    fn is_admin_by_token(&self) -> bool {
        self.is_admin() && self.id != 0
    }

    /// The owner whom an admin names, if that is another.
    pub(crate) fn other(&self, named: Option<&str>) -> Option<String> {
        named.filter(|&named| named != name(&self.owner)).map(str::to_owned)
    }

    /// Refuses a caller without a right.
    pub(crate) fn demand(&self, right: Right) -> Result<(), Problem> {
        if self.rights.contains(&right) || self.is_admin() {
            return Ok(());
        }
        let name = right.name();
        let hint = "an admin gives rights in the file of tokens";
        Err(Problem::new(Code::Forbidden, format!("this token has no right to {name}"), hint))
    }

    /// Refuses a caller whose time is over.
    fn demand_valid(&self) -> Result<(), Problem> {
        match self.terms.expires {
            Some(expires) if expires.is_past() => {
                let message = format!("this token expired at {expires}");
                Err(Problem::new(Code::NoToken, message, "ask an admin for another one"))
            }
            _ => Ok(()),
        }
    }

    /// What is seen and changed: what the caller owns, or what an admin names: an owner, or `*` for all. What an admin does is
    /// the admin's own, whomever it is for, so that no other token of that owner takes it back.
    pub(crate) fn scope(&self, named: Option<&str>) -> Result<Scope, Problem> {
        let admin = || Scope::admin(name(&self.owner));
        let Some(named) = named else {
            let own = self.owner.clone();
            return Ok(if self.is_admin_by_token() { admin().within(own) } else { Scope::own(own) });
        };
        self.demand(Right::Admin)?;
        Ok(if named == "*" { admin() } else { admin().within(known_owner(named)?) })
    }
}

/// As its line, with fewer digits of the hash.
impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rights: Vec<&str> = self.rights.iter().map(|right| right.name()).collect();
        let token = self.token().unwrap_or_default();
        write!(f, "{} {} {token}{}", name(&self.owner), rights.join(","), self.terms)?;
        let is_past = self.terms.expires.is_some_and(|expires| expires.is_past());
        f.write_str(if is_past { " (expired)" } else { "" })
    }
}

/// Where tokens come from.
#[derive(Clone, Debug)]
pub enum TokenSource {
    /// A file, which is read again with the model.
    File(PathBuf),
    /// The lines themselves.
    Lines(String),
}

impl TokenSource {
    /// How many tokens there are; an error names the line that is none.
    pub fn count(&self) -> Result<usize> {
        Ok(self.read()?.0.len())
    }

    fn read(&self) -> Result<Tokens> {
        match self {
            TokenSource::File(path) => {
                let text = std::fs::read_to_string(path)
                    .map_err(|source| Error::Read { path: path.clone(), source })?;
                Tokens::parse(path, &text)
            }
            TokenSource::Lines(text) => Tokens::parse(Path::new("MENO_TOKENS"), text),
        }
    }

    /// A line for each token: owner, rights, the first digits of the hash, and terms.
    pub fn list(&self) -> Result<Vec<String>> {
        Ok(self.read()?.0.iter().map(|(_, caller)| caller.to_string()).collect())
    }
}

type Hash = [u8; 32];

/// The callers that are known.
#[derive(Debug)]
struct Tokens(Vec<(Hash, Arc<Caller>)>);

impl Tokens {
    fn parse(path: &Path, text: &str) -> Result<Tokens> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = text.lines().zip(1..).map(|(line, number)| (line.trim(), number));
        let lines = lines.filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
        let refuse = |line: usize, problem: &str| Error::Access {
            problem: format!("{}:{line}: {problem}", path.display()),
            hint: "a line is `owner rights sha256`, the last of them the hash of the token, and perhaps \
                   `expires=2027-01-31T00:00:00Z`, `rate=20` and `quota=5000`"
                .to_owned(),
        };
        let token = |(line, number): (&str, usize)| {
            let parts: Vec<&str> = line.split_whitespace().collect();
            let [name, names, hash, words @ ..] = &parts[..] else {
                return Err(refuse(number, "there are not three words"));
            };
            let rights = rights(names).map_err(|error| refuse(number, &error.to_string()))?;
            let hash = from_hex(hash).ok_or_else(|| refuse(number, "the hash has not 64 hex digits"))?;
            let owner = Owner::named(name).map_err(|error| refuse(number, &error.to_string()))?;
            let terms = Terms::parse(words).map_err(|error| refuse(number, &error.to_string()))?;
            let id = CallerId::from_le_bytes(*hash.first_chunk().expect("a hash is longer"));
            Ok((hash, Arc::new(Caller { id, owner, rights, terms, usage: Arc::default() })))
        };
        Ok(Tokens(lines.map(token).collect::<Result<_>>()?))
    }

    /// Looks at all tokens, whichever it is, in the same time.
    fn caller(&self, token: &str) -> Option<Arc<Caller>> {
        let hash: Hash = Sha256::digest(token).into();
        let mut at = u64::MAX;
        for ((known, _), idx) in self.0.iter().zip(0u64..) {
            at = u64::conditional_select(&at, &idx, known.ct_eq(&hash));
        }
        self.0.get(at as usize).map(|(_, caller)| caller.clone())
    }

    /// Goes on with what was counted of the same tokens before.
    fn go_on(&mut self, before: &Tokens) {
        let before: HashMap<&Hash, &Arc<Caller>> =
            before.0.iter().map(|(hash, caller)| (hash, caller)).collect();
        for (hash, caller) in &mut self.0 {
            if let Some(before) = before.get(hash) {
                Arc::make_mut(caller).usage = before.usage.clone();
            }
        }
    }
}

/// A fresh token, and its line for the file.
pub fn new_token(name: &str, names: &str) -> Result<(String, String)> {
    rights(names)?;
    if name.is_empty() || name.starts_with('#') || name.contains(char::is_whitespace) {
        return Err(Error::Setting {
            problem: format!("`{}` is no name of an owner", name.escape_debug()),
            hint: "a name is one word, such as `anna`, or `everyone`".to_owned(),
        });
    }
    Owner::named(name)?;
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| Error::Setting {
        problem: format!("there are no random numbers: {error}"),
        hint: String::new(),
    })?;
    let token = format!("meno_{}", to_hex(&bytes));
    let line = format!("{name} {names} {}", to_hex(&Sha256::digest(&token)));
    Ok((token, line))
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Option<Hash> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let bytes: Option<Vec<u8>> =
        text.as_bytes().chunks(2).map(|pair| Some(16 * digit(pair[0])? + digit(*pair.get(1)?)?)).collect();
    bytes?.try_into().ok()
}

/// Who gets in.
pub(crate) struct Access {
    source: Option<TokenSource>,
    tokens: RwLock<Option<Arc<Tokens>>>,
    /// Who everybody is where there are no tokens.
    anybody: Arc<Caller>,
    /// Requests a second of a caller whose token does not say it, and how many of any at once.
    rate: Option<f64>,
    burst: Option<u32>,
}

/// So many words are in a request that counts as one.
const WORDS: u32 = 64;

impl Access {
    pub fn new(source: Option<TokenSource>, owner: Owner) -> Result<Self> {
        let tokens = source.as_ref().map(TokenSource::read).transpose()?.map(Arc::new);
        // Whoever starts a server that nobody may ask has forgotten something; to take the last token away later is another matter.
        if tokens.as_ref().is_some_and(|tokens| tokens.0.is_empty()) {
            return Err(Error::Access {
                problem: "there is no token".to_owned(),
                hint: "make one for each who may ask".to_owned(),
            });
        }
        let (tokens, anybody) = (RwLock::new(tokens), Arc::new(Caller::trusted(owner)));
        Ok(Access { source, tokens, anybody, rate: None, burst: None })
    }

    /// The same where a caller may ask so often.
    pub fn limited(self, rate: Option<f64>, burst: Option<u32>) -> Self {
        Access { rate, burst, ..self }
    }

    pub fn has_tokens(&self) -> bool {
        self.source.is_some()
    }

    /// Reads the tokens again; those that were known stay if that fails. How many there are, if any are asked for.
    pub fn reload(&self) -> Result<Option<usize>> {
        let Some(source) = &self.source else { return Ok(None) };
        let mut tokens = source.read()?;
        let n = tokens.0.len();
        let mut known = self.tokens.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = known.as_ref() {
            tokens.go_on(before);
        }
        *known = Some(Arc::new(tokens));
        Ok(Some(n))
    }

    /// Those who may ask.
    pub fn callers(&self) -> Vec<Arc<Caller>> {
        let tokens = self.tokens.read().unwrap_or_else(PoisonError::into_inner).clone();
        tokens.iter().flat_map(|tokens| &tokens.0).map(|(_, caller)| caller.clone()).collect()
    }

    fn limit(&self, caller: &Caller) -> Option<Limit> {
        caller.terms.rate.or(self.rate).map(|rate| Limit::new(rate, self.burst))
    }

    /// Refuses a caller that asks too often.
    fn admit(&self, caller: &Caller) -> Result<(), Problem> {
        let (now, usage) = (Instant::now(), &caller.usage);
        let refuse = |message: &str, wait: Duration| {
            let hint = "send them more slowly; long texts and many texts count for more";
            Problem::new(Code::TooManyRequests, message, hint).retry_after(wait)
        };
        let daily = caller.terms.quota.map(Limit::daily);
        if let Some(daily) = daily {
            let spent = |wait| refuse("this token has used up its requests of a day", wait);
            usage.daily.look(daily, now).map_err(spent)?;
        }
        if let Some(limit) = self.limit(caller) {
            let too_many = |wait| refuse("there were too many requests of this token", wait);
            usage.bucket.take(limit, now).map_err(too_many)?;
        }
        // What the rate refuses is not counted.
        if let Some(daily) = daily {
            usage.daily.charge(daily, 1.0, now);
        }
        Ok(())
    }

    /// Has a request with many words count for several.
    pub fn charge(&self, caller: &Caller, words: u32) {
        let more = f64::from(words.saturating_sub(WORDS)) / f64::from(WORDS);
        if more == 0.0 {
            return;
        }
        let now = Instant::now();
        if let Some(limit) = self.limit(caller) {
            caller.usage.bucket.charge(limit, more, now);
        }
        if let Some(quota) = caller.terms.quota {
            caller.usage.daily.charge(Limit::daily(quota), more, now);
        }
    }

    fn caller(&self, parts: &Parts) -> Result<Arc<Caller>, Problem> {
        let tokens = self.tokens.read().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(tokens) = tokens else { return Ok(self.anybody.clone()) };
        let hint = "send `Authorization: Bearer TOKEN`";
        let value = parts.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = value.and_then(|value| value.split_once(' ')).filter(|(scheme, _)| {
            // The name of a scheme has no case.
            scheme.eq_ignore_ascii_case("bearer")
        });
        let (_, token) = token.ok_or_else(|| Problem::new(Code::NoToken, "there is no token", hint))?;
        let caller = tokens.caller(token.trim());
        caller.ok_or_else(|| Problem::new(Code::NoToken, "this token is not known", hint))
    }
}

/// The caller of a request, which counts.
pub(crate) struct By(pub Arc<Caller>);

impl FromRequestParts<Arc<App>> for By {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let Known(caller) = Known::from_request_parts(parts, app).await?;
        if !app.bodies.has_room(caller.id) {
            let message = "so much was answered that there is no room for more";
            return Err(Problem::new(
                Code::Busy,
                message,
                "take the answers to what you asked for, and ask again",
            ));
        }
        app.access.admit(&caller)?;
        Ok(By(caller))
    }
}

/// The same, however often it asks.
pub(crate) struct Known(pub Arc<Caller>);

impl FromRequestParts<Arc<App>> for Known {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let caller = app.access.caller(parts)?;
        if let Some(trail) = parts.extensions.get::<Arc<Trail>>() {
            let _ = trail.caller.set(caller.clone());
        }
        caller.demand_valid()?;
        caller.usage.count();
        Ok(Known(caller))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_by_its_hash() {
        let (anna, anna_line) = new_token("anna", "read,teach").unwrap();
        let (root, root_line) = new_token(EVERYONE, "admin").unwrap();
        assert_ne!(anna, root);
        assert!(!anna_line.contains(&anna));
        let text = format!("# who may\n\n{anna_line}\n  {root_line}\n");
        let tokens = Tokens::parse(Path::new("t"), &text).unwrap();
        let caller = tokens.caller(&anna).unwrap();
        assert_eq!(caller.owner, Owner::User("anna".to_owned()));
        assert!(caller.demand(Right::Teach).is_ok() && caller.demand(Right::Admin).is_err());
        let caller = tokens.caller(&root).unwrap();
        assert_eq!(caller.owner, Owner::Everyone);
        assert!(caller.demand(Right::Read).is_ok());
        for wrong in ["", "meno_", &anna_line, &anna[1..], &format!("{anna}0")] {
            assert!(tokens.caller(wrong).is_none(), "{wrong}");
        }
    }

    /// The hash is the one that `printf abc | sha256sum` prints.
    #[test]
    fn hashes_are_those_of_other_programs() {
        let line = "anna read ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert!(Tokens::parse(Path::new("t"), line).unwrap().caller("abc").is_some());
    }

    #[test]
    fn the_last_token_can_be_taken_away() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens");
        let (token, line) = new_token("anna", "read").unwrap();
        std::fs::write(&path, line).unwrap();
        let access = Access::new(Some(TokenSource::File(path.clone())), Owner::Everyone).unwrap();
        let is_known = || access.tokens.read().unwrap().as_ref().unwrap().caller(&token).is_some();
        assert!(is_known());
        std::fs::write(&path, "# nobody\n").unwrap();
        assert_eq!(access.reload().unwrap(), Some(0));
        assert!(!is_known());
        let error = Access::new(Some(TokenSource::File(path)), Owner::Everyone).err().unwrap();
        assert_eq!(error.to_string(), "there is no token");
    }

    #[test]
    fn bad_lines_are_named() {
        for (text, problem) in [
            ("\nanna read", "t:2: there are not three words"),
            ("anna sing 00", "t:1: `sing` is no right"),
            ("anna read 00", "t:1: the hash has not 64 hex digits"),
            (&format!("anna read {}", "é".repeat(32)), "t:1: the hash has not 64 hex digits"),
            (
                &format!("anna read {} colour=red", "0".repeat(64)),
                "t:1: `colour=red` is nothing that a token has",
            ),
            (&format!("anna read {} expires=soon", "0".repeat(64)), "t:1: `soon` is no time"),
            (
                &format!("anna read {} quota=many", "0".repeat(64)),
                "t:1: `many` is no number of requests a day",
            ),
        ] {
            assert_eq!(Tokens::parse(Path::new("t"), text).unwrap_err().to_string(), problem, "{text}");
        }
    }

    #[test]
    fn an_admin_acts_for_whom_it_names() {
        let admin = Caller::trusted(Owner::Everyone);
        assert_eq!(admin.scope(None).unwrap(), Scope::of(None));
        let all = Scope::admin("everyone");
        assert_eq!(admin.scope(Some("*")).unwrap(), all);
        assert_eq!(admin.scope(Some("everyone")).unwrap(), all.clone().within(Owner::Everyone));
        assert_eq!(admin.scope(Some("anna")).unwrap(), all.clone().within(Owner::User("anna".to_owned())));
        // By a token it is the admin who acts, not the owner that the token is called after.
        let by_token = Caller { id: 1, ..admin };
        assert_eq!(by_token.scope(None).unwrap(), all.within(Owner::Everyone));
        let rights = vec![Right::Read, Right::Teach];
        let anna = Caller { id: 1, rights, ..Caller::trusted(Owner::User("anna".to_owned())) };
        assert_eq!(anna.scope(None).unwrap(), Scope::of(Some("anna")));
        assert!(anna.scope(Some("anna")).is_err());
    }
}
