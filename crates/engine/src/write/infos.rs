//! The streamer infos that go with objects and tables copied out of a file.

use rootfile::streamer::StreamerInfo;

use crate::read::file::File;

/// Classes whose streamer infos are the output's own.
pub const OWN: [&str; 2] = ["TObject", "ROOT::RNTuple"];

/// The streamer infos of a file, but for those of classes that are written in one way only, and
/// that some writers describe otherwise.
pub fn infos(file: &File) -> Vec<StreamerInfo> {
    let infos = file.format().classes.streamers.infos_of_file();
    infos.filter(|info| !OWN.contains(&&*info.class)).cloned().collect()
}
