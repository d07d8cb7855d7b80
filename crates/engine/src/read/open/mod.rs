//! Tables, objects and columns found by their names; names all kinds of tables.

mod friends;
pub mod objects;
mod resolve;
mod table;
