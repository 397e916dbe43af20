//! A signed access token (JWT): read strictly, its signature checked with a key of the provider's set.
//!
//! The algorithms are pinned to two, and each key serves the one of its kind: a token can't choose how it is checked.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;
use time::OffsetDateTime;

/// Larger ones are no access tokens of a sound provider.
const MAX_TOKEN_BYTES: usize = 16 * 1024;
/// Clocks that differ a little.
const SKEW_SECONDS: f64 = 60.0;

/// One usable key of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Key {
    /// RS256: modulus and exponent.
    Rsa { n: Vec<u8>, e: Vec<u8> },
    /// ES256: the uncompressed point.
    P256(Vec<u8>),
}

/// One entry of a key set, as published.
#[derive(Deserialize)]
pub(super) struct PublishedKey {
    kty: String,
    #[serde(default)]
    pub kid: Option<String>,
    #[serde(default, rename = "use")]
    purpose: Option<String>,
    #[serde(default)]
    alg: Option<String>,
    #[serde(default)]
    crv: Option<String>,
    #[serde(default)]
    n: Option<String>,
    #[serde(default)]
    e: Option<String>,
    #[serde(default)]
    x: Option<String>,
    #[serde(default)]
    y: Option<String>,
}

impl PublishedKey {
    /// `None` for a key that signs nothing we take.
    pub(super) fn usable(&self) -> Option<Key> {
        let part = |text: &Option<String>| URL_SAFE_NO_PAD.decode(text.as_ref()?).ok();
        let for_alg = |alg| self.alg.as_deref().is_none_or(|named| named == alg);
        if self.purpose.as_deref().is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        match self.kty.as_str() {
            "RSA" if for_alg("RS256") => Some(Key::Rsa { n: part(&self.n)?, e: part(&self.e)? }),
            "EC" if self.crv.as_deref() == Some("P-256") && for_alg("ES256") => {
                let (x, y) = (part(&self.x)?, part(&self.y)?);
                let point = [&[4], x.as_slice(), &y].concat();
                (x.len() == 32 && y.len() == 32).then_some(Key::P256(point))
            }
            _ => None,
        }
    }
}

/// Why a token says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BadToken {
    NoToken,
    Algorithm,
    UnknownKey,
    Signature,
    Claims,
    Issuer,
    Audience,
    Expired,
    NotYet,
}

impl BadToken {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::NoToken => "the credential is no signed token of three parts",
            Self::Algorithm => "the token isn't signed with RS256 or ES256",
            Self::UnknownKey => "the token is signed with a key that the provider doesn't publish",
            Self::Signature => "the token's signature is wrong",
            Self::Claims => "the token lacks iss, aud, exp or sub, or one of its claims has the wrong type",
            Self::Issuer => "the token is of another issuer",
            Self::Audience => "the token is for another audience",
            Self::Expired => "the token has expired; get a new one",
            Self::NotYet => "the token isn't valid yet",
        }
    }
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    #[serde(default)]
    kid: Option<String>,
    /// Extensions that must be understood; none are.
    #[serde(default)]
    crit: Option<serde_json::Value>,
}

/// Every type is strict: a claim that can't be read is no claim that isn't there.
#[derive(Deserialize)]
pub(super) struct Claims {
    iss: String,
    pub sub: String,
    aud: OneOrMany,
    exp: f64,
    #[serde(default, deserialize_with = "present")]
    nbf: Option<f64>,
    #[serde(default, deserialize_with = "present")]
    iat: Option<f64>,
    #[serde(default, deserialize_with = "present")]
    scope: Option<String>,
    #[serde(default, deserialize_with = "present")]
    scp: Option<OneOrMany>,
}

/// A claim that is there has its type: `null` is no missing claim.
fn present<'de, D: serde::Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    fn words(&self) -> impl Iterator<Item = &str> {
        let all = match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many.as_slice(),
        };
        all.iter().map(String::as_str)
    }
}

impl Claims {
    /// The granted scopes by name; some providers put the audience in front of each.
    pub(super) fn scopes(&self, audience: &str) -> Vec<String> {
        let listed = self.scp.iter().flat_map(OneOrMany::words).flat_map(str::split_whitespace);
        let all = self.scope.iter().flat_map(|text| text.split_whitespace()).chain(listed);
        let bare = |scope: &str| {
            let own = scope.strip_prefix(audience).and_then(|rest| rest.strip_prefix('/'));
            own.unwrap_or(scope).to_owned()
        };
        all.map(bare).collect()
    }
}

/// A token in its parts, nothing of it believed yet.
pub(super) struct Token<'t> {
    signed: &'t str,
    payload: &'t str,
    signature: Vec<u8>,
    is_rsa: bool,
    pub kid: Option<String>,
}

impl<'t> Token<'t> {
    pub(super) fn parse(text: &'t str) -> Result<Self, BadToken> {
        if text.len() > MAX_TOKEN_BYTES {
            return Err(BadToken::NoToken);
        }
        let (signed, signature) = text.rsplit_once('.').ok_or(BadToken::NoToken)?;
        let (head, payload) = signed.split_once('.').ok_or(BadToken::NoToken)?;
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| BadToken::NoToken);
        let header: Header = serde_json::from_slice(&decode(head)?).map_err(|_| BadToken::NoToken)?;
        let is_rsa = match header.alg.as_str() {
            "RS256" => true,
            "ES256" => false,
            _ => return Err(BadToken::Algorithm),
        };
        if header.crit.is_some() {
            return Err(BadToken::Algorithm);
        }
        Ok(Self { signed, payload, signature: decode(signature)?, is_rsa, kid: header.kid })
    }

    /// The claims, if `key` signed them.
    pub(super) fn verified(&self, key: &Key) -> Result<Claims, BadToken> {
        let signed = self.signed.as_bytes();
        let checked = match (key, self.is_rsa) {
            (Key::Rsa { n, e }, true) => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PKCS1_2048_8192_SHA256, signed, &self.signature)
            }
            (Key::P256(point), false) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(signed, &self.signature)
            }
            _ => return Err(BadToken::Algorithm),
        };
        checked.map_err(|_| BadToken::Signature)?;
        let payload = URL_SAFE_NO_PAD.decode(self.payload).map_err(|_| BadToken::NoToken)?;
        serde_json::from_slice(&payload).map_err(|_| BadToken::Claims)
    }
}

/// Whether signed claims hold here and now.
pub(super) fn check(
    claims: &Claims,
    issuer: &str,
    audience: &str,
    now: OffsetDateTime,
) -> Result<(), BadToken> {
    let now = now.unix_timestamp() as f64;
    let later = |at: Option<f64>| at.is_some_and(|at| at - SKEW_SECONDS > now);
    match claims {
        _ if claims.iss != issuer => Err(BadToken::Issuer),
        _ if !claims.aud.words().any(|aud| aud == audience) => Err(BadToken::Audience),
        _ if now >= claims.exp + SKEW_SECONDS => Err(BadToken::Expired),
        _ if later(claims.nbf) || later(claims.iat) => Err(BadToken::NotYet),
        _ if claims.sub.is_empty() => Err(BadToken::Claims),
        _ => Ok(()),
    }
}
