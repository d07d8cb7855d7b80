//! Predictions of the next reads of a reader that does not declare its columns. Accesses go in,
//! columns and ranges come out; `history` keeps them for the next reader. The readers in `tree`,
//! `ntuple` and `watch` fetch them.

pub mod burst;
pub mod chunks;
pub mod fills;
pub mod history;
pub mod pace;
pub mod series;
pub mod stats;
pub mod stepping;
pub mod table_places;
