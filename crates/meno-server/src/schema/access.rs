//! Tokens and certificates.

use serde::Deserialize;
use utoipa::ToSchema;

/// Who may ask.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TokensInfo {
    /// How many tokens are known; null if none are asked for.
    pub tokens: Option<usize>,
}

/// The tokens that are known.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenList {
    /// As they stand in the file.
    pub tokens: Vec<TokenInfo>,
}

/// A token, and what was done with it since the server started.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenInfo {
    /// The first 8 digits of its hash.
    #[schema(example = "ba7816bf")]
    pub id: String,
    /// Whose it is, or `everyone`.
    pub owner: String,
    /// What it allows: `read`, `teach`, `metrics`, `admin`.
    pub rights: Vec<String>,
    /// When it is valid no more, in RFC 3339; null if it always is.
    pub expires: Option<String>,
    /// Requests a second, if its line says it.
    pub rate: Option<f64>,
    /// Requests a day, if its line says it.
    pub quota: Option<u32>,
    /// When it was used last, in RFC 3339.
    pub last_used: Option<String>,
    /// How many requests had it.
    pub requests: u64,
}

/// What the server shows to whoever connects.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CertificateInfo {
    /// How many certificates there are, from the server's own towards an authority; null without TLS.
    pub certificates: Option<usize>,
}
