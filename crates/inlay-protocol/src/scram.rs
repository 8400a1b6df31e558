//! SCRAM-SHA-256 (RFC 5802, RFC 7677) without channel binding: both ends prove that they know a password, and neither says it.
//!
//! The server keeps a [`Verifier`], from which the password cannot be read. Names are those of Hello, so that messages have none.

use crate::{Result, WireError};
use inlay_types::Error;
use sha2::{Digest, Sha256};

type Key = [u8; 32];

/// Rounds of a new verifier.
pub const ROUNDS: u32 = 4096;
/// The most rounds that a client goes: a server could keep it busy otherwise.
const ROUNDS_MAX: u32 = 1 << 20;

fn hmac(key: &[u8], parts: &[&[u8]]) -> Key {
    let mut block = [0; 64];
    match block.get_mut(..key.len()) {
        Some(start) => start.copy_from_slice(key),
        None => block[..32].copy_from_slice(&Sha256::digest(key)),
    }
    let pad = |with: u8| block.map(|byte| byte ^ with);
    let mut inner = Sha256::new_with_prefix(pad(0x36));
    parts.iter().for_each(|part| inner.update(part));
    let mut outer = Sha256::new_with_prefix(pad(0x5C));
    outer.update(inner.finalize());
    outer.finalize().into()
}

/// PBKDF2 of one block.
fn salted(password: &str, salt: &[u8], rounds: u32) -> Key {
    let mut last = hmac(password.as_bytes(), &[salt, &1u32.to_be_bytes()]);
    let mut all = last;
    for _ in 1..rounds {
        last = hmac(password.as_bytes(), &[&last]);
        all.iter_mut().zip(last).for_each(|(all, last)| *all ^= last);
    }
    all
}

/// Whether two keys are the same, in a time that does not tell where they differ.
fn same(left: &Key, right: &Key) -> bool {
    left.iter().zip(right).fold(0, |all, (left, right)| all | (left ^ right)) == 0
}

fn xor(left: &Key, right: &Key) -> Key {
    let mut both = *left;
    both.iter_mut().zip(right).for_each(|(left, right)| *left ^= right);
    both
}

/// Bytes that nobody foresees.
pub fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| Error::internal(format!("no random bytes: {error}")))?;
    Ok(bytes)
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let word =
            three.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for digit in 0..4 {
            let value = DIGITS[(word >> (18 - 6 * digit)) as usize & 63];
            text.push(if digit <= three.len() { char::from(value) } else { '=' });
        }
    }
    text
}

fn of_base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=').as_bytes();
    if !text.len().is_multiple_of(4) || text.len() - digits.len() > 2 {
        return None;
    }
    let mut bytes = Vec::new();
    for four in digits.chunks(4) {
        let mut word = 0u32;
        for digit in four {
            word = word << 6 | DIGITS.iter().position(|known| known == digit)? as u32;
        }
        let word = word << (6 * (4 - four.len()));
        bytes.extend_from_slice(&word.to_be_bytes()[1..four.len()]);
    }
    Some(bytes)
}

/// What a server keeps of a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    salt: Vec<u8>,
    rounds: u32,
    stored: Key,
    server: Key,
}

impl std::fmt::Debug for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Verifier({} rounds)", self.rounds)
    }
}

impl Verifier {
    /// Of a password.
    pub fn new(password: &str, salt: &[u8], rounds: u32) -> Self {
        let salted = salted(password, salt, rounds.max(1));
        let stored = Sha256::digest(hmac(&salted, &[b"Client Key"])).into();
        Self { salt: salt.to_vec(), rounds: rounds.max(1), stored, server: hmac(&salted, &[b"Server Key"]) }
    }

    /// For a user that does not exist: nothing fits, and the salt is always the same one, so that names are not found out.
    pub fn nobody(user: &str, secret: &[u8]) -> Self {
        let salt = hmac(secret, &[user.as_bytes()])[..16].to_vec();
        Self {
            salt,
            rounds: ROUNDS,
            stored: hmac(secret, &[b"1", user.as_bytes()]),
            server: hmac(secret, &[b"2"]),
        }
    }

    /// As a text, in PostgreSQL's form.
    pub fn to_text(&self) -> String {
        let (salt, stored, server) = (base64(&self.salt), base64(&self.stored), base64(&self.server));
        format!("SCRAM-SHA-256${}:{salt}${stored}:{server}", self.rounds)
    }

    /// The inverse of [`Self::to_text`].
    pub fn from_text(text: &str) -> Option<Self> {
        let (rounds, rest) = text.strip_prefix("SCRAM-SHA-256$")?.split_once(':')?;
        let (salt, keys) = rest.split_once('$')?;
        let (stored, server) = keys.split_once(':')?;
        let key = |text: &str| of_base64(text)?.try_into().ok();
        let rounds = rounds.parse().ok().filter(|rounds| (1..=ROUNDS_MAX).contains(rounds))?;
        Some(Self { salt: of_base64(salt)?, rounds, stored: key(stored)?, server: key(server)? })
    }
}

fn denied() -> WireError {
    let hint = "check the user's name and password";
    Error::Login { message: "the password is wrong, or there is no such user".to_string() }
        .with_hint(hint)
        .into()
}

fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| WireError::malformed("a SCRAM message that is not UTF-8"))
}

/// The value of an attribute of a message.
fn attribute<'a>(message: &'a str, name: &str) -> Result<&'a str> {
    let found = message.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
    found.ok_or_else(|| WireError::malformed(format!("a SCRAM message without {name}=")))
}

/// The client's side.
pub struct Client {
    password: String,
    nonce: String,
    /// The server's signature, once it is known.
    expected: Option<Key>,
}

impl Client {
    /// For a password.
    pub fn new(password: &str) -> Result<Self> {
        Ok(Self::with_nonce(password, base64(&random::<18>()?)))
    }

    fn with_nonce(password: &str, nonce: String) -> Self {
        Self { password: password.to_string(), nonce, expected: None }
    }

    /// The first message.
    pub fn first(&self) -> Vec<u8> {
        format!("n,,n=,r={}", self.nonce).into_bytes()
    }

    /// The second message, of what the server answered.
    pub fn last(&mut self, server_first: &[u8]) -> Result<Vec<u8>> {
        let server_first = text(server_first)?;
        let nonce = attribute(server_first, "r")?;
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() {
            return Err(WireError::malformed("a SCRAM message with another nonce than the client's"));
        }
        let salt = of_base64(attribute(server_first, "s")?)
            .ok_or_else(|| WireError::malformed("a salt that is not base64"))?;
        let rounds =
            attribute(server_first, "i")?.parse().ok().filter(|rounds| (1..=ROUNDS_MAX).contains(rounds));
        let rounds =
            rounds.ok_or_else(|| WireError::malformed("a SCRAM message without a fit number of rounds"))?;
        let salted = salted(&self.password, &salt, rounds);
        let client_key = hmac(&salted, &[b"Client Key"]);
        let stored: Key = Sha256::digest(client_key).into();
        let without_proof = format!("c=biws,r={nonce}");
        let auth = format!("n=,r={},{server_first},{without_proof}", self.nonce);
        let proof = xor(&client_key, &hmac(&stored, &[auth.as_bytes()]));
        self.expected = Some(hmac(&hmac(&salted, &[b"Server Key"]), &[auth.as_bytes()]));
        Ok(format!("{without_proof},p={}", base64(&proof)).into_bytes())
    }

    /// Whether the server proved that it knows the verifier.
    pub fn check(&self, server_last: &[u8]) -> Result<()> {
        let signature =
            of_base64(attribute(text(server_last)?, "v")?).and_then(|bytes| Key::try_from(bytes).ok());
        match (signature, self.expected) {
            (Some(found), Some(expected)) if same(&found, &expected) => Ok(()),
            _ => Err(WireError::malformed("the server does not know the password that it asks for")),
        }
    }
}

/// The server's side.
pub struct Server {
    verifier: Verifier,
    /// The client's first message without its head, and the server's.
    begun: Option<(String, String)>,
    nonce: String,
}

impl Server {
    /// For the verifier of the user who is to log in.
    pub fn new(verifier: Verifier) -> Result<Self> {
        Ok(Self { verifier, begun: None, nonce: base64(&random::<18>()?) })
    }

    /// The answer to the client's first message.
    pub fn first(&mut self, client_first: &[u8]) -> Result<Vec<u8>> {
        let Some(bare) = text(client_first)?.strip_prefix("n,,") else {
            return Err(WireError::malformed("a SCRAM message with channel binding, which is not available"));
        };
        let nonce = format!("{}{}", attribute(bare, "r")?, self.nonce);
        let answer = format!("r={nonce},s={},i={}", base64(&self.verifier.salt), self.verifier.rounds);
        self.begun = Some((bare.to_string(), answer.clone()));
        self.nonce = nonce;
        Ok(answer.into_bytes())
    }

    /// The answer to the client's second message: the server's signature, if the client knows the password.
    pub fn last(&mut self, client_last: &[u8]) -> Result<Vec<u8>> {
        let client_last = text(client_last)?;
        let Some((client_first, server_first)) = self.begun.take() else {
            return Err(WireError::malformed("a SCRAM message before the first"));
        };
        let (without_proof, proof) = client_last
            .rsplit_once(",p=")
            .ok_or_else(|| WireError::malformed("a SCRAM message without a proof"))?;
        let proof = of_base64(proof).and_then(|bytes| Key::try_from(bytes).ok()).ok_or_else(denied)?;
        if attribute(without_proof, "c")? != "biws" || attribute(without_proof, "r")? != self.nonce {
            return Err(WireError::malformed("a SCRAM message of another login"));
        }
        let auth = format!("{client_first},{server_first},{without_proof}");
        let client_key = xor(&proof, &hmac(&self.verifier.stored, &[auth.as_bytes()]));
        if !same(&Sha256::digest(client_key).into(), &self.verifier.stored) {
            return Err(denied());
        }
        Ok(format!("v={}", base64(&hmac(&self.verifier.server, &[auth.as_bytes()]))).into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7677, section 3, but for the user's name, which our messages do not have.
    #[test]
    fn keys_are_those_of_the_standard() {
        let salt = of_base64("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let salted = salted("pencil", &salt, 4096);
        let auth = "n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                    s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let client_key = hmac(&salted, &[b"Client Key"]);
        let stored: Key = Sha256::digest(client_key).into();
        let proof = xor(&client_key, &hmac(&stored, &[auth.as_bytes()]));
        assert_eq!(base64(&proof), "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
        let signature = hmac(&hmac(&salted, &[b"Server Key"]), &[auth.as_bytes()]);
        assert_eq!(base64(&signature), "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
    }

    fn login(verifier: Verifier, password: &str) -> Result<()> {
        let (mut client, mut server) = (Client::new(password)?, Server::new(verifier)?);
        let first = server.first(&client.first())?;
        let last = server.last(&client.last(&first)?)?;
        client.check(&last)
    }

    #[test]
    fn the_right_password_and_no_other_logs_in() {
        let verifier = Verifier::new("opensesame", b"salt", 16);
        login(verifier.clone(), "opensesame").unwrap();
        assert_eq!(login(verifier.clone(), "opensesam").unwrap_err().sqlstate(), "28P01");
        assert!(login(Verifier::nobody("ali", b"secret"), "opensesame").is_err());
        assert_eq!(Verifier::from_text(&verifier.to_text()), Some(verifier));
        assert_eq!(Verifier::from_text("SCRAM-SHA-256$0:c2FsdA==$x:y"), None);
    }

    #[test]
    fn a_server_that_does_not_know_the_verifier_is_found_out() {
        let mut client = Client::with_nonce("pw", "abc".to_string());
        assert!(client.last(b"r=abc,s=c2FsdA==,i=1").is_err(), "a server without a nonce of its own");
        assert!(client.last(b"r=abcd,s=c2FsdA==,i=999999999").is_err(), "too many rounds");
        client.last(b"r=abcd,s=c2FsdA==,i=1").unwrap();
        assert!(client.check(b"v=AAAA").is_err() && client.check(b"").is_err());
    }

    #[test]
    fn base64_comes_back() {
        for len in 0..40 {
            let bytes: Vec<u8> = (0..len).map(|byte| byte * 37).collect();
            assert_eq!(of_base64(&base64(&bytes)), Some(bytes));
        }
        assert_eq!((of_base64("A"), of_base64("A==="), of_base64("AA!=")), (None, None, None));
    }
}
