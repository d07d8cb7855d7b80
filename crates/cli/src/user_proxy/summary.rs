//! A line about the reads of a program through its proxy.

use ::serve::Figures;
use remote::report::{count, size};

/// The last line of `farroot run`: the reads between two snapshots of a proxy's figures.
pub fn summary(before: &Figures, after: &Figures) -> String {
    let more = |of: fn(&Figures) -> u64| of(after).saturating_sub(of(before));
    let opens = more(|figures| figures.opens);
    if opens == 0 {
        return "nothing was read over XRootD through farroot".to_owned();
    }
    let read = format!("{} and read {}", count(opens, "file"), size(more(|f| f.delivered)));
    let brought = format!(
        "{} came from {}, {}",
        size(more(|figures| figures.origin_bytes)),
        count(more(|figures| figures.origin_opens + figures.opens_ahead.succeeded), "open"),
        count(more(|figures| figures.origin_requests), "request")
    );
    let ahead = size(more(|figures| figures.ways.hit));
    let cached = match more(|figures| figures.cache.hit_bytes) {
        0 => String::new(),
        bytes => format!("; {} came from the cache", size(bytes)),
    };
    format!(
        "opened {read}, of which {ahead} were here before they were asked for; {brought}{cached}"
    )
}
