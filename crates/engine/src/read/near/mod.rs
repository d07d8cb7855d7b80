//! Entries that a server selects where the file is: the request, and its answer as arrays.
//!
//! A client of `farroot serve --select` sends what it would read itself: columns, a cut, entries.
//! The server evaluates it with the same engine (`read/select`), and answers with a stream of Arrow
//! (`docs/near.md`). The arrays of the answer are those that a read here would give.

pub mod answers;
mod arrays;
pub mod choice;
pub mod choosing;
pub mod coding;
pub mod frames;
mod incoming;
pub mod layout;
#[doc(hidden)]
pub mod messages;
pub mod request;

use crate::read::file::File;
use remote::near::NearPlace;

/// Whether a caller leaves to the reader where entries of a file are selected.
pub fn leaves_choice(file: &File) -> bool {
    let remote = file.remote();
    let near = remote.fetcher().near();
    remote.urls().first().is_some_and(|url| near.leaves_choice(url))
}

/// The report says why no server is asked about a file, where the caller wants that.
pub fn note_not_asked(file: &File) {
    let remote = file.remote();
    let near = remote.fetcher().near();
    if let Some(text) = remote.urls().first().and_then(|url| near.not_asked(url)) {
        remote.trace().note(Some(remote.tag()), text);
    }
}

/// The server of a file that selects its entries; `None` where the caller does not want that.
pub fn place(file: &File) -> Option<NearPlace> {
    let remote = file.remote();
    remote.fetcher().near().place(remote.urls().first()?)
}
