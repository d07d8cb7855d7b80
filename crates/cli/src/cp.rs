//! `farroot cp SOURCE... TARGET`: whole files to a local disk.

use std::io::Write;
use std::path::Path;

use clap::Args;
use engine::{Config, Copied, CopyOptions, Progress};
use indicatif::{ProgressBar, ProgressStyle};
use parking_lot::Mutex;

use crate::outcome::{Failure, Outcome};
use crate::reading::with_config;

/// Copy files to a local disk: over many connections, from several sources, resumed after a break
#[derive(Debug, Args)]
#[command(override_usage = "farroot cp [OPTIONS] SOURCE... TARGET")]
pub struct Arguments {
    /// URLs (root://, http://), paths or patterns, 'URL1|URL2' being one file at two places; last
    /// a path for one file, or a directory, which is made where it ends with a /
    #[arg(required = true, value_name = "SOURCE... TARGET")]
    paths: Vec<String>,
    /// Another URL of the same file; may be given several times
    #[arg(long = "source", value_name = "URL")]
    sources: Vec<String>,
    /// Replace what is there
    #[arg(short, long)]
    force: bool,
    /// Compare each file with its server's checksum (adler32, crc32c or md5)
    #[arg(long)]
    verify: bool,
    /// Connections to one server at the most, where they bring more than sixteen do
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    connections: Option<u32>,
    /// Say at the end, on standard error, where the time went
    #[arg(long)]
    report: bool,
}

/// Copies, with a bar on a terminal.
pub fn run(arguments: &Arguments) -> Outcome {
    let mut config = Config::from_env()?;
    if let Some(connections) = arguments.connections {
        config.connections_max = connections;
        config.connections_initial = config.connections_initial.min(connections);
    }
    with_config(config, async |engine| {
        let options = CopyOptions { overwrite: arguments.force, verify: arguments.verify };
        let bar = Bar::new();
        let tell = |progress| bar.tell(progress);
        let (files, target) = arguments.files_and_target()?;
        let copied = engine.copy(&files, Path::new(target), options, &tell).await?;
        bar.bar.finish_and_clear();
        if arguments.report {
            eprint!("{}", engine.report());
        }
        account(copied)
    })
}

impl Arguments {
    /// The files' addresses, and where they go.
    fn files_and_target(&self) -> Result<(Vec<String>, &str), Failure> {
        match &self.paths[..] {
            [files @ .., target] if !files.is_empty() && self.sources.is_empty() => {
                Ok((files.to_vec(), target))
            }
            [_] => Err("where to? cp SOURCE... TARGET".to_owned().into()),
            [file, target] => {
                let all = [file].into_iter().chain(&self.sources).map(String::as_str);
                Ok((vec![engine::address::join(all)], target))
            }
            _ => Err("--source is another place of one file; of several files, write \
                      'URL1|URL2' for each"
                .to_owned()
                .into()),
        }
    }
}

/// Says which files have been verified, and what became of those that have not been copied.
fn account(copied: Vec<engine::Result<Copied>>) -> Outcome {
    let (files, mut failed) = (copied.len(), Vec::new());
    let mut out = std::io::stdout().lock();
    for file in copied {
        match file {
            Ok(Copied { target, checksum: Some(checksum), .. }) => {
                writeln!(out, "{}: {checksum}, as the server says", target.display())?;
            }
            Ok(_) => {}
            Err(error) => failed.push(error),
        }
    }
    match &failed[..] {
        [] => Ok(()),
        [only] if files == 1 => Err(only.clone().into()),
        several => {
            several.iter().for_each(|error| eprintln!("farroot: {error}"));
            Err(format!("{} of {files} files have not been copied", several.len()).into())
        }
    }
}

/// A bar on standard error, of all files together; none where that is no terminal.
struct Bar {
    bar: ProgressBar,
    /// Size, and bytes that are here, of each file that is known.
    files: Mutex<Vec<(u64, u64)>>,
}

impl Bar {
    fn new() -> Self {
        let style = ProgressStyle::with_template(
            "{msg}{bar:30} {bytes} of {total_bytes}, {binary_bytes_per_sec}, {eta} left",
        );
        let bar = ProgressBar::new(0);
        // The template is a constant: a mistake in it only costs the looks.
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Bar { bar, files: Mutex::default() }
    }

    fn tell(&self, progress: Progress) {
        let mut files = self.files.lock();
        files.resize(progress.files, (0, 0));
        if let Some(file) = files.get_mut(progress.file) {
            *file = (progress.size, progress.done);
        }
        let begun = files.iter().filter(|(size, _)| *size > 0).count();
        if progress.files > 1 {
            self.bar.set_message(format!("{begun} of {} files ", progress.files));
        }
        self.bar.set_length(files.iter().map(|(size, _)| size).sum());
        self.bar.set_position(files.iter().map(|(_, done)| done).sum());
    }
}
