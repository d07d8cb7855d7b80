//! Entries that a server selects where the file is: the request, and its answer as arrays.
//!
//! A client of `farroot serve --select` sends what it would read itself: columns, a cut, entries.
//! The server evaluates it with the same engine (`read/select`), and answers with a stream of Arrow
//! (`docs/near.md`). The arrays of the answer are those that a read here would give.

mod arrays;
pub mod incoming;
pub mod layout;
mod messages;
pub mod request;

use crate::read::file::File;
use remote::near::NearPlace;

/// The server of a file that selects its entries; `None` where the caller does not want that.
pub fn place(file: &File) -> Option<NearPlace> {
    let remote = file.remote();
    remote.fetcher().near().place(remote.urls().first()?)
}
