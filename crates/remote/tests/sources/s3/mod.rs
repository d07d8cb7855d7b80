//! S3: a real server that verifies signatures, and one with answers that real ones rarely give.

mod fake;
mod gateway;
mod written;
