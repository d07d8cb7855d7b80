//! Inputs that are read concurrently, before they are copied.

use std::collections::VecDeque;
use std::vec::IntoIter;

use remote::{Error, ErrorKind, Result};
use tokio::task::JoinHandle;

use super::choice::CopyOptions;
use super::inputs::{Input, is_local};
use crate::read::file::File;
use crate::read::file::session::Session;

/// Inputs that are read concurrently: their metadata alone, and with columns.
const INPUTS_AHEAD: usize = 8;
const DECIDED_AHEAD: usize = 4;
/// Maximum number of small inputs that are read concurrently, since each takes round trips and few
/// bytes; and the bytes that the stored metadata of all of them should have at most.
const SMALL_AHEAD: u64 = 64;
const METADATA_BYTES: u64 = 12 << 20;
/// Inputs on a disk of this machine, which are read as fast as they are merged.
const LOCAL_AHEAD: usize = 2;

/// The inputs that are still to be read, in their order.
pub struct Reads {
    session: Session,
    options: CopyOptions,
    left: IntoIter<String>,
    /// The first input, if the caller has opened it already.
    first: Option<File>,
    reading: VecDeque<Reading>,
    /// Number of remote inputs to read concurrently, from the bytes of the last one's metadata.
    ahead: usize,
    /// Whether the next input to be begun is the existing output.
    is_output_next: bool,
    /// Whether the next input must not be left out: the result takes its place.
    has_to_be_read: bool,
}

/// The task that reads an input; dropping it aborts the task.
struct Reading(JoinHandle<Result<Input>>);

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Reads {
    pub fn new(
        session: Session,
        addresses: Vec<String>,
        first: Option<File>,
        options: CopyOptions,
    ) -> Reads {
        let left = addresses.into_iter();
        let reading = VecDeque::new();
        let appends = options.merge.append;
        Reads {
            session,
            options,
            left,
            first,
            reading,
            ahead: INPUTS_AHEAD,
            is_output_next: appends,
            has_to_be_read: appends,
        }
    }

    /// Whether the next input has been read, or there is none.
    pub fn is_ready(&mut self) -> bool {
        self.begin();
        self.reading.front().is_none_or(|reading| reading.0.is_finished())
    }

    /// The next input; `None` after the last one.
    ///
    /// # Errors
    /// Why the input cannot be read, unless the options leave it out with a note.
    pub async fn next(&mut self, notes: &mut Vec<String>) -> Result<Option<Input>> {
        loop {
            self.begin();
            let Some(mut reading) = self.reading.pop_front() else { return Ok(None) };
            let given_up = |_| Error::new(ErrorKind::Cancelled, "given up");
            match (&mut reading.0).await.map_err(given_up)? {
                Err(why) if self.options.skips(&why) && !self.has_to_be_read => {
                    notes.push(left_out(&why));
                }
                Err(why) => return Err(why),
                Ok(input) => {
                    self.has_to_be_read = false;
                    let most = METADATA_BYTES / input.items.held_bytes().max(1);
                    self.ahead = most.clamp(INPUTS_AHEAD as u64, SMALL_AHEAD) as usize;
                    return Ok(Some(input));
                }
            }
        }
    }

    fn begin(&mut self) {
        let decides = self.options.decides();
        while let Some(next) = self.left.as_slice().first() {
            let most = match decides {
                true => DECIDED_AHEAD,
                false if is_local(next) => LOCAL_AHEAD,
                false => self.ahead,
            };
            if self.reading.len() >= most {
                return;
            }
            let Some(address) = self.left.next() else { return };
            let session = self.session.clone();
            let mut options = self.options.clone();
            if std::mem::take(&mut self.is_output_next) {
                options = options.of_existing_output();
            }
            let open = self.first.take();
            let read = async move { Input::read(&session, &address, open, &options).await };
            self.reading.push_back(Reading(tokio::spawn(read)));
        }
    }
}

/// The note on an input that is left out because it cannot be read.
pub fn left_out(why: &Error) -> String {
    format!("an input is left out: {why}")
}

/// The error where no input could be read.
pub fn none_read(notes: &[String]) -> Error {
    let text = format!("no input could be read; {}", notes.join("; "));
    Error::new(ErrorKind::NotFound, text)
}
