//! Tables, objects and columns found by their names; names all kinds of tables.

mod friends;
pub mod objects;
pub mod resolve;
mod table;
