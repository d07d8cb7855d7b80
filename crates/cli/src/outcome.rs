//! The end of a verb: exit status and messages.

use std::io;
use std::process::ExitCode;

use engine::Reader;
use remote::display::shown_lines;

/// Why a verb has failed.
#[derive(Debug)]
pub enum Failure {
    /// To be read by a person: the fault, its place, a hint.
    Message(String),
    /// A signal has ended it: its number.
    Signal(u8),
    /// A command that was run has ended with this status.
    Status(u8),
    /// The reader of the output has closed it, as `head` does.
    OutputClosed,
}

pub type Outcome = Result<(), Failure>;

impl From<engine::Error> for Failure {
    fn from(error: engine::Error) -> Self {
        Failure::Message(error.said_to(Reader::Shell))
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::OutputClosed,
            _ => Failure::Message(format!("cannot write the output: {error}")),
        }
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Failure::Message(message)
    }
}

impl Failure {
    /// Prints it on standard error.
    pub fn print(&self) {
        if let Failure::Message(message) = self {
            eprintln!("farroot: {}", shown_lines(message));
        }
    }
}

/// Prints the error; returns the code for the shell.
pub fn exit_code(outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(()) | Err(Failure::OutputClosed) => ExitCode::SUCCESS,
        Err(failure @ Failure::Message(_)) => {
            failure.print();
            ExitCode::FAILURE
        }
        Err(Failure::Status(status)) => ExitCode::from(status),
        // As shells report a process that the signal has ended.
        Err(Failure::Signal(number)) => ExitCode::from(128 + number),
    }
}
