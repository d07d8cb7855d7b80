//! S3 over HTTP: `GET` of objects and of listings, signed where there are keys.
//!
//! [`sign`] computes signatures, [`place`] says which host and path a bucket has, [`bucket`] puts
//! both together for all connections of a server, [`xml`] reads refusals and listings, [`explain`]
//! has the words for refusals, and [`talk`] asks and answers. A bucket that turns out to be in
//! another region is asked for there, once. Addresses of HTTP that are signed themselves have
//! [`presigned`].

mod bucket;
mod explain;
mod place;
mod presigned;
#[doc(hidden)]
pub mod sign;
mod talk;
#[doc(hidden)]
pub mod xml;

pub use bucket::{Bucket, ahead};
pub use presigned::{expired, is_presigned};
