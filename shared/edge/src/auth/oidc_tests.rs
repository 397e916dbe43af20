//! Tokens against an issuer on loopback: what is checked, what is refused, and how often the issuer is asked.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::Router;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use time::OffsetDateTime;

use super::*;
use crate::problem::Code;

const NOW: i64 = 1_800_000_000;
const AUDIENCE: &str = "superbiz";

/// A token signed with a key that nobody has any more, and that key's public part.
const RSA_MODULUS: &str = "p50JiK6cylnV7uy8g73AxmTSZfOXSAiybP5yigpcLtLlYx5ngzpMcy8JDvtKGNMQhVre4WnERwWoampMtBTdNs0IZBBwBsbID2Yap6qG4AXRNTJOSrzyyksvUT0k9c0gw6uzhHnVyr5LBDFVgrtjFhTgInG6u1tVWbY3t6ebtiEhBlGroF4NEtKN9FtKJuyDqKYyLanIS8dyvvfW99R5VhluRw3S0CaUnDfM5M6jCqjvCOHqC1STwA2sUO1fLrwkJWzy_U2BMNVCivhw_u8PcgWr0xobM2nCULrXI4G_-ptTITwFDF_JI5SmiUKKAFqkqCJubklDl9tliWx3oXwBfw";
const RSA_TOKEN: &str = "eyJhbGciOiJSUzI1NiIsImtpZCI6InJzYS0xIn0.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlLyIsImF1ZCI6InN1cGVyYml6Iiwic3ViIjoiYWxpY2UiLCJleHAiOjQwMDAwMDAwMDAsInNjb3BlIjoiY2hhdCJ9.lfdbsfGbOkfA8Lox4pBxjPS3GnvgcydEhactOlnI_l0un4Fa5Hx4ZR2KT9ZMKOFQ-woh_UPig57fCH9cy9cAowQqrl-SGJyH0ppVxk5SAq7bfdwFWAnSLoBIsIWVg8Y7Y5XKoqR5PkdGu8VbawzD6_EFolsRrhXnnGtlz6mJY_zG4z7Whiy2Cd3PM5zMRwm9YiD4emR3PKoFASsoxRb0mrYUxKttvwO9j2H2y2h7x95OVXG96-ACiP9UhfGRdqo2YKR2KfDiLB7XxTZHcAaJ7ajTlvO3hdFpv-IbW4mRb8bmPGxAVkDMqp2DNyxVME41vJ2qW3-bDm8eQ7UYOtt11w";

struct Noon;

impl Clock for Noon {
    fn now(&self) -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp(NOW).unwrap()
    }
}

fn b64(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

struct Signer(EcdsaKeyPair);

impl Signer {
    fn new() -> Self {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        Self(EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).unwrap())
    }

    fn published(&self, kid: &str) -> Value {
        let point = self.0.public_key().as_ref();
        json!({ "kty": "EC", "crv": "P-256", "kid": kid, "use": "sig", "x": b64(&point[1..33]), "y": b64(&point[33..]) })
    }

    fn sign(&self, header: &Value, claims: &Value) -> String {
        let signed = format!("{}.{}", b64(header.to_string().as_bytes()), b64(claims.to_string().as_bytes()));
        let signature = self.0.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
        format!("{signed}.{}", b64(signature.as_ref()))
    }
}

/// An issuer whose documents can be changed while it runs.
struct Issuer {
    url: String,
    keys: Arc<std::sync::Mutex<Value>>,
    asked: Arc<AtomicU32>,
    _serving: tokio::task::JoinSet<()>,
}

async fn issuer(keys: Value) -> Issuer {
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}/pool", listener.local_addr().unwrap());
    let (keys, asked) = (Arc::new(std::sync::Mutex::new(keys)), Arc::new(AtomicU32::new(0)));
    let (told, published, counted) = (url.clone(), keys.clone(), asked.clone());
    let answer = move |Path(path): Path<String>| {
        let (told, published, counted) = (told.clone(), published.clone(), counted.clone());
        async move {
            let keys = published.lock().unwrap().clone();
            if keys.is_null() {
                return (StatusCode::INTERNAL_SERVER_ERROR, String::new());
            }
            if path.ends_with("openid-configuration") {
                return (
                    StatusCode::OK,
                    json!({ "issuer": told, "jwks_uri": format!("{told}/keys") }).to_string(),
                );
            }
            counted.fetch_add(1, Ordering::Relaxed);
            (StatusCode::OK, json!({ "keys": keys }).to_string())
        }
    };
    let mut serving = tokio::task::JoinSet::new();
    let router = Router::new().route("/pool/{*path}", get(answer));
    serving.spawn(async move { axum::serve(listener, router).await.unwrap() });
    Issuer { url, keys, asked, _serving: serving }
}

impl Issuer {
    fn checker(&self) -> Oidc {
        Oidc::new(Provider::new(&self.url, AUDIENCE).unwrap(), Arc::new(Noon), CallerLimits::default())
    }

    fn claims(&self) -> Value {
        json!({ "iss": self.url, "aud": AUDIENCE, "sub": "alice", "exp": NOW + 300, "scope": "chat openid superbiz/documents:write" })
    }
}

fn header(kid: &str) -> Value {
    json!({ "alg": "ES256", "kid": kid, "typ": "at+jwt" })
}

async fn refusal(oidc: &Oidc, token: &str) -> String {
    let refused = oidc.caller(token).await.unwrap_err();
    assert_eq!(refused.code, Code::Unauthenticated, "{}", refused.detail);
    refused.detail
}

#[tokio::test]
async fn a_good_token_names_its_caller_and_scopes_and_keys_are_fetched_once() {
    let signer = Signer::new();
    let issuer =
        issuer(json!([{ "kty": "OKP", "crv": "Ed25519", "x": "AA" }, "nonsense", signer.published("k1")]))
            .await;
    let oidc = issuer.checker();
    for _ in 0..3 {
        let caller = oidc.caller(&signer.sign(&header("k1"), &issuer.claims())).await.unwrap();
        assert_eq!((caller.id.as_str(), caller.scopes), ("alice", vec![Scope::Chat, Scope::DocumentsWrite]));
    }
    assert_eq!(issuer.asked.load(Ordering::Relaxed), 1);
    let mut claims = issuer.claims();
    claims["sub"] = json!("auth0|alice smith");
    claims["aud"] = json!(["other", AUDIENCE]);
    claims["scp"] = json!(["admin"]);
    claims["nbf"] = json!(NOW + 59);
    claims["exp"] = json!(NOW as f64 - 59.5);
    let caller = oidc.caller(&signer.sign(&json!({ "alg": "ES256" }), &claims)).await.unwrap();
    assert!(caller.id.as_str().starts_with("oidc-") && caller.scopes.contains(&Scope::Admin), "{caller:?}");
}

#[tokio::test]
async fn every_claim_counts() {
    let signer = Signer::new();
    let issuer = issuer(json!([signer.published("k1")])).await;
    let oidc = issuer.checker();
    let with = |name: &str, value: Value| {
        let mut claims = issuer.claims();
        claims[name] = value;
        signer.sign(&header("k1"), &claims)
    };
    let cases = [
        ("iss", json!(format!("{}/", issuer.url)), "another issuer"),
        ("iss", json!(7), "wrong type"),
        ("aud", json!("superbiz2"), "another audience"),
        ("aud", json!([]), "another audience"),
        ("aud", Value::Null, "wrong type"),
        ("exp", json!(NOW - 60), "expired"),
        ("exp", json!("never"), "wrong type"),
        ("exp", Value::Null, "wrong type"),
        ("nbf", json!(NOW + 61), "isn't valid yet"),
        ("nbf", json!("2026"), "wrong type"),
        ("nbf", Value::Null, "wrong type"),
        ("iat", json!(NOW + 3600), "isn't valid yet"),
        ("sub", json!(""), "lacks"),
        ("sub", Value::Null, "lacks"),
        ("scope", json!(["chat"]), "wrong type"),
    ];
    for (name, value, words) in cases {
        let told = refusal(&oidc, &with(name, value.clone())).await;
        assert!(told.contains(words), "{name}={value}: {told}");
    }
}

#[tokio::test]
async fn a_token_cannot_choose_how_it_is_checked() {
    let (signer, stranger) = (Signer::new(), Signer::new());
    let issuer = issuer(json!([signer.published("k1")])).await;
    let oidc = issuer.checker();
    let claims = issuer.claims();
    let good = signer.sign(&header("k1"), &claims);
    let (signed, signature) = good.rsplit_once('.').unwrap();
    let none = signer.sign(&json!({ "alg": "none", "kid": "k1" }), &claims);
    let cases = [
        ("", "three parts"),
        ("a.b", "three parts"),
        (&"a.".repeat(20_000), "three parts"),
        (&format!("{signed}."), "signature is wrong"),
        (&format!("{}.", none.rsplit_once('.').unwrap().0), "isn't signed with"),
        (&signer.sign(&json!({ "alg": "HS256", "kid": "k1" }), &claims), "isn't signed with"),
        (&signer.sign(&json!({ "alg": "RS256", "kid": "k1" }), &claims), "isn't signed with"),
        (
            &signer.sign(&json!({ "alg": "ES256", "kid": "k1", "crit": ["b64"] }), &claims),
            "isn't signed with",
        ),
        (&signer.sign(&json!({ "alg": "ES256", "kid": 1 }), &claims), "three parts"),
        (&stranger.sign(&header("k1"), &claims), "signature is wrong"),
        (&format!("{}x.{signature}", &signed[..signed.len() - 1]), ""),
    ];
    for (token, words) in cases {
        let told = refusal(&oidc, token).await;
        assert!(told.contains(words), "{token}: {told}");
    }
    oidc.caller(&good).await.unwrap();
}

#[tokio::test]
async fn rotated_keys_are_found_and_made_up_ones_do_not_hammer_the_issuer() {
    let (old, new) = (Signer::new(), Signer::new());
    let issuer = issuer(json!([old.published("k1")])).await;
    let oidc = issuer.checker();
    oidc.caller(&old.sign(&header("k1"), &issuer.claims())).await.unwrap();
    for n in 0..20 {
        refusal(&oidc, &new.sign(&header(&format!("made-up-{n}")), &issuer.claims())).await;
    }
    assert_eq!(issuer.asked.load(Ordering::Relaxed), 1, "asked again only after a pause");
    *issuer.keys.lock().unwrap() = json!([old.published("k1"), new.published("k2")]);
    let long_ago = Instant::now().checked_sub(LEAST_PAUSE).unwrap();
    oidc.keys.lock().await.tried = Some(long_ago);
    oidc.caller(&new.sign(&header("k2"), &issuer.claims())).await.unwrap();
    // Known keys serve on while the issuer is down.
    *issuer.keys.lock().unwrap() = Value::Null;
    let mut set = oidc.keys.lock().await;
    (set.tried, set.fetched) = (Some(long_ago), Instant::now().checked_sub(FRESH_FOR));
    drop(set);
    oidc.caller(&old.sign(&header("k1"), &issuer.claims())).await.unwrap();
}

#[tokio::test]
async fn without_keys_nobody_gets_in_and_nobody_is_blamed() {
    let signer = Signer::new();
    let issuer = issuer(Value::Null).await;
    let token = signer.sign(&header("k1"), &issuer.claims());
    assert_eq!(issuer.checker().caller(&token).await.unwrap_err().code, Code::StoreUnavailable);
    let elsewhere = Oidc::new(
        Provider::new(&issuer.url.replace("pool", "other"), AUDIENCE).unwrap(),
        Arc::new(Noon),
        CallerLimits::default(),
    );
    *issuer.keys.lock().unwrap() = json!([signer.published("k1")]);
    assert_eq!(elsewhere.caller(&token).await.unwrap_err().code, Code::StoreUnavailable);
}

#[test]
fn an_rs256_token_is_checked_with_its_modulus() {
    let published = |n: &str| {
        let key = json!({ "kty": "RSA", "kid": "rsa-1", "alg": "RS256", "n": n, "e": "AQAB" });
        serde_json::from_value::<PublishedKey>(key).unwrap().usable().unwrap()
    };
    let token = Token::parse(RSA_TOKEN).unwrap();
    let claims = token.verified(&published(RSA_MODULUS)).unwrap();
    let noon = OffsetDateTime::from_unix_timestamp(NOW).unwrap();
    assert_eq!(check(&claims, "https://issuer.example/", AUDIENCE, noon), Ok(()));
    let other = RSA_MODULUS.replacen('p', "q", 1);
    assert_eq!(token.verified(&published(&other)).err(), Some(BadToken::Signature));
}

#[test]
fn an_issuer_that_anybody_could_speak_for_is_refused() {
    for issuer in ["", "issuer.example", "http://issuer.example", "ftp://x", "https://x/?a=1"] {
        assert_eq!(Provider::new(issuer, "a"), Err(InvalidProvider::Issuer), "{issuer}");
    }
    assert_eq!(Provider::new("https://issuer.example/", ""), Err(InvalidProvider::Audience));
    assert!(Provider::new("http://127.0.0.1:9/pool", "a").is_ok());
}
