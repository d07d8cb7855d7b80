//! The program, run as a user runs it.

mod floods;
mod run;
mod shell;
mod verbs;
