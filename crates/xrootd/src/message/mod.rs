//! The messages, one file each: a summary of the specification, the types, decoding, encoding and a
//! sample frame recorded from a real server.
//!
//! The list at the foot of this file registers them. Registering a message also makes its test:
//! the sample must decode, and encode to the same bytes.

use bytes::Bytes;

use crate::error::DecodeError;
use crate::header::{RequestHeader, StreamId};

pub mod handshake;

/// A request and its answer.
pub trait Message: Sized {
    /// The request code on the wire.
    const CODE: u16;
    /// The request's name in the specification.
    const NAME: &'static str;
    /// Content of kXR_ok.
    type Answer;

    /// Reads the request from its parameters and its body.
    fn decode(parameters: &[u8; 16], body: &Bytes) -> Result<Self, DecodeError>;

    /// Writes the request's parameters and its body.
    fn encode(&self, parameters: &mut [u8; 16], body: &mut Vec<u8>);

    /// Reads a complete answer.
    fn decode_answer(body: &Bytes) -> Result<Self::Answer, DecodeError>;

    /// Writes a complete answer.
    fn encode_answer(answer: &Self::Answer) -> Vec<u8>;

    /// The whole request as it goes out.
    fn frame(&self, stream: StreamId) -> Vec<u8> {
        let mut parameters = [0; 16];
        let mut frame = vec![0; RequestHeader::BYTES];
        self.encode(&mut parameters, &mut frame);
        let length = (frame.len() - RequestHeader::BYTES) as u32;
        let header = RequestHeader { stream, code: Self::CODE, parameters, length };
        frame[..RequestHeader::BYTES].copy_from_slice(&header.encode());
        frame
    }
}

/// An answer without a body.
fn no_answer(subject: &'static str, body: &Bytes) -> Result<(), DecodeError> {
    if body.is_empty() {
        Ok(())
    } else {
        Err(DecodeError::Invalid { subject, why: "an answer where there is none to give" })
    }
}

macro_rules! messages {
    ($($module:ident :: $name:ident,)*) => {
        $(pub mod $module;)*
        $(pub use $module::$name;)*

        /// A decoded request.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Request {
            $($name($name),)*
            /// A request this crate does not know; its body has been dropped.
            Unknown { code: u16 },
        }

        impl Request {
            /// Reads a request.
            pub fn decode(header: &RequestHeader, body: &Bytes) -> Result<Request, DecodeError> {
                match header.code {
                    $($name::CODE => $name::decode(&header.parameters, body).map(Request::$name),)*
                    code => Ok(Request::Unknown { code }),
                }
            }

            /// Whether requests of this code are decoded; all others are [`Request::Unknown`].
            pub fn is_decoded(code: u16) -> bool {
                matches!(code, $($name::CODE)|*)
            }

            /// The whole request as it goes out; of an unknown one, the header.
            pub fn frame(&self, stream: StreamId) -> Vec<u8> {
                match self {
                    $(Request::$name(request) => request.frame(stream),)*
                    Request::Unknown { code } => {
                        let code = *code;
                        RequestHeader { stream, code, parameters: [0; 16], length: 0 }
                            .encode()
                            .to_vec()
                    }
                }
            }

            /// The request's name in the specification.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Request::$name(_) => $name::NAME,)*
                    Request::Unknown { .. } => "an unknown request",
                }
            }
        }

        $(impl From<$name> for Request {
            fn from(request: $name) -> Request {
                Request::$name(request)
            }
        })*

        #[cfg(test)]
        mod samples {
            $(#[test]
            fn $module() {
                super::tests::sample::<super::$name>(
                    include_bytes!(concat!("../../samples/", stringify!($module), ".req.bin")),
                    include_bytes!(concat!("../../samples/", stringify!($module), ".resp.bin")),
                );
            })*
        }
    };
}

messages! {
    auth::Auth,
    bind::Bind,
    close::Close,
    dirlist::Dirlist,
    endsess::Endsess,
    locate::Locate,
    login::Login,
    mkdir::Mkdir,
    mv::Mv,
    open::Open,
    pgread::Pgread,
    pgwrite::Pgwrite,
    ping::Ping,
    protocol::Protocol,
    query::Query,
    read::Read,
    readv::Readv,
    rm::Rm,
    rmdir::Rmdir,
    stat::Stat,
    sync::Sync,
    truncate::Truncate,
    write::Write,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::{ResponseHeader, Status};

    /// A recorded request and its recorded answer survive decoding and encoding, and no shorter
    /// version of either makes the decoder panic.
    pub fn sample<M: Message>(request: &'static [u8], response: &'static [u8]) {
        let (head, body) = request.split_first_chunk().expect("a header");
        let header = RequestHeader::decode(head).expect("a request header");
        assert_eq!(header.code, M::CODE);
        assert_eq!(header.length as usize, body.len());
        let message = M::decode(&header.parameters, &Bytes::from_static(body)).expect(M::NAME);
        assert_eq!(message.frame(header.stream), request, "{} request", M::NAME);

        let (head, answer) = response.split_first_chunk().expect("a header");
        let header = ResponseHeader::decode(head).expect("a response header");
        match header.status {
            // The header does not count the bytes that follow the body.
            Status::Status => assert!(answer.len() > header.length as usize),
            status => assert_eq!((status, header.length as usize), (Status::Ok, answer.len())),
        }
        let decoded = M::decode_answer(&Bytes::from_static(answer)).expect(M::NAME);
        assert_eq!(M::encode_answer(&decoded), answer, "{} answer", M::NAME);

        for cut in 0..body.len() {
            let _ = M::decode(
                &RequestHeader::decode(&request[..24].try_into().unwrap()).unwrap().parameters,
                &Bytes::from_static(&body[..cut]),
            );
        }
        for cut in 0..answer.len() {
            let _ = M::decode_answer(&Bytes::from_static(&answer[..cut]));
        }
    }

    #[test]
    fn an_unknown_request_is_told_by_its_code() {
        let header =
            RequestHeader { stream: StreamId(7), code: 3099, parameters: [1; 16], length: 0 };
        let request = Request::decode(&header, &Bytes::new()).unwrap();
        assert_eq!(request, Request::Unknown { code: 3099 });
        assert_eq!(request.frame(StreamId(7)).len(), RequestHeader::BYTES);
    }
}
