//! What proves a password without being it: SCRAM-SHA-256 (RFC 5802, RFC 7677), as PostgreSQL stores it; and tokens.

use inlay_types::{Error, Result};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// Rounds of PBKDF2, as PostgreSQL has them.
const ITERATIONS: u32 = 4096;
const SALT_BYTES: usize = 16;
const BLOCK_BYTES: usize = 64;
const BEGINNING: &str = "SCRAM-SHA-256$";
/// What tokens begin with, so that people and scanners know them.
const TOKEN: &str = "inlay_";

type Key = [u8; 32];

fn hash(data: &[u8]) -> Key {
    Sha256::digest(data).into()
}

fn hmac(key: &[u8], data: &[u8]) -> Key {
    let mut block = [0u8; BLOCK_BYTES];
    if key.len() > BLOCK_BYTES {
        block[..32].copy_from_slice(&hash(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let padded = |by: u8| block.map(|byte| byte ^ by);
    let inner = Sha256::new().chain_update(padded(0x36)).chain_update(data).finalize();
    Sha256::new().chain_update(padded(0x5c)).chain_update(inner).finalize().into()
}

/// PBKDF2 with one block.
fn salted(password: &[u8], salt: &[u8], iterations: u32) -> Key {
    let first: Vec<u8> = salt.iter().copied().chain(1u32.to_be_bytes()).collect();
    let mut last = hmac(password, &first);
    let mut all = last;
    for _ in 1..iterations {
        last = hmac(password, &last);
        all.iter_mut().zip(last).for_each(|(byte, other)| *byte ^= other);
    }
    all
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().fold(0u32, |all, byte| all << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let letter = LETTERS[(group >> (18 - 6 * place) & 63) as usize];
            out.push(if place <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| Error::internal("the system gives no random numbers"))?;
    Ok(bytes)
}

/// The verifier of a password; of what is one already, itself.
pub(crate) fn of_password(password: &str) -> Result<String> {
    if password.is_empty() {
        return Err(
            Error::invalid_argument("a password must not be empty").with_hint("PASSWORD NULL takes it away")
        );
    }
    if is_verifier(password) {
        return Ok(password.to_string());
    }
    Ok(verifier(password, &random::<SALT_BYTES>()?, ITERATIONS))
}

fn verifier(password: &str, salt: &[u8], iterations: u32) -> String {
    let salted = salted(password.as_bytes(), salt, iterations);
    let stored = base64(&hash(&hmac(&salted, b"Client Key")));
    let server = base64(&hmac(&salted, b"Server Key"));
    format!("{BEGINNING}{iterations}:{}${stored}:{server}", base64(salt))
}

fn is_verifier(text: &str) -> bool {
    let parts = text.strip_prefix(BEGINNING).and_then(|rest| rest.split_once('$'));
    parts.is_some_and(|(head, keys)| {
        let rounds = head.split_once(':').and_then(|(rounds, _)| rounds.parse::<u32>().ok());
        rounds.is_some_and(|rounds| (1..=1_000_000).contains(&rounds))
            && keys.split_once(':').is_some_and(|(stored, server)| stored.len() == 44 && server.len() == 44)
    })
}

/// A new token, which is shown once.
pub(crate) fn new_token() -> Result<String> {
    Ok(format!("{TOKEN}{}", hex(&random::<32>()?)))
}

/// What is kept of a token.
pub(crate) fn hash_of_token(token: &str) -> String {
    hex(&hash(token.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The password and salt of RFC 7677, section 3.
    #[test]
    fn verifiers_are_those_of_postgresql() {
        let salt =
            [0x5b, 0x6d, 0x99, 0x68, 0x9d, 0x12, 0x35, 0x8e, 0xec, 0xa0, 0x4b, 0x14, 0x12, 0x36, 0xfa, 0x81];
        let expected = "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=";
        assert_eq!(verifier("pencil", &salt, 4096), expected);
        assert_eq!(of_password(expected).unwrap(), expected);
        assert!(is_verifier(&of_password("pencil").unwrap()));
        assert_ne!(of_password("pencil").unwrap(), of_password("pencil").unwrap());
        assert!(of_password("").is_err());
        assert_eq!(["", "f", "fo", "foo"].map(|text| base64(text.as_bytes())), ["", "Zg==", "Zm8=", "Zm9v"]);
    }

    #[test]
    fn a_long_key_is_hashed_first() {
        // RFC 4231, test case 6.
        let mac = hmac(&[0xaa; 131], b"Test Using Larger Than Block-Size Key - Hash Key First");
        assert_eq!(hex(&mac), "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    }

    #[test]
    fn tokens_differ_and_are_kept_as_hashes() {
        let (one, other) = (new_token().unwrap(), new_token().unwrap());
        assert!(one.starts_with(TOKEN) && one.len() == TOKEN.len() + 64 && one != other);
        assert_eq!(hash_of_token(&one).len(), 64);
    }
}
