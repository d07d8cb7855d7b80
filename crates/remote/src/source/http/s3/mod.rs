//! S3 over HTTP: `GET` of objects and of listings, and the requests that write objects, signed
//! where there are keys.
//!
//! [`sign`] computes signatures, [`place`] says which host and path a bucket has, [`bucket`] puts
//! both together for all connections of a server, [`xml`] reads refusals and listings, [`explain`]
//! has the words for refusals, [`talk`] asks and answers, [`checksum`] requests checksums, and
//! [`writer`] writes. Requests for a bucket that turns out to be in another region go there.
//! Addresses of HTTP that are signed themselves have [`presigned`].

mod bucket;
mod checksum;
mod explain;
mod place;
mod presigned;
#[doc(hidden)]
pub mod sign;
mod talk;
mod writer;
#[doc(hidden)]
pub mod xml;

pub use bucket::{Bucket, ahead};
pub use presigned::{expired, is_presigned};
pub use writer::{ObjectWriter, PartUpload, SentPart};
