//! farroot in virtual time: the production engine, simulated links and servers.

pub mod link;
pub mod network;
