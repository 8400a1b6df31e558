//! From the first byte to Ready.

use super::{Admission, Askers, Gate, Session};
use crate::compression::{LZ4, ZSTD};
use crate::frame::{Frame, Hello, Method, Ready};
use crate::scram;
use crate::transport::{FrameReader, FrameWriter};
use crate::{CHUNK_SIZE_MAX, CHUNK_SIZE_MIN, FRAME_SLACK, Result, VERSION, WireError};
use inlay_types::Error;
use std::io::{Read, Write};
use std::sync::Arc;

/// What both ends agreed on.
pub(super) struct Agreed {
    pub(super) hello: Hello,
    pub(super) session: Box<dyn Session>,
    pub(super) chunk_size: usize,
    pub(super) features: u32,
    pub(super) number: u64,
}

/// Reads the client's first frame; `None` if it only wanted something cancelled.
pub(super) fn hello<R: Read>(reader: &mut FrameReader<R>, gate: &dyn Gate) -> Result<Option<Hello>> {
    reader.magic()?;
    match reader.expect()?.1 {
        Frame::Hello(hello) => Ok(Some(hello)),
        Frame::CancelSession { session, key } => {
            gate.sessions().cancel(session, &key);
            Ok(None)
        }
        other => Err(WireError::malformed(format!("{:?} as the first frame", other.kind()))),
    }
}

/// Lets a client in, or not.
pub(super) fn let_in<R: Read, W: Write>(
    reader: &mut FrameReader<R>,
    writer: &mut FrameWriter<W>,
    gate: &dyn Gate,
    hello: Hello,
    askers: &Arc<Askers>,
) -> Result<Agreed> {
    let (first, last) = hello.versions;
    if !(first..=last).contains(&VERSION) {
        let message =
            format!("the client speaks versions {first} to {last} of the protocol, and the server {VERSION}");
        return Err(Error::unsupported(message).into());
    }
    show(reader, writer, gate, &hello)?;
    let session = gate.open(&hello)?;
    let key = scram::random::<16>()?;
    let number = gate.sessions().enter(session.number(), key, Arc::clone(askers));
    let chunk_size = hello.chunk_size.clamp(CHUNK_SIZE_MIN, CHUNK_SIZE_MAX);
    let features = hello.features & (LZ4 | ZSTD);
    let frame_max = gate.frame_max().max(chunk_size + FRAME_SLACK as u32);
    let ready = Frame::Ready(Ready {
        version: VERSION,
        chunk_size,
        frame_max,
        features,
        session: number,
        key,
        server: gate.name(),
        settings: gate.settings(),
    });
    if let Err(error) = writer.frame(0, &ready) {
        gate.sessions().leave(number);
        return Err(error);
    }
    let limit = chunk_size as usize + FRAME_SLACK;
    reader.set_limit(limit);
    // What a client can take is its own business; it says so when a frame is announced.
    writer.set_limits(limit, u32::MAX as usize);
    Ok(Agreed { hello, session, chunk_size: chunk_size as usize, features, number })
}

/// The client shows who it is.
fn show<R: Read, W: Write>(
    reader: &mut FrameReader<R>,
    writer: &mut FrameWriter<W>,
    gate: &dyn Gate,
    hello: &Hello,
) -> Result<()> {
    let mut ask = |method: Method, message: Vec<u8>| {
        writer.frame(0, &Frame::Challenge(method, message))?;
        match reader.expect()?.1 {
            Frame::Auth(answered, answer) if answered == method => Ok(answer),
            other => Err(WireError::malformed(format!("{:?}, where the login goes on", other.kind()))),
        }
    };
    match gate.admit(hello)? {
        Admission::Open => Ok(()),
        Admission::Token => {
            let token = ask(Method::Token, Vec::new())?;
            if gate.has_token(hello, &token)? {
                return Ok(());
            }
            let message = "the token is not known, or no longer".to_string();
            Err(Error::Forbidden { message }.with_hint("ask whoever runs the server for a new one").into())
        }
        Admission::Scram(verifier) => {
            let mut server = scram::Server::new(verifier)?;
            let first = ask(Method::Scram, Vec::new())?;
            let last = ask(Method::Scram, server.first(&first)?)?;
            let signature = server.last(&last)?;
            writer.frame(0, &Frame::Challenge(Method::Scram, signature))
        }
    }
}
