//! Parts that several tests share.

pub mod columns;
pub mod feed;
pub mod forged;
pub mod made_up;
pub mod ntuple;
pub mod seeded;
pub mod write;
pub mod written;
