//! The program, run as a user runs it.

mod floods;
mod manual;
mod run;
mod shell;
mod site;
mod site_cache;
mod verbs;
