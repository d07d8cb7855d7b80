//! Reads a whole branch, as the engine does basket by basket.

use bytes::Bytes;
use farroot_rootfile::tree::{Basket, BasketPlace, BasketRef, BranchId, Interpretation, Tree};
use farroot_rootfile::{Array, Codecs, Error, File, Result};

/// All entries of a branch in one column.
pub fn read_branch(
    tree: &Tree,
    id: BranchId,
    file: &File,
    bytes: &Bytes,
    codecs: &mut Codecs,
) -> Result<Array> {
    let interpretation = Interpretation::of(tree, id, &file.classes)?;
    let branch = &tree.branches[id.0 as usize];
    let mut column = interpretation.empty();
    for (index, reference) in branch.baskets.iter().enumerate() {
        let within = |error: Error| error.within(&format!("{}/basket {index}", branch.name));
        let record = record(bytes, reference);
        let mut basket = Basket::read(reference, record, codecs).map_err(within)?;
        if interpretation.needs_counts(&basket)
            && let Some(counter) = interpretation.counter().filter(|counter| *counter != id)
        {
            let counts = read_branch(tree, counter, file, bytes, &mut Codecs::new())?;
            let entries = reference.entries.start as usize..reference.entries.end as usize;
            if entries.end > counts.len() {
                return Err(within(Error::corrupt("its counter has fewer entries")));
            }
            let counts = counts.slice(entries);
            interpretation.take_counts(&mut basket, &counts).map_err(within)?;
        }
        interpretation.decode(&basket, 0..basket.entries, &mut column).map_err(within)?;
    }
    Ok(column)
}

/// The bytes of a basket in the file; none where it is elsewhere.
fn record<'a>(bytes: &'a Bytes, reference: &BasketRef) -> &'a [u8] {
    match &reference.place {
        BasketPlace::Stored(range) => {
            bytes.get(range.start as usize..range.end as usize).unwrap_or_default()
        }
        BasketPlace::Embedded(_) => &[],
    }
}
