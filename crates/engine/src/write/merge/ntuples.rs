//! Ends the RNTuples of an input, and the clusters that have taken entries of several inputs.

use remote::Result;
use rootfile::write::Encoders;

use super::plan::{CopiedPart, MergePlan, Output, OutputContent, PlannedInput};
use super::remake::Remaking;
use crate::located::Located;

/// The threads that compress or join pages, if the merge has any, and the caller's encoders.
type Coding<'a> = (&'a mut Option<Remaking>, &'a mut Encoders);

/// Ends an input's RNTuples; all their pages must be placed.
///
/// # Errors
/// Those of encoding and placing the taken entries, for the output at `url`; `Corrupt` where a
/// cluster of the input lacks pages.
pub async fn end_input(
    plan: &mut MergePlan,
    (input, url): (&PlannedInput, &str),
    (remaking, encoders): Coding<'_>,
) -> Result<()> {
    for (output, part) in &input.tables {
        let CopiedPart::NTuple(part) = part else { continue };
        let OutputContent::NTuple(ntuple) = &plan.outputs[*output].content else { continue };
        let open = ntuple.open_after(part);
        if let Some(remaking) = remaking {
            remaking.place_taken(plan, (*output, open), url).await?;
            let path = &plan.outputs[*output].path;
            let ended = remaking.end_ntuple(*output);
            ended.map_err(|error| error.within(path).located(&*input.url))?;
        }
        let compression = plan.compression();
        let Output { directory, content, .. } = &mut plan.outputs[*output];
        if let OutputContent::NTuple(ntuple) = content {
            let to = (&mut plan.writer, *directory);
            ntuple.end(part, to, (compression, &mut *encoders)).located(&*input.url)?;
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
    (next, url): (Option<&PlannedInput>, &str),
    (remaking, encoders): Coding<'_>,
) -> Result<()> {
    for output in 0..plan.outputs.len() {
        let OutputContent::NTuple(ntuple) = &plan.outputs[output].content else { continue };
        let must_end = match next {
            None => ntuple.must_end_open(None),
            Some(next) => next.tables.iter().any(|(at, part)| match part {
                CopiedPart::NTuple(part) => *at == output && ntuple.must_end_open(Some(part)),
                CopiedPart::Tree(_) => false,
            }),
        };
        if !must_end {
            continue;
        }
        if let Some(remaking) = remaking {
            remaking.place_taken(plan, (output, None), url).await?;
        }
        let compression = plan.compression();
        let Output { directory, content, .. } = &mut plan.outputs[output];
        if let OutputContent::NTuple(ntuple) = content {
            let to = (&mut plan.writer, *directory);
            ntuple.end_open(to, (compression, &mut *encoders)).located(url)?;
        }
    }
    Ok(())
}
