//! The processes that references between objects name (ROOT: `TProcessID`, for `TRef`).
//!
//! A reference says the number of a process, counted in its file: the object `ProcessID<n>` of the
//! top directory. A basket's key has the number that is to be added to those in it.

use std::collections::BTreeMap;

use rootfile::key::Key;
use rootfile::write::copy::CopiedObject;
use rootfile::{Error, Result};

const CLASS: &str = "TProcessID";
const NAME: &str = "ProcessID";

/// Those of one file, by number.
pub type Processes = BTreeMap<u16, Box<CopiedObject>>;

/// The number of a process, where a key of that directory is one.
pub fn number(directory: &str, key: &Key) -> Option<u16> {
    let is_process = directory.is_empty() && key.class == CLASS;
    key.name.strip_prefix(NAME).filter(|_| is_process)?.parse().ok()
}

/// The name of the process of a number.
pub fn name(number: u16) -> String {
    format!("{NAME}{number}")
}

/// Adds the processes of a further file; returns the number that is to be added to those in it.
///
/// # Errors
/// `Limit` for more than 65,536 processes.
pub fn add(all: &mut Processes, more: Processes) -> Result<u16> {
    let end = all.last_key_value().map_or(0, |(last, _)| u32::from(*last) + 1);
    let fits = |shift: &u32| {
        more.iter().all(|(number, process)| {
            let there = u16::try_from(u32::from(*number) + shift).ok();
            let there = there.and_then(|number| all.get(&number));
            there.is_none_or(|there| there.is_like(process))
        })
    };
    let shift = (0..end).find(fits).unwrap_or(end);
    let limit = || Error::limit("more than 65,536 processes that references name (TProcessID)");
    for (number, process) in more {
        let number = u16::try_from(u32::from(number) + shift).map_err(|_| limit())?;
        all.entry(number).or_insert(process);
    }
    u16::try_from(shift).map_err(|_| limit())
}
