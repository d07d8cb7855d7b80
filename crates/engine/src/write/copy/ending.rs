//! Ends the tables of an input, and the clusters that have taken entries of several inputs.

use remote::Result;
use rootfile::write::Coding;

use super::plan::{MergePlan, PlannedInput};
use super::target::Target;
use crate::located::Located;

/// Ends the tables of an input, all of whose blocks are placed or with the threads.
///
/// # Errors
/// Those of encoding and placing the taken entries, for the output at `url`; `Corrupt` where a
/// cluster of the input lacks pages.
pub async fn end_input(
    plan: &mut MergePlan,
    input: &PlannedInput,
    url: &str,
    target: &mut Target,
) -> Result<()> {
    let compression = plan.compression();
    for output in input.tables.iter().copied() {
        let clusters = plan.table(output).and_then(|(table, _)| table.joined_clusters());
        if let (Some(clusters), Some(recompressor)) = (clusters, &mut target.recompressor) {
            recompressor.place_taken(plan, output, clusters.open, url).await?;
            let path = &plan.outputs[output].path;
            let ended = recompressor.end_ntuple(output);
            ended.map_err(|error| error.within(path).located(&*input.url))?;
        }
        if let Some((table, to)) = plan.table(output) {
            let coding = Coding { compression, encoders: &mut target.encoders };
            table.end_input(to, coding).located(&*input.url)?;
        }
    }
    Ok(())
}

/// Ends the open clusters that get no entries of the input `next`; all, if that is `None`.
///
/// # Errors
/// As [`end_input`].
pub async fn end_open_clusters(
    plan: &mut MergePlan,
    next: Option<&PlannedInput>,
    url: &str,
    target: &mut Target,
) -> Result<()> {
    let compression = plan.compression();
    let next = next.map(|next| next.number);
    for output in 0..plan.outputs.len() {
        let must_end = |plan: &mut MergePlan| {
            plan.table(output).is_some_and(|(table, _)| table.must_end_open(next))
        };
        if !must_end(plan) {
            continue;
        }
        if let Some(recompressor) = &mut target.recompressor {
            recompressor.place_taken(plan, output, None, url).await?;
        }
        if let Some((table, to)) = plan.table(output) {
            let coding = Coding { compression, encoders: &mut target.encoders };
            table.end_open(to, coding).located(url)?;
        }
    }
    Ok(())
}
