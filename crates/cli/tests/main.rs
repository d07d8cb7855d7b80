//! The program, run as a user runs it.

mod floods;
mod manual;
#[path = "../../credentials/tests/places/realm.rs"]
mod realm;
mod run;
mod shell;
mod site;
mod site_cache;
mod site_tickets;
mod verbs;
