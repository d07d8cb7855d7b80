//! S3: a real server that verifies signatures, and one that does what real ones rarely do.

mod fake;
mod gateway;
mod written;
