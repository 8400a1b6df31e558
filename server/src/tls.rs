//! Certificates: read from PEM, read anew while the server runs, and made where there are none.
//!
//! One that is made is signed by itself: it keeps out whoever only listens, and clients that have a copy of it know the server by it. It has an ECDSA
//! key on P-256 and the names `localhost`, the loopback addresses, the address that is listened at and those of `--host` (RFC 5280).

use inlay::{Error, Result};
use parking_lot::RwLock;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use std::fmt::Display;
use std::io::Write;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring as provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;

/// How long a certificate holds that is made: as long as the file is used, more or less.
const DAYS: u64 = 3650;
const DAY: u64 = 86_400;

/// The certificate that clients are shown, which may be exchanged.
#[derive(Debug)]
pub struct Certificates {
    cert: String,
    key: String,
    current: RwLock<Arc<CertifiedKey>>,
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.current.read()))
    }
}

fn wrong(path: &str, error: &dyn Display) -> Error {
    Error::Io { action: "cannot use", path: path.to_string(), message: error.to_string() }
}

impl Certificates {
    /// Reads certificate chain and key.
    pub fn read(cert: &str, key: &str) -> Result<Arc<Self>> {
        let current = RwLock::new(certified(cert, key)?);
        Ok(Arc::new(Self { cert: cert.to_string(), key: key.to_string(), current }))
    }

    /// Reads both anew. Where they are of no use, the old ones stay.
    pub fn reload(&self) -> Result<()> {
        *self.current.write() = certified(&self.cert, &self.key)?;
        Ok(())
    }

    /// What encrypts with them.
    pub fn acceptor(self: &Arc<Self>) -> Result<TlsAcceptor> {
        let config = ServerConfig::builder_with_provider(Arc::new(provider::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(&self.cert, &error))?;
        let resolver: Arc<dyn ResolvesServerCert> = Arc::<Self>::clone(self);
        let config = config.with_no_client_auth().with_cert_resolver(resolver);
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

fn certified(cert: &str, key: &str) -> Result<Arc<CertifiedKey>> {
    let chain =
        CertificateDer::pem_file_iter(cert).and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>);
    let chain = chain.map_err(|error| wrong(cert, &error))?;
    if chain.is_empty() {
        return Err(wrong(cert, &"there is no certificate in it"));
    }
    let secret = PrivateKeyDer::from_pem_file(key)
        .map_err(|error| wrong(key, &format!("there is no private key in it ({error})")))?;
    let both = CertifiedKey::from_der(chain, secret, &provider::default_provider());
    both.map(Arc::new).map_err(|error| wrong(cert, &error))
}

/// Makes certificate and key, unless one of the files is there.
pub fn make(cert: &str, key: &str, listen: IpAddr, hosts: &[String]) -> Result<()> {
    if Path::new(cert).exists() || Path::new(key).exists() {
        return Ok(());
    }
    let random = SystemRandom::new();
    let failed = |_| Error::internal("the system gives no random numbers");
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).map_err(failed)?;
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pkcs8.as_ref(), &random)
        .map_err(|error| Error::internal(format!("a key that was made is none: {error}")))?;
    let mut serial = [0; 16];
    random.fill(&mut serial).map_err(failed)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let body = body_of(serial, now, pair.public_key().as_ref(), listen, hosts);
    let signature = pair.sign(&random, &body).map_err(failed)?;
    let whole = der(0x30, &[body, der(0x30, &[SIGNED.to_vec()]), bits(signature.as_ref())]);
    write_file(key, &pem("PRIVATE KEY", pkcs8.as_ref()))?;
    write_file(cert, &pem("CERTIFICATE", &whole))
}

/// Writes a file that nobody else may read.
fn write_file(path: &str, text: &str) -> Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|error| Error::Io {
        action: "cannot write",
        path: path.to_string(),
        message: error.to_string(),
    })
}

fn pem(label: &str, bytes: &[u8]) -> String {
    use base64::Engine;
    let text = base64::engine::general_purpose::STANDARD.encode(bytes);
    let mut out = format!("-----BEGIN {label}-----\n");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, behind) = rest.split_at(rest.len().min(64));
        out.push_str(line);
        out.push('\n');
        rest = behind;
    }
    out.push_str(&format!("-----END {label}-----\n"));
    out
}

/// ecdsa-with-SHA256, id-ecPublicKey, prime256v1, commonName, subjectAltName and basicConstraints.
const SIGNED: &[u8] = &[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];
const EC_KEY: &[u8] = &[6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1];
const P256: &[u8] = &[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
const COMMON_NAME: &[u8] = &[6, 3, 0x55, 4, 3];
const NAMES: &[u8] = &[6, 3, 0x55, 0x1d, 0x11];
const CONSTRAINTS: &[u8] = &[6, 3, 0x55, 0x1d, 0x13];

/// Tag, length and parts of a value in DER.
fn der(tag: u8, parts: &[Vec<u8>]) -> Vec<u8> {
    let content = parts.concat();
    let mut out = vec![tag];
    match content.len() {
        len @ 0..=127 => out.push(len as u8),
        len => {
            let bytes = len.to_be_bytes();
            let first = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len() - 1);
            out.push(0x80 | (bytes.len() - first) as u8);
            out.extend(&bytes[first..]);
        }
    }
    out.extend(content);
    out
}

fn bits(bytes: &[u8]) -> Vec<u8> {
    der(3, &[vec![0], bytes.to_vec()])
}

/// What is signed.
fn body_of(serial: [u8; 16], now: u64, public: &[u8], listen: IpAddr, hosts: &[String]) -> Vec<u8> {
    // A number that is positive and has no byte too many.
    let mut serial = serial.to_vec();
    serial[0] = serial[0] & 0x3f | 0x40;
    let name =
        der(0x30, &[der(0x31, &[der(0x30, &[COMMON_NAME.to_vec(), der(0x0c, &[b"inlay".to_vec()])])])]);
    let validity = der(0x30, &[time(now.saturating_sub(DAY)), time(now + DAYS * DAY)]);
    let key = der(0x30, &[der(0x30, &[EC_KEY.to_vec(), P256.to_vec()]), bits(public)]);
    let names: Vec<Vec<u8>> =
        names_of(listen, hosts).into_iter().map(|(tag, name)| der(tag, &[name])).collect();
    let extension = |id: &[u8], value: Vec<u8>| der(0x30, &[id.to_vec(), der(4, &[value])]);
    let extensions = der(
        0x30,
        &[extension(NAMES, der(0x30, &names)), extension(CONSTRAINTS, der(0x30, &[vec![1, 1, 0xff]]))],
    );
    der(
        0x30,
        &[
            der(0xa0, &[vec![2, 1, 2]]),
            der(2, &[serial]),
            der(0x30, &[SIGNED.to_vec()]),
            name.clone(),
            validity,
            name,
            key,
            der(0xa3, &[extensions]),
        ],
    )
}

/// Names and addresses of the server, with the tags that they have there.
fn names_of(listen: IpAddr, hosts: &[String]) -> Vec<(u8, Vec<u8>)> {
    const DNS: u8 = 0x82;
    const ADDRESS: u8 = 0x87;
    let octets = |address: IpAddr| match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    let mut names = vec![
        (DNS, b"localhost".to_vec()),
        (ADDRESS, vec![127, 0, 0, 1]),
        (ADDRESS, std::net::Ipv6Addr::LOCALHOST.octets().to_vec()),
    ];
    for host in hosts {
        let host = host
            .rsplit_once(':')
            .filter(|(_, port)| port.parse::<u16>().is_ok())
            .map_or(host.as_str(), |(host, _)| host);
        names.push(match host.parse() {
            Ok(address) => (ADDRESS, octets(address)),
            Err(_) => (DNS, host.as_bytes().to_vec()),
        });
    }
    if !listen.is_unspecified() && !listen.is_loopback() {
        names.push((ADDRESS, octets(listen)));
    }
    names
}

/// A moment, as `YYMMDDHHMMSSZ` up to 2049 and with the whole year from then on.
fn time(seconds: u64) -> Vec<u8> {
    let (year, month, day) = date(seconds / DAY);
    let clock = format!("{:02}{:02}{:02}Z", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    if year < 2050 {
        der(0x17, &[format!("{:02}{month:02}{day:02}{clock}", year % 100).into_bytes()])
    } else {
        der(0x18, &[format!("{year:04}{month:02}{day:02}{clock}").into_bytes()])
    }
}

/// Year, month and day of a number of days since 1970, by years that begin in March.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    (year + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_dates() {
        for (days, expected) in [
            (0, (1970, 1, 1)),
            (59, (1970, 3, 1)),
            (11_016, (2000, 2, 29)),
            (20_784, (2026, 11, 27)),
            (29_220, (2050, 1, 1)),
        ] {
            assert_eq!(date(days), expected);
        }
        assert_eq!(time(0), b"\x17\x0d700101000000Z");
        assert_eq!(time(29_220 * DAY), b"\x18\x0f20500101000000Z");
    }

    #[test]
    fn lengths_are_as_short_as_they_can_be() {
        let length = |len: usize| der(4, &[vec![0; len]])[1..].iter().take(3).copied().collect::<Vec<u8>>();
        assert_eq!(length(5), [5, 0, 0]);
        assert_eq!(length(200), [0x81, 200, 0]);
        assert_eq!(length(300), [0x82, 1, 44]);
    }

    #[test]
    fn what_is_made_is_used() {
        let folder = std::env::temp_dir().join(format!("inlay-tls-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
        let (cert, key) = (path("cert.pem"), path("key.pem"));
        make(&cert, &key, IpAddr::from([10, 0, 0, 7]), &["data.example.org:443".to_string()]).unwrap();
        let certificates = Certificates::read(&cert, &key).unwrap();
        assert!(certificates.acceptor().is_ok());
        let first = certificates.current.read().cert.clone();
        // What is there stays.
        make(&cert, &key, IpAddr::from([10, 0, 0, 7]), &[]).unwrap();
        certificates.reload().unwrap();
        assert_eq!(certificates.current.read().cert, first);
        std::fs::remove_file(&cert).unwrap();
        assert!(certificates.reload().is_err());
        assert_eq!(certificates.current.read().cert, first);
        std::fs::remove_file(&key).unwrap();
        make(&cert, &key, IpAddr::from([127, 0, 0, 1]), &[]).unwrap();
        certificates.reload().unwrap();
        assert_ne!(certificates.current.read().cert, first);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
