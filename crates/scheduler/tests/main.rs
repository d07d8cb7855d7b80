//! Plans and their execution in virtual time.

mod failures;
mod plans;
mod properties;
mod stories;
mod world;
