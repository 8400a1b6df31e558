//! Texts as bytes and bytes as texts: hexadecimal, binary, base 64, URLs, UTF-8, and digests.

use super::columns::{
    Column, TextColumn, computed_rows, per_distinct, write_blob, write_short_text, write_text,
};
use super::md5_lanes::digests;
use crate::registry::{Function, Loop, Overloads, Signature};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use inlay_kernels::apply::per_row;
use inlay_types::LogicalType::{BigInt, Blob, HugeInt, Integer, UBigInt, UHugeInt, Varchar};
use inlay_types::{Error, LogicalType, Native, Result, Vector, limits};
use sha1::{Digest, Sha1};
use sha2::{Sha224, Sha256, Sha384, Sha512};
use std::fmt::{Binary, UpperHex};

const fn of_text(returns: inlay_types::LogicalType, f: Loop) -> Signature {
    Signature::new(&[Varchar], returns, f)
}

const fn of_blob(returns: inlay_types::LogicalType, f: Loop) -> Signature {
    Signature::new(&[Blob], returns, f)
}

/// See the module documentation.
pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("hex", Overloads::Fixed(&HEX), "hexadecimal digits of a text, blob or number", "hex(255) = 'FF'")
        .aliases(&["to_hex"]),
    Function::new("bin", Overloads::Fixed(&BIN), "binary digits of a text or number", "bin(42) = '101010'")
        .aliases(&["to_binary"]),
    Function::new(
        "unhex",
        Overloads::Fixed(&[of_text(Blob, unhex)]),
        "bytes from hexadecimal digits",
        "unhex('2A') = '*'::BLOB",
    )
    .aliases(&["from_hex"])
    .fallible(),
    Function::new(
        "unbin",
        Overloads::Fixed(&[of_text(Blob, unbin)]),
        "bytes from binary digits",
        "unbin('00101010') = '*'::BLOB",
    )
    .aliases(&["from_binary"])
    .fallible(),
    Function::new(
        "to_base64",
        Overloads::Fixed(&[of_blob(Varchar, to_base64), of_text(Varchar, to_base64)]),
        "bytes in base 64",
        "to_base64('hello'::BLOB) = 'aGVsbG8='",
    )
    .aliases(&["base64"]),
    Function::new(
        "from_base64",
        Overloads::Fixed(&[of_text(Blob, from_base64)]),
        "bytes from base 64",
        "from_base64('QQ==') = 'A'::BLOB",
    )
    .fallible(),
    Function::new(
        "to_base",
        Overloads::Fixed(&[
            Signature::new(&[BigInt, Integer], Varchar, to_base),
            Signature::new(&[BigInt, Integer, Integer], Varchar, to_base),
        ]),
        "digits of a number in a base of 2 to 36, filled with zeros to a length",
        "to_base(42, 16, 5) = '0002A'",
    )
    .fallible(),
    Function::new(
        "encode",
        Overloads::Fixed(&[of_text(Blob, encode)]),
        "the bytes of a text in UTF-8",
        "encode('ü') = '\\xC3\\xBC'::BLOB",
    ),
    Function::new(
        "decode",
        Overloads::Fixed(&[of_blob(Varchar, decode), Signature::new(&[Blob, Varchar], Varchar, decode)]),
        "the text of bytes in UTF-8; wrong bytes fail ('strict'), become ? ('replace') or are left out ('ignore')",
        "decode('\\xC3\\xBC'::BLOB) = 'ü'",
    )
    .fallible(),
    Function::new(
        "url_encode",
        Overloads::Fixed(&[of_text(Varchar, url_encode)]),
        "a text with all but letters, digits and -_.~ in percent encoding",
        "url_encode('a b/c') = 'a%20b%2Fc'",
    ),
    Function::new(
        "url_decode",
        Overloads::Fixed(&[of_text(Varchar, url_decode)]),
        "a text from percent encoding",
        "url_decode('a%20b') = 'a b'",
    )
    .fallible(),
    Function::new(
        "md5",
        Overloads::Fixed(&[of_text(Varchar, md5), of_blob(Varchar, md5)]),
        "MD5 digest in hexadecimal digits",
        "md5('hello') = '5d41402abc4b2a76b9719d911017c592'",
    ),
    Function::new(
        "md5_number",
        Overloads::Fixed(&[of_text(UHugeInt, md5_number), of_blob(UHugeInt, md5_number)]),
        "MD5 digest as a number",
        "md5_number('hello') = 195090637673866227529774941829999903069",
    ),
    Function::new(
        "md5_number_lower",
        Overloads::Fixed(&[of_text(UBigInt, md5_lower), of_blob(UBigInt, md5_lower)]),
        "high 64 bits of md5_number, the last 8 bytes of the digest",
        "md5_number_lower('hello') = 10575884659879408057",
    ),
    Function::new(
        "md5_number_upper",
        Overloads::Fixed(&[of_text(UBigInt, md5_upper), of_blob(UBigInt, md5_upper)]),
        "low 64 bits of md5_number, the first 8 bytes of the digest",
        "md5_number_upper('hello') = 8514701317032132957",
    ),
    Function::new(
        "sha1",
        Overloads::Fixed(&[of_text(Varchar, sha1), of_blob(Varchar, sha1)]),
        "SHA-1 digest in hexadecimal digits",
        "sha1('hello') = 'aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d'",
    ),
    Function::new(
        "sha256",
        Overloads::Fixed(&[of_text(Varchar, sha256), of_blob(Varchar, sha256)]),
        "SHA-256 digest in hexadecimal digits",
        "sha256('hello') = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824'",
    ),
    Function::new(
        "sha224",
        Overloads::Fixed(&[of_text(Varchar, digest::<Sha224>), of_blob(Varchar, digest::<Sha224>)]),
        "SHA-224 digest in hexadecimal digits",
        "left(sha224('hello'), 8) = 'ea09ae9c'",
    ),
    Function::new(
        "sha384",
        Overloads::Fixed(&[of_text(Varchar, digest::<Sha384>), of_blob(Varchar, digest::<Sha384>)]),
        "SHA-384 digest in hexadecimal digits",
        "left(sha384('hello'), 8) = '59e17487'",
    ),
    Function::new(
        "sha512",
        Overloads::Fixed(&[of_text(Varchar, digest::<Sha512>), of_blob(Varchar, digest::<Sha512>)]),
        "SHA-512 digest in hexadecimal digits",
        "left(sha512('hello'), 8) = '9b71d224'",
    ),
];

static HEX: [Signature; 6] = [
    of_text(Varchar, hex_text),
    of_blob(Varchar, hex_text),
    Signature::new(&[BigInt], Varchar, hex_number::<i64>),
    Signature::new(&[UBigInt], Varchar, hex_number::<u64>),
    Signature::new(&[HugeInt], Varchar, hex_number::<i128>),
    Signature::new(&[UHugeInt], Varchar, hex_number::<u128>),
];

static BIN: [Signature; 6] = [
    of_text(Varchar, bin_text),
    of_blob(Varchar, bin_text),
    Signature::new(&[BigInt], Varchar, bin_number::<i64>),
    Signature::new(&[UBigInt], Varchar, bin_number::<u64>),
    Signature::new(&[HugeInt], Varchar, bin_number::<i128>),
    Signature::new(&[UHugeInt], Varchar, bin_number::<u128>),
];

/// A text of the bytes of each text or blob, once per distinct value.
fn text_of(
    args: &[&Vector],
    len: usize,
    out: &mut Vector,
    write: impl Fn(&[u8], &mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    let source = TextColumn::of(args[0]);
    write_text(args, len, out, |row, text| write(source.get(row), text))
}

/// A blob of the bytes of each text.
fn blob_of(
    args: &[&Vector],
    len: usize,
    out: &mut Vector,
    write: impl Fn(&[u8], &mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    let source = TextColumn::of(args[0]);
    write_blob(args, len, out, |row, bytes| write(source.get(row), bytes))
}

fn push_hex(bytes: &[u8], digits: &[u8; 16], text: &mut Vec<u8>) {
    let start = text.len();
    text.resize(start + 2 * bytes.len(), 0);
    for (pair, byte) in text[start..].as_chunks_mut::<2>().0.iter_mut().zip(bytes) {
        *pair = [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]];
    }
}

fn hex_text(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    text_of(args, len, out, |bytes, text| {
        push_hex(bytes, b"0123456789ABCDEF", text);
        Ok(())
    })
}

fn bin_text(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    text_of(args, len, out, |bytes, text| {
        limits::grow_at_once(text, bytes.len().saturating_mul(8))?;
        for byte in bytes {
            text.extend((0..8).rev().map(|bit| b'0' + (byte >> bit & 1)));
        }
        Ok(())
    })
}

fn hex_number<T: Native + UpperHex>(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let source = Column::<T>::of(args[0]);
    write_text(args, len, out, |row, text| {
        text.extend_from_slice(format!("{:X}", source.get(row)).as_bytes());
        Ok(())
    })
}

fn bin_number<T: Native + Binary>(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let source = Column::<T>::of(args[0]);
    write_text(args, len, out, |row, text| {
        text.extend_from_slice(format!("{:b}", source.get(row)).as_bytes());
        Ok(())
    })
}

fn digit(byte: u8, base: u32, function: &str, text: &[u8]) -> Result<u8> {
    match char::from(byte).to_digit(base) {
        Some(digit) => Ok(digit as u8),
        None => {
            let shown = String::from_utf8_lossy(text);
            let wrong = char::from(byte);
            Err(Error::invalid_argument(format!(
                "{function}: '{wrong}' in '{shown}' is no digit of base {base}"
            )))
        }
    }
}

/// The first digits may be fewer than a byte has.
fn from_digits(bytes: &[u8], base: u32, per_byte: usize, function: &str, out: &mut Vec<u8>) -> Result<()> {
    let mut start = 0;
    let mut end = match bytes.len() % per_byte {
        0 => per_byte,
        first => first,
    };
    while start < bytes.len() {
        let mut value = 0u8;
        for byte in &bytes[start..end] {
            value = value * base as u8 + digit(*byte, base, function, bytes)?;
        }
        out.push(value);
        (start, end) = (end, end + per_byte);
    }
    Ok(())
}

fn unhex(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    blob_of(args, len, out, |bytes, out| from_digits(bytes, 16, 2, "unhex", out))
}

fn unbin(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    blob_of(args, len, out, |bytes, out| from_digits(bytes, 2, 8, "unbin", out))
}

fn to_base64(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    text_of(args, len, out, |bytes, text| {
        let start = text.len();
        text.resize(start + bytes.len().div_ceil(3) * 4, b'=');
        let written = STANDARD
            .encode_slice(bytes, &mut text[start..])
            .map_err(|error| Error::internal(format!("{} bytes in base 64: {error}", bytes.len())))?;
        text.truncate(start + written);
        Ok(())
    })
}

fn from_base64(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    blob_of(args, len, out, |bytes, out| match STANDARD.decode_vec(bytes, out) {
        Ok(()) => Ok(()),
        Err(error) => {
            let shown = String::from_utf8_lossy(bytes);
            let reason = if bytes.len() % 4 == 0 {
                error.to_string().to_lowercase()
            } else {
                "its length must be a multiple of 4".to_string()
            };
            Err(Error::invalid_argument(format!("'{shown}' is not in base 64: {reason}")))
        }
    })
}

fn to_base(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let (number, base) = (Column::<i64>::of(args[0]), Column::<i32>::of(args[1]));
    let width = args.get(2).map(|arg| Column::<i32>::of(arg));
    write_text(args, len, out, |row, text| {
        let (mut number, base) = (number.get(row), base.get(row));
        let width = width.as_ref().map_or(0, |width| width.get(row));
        if !(2..=36).contains(&base) {
            return Err(Error::invalid_argument(format!("to_base: the base is 2 to 36, not {base}")));
        }
        if number < 0 {
            return Err(Error::invalid_argument(format!("to_base: {number} is negative")));
        }
        if !(0..=64).contains(&width) {
            return Err(Error::invalid_argument(format!("to_base: the length is 0 to 64, not {width}")));
        }
        while number > 0 || text.is_empty() {
            text.push(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[(number % i64::from(base)) as usize]);
            number /= i64::from(base);
        }
        while text.len() < width as usize {
            text.push(b'0');
        }
        text.reverse();
        Ok(())
    })
}

fn encode(args: &[&Vector], _: usize, out: &mut Vector) -> Result<()> {
    *out = args[0].clone().reinterpret(Blob);
    Ok(())
}

fn decode(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let source = TextColumn::of(args[0]);
    let mode = args.get(1).map(|arg| TextColumn::of(arg));
    write_text(args, len, out, |row, text| {
        let replacement: &[u8] = match mode.as_ref().map_or("strict", |mode| mode.text(row)) {
            "strict" => {
                let bytes = source.get(row);
                return match std::str::from_utf8(bytes) {
                    Ok(_) => {
                        text.extend_from_slice(bytes);
                        Ok(())
                    }
                    Err(error) => Err(Error::invalid_argument(format!(
                        "decode: byte {} of the blob is not UTF-8",
                        error.valid_up_to() + 1
                    ))
                    .with_hint("'replace' or 'ignore' as second argument lets it pass")),
                };
            }
            "replace" => b"?",
            "ignore" => b"",
            other => {
                return Err(Error::invalid_argument(format!(
                    "decode: the second argument is 'strict', 'replace' or 'ignore', not '{other}'"
                )));
            }
        };
        for chunk in source.get(row).utf8_chunks() {
            text.extend_from_slice(chunk.valid().as_bytes());
            for _ in chunk.invalid() {
                text.extend_from_slice(replacement);
            }
        }
        Ok(())
    })
}

fn url_encode(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    text_of(args, len, out, |bytes, text| {
        const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
        for &byte in bytes {
            if matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~') {
                text.push(byte);
            } else {
                text.extend_from_slice(&[
                    b'%',
                    DIGITS[usize::from(byte >> 4)],
                    DIGITS[usize::from(byte & 15)],
                ]);
            }
        }
        Ok(())
    })
}

fn url_decode(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    text_of(args, len, out, |bytes, text| {
        let hex = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
        let (mut rest, mut is_decoded) = (bytes, false);
        while let Some(at) = memchr::memchr(b'%', rest) {
            text.extend_from_slice(&rest[..at]);
            match (hex(rest.get(at + 1)), hex(rest.get(at + 2))) {
                (Some(high), Some(low)) => {
                    text.push((high * 16 + low) as u8);
                    rest = &rest[at + 3..];
                    is_decoded = true;
                }
                (None, _) | (_, None) => {
                    text.push(b'%');
                    rest = &rest[at + 1..];
                }
            }
        }
        text.extend_from_slice(rest);
        if is_decoded && std::str::from_utf8(text).is_err() {
            let shown = String::from_utf8_lossy(bytes);
            return Err(Error::invalid_argument(format!("url_decode: '{shown}' does not stand for UTF-8")));
        }
        Ok(())
    })
}

/// The digest of a text, which may be long.
fn digest_of<D: Digest>(bytes: &[u8]) -> Result<sha1::digest::Output<D>> {
    let mut state = D::new();
    for part in bytes.chunks(DIGESTED_AT_ONCE) {
        state.update(part);
        if part.len() == DIGESTED_AT_ONCE {
            limits::check()?;
        }
    }
    Ok(state.finalize())
}

/// So many bytes are digested between looks at the interrupt.
const DIGESTED_AT_ONCE: usize = 1 << 22;

fn digest<D: Digest>(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    per_distinct(args, Varchar, len, out, |args, len, out| {
        let source = TextColumn::of(args[0]);
        write_short_text(args, len, out, |row, text| {
            push_hex(&digest_of::<D>(source.get(row))?, b"0123456789abcdef", text);
            Ok(())
        })
    })
}

fn md5(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    per_distinct(args, Varchar, len, out, |args, len, out| {
        let found = digests(args[0], computed_rows(args, len))?;
        write_short_text(args, len, out, |row, text| {
            push_hex(&found[row], b"0123456789abcdef", text);
            Ok(())
        })
    })
}

fn sha1(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    digest::<Sha1>(args, len, out)
}

fn sha256(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    digest::<Sha256>(args, len, out)
}

/// A number made of that which the digest of each text is.
fn md5_as<O: Native>(
    args: &[&Vector],
    ty: &LogicalType,
    len: usize,
    out: &mut Vector,
    part: impl Fn(u128) -> O,
) -> Result<()> {
    let found = digests(args[0], computed_rows(args, len))?;
    per_row(args, ty, len, out, |row| Ok(part(u128::from_le_bytes(found[row]))))
}

fn md5_number(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    md5_as(args, &UHugeInt, len, out, |number| number)
}

fn md5_lower(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    md5_as(args, &UBigInt, len, out, |number| (number >> 64) as u64)
}

fn md5_upper(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    md5_as(args, &UBigInt, len, out, |number| number as u64)
}
