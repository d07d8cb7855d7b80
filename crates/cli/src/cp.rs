//! `farroot cp SOURCE... TARGET`: whole files to a local disk, and to servers.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use clap::Args;
use engine::{Config, Engine};
use indicatif::{ProgressBar, ProgressStyle};
use mutex::Mutex;
use remote::report::{count, size};
use remote::settings::{Setting, Value};
use remote::{Checksum, Copied, CopyOptions, Progress};
use serde_json::json;

use crate::outcome::{Failure, Outcome};
use crate::reading::with_config;
use crate::target::{OutputArgument, Places};

/// Copy files to a local disk or to a server: over many connections, from several sources
///
/// To a disk a copy that was broken off is resumed: the bytes from before a break, Ctrl-C or
/// SIGTERM are kept beside the target (TARGET.farroot-part), and the same command goes on with
/// them.
#[derive(Debug, Args)]
#[command(override_usage = "farroot cp [OPTIONS] SOURCE... TARGET")]
#[command(after_help = "Examples:
  farroot cp root://eos.example//store/nano.root copy.root
  farroot cp -r --verify root://eos.example//store/run3/ data/")]
pub struct CpArguments {
    /// URLs (root://, http://), paths or patterns, 'URL1|URL2' being one file at two places; last a
    /// path for one file, a directory, which is made where it ends with a /, the URL of a file or,
    /// ending with a /, of a directory, or - for standard output
    #[arg(required = true, value_name = "SOURCE... TARGET")]
    paths: Vec<String>,
    #[command(flatten)]
    output: OutputArgument,
    /// Another URL of the same file; may be given several times
    #[arg(long = "source", value_name = "URL")]
    sources: Vec<String>,
    /// Replace existing files
    #[arg(short, long)]
    force: bool,
    /// Directories, with all that is below them
    #[arg(short, long)]
    recursive: bool,
    /// Only files that are missing or differ: by size, then by checksum, or else by time
    #[arg(short, long)]
    update: bool,
    /// Compare one file with this checksum while it is copied, as in adler32:5bdad19a (also crc32,
    /// crc32c, md5, sha1, sha256, sha512)
    #[arg(long, value_name = "KIND:HEX")]
    checksum: Option<String>,
    /// Compare each file with its server's checksum (adler32, crc32c or md5)
    #[arg(long)]
    verify: bool,
    /// Connections to one server at the most, where they bring more than sixteen do
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    connections: Option<u32>,
    /// To a server that renames no files: write under the final name at once
    #[arg(long)]
    in_place: bool,
    /// For programs, one line of JSON a file
    #[arg(long)]
    json: bool,
    /// Say at the end, on standard error, where the time went
    #[arg(long)]
    report: bool,
}

/// Copies, with a bar on a terminal.
pub fn run(arguments: &CpArguments) -> Outcome {
    let mut config = Config::from_env()?;
    if let Some(connections) = arguments.connections {
        Setting::named("connections")?.set(&mut config, Value::Number(connections.into()))?;
    }
    with_config(config, async |engine| {
        let begun = engine.trace().now();
        let (files, target) = arguments.files_and_target()?;
        let outcome = if target == "-" {
            arguments.pour(engine, &files, begun).await
        } else {
            let CpArguments { force, verify, in_place, recursive, update, .. } = *arguments;
            let options = CopyOptions::default().overwrite(force).verify(verify);
            let options = options.in_place(in_place).recursive(recursive).update(update);
            let options = options.checksum(arguments.checksum()?);
            let bar = Bar::new();
            let show = |progress| bar.show(progress);
            let copied = engine.remote().copy(&files, Path::new(target), options, &show).await?;
            bar.bar.finish_and_clear();
            arguments.account(copied, engine.trace().now() - begun)
        };
        if arguments.report {
            eprint!("{}", engine.report());
        }
        outcome
    })
}

impl CpArguments {
    fn checksum(&self) -> engine::Result<Option<Checksum>> {
        self.checksum.as_deref().map(Checksum::written).transpose()
    }

    /// One file to standard output.
    async fn pour(&self, engine: &Engine, files: &[String], begun: Duration) -> Outcome {
        let [file] = files else {
            return Err("- takes one file".to_owned().into());
        };
        if self.verify || self.json || self.recursive || self.update {
            let text = "--verify, --json, --recursive and --update are not for -";
            return Err(text.to_owned().into());
        }
        let mut out = std::io::stdout();
        let mut broken = None;
        let mut write = |bytes: &[u8]| {
            out.write_all(bytes).map_err(|error| {
                let kind = error.kind();
                broken = Some(error);
                kind.into()
            })
        };
        let poured = engine.remote().pour(file, self.checksum()?, &mut write).await;
        if let Some(error) = broken {
            return Err(error.into());
        }
        let bytes = poured?;
        out.flush()?;
        eprintln!("{}", summary("copied", bytes, 0, engine.trace().now() - begun));
        Ok(())
    }

    /// Prints the copied and verified files, and the errors of those that have not been copied.
    fn account(&self, copied: Vec<engine::Result<Copied>>, time: Duration) -> Outcome {
        let files = copied.len();
        let mut failed = Vec::new();
        let mut bytes = 0;
        let mut resumed = 0;
        let mut same = 0;
        let mut out = std::io::stdout().lock();
        for file in copied {
            match file {
                Ok(file) => {
                    for warning in &file.warnings {
                        eprintln!("note: {warning}");
                    }
                    match file.is_same {
                        true => same += 1,
                        false => (bytes, resumed) = (bytes + file.size, resumed + file.resumed),
                    }
                    let checksum = file.checksum.as_ref().map(ToString::to_string);
                    if self.json {
                        let line = json!({
                            "source": file.source, "target": file.target.to_string_lossy(), "size": file.size,
                            "resumed": file.resumed, "checksum": checksum, "same": file.is_same,
                        });
                        writeln!(out, "{line}")?;
                    } else if let Some(checksum) = checksum {
                        writeln!(out, "{}: {checksum}, as the server says", file.target.display())?;
                    }
                }
                Err(error) => failed.push(error),
            }
        }
        let done = files - failed.len() - same;
        if same > 0 && !self.json {
            writeln!(out, "{} there already, and the same", count(same as u64, "file"))?;
        }
        if done > 0 && !self.json {
            let action = match done {
                1 => "copied".to_owned(),
                done => format!("copied {done} files"),
            };
            writeln!(out, "{}", summary(&action, bytes, resumed, time))?;
        }
        match &failed[..] {
            [] => Ok(()),
            [only] if files == 1 => Err(only.clone().into()),
            several => {
                several.iter().cloned().for_each(|error| Failure::from(error).print());
                Err(format!("{} of {files} files have not been copied", several.len()).into())
            }
        }
    }

    /// The files' addresses, and where they go.
    fn files_and_target(&self) -> Result<(Vec<String>, &str), Failure> {
        let Places { target, sources } = self.output.or_last(&self.paths)?;
        match sources {
            files if self.sources.is_empty() => Ok((files.to_vec(), target)),
            [file] => {
                let all = [file].into_iter().chain(&self.sources).map(String::as_str);
                Ok((vec![remote::address::join(all)], target))
            }
            _ => Err("--source is another place of one file; of several files, write \
                      'URL1|URL2' for each"
                .to_owned()
                .into()),
        }
    }
}

/// `12.5 MB in 0.521 s, 24.0 MB/s`; of a copy that was resumed the rate is that of the remaining
/// bytes.
fn summary(action: &str, bytes: u64, resumed: u64, time: Duration) -> String {
    let seconds = time.as_secs_f64().max(1e-6);
    let rate = size(((bytes - resumed) as f64 / seconds) as u64);
    let rest = match resumed {
        0 => String::new(),
        resumed => format!("; {} of it were there from an earlier try", size(resumed)),
    };
    format!("{action}: {} in {seconds:.3} s, {rate}/s{rest}", size(bytes))
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

    fn show(&self, progress: Progress) {
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
