//! RNTuple: columns in pages, and how fields become arrays.
//!
//! ```text
//! anchor -> header   fields and columns         in the key list, as any object
//!        -> footer   cluster groups             -> page lists: clusters, and pages of each column
//! ```
//!
//! A **field** is a C++ type with fields below it. Its data are in **columns** of simple elements,
//! which are cut into **pages**, the unit of compression. All pages of a run of entries are a
//! **cluster**; elements and the offsets of collections count from its beginning. Unlike the rest
//! of a ROOT file all of it is little-endian, and everything but the anchor may lie anywhere.
//! (Source: ROOT, `tree/ntuple/doc/BinaryFormatSpecification.md`, version 1.0.2.)

pub mod anchor;
mod assemble;
mod attributes;
pub mod column;
mod decode;
mod envelope;
pub mod footer;
mod interpret;
pub mod names;
pub mod open;
pub mod page_list;
mod reader;
mod records;
pub mod schema;

pub use anchor::{Anchor, EnvelopeLink, is_class};
pub use assemble::PageUse;
pub use attributes::AttributeSet;
pub(crate) use decode::{Elements, page_as};
pub(crate) use envelope::EnvelopeKind;
pub use footer::ClusterGroup;
pub use interpret::FieldInterpretation;
pub use names::Names;
pub use open::RNTuple;
pub use page_list::{Cluster, ColumnPages, Page};
pub use schema::{Column, Field, Role, Schema};
