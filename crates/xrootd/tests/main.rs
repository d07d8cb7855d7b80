//! The protocol in virtual time, and beside real servers and clients.

mod frames;
mod hostile;
mod limits;
mod pair;
mod properties;
mod protected;
mod real_server;
mod session;
mod stock_clients;
mod waits;
mod writing;
