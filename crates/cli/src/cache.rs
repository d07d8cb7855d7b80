//! `farroot cache`: parts of remote files that are cached on a disk of this machine.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::{Args, Subcommand};
use engine::{Config, Error, ErrorKind, ReplicaUse};
use remote::address::Address;
use remote::cache::{Cache, CacheTotals, CachedFile};
use remote::display::{shown, shown_lines};
use remote::parse_bytes;
use remote::report::size;

use crate::outcome::Outcome;
use crate::quotas;
use crate::reading::with_config;
use crate::site::SiteFile;
use crate::table::{lines_of_json, table, text};
use crate::target::listed;
use crate::units::path;

/// Show and change the cache of remote files on this machine's disk
///
/// FARROOT_CACHE says how much is kept, FARROOT_CACHE_FOLDER where: see docs/cache.md.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  farroot cache stat
  farroot cache evict --older-than 30")]
pub struct CacheArguments {
    /// The cache of the proxy with this configuration: see docs/site-cache.md
    #[arg(long, value_name = "FILE", value_parser = path())]
    config: Option<PathBuf>,
    #[command(subcommand)]
    verb: CacheVerb,
}

#[derive(Debug, Subcommand)]
enum CacheVerb {
    /// List the files of which anything is kept
    #[command(after_help = "Examples:
  farroot cache ls")]
    Ls {
        /// For programs, one line of JSON a file
        #[arg(long)]
        json: bool,
    },
    /// Say how much is kept of all files, or of one
    #[command(after_help = "Examples:
  farroot cache stat --json
  farroot cache stat root://eos.example//store/nano.root")]
    Stat {
        /// A URL (root://, http://)
        #[arg(value_name = "FILE")]
        file: Option<String>,
        /// For programs, as JSON
        #[arg(long)]
        json: bool,
    },
    /// Protect the cached parts of files, later ones included, from eviction
    ///
    /// Pinned parts never take more than the cache may have.
    #[command(after_help = "Examples:
  farroot cache pin root://eos.example//store/nano.root
  farroot cache pin --undo root://eos.example//store/nano.root")]
    Pin {
        #[arg(required = true, value_name = "FILE")]
        files: Vec<String>,
        /// No longer
        #[arg(long)]
        undo: bool,
    },
    /// End the protection of files
    #[command(after_help = "Examples:
  farroot cache unpin root://eos.example//store/nano.root")]
    Unpin {
        #[arg(required = true, value_name = "FILE")]
        files: Vec<String>,
    },
    /// Remove the cached parts of files, or those used least
    Evict(EvictArguments),
    /// Read all that is kept, and compare it with its checksums
    #[command(after_help = "Examples:
  farroot cache verify")]
    Verify,
    /// Fetch all bytes of files that are not kept yet
    #[command(after_help = "Examples:
  FARROOT_CACHE='20 GB' farroot cache warm root://eos.example//store/nano.root
  farroot cache warm --list dataset.txt")]
    Warm(WarmArguments),
    /// Make replicas of ROOT files in the cache, with baskets that decompress faster
    ///
    /// A replica has the same trees, names and entries. A proxy serves it as
    /// root://PROXY//fast//root://ORIGIN//path, and `farroot run --fast` reads it.
    #[command(after_help = "Examples:
  farroot cache convert root://eos.example//store/nano.root")]
    Convert {
        #[arg(required = true, value_name = "FILE")]
        files: Vec<String>,
    },
    /// Say why a file would be read from the cache now, or would not
    #[command(after_help = "Examples:
  farroot cache explain root://eos.example//store/nano.root")]
    Explain {
        #[arg(value_name = "FILE")]
        file: String,
    },
}

#[derive(Debug, Args)]
struct WarmArguments {
    /// URLs
    #[arg(value_name = "FILE", required_unless_present_any = ["list", "most_read"])]
    files: Vec<String>,
    /// A file with a URL on each line; - is standard input. Lines that begin with # do not count
    #[arg(long, value_name = "FILE", value_parser = path())]
    list: Option<PathBuf>,
    /// The so many files that were read most, as far as the cache knows
    #[arg(long, value_name = "N")]
    most_read: Option<usize>,
    /// Pin them, too
    #[arg(long)]
    pin: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  farroot cache evict --to '5 GB'
  farroot cache evict root://eos.example//store/nano.root")]
struct EvictArguments {
    /// URLs; of these files everything goes. One that is pinned is an error: see `unpin`
    #[arg(value_name = "FILE", required_unless_present_any = ["to", "older_than"])]
    files: Vec<String>,
    /// Until no more than so much is cached, as 5 GB: the parts used least go
    #[arg(long, value_name = "BYTES", conflicts_with = "files")]
    to: Option<String>,
    /// Parts that have not been used for so many days
    #[arg(long, value_name = "DAYS", conflicts_with_all = ["files", "to"])]
    older_than: Option<u64>,
}

/// Runs the verb.
pub fn run(arguments: &CacheArguments) -> Outcome {
    let mut config = Config::from_env()?;
    if let Some(path) = &arguments.config {
        SiteFile::read(path)?.apply_to_cache(&mut config)?;
    }
    if let CacheVerb::Warm(arguments) = &arguments.verb {
        return warm(arguments, config);
    }
    if let CacheVerb::Convert { files } = &arguments.verb {
        return convert(files, config);
    }
    let cache = Cache::at(&config.cache)?;
    let mut out = std::io::stdout().lock();
    match &arguments.verb {
        CacheVerb::Ls { json: true } => {
            let files = cache.files();
            lines_of_json(&mut out, files.iter().map(serde_json::to_string))?;
        }
        CacheVerb::Ls { json: false } => out.write_all(listing(&cache.files()).as_bytes())?,
        CacheVerb::Stat { file: None, json } => {
            let totals = cache.totals();
            match json {
                true => lines_of_json(&mut out, std::iter::once(serde_json::to_string(&totals)))?,
                false => {
                    writeln!(out, "{}", described(&totals))?;
                    for quota in &totals.quotas {
                        writeln!(out, "{}", quotas::described(quota))?;
                    }
                }
            }
        }
        CacheVerb::Stat { file: Some(file), json } => {
            let file = cache.file(&Address::parse(file)?)?;
            match json {
                true => lines_of_json(&mut out, std::iter::once(serde_json::to_string(&file)))?,
                false => out.write_all(listing(&[file]).as_bytes())?,
            }
        }
        CacheVerb::Pin { files, undo } => {
            for file in files {
                cache.pin(&Address::parse(file)?, !undo)?;
            }
        }
        CacheVerb::Unpin { files } => {
            for file in files {
                cache.pin(&Address::parse(file)?, false)?;
            }
        }
        CacheVerb::Evict(arguments) => {
            writeln!(out, "{} are free", size(evict(&cache, arguments)?))?;
        }
        CacheVerb::Verify => {
            let verified = cache.verify();
            writeln!(out, "{} records are what was written", verified.records)?;
            if verified.damaged_segments > 0 {
                let segments = verified.damaged_segments;
                let bytes = verified.damaged_bytes;
                let bytes = size(bytes);
                return Err(format!("{segments} segments are damaged: {bytes} of them are not read, and are fetched again when they are wanted").into());
            }
        }
        CacheVerb::Explain { file } => {
            for line in cache.explain(&Address::parse(file)?) {
                writeln!(out, "{line}")?;
            }
        }
        CacheVerb::Warm(_) | CacheVerb::Convert { .. } => {}
    }
    Ok(())
}

fn described(totals: &CacheTotals) -> String {
    format!(
        "{} of {} in {}{}, {} of them recompressed\n{} addresses; {} segments, {} of them open or \
         pinned; {} free{}",
        size(totals.disk_bytes),
        size(totals.bytes_max),
        shown(&totals.folder),
        left_out(totals),
        size(totals.recompressed_disk_bytes),
        totals.addresses,
        totals.segments,
        totals.segments_staying,
        size(totals.free_bytes),
        full(totals),
    )
}

fn full(totals: &CacheTotals) -> String {
    match totals.full_disks {
        0 => String::new(),
        _ => " (less than FARROOT_CACHE_FREE on one disk or more: nothing is added there)".into(),
    }
}

fn left_out(totals: &CacheTotals) -> String {
    match totals.disks_left_out {
        0 => String::new(),
        some => format!(" ({some} of {} folders cannot be used)", totals.disks),
    }
}

fn is_off() -> Error {
    Error::new(ErrorKind::InvalidArgument, "there is no cache")
        .with_advice("FARROOT_CACHE says how much is kept, as `FARROOT_CACHE=\"20 GB\"`")
}

fn evict(cache: &Cache, arguments: &EvictArguments) -> engine::Result<u64> {
    if let Some(bytes) = &arguments.to {
        return Ok(cache.evict_to(parse_bytes(bytes)?));
    }
    if let Some(days) = arguments.older_than {
        return Ok(cache.evict_unused(days.saturating_mul(86_400)));
    }
    let mut freed = 0;
    for file in &arguments.files {
        freed += cache.evict(&Address::parse(file)?)?;
    }
    Ok(freed)
}

/// Fetches files; one that fails leaves the others.
fn warm(arguments: &WarmArguments, config: Config) -> Outcome {
    let WarmArguments { files, list, most_read, pin } = arguments;
    let mut files = files.clone();
    if let Some(list) = list {
        files.extend(listed(list)?);
    }
    with_config(config, async |engine| {
        let cache = engine.remote().cache().ok_or_else(is_off)?;
        files.extend(most_read.map(|count| cache.most_read(count)).unwrap_or_default());
        each_file(&files, "were not fetched", async |file| {
            let fetched = engine.remote().warm(file).await?;
            if *pin {
                cache.pin(&Address::parse(file)?, true)?;
            }
            Ok(format!("{} were fetched", size(fetched)))
        })
        .await
    })
}

/// Makes replicas; a file of which none can be made leaves the others.
fn convert(files: &[String], config: Config) -> Outcome {
    with_config(config, async |engine| {
        each_file(files, "have no replica", async |file| {
            match engine.replica(file, ReplicaUse::Make).await? {
                Some(replica) => Ok(format!("a replica of {}", size(replica.size))),
                None => {
                    let text = "it is no ROOT file";
                    Err(Error::new(ErrorKind::Unsupported, text).with_url(file))
                }
            }
        })
        .await
    })
}

/// Does the same with each file, and prints its outcome; one that fails leaves the others.
async fn each_file(
    files: &[String],
    failing: &str,
    mut work: impl AsyncFnMut(&str) -> engine::Result<String>,
) -> Outcome {
    let mut failed = 0;
    for file in files {
        match work(file).await {
            Ok(done) => writeln!(std::io::stdout(), "{}: {done}", shown(file))?,
            Err(error) if files.len() == 1 => return Err(error.into()),
            Err(error) => {
                failed += 1;
                eprintln!("{}", shown_lines(&error.to_string()));
            }
        }
    }
    match failed {
        0 => Ok(()),
        _ => Err(format!("{failed} of {} files {failing}", files.len()).into()),
    }
}

fn listing(files: &[CachedFile]) -> String {
    let mut listed =
        table(&[">held", ">of", ">ranges", ">recompressed", ">on disk", "used", "pinned", "file"]);
    for file in files {
        listed.add_row([
            size(file.held_bytes),
            size(file.size),
            file.ranges.to_string(),
            size(file.recompressed_disk_bytes),
            size(file.disk_bytes),
            ago(file.used),
            if file.is_pinned { "pinned" } else { "" }.to_owned(),
            file.address.clone(),
        ]);
    }
    text(&listed)
}

/// How long ago a time was.
fn ago(seconds_since_1970: u64) -> String {
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds_since_1970);
    let age = SystemTime::now().duration_since(then).unwrap_or_default().as_secs();
    match age {
        _ if seconds_since_1970 == 0 => "-".to_owned(),
        0..120 => format!("{age} s ago"),
        120..7200 => format!("{} min ago", age / 60),
        7200..172_800 => format!("{} h ago", age / 3600),
        _ => format!("{} days ago", age / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_the_unit_that_suits_them() {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
        assert_eq!(ago(0), "-");
        assert_eq!(ago(now - 600), "10 min ago");
        assert_eq!(ago(now - 4 * 3600), "4 h ago");
        assert_eq!(ago(now - 3 * 86_400), "3 days ago");
    }
}
