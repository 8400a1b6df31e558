//! Both ends of the protocol over sockets, with the engine behind.

mod session;
mod sockets;
