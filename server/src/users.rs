//! Who may come: names and what proves a password, without the password itself; and SCRAM-SHA-256 (RFC 5802, RFC 7677), by which a client proves that it
//! knows one without sending it.
//!
//! A name that nobody has is asked for a password like any other and fails at the end, at the same cost. Who failed often waits.

use crate::served::same;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use inlay::{Database, Error, Result};
use parking_lot::Mutex;
use ring::rand::{SecureRandom, SystemRandom};
use ring::{digest, hmac, pbkdf2};
use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Rounds of PBKDF2, as PostgreSQL has them.
const ITERATIONS: u32 = 4096;
/// What verifiers begin with.
const VERIFIER: &str = "SCRAM-SHA-256$";
/// Addresses whose failures are remembered.
const FAILURES_MAX: usize = 10_000;
/// How long failures count.
const FAILURES_FOR: Duration = Duration::from_secs(60);
/// The longest that a login is made to wait.
const WAIT_MAX: Duration = Duration::from_secs(5);

type Key = [u8; 32];

/// What proves a password.
#[derive(Clone, Debug, PartialEq)]
pub struct Verifier {
    salt: Vec<u8>,
    iterations: u32,
    stored_key: Key,
    server_key: Key,
}

/// See the module documentation.
pub struct Users {
    /// Those of the password file; absent without one.
    verifiers: Option<HashMap<String, Verifier>>,
    /// Has the roles of the served file.
    roles: OnceLock<Database>,
    /// Of which the salts of names are made that nobody has.
    secret: Key,
    failures: Mutex<HashMap<IpAddr, (u32, Instant)>>,
    /// Of passwords that were right, what they are with the secret: who sends one with each request pays for it once.
    proven: Mutex<HashMap<String, Key>>,
}

fn hmac_of(key: &[u8], data: &[u8]) -> Key {
    let mut out = [0; 32];
    out.copy_from_slice(hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), data).as_ref());
    out
}

fn hash_of(data: &[u8]) -> Key {
    let mut out = [0; 32];
    out.copy_from_slice(digest::digest(&digest::SHA256, data).as_ref());
    out
}

impl Verifier {
    /// Of a password.
    pub fn of(password: &str, salt: &[u8], iterations: u32) -> Self {
        let mut salted = [0; 32];
        let rounds = NonZeroU32::new(iterations).unwrap_or(NonZeroU32::MIN);
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, salt, password.as_bytes(), &mut salted);
        let stored_key = hash_of(&hmac_of(&salted, b"Client Key"));
        let server_key = hmac_of(&salted, b"Server Key");
        Self { salt: salt.to_vec(), iterations, stored_key, server_key }
    }

    /// As PostgreSQL's `pg_authid` has it: `SCRAM-SHA-256$4096:salt$StoredKey:ServerKey`.
    fn read(text: &str) -> Option<Self> {
        let (rounds, keys) = text.strip_prefix(VERIFIER)?.split_once('$')?;
        let ((iterations, salt), (stored, server)) = (rounds.split_once(':')?, keys.split_once(':')?);
        let key = |text: &str| Key::try_from(STANDARD.decode(text).ok()?).ok();
        let iterations = iterations.parse().ok().filter(|rounds| (1..=1_000_000).contains(rounds))?;
        Some(Self {
            salt: STANDARD.decode(salt).ok()?,
            iterations,
            stored_key: key(stored)?,
            server_key: key(server)?,
        })
    }

    /// Whether a password is the one.
    fn proves(&self, password: &str) -> bool {
        let given = Self::of(password, &self.salt, self.iterations);
        same(&given.stored_key, &self.stored_key)
    }
}

impl Users {
    /// Whoever comes.
    pub fn anyone() -> Result<Self> {
        Self::new(None)
    }

    fn new(verifiers: Option<HashMap<String, Verifier>>) -> Result<Self> {
        let mut secret = [0; 32];
        SystemRandom::new()
            .fill(&mut secret)
            .map_err(|_| Error::internal("the system gives no random numbers"))?;
        Ok(Self {
            verifiers,
            roles: OnceLock::new(),
            secret,
            failures: Mutex::default(),
            proven: Mutex::default(),
        })
    }

    /// Reads lines `NAME:PASSWORD` or `NAME:VERIFIER`. Lines that are empty or begin with `#` say nothing.
    pub fn read(text: &str) -> Result<Self> {
        let mut verifiers = HashMap::new();
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |what: &str| {
                Error::invalid_argument(format!("line {} of the password file {what}", index + 1))
            };
            let (name, secret) = line.split_once(':').ok_or_else(|| wrong("is not NAME:PASSWORD"))?;
            if name.is_empty() || secret.is_empty() {
                return Err(wrong("has no name or no password"));
            }
            let verifier = if secret.starts_with(VERIFIER) {
                Verifier::read(secret).ok_or_else(|| wrong("has a verifier that is none"))?
            } else {
                let mut salt = [0; 16];
                SystemRandom::new()
                    .fill(&mut salt)
                    .map_err(|_| Error::internal("the system gives no random numbers"))?;
                Verifier::of(secret, &salt, ITERATIONS)
            };
            if verifiers.insert(name.to_string(), verifier).is_some() {
                return Err(wrong(&format!("names \"{name}\" once more")));
            }
        }
        if verifiers.is_empty() {
            return Err(Error::invalid_argument("the password file names nobody"));
        }
        Self::new(Some(verifiers))
    }

    /// Reads a file that nobody else may read.
    pub fn read_file(path: &str) -> Result<Self> {
        let io = |error: std::io::Error| Error::Io {
            action: "cannot read",
            path: path.to_string(),
            message: error.to_string(),
        };
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(path).map_err(io)?.permissions().mode();
            if mode & 0o077 != 0 {
                let message = format!("the password file \"{path}\" may be read or written by others");
                return Err(Error::Forbidden { message }.with_hint(format!("chmod 600 {path}")));
            }
        }
        Self::read(&std::fs::read_to_string(path).map_err(io)?)
    }

    /// Lets roles of a database come, too.
    pub fn know_roles(&self, database: &Database) {
        let _ = self.roles.set(database.clone());
    }

    /// Whether passwords are asked for: where there is a password file, and from the first role on.
    pub fn asks(&self) -> bool {
        self.verifiers.is_some()
            || self.roles.get().is_some_and(|database| database.has_roles().unwrap_or(true))
    }

    /// The name of who has a token, if it holds.
    pub fn role_of_token(&self, token: &str) -> Option<String> {
        self.roles.get()?.login_of_token(token).ok()?.map(|login| login.role)
    }

    /// What proves the password of a name that somebody has.
    fn known_verifier(&self, name: &str) -> Option<Verifier> {
        // A role of the file goes before a line of that name: as it its sessions act.
        let role = self.roles.get().filter(|database| database.has_role(name).unwrap_or(true));
        match role {
            Some(database) => Verifier::read(&database.login(name).ok()??.verifier?),
            None => self.verifiers.as_ref()?.get(name).cloned(),
        }
    }

    /// What a password is, with the secret and what proves it now.
    fn proof(&self, verifier: &Verifier, password: &str) -> Key {
        hmac_of(&self.secret, &[&verifier.stored_key, password.as_bytes()].concat())
    }

    /// What proves the password of a name, and whether anybody has the name.
    fn verifier(&self, name: &str) -> (Verifier, bool) {
        match self.known_verifier(name) {
            Some(verifier) => (verifier, true),
            None => {
                let salt = hmac_of(&self.secret, name.as_bytes());
                let nothing = Verifier {
                    salt: salt[..16].to_vec(),
                    iterations: ITERATIONS,
                    stored_key: [0; 32],
                    server_key: self.secret,
                };
                (nothing, false)
            }
        }
    }

    /// What proves the password of a name, for the native protocol; of names that nobody has, too.
    pub fn native_verifier(&self, name: &str) -> Option<inlay_protocol::scram::Verifier> {
        let (Verifier { salt, iterations, stored_key, server_key }, _) = self.verifier(name);
        let [salt, stored, server] =
            [&salt[..], &stored_key, &server_key].map(|bytes| STANDARD.encode(bytes));
        let text = format!("{VERIFIER}{iterations}:{salt}${stored}:{server}");
        inlay_protocol::scram::Verifier::from_text(&text)
    }

    /// Whether a name and a password belong together.
    pub fn is_password(&self, name: &str, password: &str) -> bool {
        let (verifier, is_known) = self.verifier(name);
        let is_right = verifier.proves(password) && is_known;
        if is_right {
            self.proven.lock().insert(name.to_string(), self.proof(&verifier, password));
        }
        is_right
    }

    /// Whether this very password was right before, and is what it was.
    pub fn was_proven(&self, name: &str, password: &str) -> bool {
        let known = self.proven.lock().get(name).copied();
        let Some(known) = known else { return false };
        let verifier = self.known_verifier(name);
        verifier.is_some_and(|verifier| same(&known, &self.proof(&verifier, password)))
    }

    /// That somebody at an address tries a password, and how long that has to wait. It counts as a failure until it succeeded, so that many at once
    /// wait as those one behind the other do.
    pub fn tries(&self, address: IpAddr) -> Duration {
        let count = self.count_try(address);
        // The first mistakes are people's.
        let doublings = count.saturating_sub(2).min(10);
        if doublings == 0 {
            Duration::ZERO
        } else {
            (Duration::from_millis(50) * (1 << doublings)).min(WAIT_MAX)
        }
    }

    /// That the last try from an address succeeded.
    pub fn succeeded(&self, address: IpAddr) {
        let mut failures = self.failures.lock();
        if let Some((count, _)) = failures.get_mut(&address) {
            *count = count.saturating_sub(1);
        }
    }

    /// Counts a try; how many failed before.
    fn count_try(&self, address: IpAddr) -> u32 {
        let mut failures = self.failures.lock();
        if failures.len() >= FAILURES_MAX {
            failures.retain(|_, (_, since)| since.elapsed() < FAILURES_FOR);
        }
        if failures.len() >= FAILURES_MAX && !failures.contains_key(&address) {
            return u32::MAX;
        }
        let (count, since) = failures.entry(address).or_insert((0, Instant::now()));
        if since.elapsed() >= FAILURES_FOR {
            *count = 0;
        }
        *since = Instant::now();
        let before = *count;
        *count = count.saturating_add(1);
        before
    }
}

/// The server's side of SCRAM, between the two messages of a client.
pub struct Scram {
    verifier: Verifier,
    is_known: bool,
    client_first: String,
    server_first: String,
    nonce: String,
    /// What the client said of channel binding, to be said again.
    binding: String,
}

impl Scram {
    /// Reads a client's first message; gives what to answer. The name is that of the connection, as PostgreSQL has it.
    pub fn begin(users: &Users, name: &str, first: &str, random: [u8; 18]) -> Option<(Self, String)> {
        let (flag, rest) = first.split_once(',')?;
        // `p=...` wants a binding to the channel, which is not offered.
        if !matches!(flag, "n" | "y") {
            return None;
        }
        let (identity, bare) = rest.split_once(',')?;
        let nonce = bare.split(',').nth(1)?.strip_prefix("r=")?;
        if nonce.is_empty() || !nonce.bytes().all(|byte| byte.is_ascii_graphic()) {
            return None;
        }
        let (verifier, is_known) = users.verifier(name);
        let nonce = format!("{nonce}{}", STANDARD.encode(random));
        let server_first =
            format!("r={nonce},s={},i={}", STANDARD.encode(&verifier.salt), verifier.iterations);
        let binding = STANDARD.encode(format!("{flag},{identity},"));
        let answer = server_first.clone();
        Some((
            Self { verifier, is_known, client_first: bare.to_string(), server_first, nonce, binding },
            answer,
        ))
    }

    /// Reads a client's last message; gives what proves the server to it, or nothing if the proof is wrong.
    pub fn end(&self, last: &str) -> Option<String> {
        let (without_proof, proof) = last.rsplit_once(",p=")?;
        let mut parts = without_proof.split(',');
        let (binding, nonce) = (parts.next()?.strip_prefix("c=")?, parts.next()?.strip_prefix("r=")?);
        let proof = Key::try_from(STANDARD.decode(proof).ok()?).ok()?;
        let message = format!("{},{},{without_proof}", self.client_first, self.server_first);
        let signature = hmac_of(&self.verifier.stored_key, message.as_bytes());
        let mut key = proof;
        key.iter_mut().zip(signature).for_each(|(byte, other)| *byte ^= other);
        let is_proven = same(&hash_of(&key), &self.verifier.stored_key);
        let is_right = is_proven && self.is_known && binding == self.binding && nonce == self.nonce;
        is_right
            .then(|| format!("v={}", STANDARD.encode(hmac_of(&self.verifier.server_key, message.as_bytes()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exchange of RFC 7677, section 3.
    #[test]
    fn scram_is_that_of_the_standard() {
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let verifier = Verifier::of("pencil", &salt, 4096);
        let scram = Scram {
            verifier,
            is_known: true,
            client_first: "n=user,r=rOprNGfwEbeRWgbNEkqO".to_string(),
            server_first:
                "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
                    .to_string(),
            nonce: "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0".to_string(),
            binding: "biws".to_string(),
        };
        let last = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
        assert_eq!(scram.end(last).unwrap(), "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
        assert_eq!(scram.end(&last.replace("dHz", "dHa")), None);
        assert_eq!(scram.end(&last.replace("biws", "eSws")), None);
        for len in 0..last.len() {
            assert_eq!(scram.end(&last[..len]), None);
        }
    }

    #[test]
    fn passwords_are_kept_as_verifiers() {
        let users = Users::read("# who\nann:se:cret\n\nbob:SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=\n").unwrap();
        assert!(users.is_password("ann", "se:cret") && users.is_password("bob", "pencil"));
        assert!(
            users.was_proven("ann", "se:cret")
                && !users.was_proven("ann", "secret")
                && !users.was_proven("eve", "")
        );
        assert!(!users.is_password("ann", "secret") && !users.is_password("eve", ""));
        for text in ["", "ann", "ann:", ":x", "a:x\na:y", "a:SCRAM-SHA-256$x"] {
            assert!(Users::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn who_fails_often_waits() {
        let users = Users::anyone().unwrap();
        let address = IpAddr::from([127, 0, 0, 1]);
        for _ in 0..100 {
            assert_eq!(users.tries(address), Duration::ZERO);
            users.succeeded(address);
        }
        // Many at once count before any of them is answered.
        let waits: Vec<Duration> = (0..20).map(|_| users.tries(address)).collect();
        assert_eq!((waits[0], waits[2], waits[19]), (Duration::ZERO, Duration::ZERO, WAIT_MAX));
        assert!(waits.windows(2).all(|pair| pair[0] <= pair[1]), "{waits:?}");
    }
}
