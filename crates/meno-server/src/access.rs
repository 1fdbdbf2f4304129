//! Who asks, and what they may do.
//!
//! A token is known by its SHA-256 only: a line of a token file is `owner rights sha256`, rights among `read`, `teach` and
//! `admin`, separated by commas. Tokens are random and long, so a plain hash is enough; it is compared in constant time.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use meno::memory::Owner;
use meno::{Error, Result};
use meno_store::Scope;
use sha2::{Digest, Sha256};
use subtle::{ConditionallySelectable, ConstantTimeEq};

use crate::App;
use crate::engine::CallerId;
use crate::problem::{Code, Problem};

/// What a caller may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Right {
    /// Annotate, and see concepts.
    Read,
    /// Hold dialogues, and change concepts of one's own.
    Teach,
    /// All of that for every owner, and load another model.
    Admin,
}

impl Right {
    fn from_name(name: &str) -> Option<Right> {
        match name {
            "read" => Some(Right::Read),
            "teach" => Some(Right::Teach),
            "admin" => Some(Right::Admin),
            _ => None,
        }
    }
}

/// Reads rights as they are typed, such as `read,teach`.
fn rights(names: &str) -> Result<Vec<Right>> {
    let right = |name: &str| {
        Right::from_name(name).ok_or_else(|| Error::Setting {
            problem: format!("`{}` is no right", name.escape_debug()),
            hint: "rights are read, teach and admin, separated by commas".to_owned(),
        })
    };
    names.split(',').map(right).collect()
}

/// The name that stands for everyone where an owner is named.
pub const EVERYONE: &str = "everyone";

/// The owner of a name.
pub fn owner(name: &str) -> Owner {
    if name == EVERYONE { Owner::Everyone } else { Owner::from(Some(name.to_owned())) }
}

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    /// What tells its token from others.
    pub id: CallerId,
    /// Whose concepts are known and taught.
    pub owner: Owner,
    /// What may be done.
    pub rights: Vec<Right>,
}

impl Caller {
    /// Somebody who may do everything.
    fn trusted(owner: Owner) -> Self {
        Caller { id: 0, owner, rights: vec![Right::Admin] }
    }

    pub(crate) fn is_admin(&self) -> bool {
        self.rights.contains(&Right::Admin)
    }

    /// Refuses a caller without a right.
    pub(crate) fn demand(&self, right: Right) -> Result<(), Problem> {
        if self.rights.contains(&right) || self.is_admin() {
            return Ok(());
        }
        let name = format!("{right:?}").to_lowercase();
        let hint = "an admin gives rights in the file of tokens";
        Err(Problem::new(Code::Forbidden, format!("this token has no right to {name}"), hint))
    }

    /// What is seen and changed: what the caller owns, or what an admin names: an owner, or `*` for all.
    pub(crate) fn scope(&self, named: Option<&str>) -> Result<Scope, Problem> {
        let Some(name) = named else { return Ok(Scope::own(self.owner.clone())) };
        self.demand(Right::Admin)?;
        let all = Scope::admin(self.owner.user().unwrap_or(EVERYONE));
        Ok(if name == "*" { all } else { all.within(owner(name)) })
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
            hint: "a line is `owner rights sha256`, the last of them the hash of the token".to_owned(),
        };
        let token = |(line, number): (&str, usize)| {
            let parts: Vec<&str> = line.split_whitespace().collect();
            let [name, names, hash] = parts[..] else {
                return Err(refuse(number, "there are not three words"));
            };
            let rights = rights(names).map_err(|error| refuse(number, &error.to_string()))?;
            let hash = from_hex(hash).ok_or_else(|| refuse(number, "the hash has not 64 hex digits"))?;
            let owner = owner(name);
            owner.check().map_err(|error| refuse(number, &error.to_string()))?;
            let id = CallerId::from_le_bytes(*hash.first_chunk().expect("a hash is longer"));
            Ok((hash, Arc::new(Caller { id, owner, rights })))
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
    owner(name).check()?;
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
}

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
        Ok(Access { source, tokens: RwLock::new(tokens), anybody: Arc::new(Caller::trusted(owner)) })
    }

    pub fn has_tokens(&self) -> bool {
        self.source.is_some()
    }

    /// Reads the tokens again; those that were known stay if that fails. How many there are, if any are asked for.
    pub fn reload(&self) -> Result<Option<usize>> {
        let Some(source) = &self.source else { return Ok(None) };
        let tokens = source.read()?;
        let n = tokens.0.len();
        *self.tokens.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(tokens));
        Ok(Some(n))
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

/// The caller of a request.
pub(crate) struct By(pub Arc<Caller>);

impl FromRequestParts<Arc<App>> for By {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        app.access.caller(parts).map(By)
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
            assert_eq!(tokens.caller(wrong), None, "{wrong}");
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
        assert_eq!(admin.scope(Some("anna")).unwrap(), all.within(owner("anna")));
        let anna = Caller { id: 1, owner: owner("anna"), rights: vec![Right::Read, Right::Teach] };
        assert_eq!(anna.scope(None).unwrap(), Scope::of(Some("anna")));
        assert!(anna.scope(Some("anna")).is_err());
    }
}
